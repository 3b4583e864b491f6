//! `skipOn`: what it skips, and what it must not.

use serde_json::Value;
use stagewright_tests::Project;

use crate::course;

/// A pipeline of two stages, of which the first may be skipped.
fn application(skip: &str, wait: &str) -> String {
    format!(
        "
apiVersion: pipecd.dev/v1beta1
kind: Application
spec:
  name: shop
  pipeline:
    stages:
      - name: WAIT
        with: {{ duration: {wait} }}
        skipOn: {skip}
      - name: WAIT
        with: {{ duration: {wait} }}
"
    )
}

const PATHS: &str = "{ paths: ['docs/**', '*.md'] }";

fn skipped(plan: &Value) -> &Value {
    assert_eq!(plan["stages"][1]["skip"], Value::Null, "{plan}");
    &plan["stages"][0]["skip"]
}

#[test]
fn a_stage_is_skipped_for_any_prefix_of_the_commit_message_and_the_next_one_runs() {
    let project = Project::with(&["wait"]);
    let skip = "{ commitMessagePrefixes: ['chore:', 'docs:'] }";
    project.write("app.yaml", application(skip, "10ms"));
    project.write(".gitignore", "/plugins\n/.stagewright\n");
    project.commit(".", "feature: docs: within");
    project.commit(".", "docs: say more\n\nfeature: no");
    let plan = project.plan(&["--commit", "main~1"]);
    assert_eq!(skipped(&plan), &Value::Null, "{plan}");
    project
        .run(&["run", "app.yaml", "--commit", "main"])
        .exits(0)
        .says("1 WAIT skipped: the commit message begins with `docs:` (skipOn)");
    let ran = project.newest();
    assert_eq!(course(&ran), ["WAIT skipped", "WAIT succeeded"]);
    assert_eq!(ran["stages"][0]["startedAt"], Value::Null);
}

#[test]
fn a_stage_that_needs_one_that_is_skipped_runs() {
    let project = Project::with(&["wait"]);
    project.pipeline(
        "- id: skipped\n  name: WAIT\n  with: { duration: 1ms }\n  \
         skipOn: { commitMessagePrefixes: ['docs:'] }\n\
         - { id: behind, name: WAIT, needs: [skipped], with: { duration: 1ms } }\n",
    );
    project.write(".gitignore", "/plugins\n/.stagewright\n");
    project.commit(".", "docs: say more");
    project
        .run(&["run", "app.yaml", "--commit", "main"])
        .exits(0);
    let ran = project.newest();
    assert_eq!(course(&ran), ["WAIT skipped", "WAIT succeeded"]);
}

#[test]
fn paths_skip_only_when_every_changed_file_matches_and_never_on_a_first_deployment() {
    let project = Project::with(&["wait"]);
    project.write("app.yaml", application(PATHS, "10ms"));
    project.write(".gitignore", "/plugins\n/.stagewright\n");
    project.write("docs/a.txt", "one");
    project.commit(".", "First");
    // All its files are new, and all but two match; there is nothing before it.
    let first = project.plan(&["--commit", "main"]);
    assert_eq!(skipped(&first), &Value::Null, "{first}");
    project
        .run(&["run", "app.yaml", "--commit", "main"])
        .exits(0);

    project
        .write("docs/deep/b.txt", "two")
        .write("README.md", "two");
    project.commit(".", "All match");
    let all = project.plan(&["--commit", "main"]);
    assert_eq!(skipped(&all), "all 2 changed files match `skipOn.paths`");

    project.write("main.c", "two");
    project.commit(".", "One does not");
    let one = project.plan(&["--commit", "main"]);
    assert_eq!(skipped(&one), &Value::Null, "{one}");

    let same = project.plan(&["--commit", "main~2"]);
    assert_eq!(
        skipped(&same),
        &Value::Null,
        "no changed file is not all files"
    );
}

#[test]
fn a_quick_sync_and_a_rollback_know_neither_skip_on_nor_the_timeout_of_the_pipelines_stages() {
    let project = Project::with(&["probe", "script"]);
    project.pipeline(
        "- { name: PROBE, timeout: 7s, skipOn: { commitMessagePrefixes: [all] } }\n\
         - name: SCRIPT_RUN\n  timeout: 8s\n  skipOn: { commitMessagePrefixes: [all] }\n  \
         with: { run: 'true', onRollback: 'true' }\n",
    );
    project.write(".gitignore", "/plugins\n/.stagewright\n");
    project.commit(".", "all of it");
    let quick = project.plan(&["--commit", "main", "--strategy", "quick-sync"]);
    let pipeline = project.plan(&["--commit", "main", "--strategy", "pipeline"]);
    let limits = |plan: &Value| -> Vec<(String, bool, Value)> {
        let stages = plan["stages"].as_array().expect("a list").iter();
        stages
            .map(|stage| {
                let name = stage["name"].as_str().expect("a name");
                (
                    name.to_owned(),
                    stage["skip"].is_null(),
                    stage["timeoutMs"].clone(),
                )
            })
            .collect()
    };
    assert_eq!(
        limits(&quick),
        [
            ("PROBE".to_owned(), true, Value::Null),
            ("PROBE_ROLLBACK".to_owned(), true, Value::Null)
        ]
    );
    assert_eq!(
        limits(&pipeline),
        [
            ("PROBE".to_owned(), false, 7000.into()),
            ("SCRIPT_RUN".to_owned(), false, 8000.into()),
            ("SCRIPT_RUN_ROLLBACK".to_owned(), true, Value::Null)
        ]
    );
}

#[test]
fn a_pipeline_of_which_every_stage_is_skipped_has_succeeded() {
    let project = Project::with(&["wait"]);
    project.pipeline(
        "- { name: WAIT, with: { duration: 1h }, skipOn: { commitMessagePrefixes: [all] } }\n",
    );
    project.write(".gitignore", "/plugins\n/.stagewright\n");
    project.commit(".", "all of it");
    project
        .run(&["run", "app.yaml", "--commit", "main"])
        .exits(0)
        .says("1 WAIT skipped")
        .says("shop succeeded");
}
