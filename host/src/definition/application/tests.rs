//! What reading an application's file promises.

use std::time::Duration;

use super::{ApiVersion, Application, ApplicationKind, DEFAULT_TIMEOUT, StageSpec};
use crate::definition::decode::Checked;
use crate::definition::{Severity, Source, format_duration};

fn load(text: &str) -> Result<Checked<Application>, String> {
    let source = Source::from_text("app.yaml", text);
    Application::from_source(&source, "shop", &|_, _| false).map_err(|told| told.to_string())
}

fn read(text: &str) -> Application {
    let checked = load(text).unwrap_or_else(|told| panic!("{told}"));
    assert!(checked.warnings.is_empty(), "{}", checked.warnings);
    checked.value
}

fn warned(text: &str) -> String {
    load(text)
        .unwrap_or_else(|told| panic!("{told}"))
        .warnings
        .to_string()
}

fn refused(text: &str) -> String {
    load(text).expect_err("it is refused")
}

/// An application of one plugin with these lines in its `spec`.
fn pipecd(spec: &str) -> String {
    format!(
        "apiVersion: pipecd.dev/v1beta1\nkind: Application\nspec:\n  plugins: {{site: }}\n{spec}"
    )
}

fn ours(spec: &str) -> String {
    pipecd(spec).replace("pipecd.dev/v1beta1", "stagewright.dev/v1")
}

#[track_caller]
fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "missing: {part}\n{text}");
    }
}

