//! `stagewright cancel`, from another process, at each moment of a deployment.

use stagewright_tests::{Clock, Gate, Project};

use crate::bad_input::one_error;
use crate::clock::run;
use crate::{course, id};

/// A project whose first script says `begun` and waits at a gate; each script is
/// undone by saying `undone`.
fn gated(gate: &Gate) -> Project {
    let project = Project::with(&["script"]);
    project.write(
        "stagewright.yaml",
        "limits: { gracePeriod: 1s }\nplugins:\n  script:\n    allow:\n      \
         commands: [/bin/sh]\n",
    );
    project.pipeline(&format!(
        "- name: SCRIPT_RUN\n  with:\n    run: echo begun; {}; echo through\n    \
         onRollback: echo undone\n\
         - name: SCRIPT_RUN\n  with: {{ run: echo next }}\n",
        gate.wait()
    ));
    project
}

#[test]
fn a_stage_that_runs_is_stopped_and_undone_and_the_run_ends_as_cancelled() {
    let gate = Gate::new();
    let project = gated(&gate);
    let mut run = project.start(&["run", "app.yaml"]);
    run.line_with("| begun");
    let newest = project.newest();
    project
        .run(&[
            "cancel",
            id(&newest),
            "--by",
            "ann",
            "--why",
            "wrong region",
        ])
        .exits(0)
        .says("is being stopped");
    let run = run
        .end()
        .exits(3)
        .says("cancelled by ann: wrong region")
        .says("1 SCRIPT_RUN cancelled")
        .says("1 SCRIPT_RUN | cancelled\n")
        .says("SCRIPT_RUN_ROLLBACK | undone")
        .says("rollback succeeded")
        .says("shop cancelled");
    // Whoever stops a plugin knows whether it was for that or for its time.
    assert!(!run.stdout.contains("timed out"), "{run}");
    let ended = project.newest();
    assert_eq!(
        course(&ended),
        ["SCRIPT_RUN cancelled", "SCRIPT_RUN_ROLLBACK succeeded"]
    );
    assert_eq!(ended["reason"], "cancelled by ann: wrong region");
    assert_eq!(ended["cancel"]["by"], "ann");
    assert_eq!(ended["rollback"]["status"], "succeeded");
    project
        .run(&["show", id(&ended)])
        .exits(0)
        .says("wrong region")
        .says("rollback  succeeded");
}

#[test]
fn why_it_is_cancelled_may_be_said_in_some_sentences_and_no_more() {
    let project = Project::with(&["wait"]);
    project.pipeline("- { name: WAIT, with: { duration: 1h } }\n");
    project.run(&["run", "app.yaml", "--detach"]).exits(5);
    let newest = project.newest();
    let longest = "ö".repeat(1000);
    let cancel = |why: &str| project.run(&["cancel", id(&newest), "--by", "ann", "--why", why]);
    one_error(cancel(&format!("{longest}x")), 2)
        .complains("`--why`: the reason has 1001 characters, and may have 1000");
    assert_eq!(project.newest()["status"], "queued");
    cancel(&format!("  {longest}\n")).exits(0);
    assert_eq!(project.newest()["cancel"]["why"], longest);
}

#[test]
fn without_a_rollback_it_stops_where_it_stands() {
    let gate = Gate::new();
    let project = gated(&gate);
    let mut run = project.start(&["run", "app.yaml"]);
    run.line_with("| begun");
    let newest = project.newest();
    project
        .run(&["cancel", id(&newest), "--by", "ann", "--no-rollback"])
        .exits(0);
    let ended = run
        .end()
        .exits(3)
        .says("cancelled by ann (without a rollback)");
    assert!(!ended.stdout.contains("undone"), "{ended}");
    let ended = project.newest();
    assert_eq!(course(&ended), ["SCRIPT_RUN cancelled"]);
    assert_eq!(ended["rollback"], serde_json::Value::Null);
}

