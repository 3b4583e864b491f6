//! `stagewright check`: the rules of application files, one small file for each,
//! judged in one go as an operator's script would.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use stagewright_tests::Project;

/// A file of the v1 form with these keys in `spec`, which begin on line 4.
fn v1(spec: &str) -> String {
    format!("apiVersion: pipecd.dev/v1beta1\nkind: Application\nspec:\n{spec}\n")
}

/// The same with one stage, whose further keys begin on line 7.
fn stage(keys: &str) -> String {
    v1(&format!(
        "  pipeline:\n    stages:\n      - name: WAIT\n{keys}"
    ))
}

fn ours(spec: &str) -> String {
    v1(spec).replace("pipecd.dev/v1beta1", "stagewright.dev/v1")
}

/// A file that is refused: where, and words of what is wrong and what is right.
struct Fault {
    name: &'static str,
    text: String,
    place: (u64, u64),
    words: &'static [&'static str],
}

fn faults() -> Vec<Fault> {
    let fault = |name, text: String, place, words| Fault {
        name,
        text,
        place,
        words,
    };
    vec![
        fault(
            "unknown-key-of-spec",
            v1("  piplines: {}"),
            (4, 3),
            &["piplines", "did you mean `pipeline`?"],
        ),
        fault(
            "unknown-key-of-a-stage",
            stage("        timout: 1m"),
            (7, 9),
            &["timout", "did you mean `timeout`?"],
        ),
        fault(
            "unknown-key-in-what-is-not-served",
            v1("  plugins: { wait: }\n  trigger: { onComit: {} }"),
            (5, 14),
            &["onComit", "did you mean `onCommit`?"],
        ),
        fault(
            "spec-key-under-a-plugin",
            v1("  plugins:\n    wait:\n      pipeline: { stages: [] }"),
            (6, 7),
            &["spec.plugins.wait", "move it out, to `spec.pipeline`"],
        ),
        fault(
            "bare-number-as-a-duration",
            stage("        timeout: 300"),
            (7, 18),
            &["300", "unit", "`300s`"],
        ),
        fault(
            "zero-as-a-timeout",
            stage("        timeout: 0s"),
            (7, 18),
            &["0s"],
        ),
        fault(
            "v0-kind",
            v1("  input: { helmChart: {} }").replace("Application", "KubernetesApp"),
            (2, 7),
            &["v0 form", "`kind: Application`", "spec.plugins.kubernetes"],
        ),
        fault(
            "kind-of-another-thing",
            v1("  plugins: { wait: }").replace("Application", "Piped"),
            (2, 7),
            &["no"],
        ),
        fault(
            "kind-misspelt",
            v1("  plugins: { wait: }").replace("Application", "Aplication"),
            (2, 7),
            &["did you mean `kind: Application`?"],
        ),
        fault(
            "unknown-version",
            v1("  plugins: { wait: }").replace("v1beta1", "v1"),
            (1, 13),
            &[
                "pipecd.dev/v1",
                "`pipecd.dev/v1beta1` or `stagewright.dev/v1`",
            ],
        ),
        fault(
            "our-key-under-pipecds-version",
            v1("  plugins: { site: }\n  deployTargets: { site: [a] }"),
            (5, 3),
            &["pipecd.dev/v1beta1", "stagewright.dev/v1"],
        ),
        fault(
            "bad-path-pattern",
            stage("        skipOn: { paths: ['a[b'] }"),
            (7, 27),
            &["a[b"],
        ),
        fault(
            "empty-prefix",
            stage("        skipOn: { commitMessagePrefixes: [''] }"),
            (7, 43),
            &["the stage would never run"],
        ),
        fault(
            "two-stages-of-one-id",
            ours(
                "  pipeline:\n    stages:\n      - { id: a, name: WAIT }\n      \
                 - { id: a, name: WAIT }",
            ),
            (7, 15),
            &["`a`", "line 6"],
        ),
        fault(
            "circular-needs",
            ours(
                "  pipeline:\n    stages:\n      - { id: a, name: WAIT, needs: [b] }\n      \
                 - { id: b, name: WAIT, needs: [a] }",
            ),
            (7, 38),
            &["`a` (WAIT) on line 6", "`b` (WAIT) on line 7"],
        ),
        fault(
            "dangling-needs",
            ours("  pipeline:\n    stages:\n      - { id: a, name: WAIT, needs: [c] }"),
            (6, 38),
            &["`c`"],
        ),
        fault(
            "no-kind",
            "apiVersion: pipecd.dev/v1beta1\nspec: {}\n".to_owned(),
            (1, 1),
            &["`kind` is missing"],
        ),
        fault(
            "boolean-in-words",
            v1("  plugins: { wait: }\n  planner: { autoRollback: yes }"),
            (5, 28),
            &["yes", "true"],
        ),
    ]
}