const WHOLE: &str = r#"
apiVersion: stagewright.dev/v1
kind: Application
spec:
  name: web
  labels: {env: prod, version: 1.10}
  description: |
    A shop.
  planner: {alwaysUsePipeline: true, autoRollback: false}
  commitMatcher: {pipeline: "^deploy", quickSync: "^docs"}
  timeout: 1h30m
  pipeline:
    stages:
      - id: first
        name: SITE_STAGE
        desc: Put it beside the live one
        timeout: 10m
        with: {keep: 1.10, mode: on, since: 017}
        skipOn:
          commitMessagePrefixes: ["docs:"]
          paths: [docs/**, "*.md"]
      - name: WAIT
        with:
          duration: 1m
      - name: WAIT
  plugins:
    site:
      input: {dir: public}
    wait:
  deployTargets:
    site: [eu, us]
"#;

#[test]
fn every_served_key_is_read() {
    let app = read(WHOLE);
    assert_eq!(app.api_version, ApiVersion::Stagewright);
    assert_eq!(app.kind, ApplicationKind::Application);
    assert_eq!(app.name.value, "web");
    assert_eq!(app.labels["version"], "1.10");
    assert_eq!(app.description.as_deref(), Some("A shop.\n"));
    assert!(app.planner.always_use_pipeline && !app.planner.auto_rollback);
    assert!(
        app.commit_matcher
            .pipeline
            .unwrap()
            .value
            .is_match("deploy it")
    );
    assert!(
        !app.commit_matcher
            .quick_sync
            .unwrap()
            .value
            .is_match("the docs")
    );
    assert_eq!(app.timeout.unwrap().value, Duration::from_secs(5400));

    let names: Vec<_> = app
        .stages
        .iter()
        .map(|stage| stage.name.value.as_str())
        .collect();
    assert_eq!(names, ["SITE_STAGE", "WAIT", "WAIT"], "a name may repeat");
    let first = &app.stages[0];
    assert_eq!(first.id.as_ref().unwrap().value, "first");
    assert_eq!(first.desc.as_deref(), Some("Put it beside the live one"));
    assert_eq!(
        format_duration(first.timeout.as_ref().unwrap().value),
        "10m"
    );
    assert_eq!(
        first.with.to_json_text(),
        r#"{"keep":1.10,"mode":"on","since":"017"}"#
    );
    assert_eq!(first.skip_on.commit_message_prefixes[0].value, "docs:");
    assert!(first.skip_on.paths.matches("README.md") && !first.skip_on.paths.matches("src/a"));
    assert_eq!(app.stages[2].with.to_json_text(), "{}");

    let plugins: Vec<_> = app
        .plugins
        .iter()
        .map(|p| p.plugin.value.as_str())
        .collect();
    assert_eq!(
        plugins,
        ["site", "wait"],
        "in the order of the file, the null one kept"
    );
    assert!(app.plugins[1].config.is_null());
    let targets = &app.deploy_targets[0];
    assert_eq!(targets.plugin.value, "site");
    assert_eq!(
        targets
            .names
            .iter()
            .map(|n| n.value.as_str())
            .collect::<Vec<_>>(),
        ["eu", "us"]
    );
}

#[test]
fn what_can_be_wrong_later_keeps_its_place() {
    let app = read(WHOLE);
    let line = |span: Option<crate::definition::Span>| span.map(|span| span.line);
    assert_eq!(line(app.stages[0].name.span), Some(15));
    assert_eq!(line(app.stages[0].with.locate("/mode")), Some(18));
    assert_eq!(line(app.stages[1].with.locate("/duration")), Some(24));
    assert_eq!(line(app.plugins[0].plugin.span), Some(27));
    assert_eq!(line(app.plugins[0].config.locate("/input/dir")), Some(28));
    assert_eq!(line(app.deploy_targets[0].names[1].span), Some(31));
    let told = app.error(
        app.stages[0].name.span,
        "nobody defines it",
        "did you mean `WAIT`?",
    );
    has(
        &told.to_string(),
        &["app.yaml:15:15: error: nobody", "^^^^^^^^^^"],
    );
}

#[test]
fn what_is_left_out_has_its_default() {
    let app = read(&pipecd(""));
    assert_eq!(app.name.value, "shop", "after its directory");
    assert!(app.planner.auto_rollback && !app.planner.always_use_pipeline);
    assert_eq!(
        app.timeout, None,
        "so that suspended time counts only where someone wrote it"
    );
    assert_eq!(app.timeout(), DEFAULT_TIMEOUT);
    assert_eq!(format_duration(DEFAULT_TIMEOUT), "6h");
    assert!(app.stages.is_empty() && app.deploy_targets.is_empty());
}

#[test]
fn an_application_is_called_after_the_directory_of_its_file() {
    let directory = tempfile::tempdir().unwrap();
    let shop = directory.path().join("corner-shop");
    std::fs::create_dir(&shop).unwrap();
    let path = shop.join("app.pipecd.yaml");
    std::fs::write(&path, pipecd("")).unwrap();
    let app = Application::load(&path, &|_, _| false).unwrap().value;
    assert_eq!(app.name.value, "corner-shop");
}

#[test]
fn an_application_can_be_made_in_code() {
    let mut app = Application::new("shop");
    app.stages.push(StageSpec::new("WAIT"));
    assert_eq!(app.stages[0].with.to_json_text(), "{}");
    let told = app.error(None, "nobody defines `WAIT`", "load a plugin that does");
    assert_eq!((told.file.as_str(), told.line), ("application shop", None));
}

#[test]
fn an_unknown_key_is_refused_at_every_level_with_the_nearest_name() {
    for (spec, place, help) in [
        (
            "  timeOut: 5m\n",
            "app.yaml:5:3: error: unknown key `timeOut` in `spec`",
            "`timeout`",
        ),
        ("  plugin: site\n", "unknown key `plugin`", "`plugins`"),
        (
            "  deployTarget: eu\n",
            "unknown key `deployTarget`",
            "deployTargets: {<plugin>",
        ),
        (
            "  input: {}\n",
            "unknown key `input`",
            "`spec.plugins.<plugin>.input`",
        ),
        (
            "  stages: []\n",
            "unknown key `stages`",
            "`spec.pipeline.stages`",
        ),
        (
            "  planner: {autoRolback: true}\n",
            "app.yaml:5:13: error: unknown key `autoRolback` in `spec.planner`",
            "`autoRollback`",
        ),
        (
            "  commitMatcher: {quicksync: x}\n",
            "in `spec.commitMatcher`",
            "`quickSync`",
        ),
        (
            "  pipeline: {steps: []}\n",
            "in `spec.pipeline`",
            "`stages`",
        ),
        (
            "  pipeline: {stages: [{name: A, whith: {}}]}\n",
            "in `spec.pipeline.stages[0]`",
            "`with`",
        ),
        (
            "  pipeline: {stages: [{name: A, description: x}]}\n",
            "unknown key `description`",
            "`desc`",
        ),
        (
            "  pipeline: {stages: [{name: A, skipOn: {path: []}}]}\n",
            "stages[0].skipOn`",
            "`paths`",
        ),
        (
            "  trigger: {onComit: {}}\n",
            "in `spec.trigger`",
            "`onCommit`",
        ),
        (
            "  trigger: {onCommit: {path: []}}\n",
            "in `spec.trigger.onCommit`",
            "`paths`",
        ),
        (
            "  eventWatcher: [{handler: {config: {replacement: []}}}]\n",
            "in `spec.eventWatcher[0].handler.config`",
            "`replacements`",
        ),
    ] {
        has(&refused(&pipecd(spec)), &[place, help]);
    }
    has(
        &refused(&format!("metadata: {{}}\n{}", pipecd(""))),
        &["app.yaml:1:1: error: unknown key `metadata`", "`kind`"],
    );
}

#[test]
fn a_key_that_is_known_but_not_served_is_a_warning_that_says_so() {
    for (spec, key) in [
        (
            "  trigger: {onCommit: {disabled: true, paths: [a], ignores: [b]}, onOutOfSync: {minWindow: 5m}}\n",
            "trigger",
        ),
        (
            "  postSync: {chain: {applications: [{name: a}, {labels: {a: b}}, {kind: ECSApp}]}}\n",
            "postSync",
        ),
        (
            "  encryption: {encryptedSecrets: {a: AQ==}, decryptionTargets: [a.yaml]}\n",
            "encryption",
        ),
        (
            "  attachment: {sources: {a: a.yaml}, targets: [b.yaml]}\n",
            "attachment",
        ),
        (
            "  notification: {mentions: [{event: '*', slack: [a], slackUsers: [b]}]}\n",
            "notification",
        ),
        (
            "  eventWatcher: [{matcher: {name: a}, handler: {type: GIT_UPDATE, config: {makePullRequest: true, replacements: [{file: a, HCLField: b}]}}}]\n",
            "eventWatcher",
        ),
        (
            "  driftDetection: {ignoreFields: ['v1:Service:d:n#spec']}\n",
            "driftDetection",
        ),
    ] {
        let told = warned(&pipecd(spec));
        has(
            &told,
            &[
                "app.yaml:5:3: warning:",
                &format!("`spec.{key}` is known but not served yet: "),
            ],
        );
    }
}

#[test]
fn the_inside_of_a_key_that_is_not_served_is_checked_all_the_same() {
    has(
        &refused(&pipecd(
            "  trigger: {onOutOfSync: {minWindow: 5, disabled: no}}\n",
        )),
        &[
            "`spec.trigger.onOutOfSync.minWindow`: `5` has no unit",
            "`spec.trigger.onOutOfSync.disabled` must be true or false",
        ],
    );
    has(
        &refused(&pipecd("  encryption: {decryptionTargets: a}\n")),
        &["must be a list"],
    );
}

#[test]
fn a_key_of_the_application_nested_under_a_plugin_is_refused() {
    let text = "apiVersion: pipecd.dev/v1beta1\nkind: Application\nspec:\n  plugins:\n    multi:\n      input: {}\n      quickSync: {prune: true}\n      pipeline:\n        stages: []\n";
    has(
        &refused(text),
        &[
            "app.yaml:8:7: error: `pipeline` is nested under `spec.plugins.multi`",
            "move it out, to `spec.pipeline`",
        ],
    );
}

#[test]
fn a_plugin_whose_schema_declares_such_a_key_keeps_it() {
    let source = Source::from_text(
        "app.yaml",
        &pipecd("").replace("site: ", "site: {timeout: 5}"),
    );
    let declares = |plugin: &str, key: &str| plugin == "site" && key == "timeout";
    let app = Application::from_source(&source, "shop", &declares)
        .unwrap()
        .value;
    let nested = &app.nested_keys[0];
    assert_eq!(
        (nested.plugin.as_str(), nested.key.as_str()),
        ("site", "timeout")
    );
    assert_eq!(nested.span.unwrap().line, 4);
    assert!(Application::from_source(&source, "shop", &|_, _| false).is_err());
}

#[test]
fn a_bare_number_as_a_timeout_is_refused_and_the_message_names_the_missing_unit() {
    for spec in ["  timeout: 300\n", "  timeout: \"300\"\n"] {
        has(
            &refused(&pipecd(spec)),
            &[
                "app.yaml:5:12: error: `spec.timeout`: `300` has no unit",
                "`300s` for seconds, `300m` for minutes",
            ],
        );
    }
    has(
        &refused(&pipecd("  pipeline: {stages: [{name: A, timeout: 0s}]}\n")),
        &["is zero"],
    );
    has(&refused(&pipecd("  timeout: -5m\n")), &["is negative"]);
}

#[test]
fn bad_patterns_are_errors_at_load_with_their_place() {
    has(
        &refused(&pipecd("  commitMatcher: {pipeline: '('}\n")),
        &[
            "app.yaml:5:29: error: `spec.commitMatcher.pipeline` is no regular expression: unclosed group",
        ],
    );
    let spec = "  pipeline:\n    stages:\n      - name: A\n        skipOn:\n          paths:\n            - ok/**\n            - a[b\n            - /docs\n";
    has(
        &refused(&pipecd(spec)),
        &[
            "app.yaml:11:15: error: `a[b` is no path pattern",
            "app.yaml:12:15: error: `/docs` is no path pattern: paths are relative",
        ],
    );
    has(
        &refused(&pipecd(
            "  pipeline: {stages: [{name: A, skipOn: {commitMessagePrefixes: ['']}}]}\n",
        )),
        &["an empty prefix"],
    );
}

#[test]
fn a_stage_must_have_a_name_and_options_that_are_a_mapping() {
    has(
        &refused(&pipecd("  pipeline:\n    stages:\n      - with: {}\n")),
        &[
            "app.yaml:7:9: error: `spec.pipeline.stages[0]` has no `name`",
            "name: WAIT",
        ],
    );
    has(
        &refused(&pipecd("  pipeline: {stages: [WAIT]}\n")),
        &["must be a stage, but is the text `WAIT`"],
    );
    has(
        &refused(&pipecd("  pipeline: {stages: [{name: A, with: [a]}]}\n")),
        &["`spec.pipeline.stages[0].with` must be a mapping, but is a list"],
    );
    has(
        &refused(&pipecd("  pipeline: {stages: {name: A}}\n")),
        &["`spec.pipeline.stages` must be a list"],
    );
    has(
        &warned(&pipecd("  pipeline: {stages: []}\n")),
        &["warning: this pipeline has no stages"],
    );
}

fn needs(stages: &[(&str, &str)]) -> String {
    let lines: String = stages
        .iter()
        .map(|(id, rest)| format!("      - {{id: {id}, name: WAIT{rest}}}\n"))
        .collect();
    ours(&format!("  pipeline:\n    stages:\n{lines}"))
}

#[test]
fn needs_are_read_and_warned_of_as_not_served_yet() {
    let checked = load(&needs(&[
        ("a", ""),
        ("b", ", needs: []"),
        ("c", ", needs: [a, b]"),
    ]))
    .unwrap();
    assert!(
        checked
            .warnings
            .iter()
            .all(|told| told.severity == Severity::Warning)
    );
    has(
        &checked.warnings.to_string(),
        &["`needs` is known but not served yet"],
    );
    assert_eq!(checked.value.stages[2].needs.as_ref().unwrap().len(), 2);
}

#[test]
fn duplicate_ids_dangling_and_circular_needs_are_errors_that_name_both_ends() {
    has(
        &refused(&needs(&[("a", ""), ("a", "")])),
        &[
            "app.yaml:8:14: error: the id `a` is here for the second time",
            "the first is that of stage `a` (WAIT) on line 7",
        ],
    );
    has(
        &refused(&needs(&[("first", ""), ("b", ", needs: [frist]")])),
        &[
            "stage `b` (WAIT) on line 8 needs `frist`, but no stage has this id",
            "did you mean `first`?",
        ],
    );
    has(
        &refused(&needs(&[
            ("a", ", needs: [c]"),
            ("b", ""),
            ("c", ", needs: [b]"),
        ])),
        &[
            "these stages wait for each other: stage `a` (WAIT) on line 7, which comes after \
         stage `c` (WAIT) on line 9, which comes after stage `b` (WAIT) on line 8, which comes \
         after stage `a` (WAIT) on line 7",
        ],
    );
    has(
        &refused(&needs(&[("a", ", needs: [a]")])),
        &["wait for each other"],
    );
}

#[test]
fn keys_of_ours_are_refused_under_pipecds_version_and_say_so() {
    has(
        &refused(&pipecd("  deployTargets: {site: [eu]}\n")),
        &[
            "`spec.deployTargets` is no key of `pipecd.dev/v1beta1`",
            "apiVersion: stagewright.dev/v1",
        ],
    );
    has(
        &refused(&pipecd("  pipeline: {stages: [{name: A, needs: []}]}\n")),
        &["`needs` is no key of a stage under"],
    );
}

#[test]
fn a_deploy_target_is_named_once_and_a_plugins_list_says_something() {
    has(
        &refused(&ours(
            "  deployTargets:\n    site:\n      - eu\n      - eu\n",
        )),
        &["app.yaml:8:9: error: the deploy target `eu` is named twice; the first is on line 7"],
    );
    has(
        &refused(&ours("  deployTargets:\n    site:\n")),
        &["names no deploy target"],
    );
}

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
fn a_pipeline_of_endless_stages_or_patterns_is_refused_by_its_limit() {
    let stages = "      - name: A\n".repeat(1_001);
    has(
        &refused(&pipecd(&format!("  pipeline:\n    stages:\n{stages}"))),
        &["at most 1000 stages"],
    );
    let paths = vec!["a"; 400].join(",");
    let stages = format!("      - {{name: A, skipOn: {{paths: [{paths}]}}}}\n").repeat(3);
    has(
        &refused(&pipecd(&format!("  pipeline:\n    stages:\n{stages}"))),
        &["at most 1000 path patterns"],
    );
}