#[test]
fn a_second_stronger_cancel_stops_the_rollback_and_both_say_who_decided_what() {
    let project = Project::with(&["probe"]);
    // It ends when its grace period is over, and not before.
    project.write(
        "stagewright.yaml",
        "limits: { gracePeriod: 1h }\nplugins:\n  probe:\n    allow:\n      commands: [/bin/sh]\n",
    );
    let mut gate = Gate::new();
    project.pipeline(&format!(
        "- name: PROBE\n  with:\n    do:\n      - log: begun\n      - spawn: {{ program: /bin/sh, \
         arguments: [-c, \"trap '' TERM; {}\"] }}\n    undo: [{{ log: undone }}]\n",
        gate.wait()
    ));
    let mut run = project.start(&["run", "app.yaml", "--strategy", "pipeline"]);
    run.line_with("| begun");
    let newest = project.newest();
    let id = id(&newest);
    let cancel = |arguments: &[&str]| {
        let mut all = vec!["cancel", id];
        all.extend(arguments);
        project.run(&all).exits(0);
    };
    cancel(&["--by", "ann", "--why", "wrong region"]);
    cancel(&["--by", "bob", "--no-rollback"]);
    gate.open();
    let reason = "cancelled by ann: wrong region; then by bob without a rollback";
    let ended = run.end().exits(3).says(reason);
    assert!(!ended.stdout.contains("undone"), "{ended}");
    assert_eq!(project.show(id)["reason"], reason);
    project
        .run(&["show", id])
        .exits(0)
        .says(", cancelled by ann: wrong region\n")
        .says(", cancelled by bob without a rollback\n");
}

#[test]
fn a_deployment_that_waits_for_its_plan_is_cancelled_at_once_and_never_planned() {
    let project = Project::with(&["wait"]);
    project.pipeline("- { name: WAIT, with: { duration: 1h } }\n");
    project.run(&["run", "app.yaml", "--detach"]).exits(5);
    let queued = project.newest();
    project
        .run(&["cancel", id(&queued), "--by", "ann"])
        .exits(0)
        .says("is cancelled");
    project.run(&["work", "--until-idle"]).exits(0);
    let ended = project.newest();
    assert_eq!(ended["status"], "cancelled");
    assert_eq!(ended["stages"], serde_json::json!([]));
}

#[test]
fn a_suspended_stage_ends_without_a_call_though_nobody_drives_it() {
    let project = Project::with(&["wait"]);
    project.pipeline("- { name: WAIT, with: { duration: 1h } }\n");
    project.run(&["run", "app.yaml", "--detach"]).exits(5);
    project.run(&["work", "--until-idle"]).exits(5);
    let suspended = project.newest();
    assert_eq!(course(&suspended), ["WAIT suspended"]);
    project
        .run(&["cancel", id(&suspended), "--by", "ann"])
        .exits(0)
        .says("is cancelled");
    let ended = project.newest();
    assert_eq!(course(&ended), ["WAIT cancelled"]);
    assert_eq!(ended["stages"][0]["attempt"]["turn"], 1);
}

#[test]
fn a_planning_that_does_not_end_is_dropped_when_it_is_cancelled() {
    let project = Project::with(&["probe"]);
    project.write(
        "stagewright.yaml",
        "plugins: { probe: { config: { do: [{ log: thinking }, spin] } } }\n",
    );
    project.pipeline("- name: PROBE\n");
    let mut run = project.start(&["run", "app.yaml"]);
    run.line_with("plan | thinking");
    let newest = project.newest();
    assert_eq!(newest["status"], "planning");
    project
        .run(&["cancel", id(&newest), "--by", "ann"])
        .exits(0)
        .says("is cancelled");
    run.end().exits(3).says("shop cancelled");
}

#[test]
fn a_planning_that_does_not_end_is_left_when_the_run_is_interrupted() {
    let project = Project::with(&["probe"]);
    project.write(
        "stagewright.yaml",
        "plugins: { probe: { config: { do: [{ log: thinking }, spin] } } }\n",
    );
    project.pipeline("- name: PROBE\n");
    let mut run = project.start(&["run", "app.yaml"]);
    run.line_with("plan | thinking");
    run.interrupt();
    run.end().exits(5).says("is left queued");
    // It was nobody's failure: it counts for no attempt.
    assert_eq!(project.newest()["planAttempt"], 0);
}

#[test]
fn a_rollback_is_stopped_by_a_cancel_without_a_rollback_and_by_no_other() {
    let gate = Gate::new();
    let project = Project::with(&["script"]);
    project.write(
        "stagewright.yaml",
        "limits: { gracePeriod: 1s }\nplugins:\n  script:\n    allow:\n      \
         commands: [/bin/sh]\n",
    );
    project.pipeline(&format!(
        "- name: SCRIPT_RUN\n  with:\n    run: exit 7\n    \
         onRollback: echo undoing; {}\n",
        gate.wait()
    ));
    let mut run = project.start(&["run", "app.yaml"]);
    run.line_with("| undoing");
    let newest = project.newest();
    project
        .run(&["cancel", id(&newest), "--by", "ann"])
        .exits(0)
        .says("it is being undone already");
    project
        .run(&["cancel", id(&newest), "--by", "ann", "--no-rollback"])
        .exits(0)
        .says("is being stopped");
    // The deployment failed; what was cancelled is its rollback.
    run.end()
        .exits(1)
        .says("rollback cancelled: cancelled by ann");
    let ended = project.newest();
    assert_eq!(ended["status"], "failed");
    assert_eq!(ended["rollback"]["status"], "cancelled");
    assert_eq!(
        course(&ended),
        ["SCRIPT_RUN failed", "SCRIPT_RUN_ROLLBACK cancelled"]
    );
}

