//! What is told of a document before its `spec` is read, and of a file as a whole.

use super::super::ApplicationKind;
use super::{has, load, pipecd, refused, warned};

#[test]
fn a_legacy_kind_passes_with_a_warning_if_the_file_is_of_the_v1_form() {
    for (kind, read) in [
        ("KubernetesApp", ApplicationKind::Kubernetes),
        ("TerraformApp", ApplicationKind::Terraform),
        ("LambdaApp", ApplicationKind::Lambda),
        ("CloudRunApp", ApplicationKind::CloudRun),
        ("ECSApp", ApplicationKind::Ecs),
    ] {
        let checked =
            load(&pipecd("").replace("kind: Application", &format!("kind: {kind}"))).unwrap();
        assert_eq!(checked.value.kind, read);
        has(
            &checked.warnings.to_string(),
            &[
                "app.yaml:2:7: warning:",
                "legacy kind",
                "write `kind: Application`",
            ],
        );
    }
}

#[test]
fn a_legacy_kind_without_plugins_is_refused_as_the_v0_form_and_by_nothing_else() {
    for spec in [
        "{input: {a: b}, quickSync: {}}",
        "{plugins: {}}",
        "{plugins: }",
        "",
    ] {
        let told = refused(&format!(
            "apiVersion: pipecd.dev/v1beta1\nkind: TerraformApp\nspec: {spec}\n"
        ));
        has(
            &told,
            &[
                "app.yaml:2:7: error:",
                "v0 form",
                "`spec.plugins.terraform`",
                "kind: Application",
            ],
        );
        assert_eq!(told.matches("error:").count(), 1, "{told}");
    }
    let told = refused("apiVersion: pipecd.dev/v1beta1\nkind: ECSApp\nspec: {input: {}}\n");
    has(&told, &["with `input` moved into `spec.plugins.ecs`"]);
}

#[test]
fn another_kind_is_no_application_and_the_message_says_what_would_be() {
    for (kind, parts) in [
        (
            "Piped",
            ["configuration of PipeCD's agent", "stagewright.yaml"],
        ),
        ("AnalysisTemplate", ["is no application", "app.pipecd.yaml"]),
        (
            "InvalidKind",
            ["the kind `InvalidKind` is unknown", "`kind: Application`"],
        ),
        (
            "Aplication",
            [
                "the kind `Aplication` is unknown",
                "did you mean `kind: Application`?",
            ],
        ),
        ("[a]", ["`kind` must be a name", "kind: Application"]),
    ] {
        let told = refused(&format!(
            "apiVersion: pipecd.dev/v1beta1\nkind: {kind}\nspec: {{x: y}}\n"
        ));
        has(&told, &["app.yaml:2:", parts[0], parts[1]]);
        assert_eq!(told.matches("error:").count(), 1, "{told}");
    }
}

#[test]
fn a_document_without_kind_version_or_spec_says_which_is_missing() {
    has(
        &refused("spec: {}\n"),
        &[
            "app.yaml:1:1: error: `kind` is missing",
            "`kind: Application`",
        ],
    );
    has(
        &refused("kind: Application\nspec: {}\n"),
        &["`apiVersion` is missing", "pipecd.dev/v1beta1"],
    );
    has(
        &refused("apiVersion: pipecd.dev/v1beta1\nkind: Application\n"),
        &["`spec` is missing"],
    );
    has(
        &refused("apiVersion: pipecd.dev/v1beta2\nkind: Application\nspec: {}\n"),
        &[
            "app.yaml:1:13: error: `apiVersion` is the text `pipecd.dev/v1beta2`",
            "did you mean `pipecd.dev/v1beta1`?",
        ],
    );
    has(
        &refused("- a\n"),
        &["an application file is a mapping, but this is a list"],
    );
}

#[test]
fn a_file_of_several_documents_is_refused_naming_their_first_lines() {
    let text = format!("{}---\n# another\n{}", pipecd(""), pipecd(""));
    has(
        &refused(&text),
        &[
            "app.yaml:7:1: error:",
            "the first begins on line 1, the second on line 7",
        ],
    );
}

#[test]
fn problems_of_the_yaml_and_of_the_definition_are_told_together() {
    let told = refused(&pipecd("  name: a\n  name: b\n  timeuot: 5m\n"));
    has(
        &told,
        &[
            "app.yaml:6:3: error: the key `name`",
            "app.yaml:7:3: error: unknown key `timeuot`",
        ],
    );
    assert!(told.find("app.yaml:6").unwrap() < told.find("app.yaml:7").unwrap());
}

#[test]
fn an_application_of_which_nothing_can_be_deployed_is_warned_of() {
    has(
        &warned("apiVersion: pipecd.dev/v1beta1\nkind: Application\nspec: {name: a}\n"),
        &["app.yaml:3:1: warning:", "nothing can be deployed"],
    );
}

#[test]
fn what_was_refused_does_not_count_as_missing() {
    for spec in [
        "{pipeline: {stages: [WAIT]}}",
        "{pipeline: {stages: [null]}}",
        "{pipeline: {stages: [*unknown]}}",
        "{plugins: [a]}",
        "{pipelines: {stages: []}}",
    ] {
        let text = format!("apiVersion: pipecd.dev/v1beta1\nkind: Application\nspec: {spec}\n");
        let told = refused(&text);
        assert!(!told.contains("nothing can be deployed"), "{told}");
    }
}

#[test]
fn a_name_or_a_label_that_no_program_can_be_given_is_refused_at_its_place() {
    let long = "x".repeat(5000);
    for (spec, place, why) in [
        (
            r#"{name: "a\0b"}"#.to_owned(),
            "3:14",
            "`spec.name` has a NUL",
        ),
        (
            r#"{labels: {a: "\0"}}"#.to_owned(),
            "3:20",
            "`spec.labels.a` has a NUL",
        ),
        (
            r#"{labels: {"\0": b}}"#.to_owned(),
            "3:17",
            "the name of a label has a NUL",
        ),
        (
            format!("{{labels: {{a: {long}}}}}"),
            "3:20",
            "5000 bytes; 4096 are the limit",
        ),
    ] {
        let text = format!("apiVersion: pipecd.dev/v1beta1\nkind: Application\nspec: {spec}\n");
        has(&refused(&text), &[place, why]);
    }
}
