//! A plugin's complaint while planning: it fails the plan and is shown where it
//! belongs, never swallowed.

use std::fs;

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
        .says("would not wait at all")
        // Its lines stand as they are, behind the one that says what failed.
        .says("10 |           duration: 0s\n       |                     ^^\n");
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

#[test]
fn an_option_of_the_wrong_type_is_shown_with_what_its_schema_says_of_it() {
    let project = Project::with(&["wait"]);
    project.pipeline("- name: WAIT\n  with:\n    duration: 10\n");
    project
        .run(&["check", "app.yaml"])
        .exits(2)
        .complains("app.yaml:9:21: error: the options of WAIT: `duration` is a number")
        .complains("9 |           duration: 10\n  |                     ^^\n")
        .complains("= help: How long to wait, such as `30s`, `10m` or `1h30m`; more than zero\n");
    project.pipeline("- { name: WAIT, with: {} }\n");
    project
        .run(&["check", "app.yaml"])
        .exits(2)
        .complains("`duration` is missing")
        .complains("= help: How long to wait");
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
fn a_plugin_that_can_not_say_the_strategy_fails_the_plan_with_its_words() {
    let project = Project::with(&["probe"]);
    project.pipeline("- { name: PROBE }\n");
    // It is asked only when there is something that runs.
    project.run(&["run", "app.yaml"]).exits(0);
    project.write(
        "stagewright.yaml",
        "plugins: { probe: { config: { decide: [{ panic: can not tell }] } } }\n",
    );
    project
        .run(&["run", "app.yaml"])
        .exits(1)
        .says("plugin `probe`, call `determine-strategy`")
        .says("can not tell");
    let failed = project.newest();
    assert_eq!(failed["stages"], serde_json::json!([]));
    let reason = failed["reason"].as_str().expect("a text");
    assert!(reason.contains("can not tell"), "{reason}");
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

#[test]
fn a_planning_under_which_its_host_dies_is_begun_as_often_as_the_limit_says_and_fails() {
    for (attempts, times) in [(1, "once"), (2, "2 times")] {
        let limits = format!("limits: {{ attempts: {attempts}, planTimeout: 1h }}\n");
        let project = probing("{ log: looking around }, spin", &limits);
        let mut host = project.start(&["run", "app.yaml"]);
        host.line_with("plan | looking around");
        let newest = project.newest();
        let id = id(&newest);
        assert_eq!(newest["status"], "planning");
        let mut follower = project.start(&["logs", id, "plan", "--follow"]);
        follower.line_with("looking around");
        for _ in 1..attempts {
            host.kill();
            host = project.start(&["work"]);
            follower.line_with("looking around");
        }
        host.kill();
        project.run(&["work", "--until-idle"]).exits(0);
        let failed = project.show(id);
        assert_eq!(failed["status"], "failed");
        let reason = format!("its host died {times} while planning it");
        assert_eq!(failed["reason"], reason);
        let log = follower.end().exits(0).stdout;
        assert_eq!(log.matches("looking around").count(), attempts, "{log}");
    }
}

#[test]
fn a_problem_that_a_plugin_finds_names_the_file_as_the_user_did() {
    for versioned in [false, true] {
        let project = Project::with(&["wait"]);
        project.pipeline(ZERO);
        fs::create_dir(project.path("app")).unwrap();
        fs::rename(project.path("app.yaml"), project.path("app/app.yaml")).unwrap();
        if versioned {
            project.write(".gitignore", ".stagewright\nplugins\n");
            project.commit(".", "Add the shop");
        }
        project
            .run(&["plan", "app/app.yaml"])
            .exits(2)
            .complains("app/app.yaml:10:21: error: plugin `wait`");
        let plan = project.run(&["--output", "json", "plan", "./app/app.yaml"]);
        let plan = plan.exits(2).json();
        assert_eq!(plan["error"]["problems"][0]["file"], "./app/app.yaml");
        project.run(&["run", "app/app.yaml"]).exits(1);
        let failed = project.newest();
        let reason = failed["reason"].as_str().expect("a text");
        assert!(reason.contains("app/app.yaml:10:21"), "{reason}");
    }
}

#[test]
fn a_wait_that_ends_beyond_any_calendar_is_refused_with_its_place() {
    let project = Project::with(&["wait"]);
    project.pipeline("- { name: WAIT, with: { duration: 9999999999h } }\n");
    project
        .run(&["plan", "app.yaml"])
        .exits(2)
        .complains("app.yaml:7:41: error: plugin `wait`")
        .complains("292 years are the limit");
}

#[test]
fn a_script_that_no_program_can_be_given_is_refused_when_it_is_planned() {
    let project = Project::with(&["script"]);
    let long = "x".repeat(128 << 10);
    for (options, place) in [
        (format!("run: \": {long}\""), "app.yaml:9:16"),
        (
            format!("env: {{ LONG: {long} }}\n    run: 'true'"),
            "app.yaml:9",
        ),
    ] {
        project.grant_shell();
        project.pipeline(&format!("- name: SCRIPT_RUN\n  with:\n    {options}\n"));
        project
            .run(&["plan", "app.yaml", "--strategy", "pipeline"])
            .exits(2)
            .complains(place)
            .complains("a program can be given at most");
    }
}