#[test]
fn each_fault_is_refused_with_its_line_and_column_and_what_would_be_right() {
    let project = Project::empty();
    let faults = faults();
    let names: Vec<String> = faults.iter().map(|f| format!("{}.yaml", f.name)).collect();
    for (fault, name) in faults.iter().zip(&names) {
        project.write(name, &fault.text);
    }
    let mut arguments = vec!["--output", "json", "check", "--structure"];
    arguments.extend(names.iter().map(String::as_str));
    let lines = project.run(&arguments).exits(2).json_lines();
    let verdicts: BTreeMap<&str, &Value> = lines
        .iter()
        .filter(|line| line["ok"].is_boolean())
        .map(|line| (line["file"].as_str().expect("a name"), line))
        .collect();
    assert_eq!(verdicts.len(), faults.len());
    for (fault, name) in faults.iter().zip(&names) {
        let verdict = verdicts[name.as_str()];
        assert_eq!(verdict["ok"], false, "{name}: {verdict}");
        let problems = verdict["problems"].as_array().expect("a list");
        let mut errors = problems.iter().filter(|p| p["severity"] == "error");
        let error = errors.next().expect("an error");
        let place = (error["line"].as_u64(), error["column"].as_u64());
        let (line, column) = fault.place;
        assert_eq!(place, (Some(line), Some(column)), "{name}: {error}");
        let told = format!("{} {}", error["message"], error["help"]);
        for words in fault.words {
            assert!(told.contains(words), "{name} should say {words:?}: {told}");
        }
    }
}

#[test]
fn what_is_known_and_not_served_yet_is_a_warning_and_the_file_passes() {
    let project = Project::empty();
    project
        .write(
            "unserved.yaml",
            v1(
                "  plugins: { wait: }\n  trigger: { onCommit: { disabled: true } }\n  \
                postSync: {}\n  encryption: {}\n  attachment: {}\n  notification: {}\n  \
                eventWatcher: []\n  driftDetection: {}",
            ),
        )
        .write(
            "legacy.yaml",
            v1("  plugins: { terraform: }").replace("Application", "TerraformApp"),
        );
    let checked = project.run(&["check", "--structure", "unserved.yaml", "legacy.yaml"]);
    let checked = checked
        .exits(0)
        .says("unserved.yaml: ok")
        .says("legacy.yaml: ok");
    let checked = checked
        .complains("unserved.yaml:5:3: warning: `spec.trigger` is known but not served yet")
        .complains("legacy.yaml:2:7: warning: `kind: TerraformApp` is a legacy kind");
    assert_eq!(
        checked.stderr.matches("known but not served yet").count(),
        7
    );
    assert!(!checked.stderr.contains("error"), "{checked}");
}

#[test]
fn the_structure_is_each_document_as_json_with_its_first_line_and_its_values_as_written() {
    let project = Project::empty();
    let text = "# A header.\n---\nkind: Application\nversion: 1.10\nmode: 017\nswitch: on\n\
                empty:\n---\nkind: other\n";
    project.write("two.yaml", text);
    let lines = project.run(&["check", "--structure", "two.yaml"]).exits(2);
    let printed = &lines.stdout;
    assert!(
        printed.contains(r#""version":1.10,"mode":"017","switch":"on","empty":null"#),
        "{lines}"
    );
    let documents = lines.json_lines();
    let first: Vec<&Value> = documents.iter().map(|line| &line["firstLine"]).collect();
    assert_eq!(first, [&json!(3), &json!(9)]);
    assert_eq!(documents[1]["document"], json!({ "kind": "other" }));
}

#[test]
fn with_plugins_options_and_sections_are_checked_against_their_schemas() {
    let project = Project::with(&["wait", "site", "script"]);
    project.write(
        "stagewright.yaml",
        "plugins: { site: { deployTargets: [{ name: local, config: { directory: www } }] } }\n",
    );
    project
        .write("options.yaml", stage("        with: { durations: 1m }"))
        .write(
            "section.yaml",
            v1("  plugins:\n    site:\n      keepRelease: 3"),
        )
        .write(
            "script.yaml",
            v1("  pipeline:\n    stages:\n      - name: SCRIPT_RUN\n        with: { runs: x }"),
        )
        .write("good.yaml", stage("        with: { duration: 1m }"));
    let checked = project.run(&[
        "check",
        "options.yaml",
        "section.yaml",
        "script.yaml",
        "good.yaml",
    ]);
    let checked = checked
        .exits(2)
        .says("good.yaml: ok")
        .complains("options.yaml:7:15: error: the options of WAIT: `duration` is missing")
        .complains("options.yaml:7:17: error: the options of WAIT: unknown key `durations`")
        .complains("section.yaml:6:7: error: the section for plugin `site`: unknown key")
        .complains("did you mean `keepReleases`?")
        .complains("script.yaml:7:17: error: the options of SCRIPT_RUN: unknown key `runs`")
        .complains("stagewright.yaml:1:72: error: deploy target `local` of `site`");
    assert_eq!(checked.stdout, "good.yaml: ok\n");
}

#[test]
fn a_section_that_no_stage_belongs_to_is_warned_of() {
    let project = Project::with(&["wait", "probe"]);
    let text = stage("        with: { duration: 1m }");
    project.write("app.yaml", format!("{text}  plugins:\n    probe:\n"));
    project
        .run(&["check", "app.yaml"])
        .exits(0)
        .complains("app.yaml:9:5: warning: plugin `probe` does not plan this application");
}
