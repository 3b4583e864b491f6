//! What reading an application's file promises.

mod header;
mod pipeline;

use std::time::Duration;

use super::{ApiVersion, Application, ApplicationKind, DEFAULT_TIMEOUT, StageSpec};
use crate::definition::decode::Checked;
use crate::definition::{Source, format_duration};

pub(super) fn load(text: &str) -> Result<Checked<Application>, String> {
    let source = Source::from_text("app.yaml", text);
    Application::from_source(&source, "shop", &|_, _| false).map_err(|told| told.to_string())
}

fn read(text: &str) -> Application {
    let checked = load(text).unwrap_or_else(|told| panic!("{told}"));
    assert!(checked.warnings.is_empty(), "{}", checked.warnings);
    checked.value
}

pub(super) fn warned(text: &str) -> String {
    load(text)
        .unwrap_or_else(|told| panic!("{told}"))
        .warnings
        .to_string()
}

pub(super) fn refused(text: &str) -> String {
    load(text).expect_err("it is refused")
}

/// An application of one plugin with these lines in its `spec`.
pub(super) fn pipecd(spec: &str) -> String {
    format!(
        "apiVersion: pipecd.dev/v1beta1\nkind: Application\nspec:\n  plugins: {{site: }}\n{spec}"
    )
}

pub(super) fn ours(spec: &str) -> String {
    pipecd(spec).replace("pipecd.dev/v1beta1", "stagewright.dev/v1")
}

#[track_caller]
pub(super) fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "missing: {part}\n{text}");
    }
}

pub(in crate::definition) const WHOLE: &str = r#"
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
