//! A plugin's complaint while planning: it fails the plan and is shown where it
//! belongs, never swallowed.

use serde_json::json;
use stagewright_tests::Project;

use crate::id;

const ZERO: &str = "- name: WAIT\n  desc: for nothing\n  with:\n    duration: 0s\n";

#[test]
fn an_option_that_a_plugin_refuses_is_shown_with_its_line_and_a_caret() {
    let project = Project::with(&["wait"]);
    project.pipeline(ZERO);
    let plan = project.run(&["plan", "app.yaml"]).exits(2);
    let plan = plan.complains("app.yaml:10:21: error: plugin `wait`");
    let plan = plan.complains("10 |           duration: 0s\n   |                     ^^\n");
    let plan = plan.complains("would not wait at all");
    assert_eq!(plan.stdout, "");
}

#[test]
fn a_plan_that_fails_ends_the_deployment_with_the_plugins_words_in_its_reason_and_its_log() {
    let project = Project::with(&["wait"]);
    project.pipeline(ZERO);
    project
        .run(&["run", "app.yaml"])
        .exits(1)
        .says("plan | ")
        .says("shop failed")
        .says("would not wait at all");
    let failed = project.newest();
    assert_eq!(failed["status"], "failed");
    let reason = failed["reason"].as_str().expect("a text");
    assert!(
        reason.contains("app.yaml:10:21") && reason.contains("would not wait"),
        "{reason}"
    );
    assert_eq!(failed["stages"], json!([]));
    let log = project.log(id(&failed), "plan").join("\n");
    assert!(log.contains("would not wait at all"), "{log}");
    project
        .run(&["show", id(&failed)])
        .exits(0)
        .says("would not wait at all");
}

/// A host whose plugin `probe` does this whenever it plans.
fn probing(step: &str, limits: &str) -> Project {
    let project = Project::with(&["probe"]);
    project.write(
        "stagewright.yaml",
        format!("{limits}plugins: {{ probe: {{ config: {{ do: [{step}] }} }} }}\n"),
    );
    project.application("plugins: { probe: }\n");
    project
}

#[test]
fn a_plugin_that_traps_while_planning_fails_the_plan_with_its_own_words() {
    probing("{ panic: these very words }", "")
        .run(&["plan", "app.yaml"])
        .exits(2)
        .complains("plugin `probe`, call `determine-versions`")
        .complains("these very words");
}

#[test]
fn a_plugin_that_never_answers_while_planning_is_ended_by_the_plans_limit() {
    let project = probing("spin", "limits: { planTimeout: 500ms }\n");
    project
        .run(&["plan", "app.yaml"])
        .exits(2)
        .complains("plugin `probe`, call `determine-versions`")
        .complains("500ms");
    project
        .run(&["run", "app.yaml"])
        .exits(1)
        .says("shop failed");
}

#[test]
fn what_a_plugin_says_while_planning_is_shown_with_the_plan_and_kept_with_the_deployment() {
    let project = probing("{ log: looked around }", "");
    project
        .run(&["plan", "app.yaml"])
        .exits(0)
        .says("looked around");
    project
        .run(&["run", "app.yaml"])
        .exits(0)
        .says("plan | looked around");
    let log = project.log(id(&project.newest()), "plan");
    assert_eq!(log[0], "looked around");
}