#[test]
fn what_is_at_its_end_or_unknown_can_not_be_cancelled() {
    let project = Project::with(&["wait"]);
    project.pipeline("- { name: WAIT, with: { duration: 1ms } }\n");
    project.run(&["run", "app.yaml"]).exits(0);
    let ended = project.newest();
    project
        .run(&["cancel", id(&ended), "--by", "ann"])
        .exits(2)
        .complains("is succeeded: it is at its end, so nothing can be cancelled");
    project
        .run(&["cancel", "nonesuch", "--by", "ann"])
        .exits(2)
        .complains("there is no deployment nonesuch");
    // Such as a variable that nobody has set.
    for command in ["cancel", "show", "logs"] {
        project
            .run(&[command, ""])
            .exits(2)
            .complains("the id of the deployment is empty");
    }
}

#[test]
fn a_guest_that_heeds_no_cancel_is_dropped_after_the_grace_period() {
    let project = Project::with(&["probe"]);
    project.write("stagewright.yaml", "limits: { gracePeriod: 1s }\n");
    project.pipeline("- name: PROBE\n  with: { do: [{ log: round and round }, spin] }\n");
    let mut run = project.start(&["run", "app.yaml", "--strategy", "pipeline"]);
    run.line_with("| round and round");
    let newest = project.newest();
    project
        .run(&["cancel", id(&newest), "--by", "ann"])
        .exits(0);
    run.end().exits(3);
    assert_eq!(course(&project.newest()), ["PROBE cancelled"]);
}

#[test]
fn a_cancel_while_no_host_is_there_stops_a_stage_whose_host_had_died() {
    let gate = Gate::new();
    let project = gated(&gate);
    let mut run = project.start(&["run", "app.yaml"]);
    run.line_with("| begun");
    run.kill();
    let orphan = project.newest();
    project
        .run(&["cancel", id(&orphan), "--by", "ann"])
        .exits(0);
    project.run(&["work", "--until-idle"]).exits(0);
    assert_eq!(
        course(&project.newest()),
        ["SCRIPT_RUN cancelled", "SCRIPT_RUN_ROLLBACK succeeded"]
    );
}

/// A project with an approval that may take a minute, and what comes before it.
fn limited(before: &str) -> Project {
    let project = Project::with(&["approval", "script"]);
    project.grant_shell();
    project.pipeline(&format!(
        "{before}- {{ name: WAIT_APPROVAL, timeout: 1m }}\n"
    ));
    project
}

#[test]
fn a_cancel_after_a_limit_that_no_host_has_seen_stores_that_it_has_passed() {
    let (clock, project) = (Clock::new(), limited(""));
    project.run(&["run", "app.yaml", "--detach"]).exits(5);
    let first = id(&project.newest()).to_owned();
    project.run(&["work", "--until-idle"]).exits(5);
    project.run(&["run", "app.yaml", "--detach"]).exits(5);
    let second = id(&project.newest()).to_owned();
    clock.set(3600);
    run(&project, &clock, &["cancel", &first, "--by", "ann"])
        .exits(2)
        .complains("is failed: it is at its end");
    assert_eq!(project.show(&first)["status"], "failed");
    // Nothing is before the second one any more.
    run(&project, &clock, &["work", "--until-idle"]).exits(5);
    assert_eq!(course(&project.show(&second)), ["WAIT_APPROVAL suspended"]);
}

#[test]
fn a_cancel_after_such_a_limit_finds_that_it_is_being_undone_and_so_it_is() {
    let before = "- { name: SCRIPT_RUN, with: { run: echo done, onRollback: echo undone } }\n";
    let (clock, project) = (Clock::new(), limited(before));
    project.run(&["run", "app.yaml", "--detach"]).exits(5);
    let late = id(&project.newest()).to_owned();
    project.run(&["work", "--until-idle"]).exits(5);
    clock.set(3600);
    run(&project, &clock, &["cancel", &late, "--by", "ann"])
        .exits(0)
        .says("it is being undone already");
    assert_eq!(project.show(&late)["status"], "rolling-back");
    run(&project, &clock, &["work", "--until-idle"]).exits(0);
    let late = project.show(&late);
    assert_eq!(late["status"], "failed");
    assert_eq!(late["rollback"]["status"], "succeeded");
}
