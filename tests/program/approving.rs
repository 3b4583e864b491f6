//! `stagewright approve`: who may, when, what comes of it, and what is told of a
//! stage that waits for it.

use serde_json::Value;
use stagewright_tests::{Clock, Ended, Gate, Project, Running};

use crate::{course, id};

const MINUTE: i64 = 60;

/// A project whose deployment waits for an approval, by these options.
fn project(options: &str) -> Project {
    let project = Project::with(&["approval"]);
    project.pipeline(&format!("- {{ name: WAIT_APPROVAL, with: {options} }}\n"));
    project
}

/// Follows a deployment of `app.yaml` until its stage waits. Gives its id.
fn follow(project: &Project) -> (Running, String) {
    let mut run = project.start(&["run", "app.yaml"]);
    run.line_with(" suspended until someone acts");
    let id = id(&project.newest()).to_owned();
    (run, id)
}

fn approve(project: &Project, id: &str, by: &str) -> Ended {
    project.run(&["approve", id, "--by", by])
}

/// Who approved the first stage, in order.
fn approvers(deployment: &Value) -> Vec<&str> {
    let commands = deployment["stages"][0]["commands"].as_array();
    let commands = commands.expect("a list").iter();
    commands
        .map(|command| command["by"].as_str().expect("a name"))
        .collect()
}

#[test]
fn an_approval_from_another_process_lets_the_run_that_follows_go_on_to_its_end() {
    let project = Project::with(&["approval", "script"]);
    project.grant_shell().pipeline(
        "- { name: WAIT_APPROVAL }\n\
         - { name: SCRIPT_RUN, with: { run: echo behind it } }\n",
    );
    let (run, id) = follow(&project);
    approve(&project, &id, "ann").exits(0).says(&format!(
        "stage 1 (WAIT_APPROVAL) of deployment {id} was approved by ann"
    ));
    run.end()
        .exits(0)
        .says("1 WAIT_APPROVAL | Waiting for the approval of anyone")
        .says("1 WAIT_APPROVAL | ann approved at 2")
        .says("1 WAIT_APPROVAL | Approved by ann")
        .says("2 SCRIPT_RUN | behind it");
    let done = project.show(&id);
    assert_eq!(
        course(&done),
        ["WAIT_APPROVAL succeeded", "SCRIPT_RUN succeeded"]
    );
    // A wake is a turn, not an attempt.
    let attempt = &done["stages"][0]["attempt"];
    assert_eq!(
        (&attempt["number"], &attempt["turn"]),
        (&1.into(), &2.into())
    );
    assert_eq!(done["stages"][0]["cause"], "command");
}

#[test]
fn several_must_approve_each_is_counted_once_and_the_unlisted_are_refused_when_they_try() {
    let project = project("{ approvers: [ann, bob, cy], minApproverNum: 2 }");
    let (mut run, id) = follow(&project);
    approve(&project, &id, "ann").exits(0);
    run.line_with(" suspended until someone acts");
    project
        .run(&["show", &id])
        .exits(0)
        .says("1 of 2 approved")
        .says("1 WAIT_APPROVAL waits for 1 more of bob, cy to approve it: ");
    approve(&project, &id, "ann")
        .exits(0)
        .says("stage 1 (WAIT_APPROVAL) was approved by ann already");
    approve(&project, &id, "eve")
        .exits(2)
        .complains("eve may not approve stage 1 (WAIT_APPROVAL); these may: ann, bob, cy");
    let waiting = project.show(&id);
    assert_eq!(approvers(&waiting), ["ann"]);
    assert_eq!(course(&waiting), ["WAIT_APPROVAL suspended"]);
    approve(&project, &id, "cy").exits(0);
    run.end()
        .exits(0)
        .says("1 WAIT_APPROVAL | Approved by ann, cy");
    assert_eq!(approvers(&project.show(&id)), ["ann", "cy"]);
    let log = project.log(&id, "1");
    assert_eq!(log.len(), 4, "each approval is told once: {log:?}");
}

#[test]
fn show_says_for_whom_a_stage_waits_since_when_and_how_to_approve() {
    let project = project("{ approvers: [ann, bob] }");
    let (run, id) = follow(&project);
    let waiting = project.show(&id);
    let wait = &waiting["stages"][0]["wait"];
    assert_eq!(wait["afterCommand"], 0, "{wait}");
    assert_eq!(wait["until"], Value::Null, "{wait}");
    // Whoever is asked under their own name need not give it.
    for (user, by) in [
        ("USER=bob", ""),
        ("USER=eve", " --by NAME"),
        ("USER=", " --by NAME"),
    ] {
        let shown = project.start_by(&["env", user], &["show", &id]).end();
        shown.exits(0).says("0 of 1 approved").says(&format!(
            "1 WAIT_APPROVAL waits for 1 of ann, bob to approve it: `stagewright approve \
             {id}{by}`; since 20"
        ));
    }
    // The advice works as it stands.
    let bob = project.start_by(&["env", "USER=bob"], &["approve", &id]);
    bob.end().exits(0);
    run.end().exits(0);
    let shown = project.run(&["show", &id]).exits(0);
    assert!(!shown.stdout.contains("waits for"), "{shown} is over");
}

#[test]
fn of_two_stages_that_wait_the_one_that_is_meant_is_named() {
    let project = Project::with(&["approval"]);
    project.pipeline(
        "- { name: WAIT_APPROVAL, id: a, needs: [] }\n\
         - { name: WAIT_APPROVAL, id: b, needs: [] }\n",
    );
    let mut run = project.start(&["run", "app.yaml"]);
    run.line_with(" suspended until someone acts");
    run.line_with(" suspended until someone acts");
    let id = id(&project.newest()).to_owned();
    approve(&project, &id, "ann")
        .exits(2)
        .complains("several stages wait to be approved")
        .complains("1 WAIT_APPROVAL, 2 WAIT_APPROVAL");
    let cy = ["env", "USER=cy"];
    let shown = project.start_by(&cy, &["show", &id]).end().exits(0);
    for place in ["1", "2"] {
        let shown = shown.clone();
        shown.says(&format!(
            "{place} WAIT_APPROVAL waits for anyone to approve it: `stagewright approve {id} {place}`"
        ));
    }
    project
        .run(&["approve", &id, "2", "--by", "ann"])
        .exits(0)
        .says("stage 2 (WAIT_APPROVAL)");
    run.line_with("2 WAIT_APPROVAL succeeded");
    approve(&project, &id, "ann")
        .exits(0)
        .says("stage 1 (WAIT_APPROVAL)");
    run.end().exits(0);
}

#[test]
fn an_approval_between_the_plugins_read_and_its_suspension_is_not_missed() {
    let mut gate = Gate::new();
    let project = Project::with(&["probe"]);
    project.write(
        "stagewright.yaml",
        "plugins:\n  probe:\n    allow:\n      commands: [/bin/sh]\n",
    );
    project.pipeline(&format!(
        "- name: PROBE\n  with:\n    operation: approve\n    operators: [ann]\n    do:\n      \
         - commands: 0\n      \
         - log: nobody so far\n      \
         - spawn: {{ program: /bin/sh, arguments: [-c, \"{}\"] }}\n      \
         - suspend-until-command: 0\n    woken:\n      - commands: 0\n",
        gate.wait()
    ));
    let mut run = project.start(&["run", "app.yaml", "--strategy", "pipeline"]);
    run.line_with("| nobody so far");
    let id = id(&project.newest()).to_owned();
    approve(&project, &id, "ann").exits(0);
    gate.open();
    run.end()
        .exits(0)
        .says("1 PROBE | command 1: approve by ann at ");
    let done = project.show(&id);
    assert_eq!(course(&done), ["PROBE succeeded"]);
    assert_eq!(done["stages"][0]["attempt"]["turn"], 2);
}

#[test]
fn an_approval_before_the_time_limit_counts_though_a_host_comes_only_after_it() {
    let project = Project::with(&["approval"]);
    project.pipeline("- { name: WAIT_APPROVAL, timeout: 5m }\n");
    let (run, id) = follow(&project);
    run.kill();
    approve(&project, &id, "ann").exits(0);
    // For those who come late, the limit has passed.
    let clock = Clock::new();
    clock.set(10 * MINUTE);
    let late = |arguments: &[&str]| {
        let by = ["env", &clock.variable()];
        project.start_by(&by, arguments).end()
    };
    late(&["approve", &id, "--by", "bob"])
        .exits(2)
        .complains("it is too late to approve it");
    late(&["show", &id])
        .exits(0)
        .says("1 WAIT_APPROVAL waits for a host: ");
    late(&["work", "--until-idle"]).exits(0);
    assert_eq!(course(&project.show(&id)), ["WAIT_APPROVAL succeeded"]);
}

#[test]
fn an_approval_that_no_host_was_there_to_see_counts_when_one_comes() {
    let project = project("{ minApproverNum: 2 }");
    let (run, id) = follow(&project);
    run.kill();
    approve(&project, &id, "ann").exits(0);
    project
        .run(&["show", &id])
        .exits(0)
        .says("1 WAIT_APPROVAL waits for a host: ")
        .says("or 1 more person to approve it: ");
    // One is not enough: it looks at it, and waits on.
    project.run(&["work", "--until-idle"]).exits(5);
    assert_eq!(course(&project.show(&id)), ["WAIT_APPROVAL suspended"]);
    approve(&project, &id, "bob").exits(0);
    project.run(&["work", "--until-idle"]).exits(0);
    let done = project.show(&id);
    assert_eq!(course(&done), ["WAIT_APPROVAL succeeded"]);
    assert_eq!(approvers(&done), ["ann", "bob"]);
    assert_eq!(done["stages"][0]["losses"], 0);
}

#[test]
fn what_is_not_to_be_approved_now_is_refused_with_what_it_is() {
    let project = Project::with(&["approval", "wait"]);
    project.pipeline(
        "- { name: WAIT_APPROVAL }\n\
         - { name: WAIT, with: { duration: 1h } }\n\
         - { name: WAIT_APPROVAL }\n",
    );
    let (mut run, id) = follow(&project);
    let approve = |stage: &str| project.run(&["approve", &id, stage, "--by", "ann"]);
    approve("3")
        .exits(2)
        .complains("stage 3 (WAIT_APPROVAL) has not started, it is too early to approve it");
    approve("2")
        .exits(2)
        .complains("stage 2 (WAIT) is none that people approve");
    approve("4").exits(2).complains("has no stage 4");
    approve("plan")
        .exits(2)
        .complains("a plan is nothing that people approve; name a stage");
    approve("1").exits(0);
    run.line_with("2 WAIT suspended");
    approve("1")
        .exits(2)
        .complains("stage 1 (WAIT_APPROVAL) is succeeded, it is too late to approve it");
    project
        .run(&["approve", &id, "--by", "ann"])
        .exits(2)
        .complains(&format!(
            "deployment {id} is running and has no stage now that people approve"
        ));
    project.run(&["cancel", &id, "--by", "ann"]).exits(0);
    run.end().exits(3);
    approve("3")
        .exits(2)
        .complains("stage 3 (WAIT_APPROVAL) is not-run, it is too late to approve it");
    assert_eq!(
        approvers(&project.show(&id)),
        ["ann"],
        "nothing that was refused is kept"
    );
}

#[test]
fn who_approves_is_given_by_the_argument_or_else_by_the_environment() {
    let project = project("{ minApproverNum: 3 }");
    let (run, id) = follow(&project);
    let by = |environment: &[&str], arguments: &[&str]| {
        let mut program = vec!["env", "USER=cy"];
        program.extend(environment);
        let mut all = vec!["approve", &id];
        all.extend(arguments);
        project.start_by(&program, &all).end()
    };
    by(&["STAGEWRIGHT_USER=bob"], &["--by", "ann"])
        .exits(0)
        .says("was approved by ann");
    by(&["STAGEWRIGHT_USER=bob"], &[])
        .exits(0)
        .says("was approved by bob");
    by(&["USER="], &[])
        .exits(2)
        .complains("say who does it: add `--by NAME`");
    by(&[], &[]).exits(0).says("was approved by cy");
    run.end().exits(0);
    assert_eq!(approvers(&project.show(&id)), ["ann", "bob", "cy"]);
}

#[test]
fn one_that_nobody_approves_in_its_time_has_timed_out() {
    let project = Project::with(&["approval"]);
    project.pipeline("- { name: WAIT_APPROVAL, timeout: 1s }\n");
    project
        .run(&["run", "app.yaml"])
        .exits(1)
        .says("1 WAIT_APPROVAL timed-out")
        .says("timed out: it may take 1s");
    let ended = project.newest();
    approve(&project, id(&ended), "ann")
        .exits(2)
        .complains("is failed and has no stage now that people approve");
}

#[test]
fn options_that_could_never_be_fulfilled_are_refused_before_anything_runs() {
    let project = project("{ approvers: [ann, bob], minApproverNum: 3 }");
    project
        .run(&["plan", "app.yaml"])
        .exits(2)
        .complains("app.yaml:7:79: error: ")
        .complains("3 people must approve, but `approvers` lists 2");
    // A schema knows these two, so that `check` need not ask the plugin.
    for options in ["approvers: []", "minApproverNum: 0"] {
        project.pipeline(&format!(
            "- {{ name: WAIT_APPROVAL, with: {{ {options} }} }}\n"
        ));
        project
            .run(&["check", "app.yaml"])
            .exits(2)
            .complains("app.yaml:7:")
            .complains("error: the options of WAIT_APPROVAL: ");
    }
}

#[test]
fn a_plugin_that_asks_for_commands_while_planning_is_refused_and_told_why() {
    let project = Project::with(&["probe"]);
    project.write(
        "stagewright.yaml",
        "plugins:\n  probe:\n    config: { do: [{ commands: 0 }] }\n",
    );
    project.pipeline("- { name: PROBE }\n");
    project.run(&["plan", "app.yaml"]).exits(0).says(
        "denied: plugin `probe` called `commands.after` while planning, where there is no stage yet",
    );
}

#[test]
fn a_name_is_taken_alike_wherever_it_is_given() {
    let project = project("{ approvers: [' ann '] }");
    for wrong in ["", " ", "a\nb", "\u{1b}[31mann"] {
        project
            .run(&["run", "app.yaml", "--commander", wrong])
            .exits(2)
            .complains("is no name");
    }
    project
        .run(&["deployments"])
        .exits(0)
        .says("no deployments");
    let mut run = project.start(&["run", "app.yaml", "--commander", " cy "]);
    run.line_with(" suspended until someone acts");
    let waiting = project.newest();
    let id = id(&waiting);
    assert_eq!(waiting["trigger"]["commander"], "cy");
    for wrong in ["a\nb", "\u{1b}[31mann"] {
        approve(&project, id, wrong)
            .exits(2)
            .complains("is no name");
        project
            .run(&["cancel", id, "--by", wrong])
            .exits(2)
            .complains("is no name");
    }
    approve(&project, id, "ann\n").exits(0);
    run.end().exits(0);
    assert_eq!(approvers(&project.show(id)), ["ann"]);
}

#[test]
fn the_stages_behind_an_approval_can_read_whose_it_was() {
    let project = Project::with(&["approval", "probe"]);
    project.pipeline(
        "- { name: PROBE, with: { do: [{ get: [shared, approvals] }] } }\n\
         - { name: WAIT_APPROVAL, with: { minApproverNum: 2 } }\n\
         - { name: PROBE, with: { do: [{ keys: [shared, a] }, { get: [shared, approvals] }] } }\n",
    );
    let mut run = project.start(&["run", "app.yaml", "--strategy", "pipeline"]);
    run.line_with(" suspended until someone acts");
    let id = id(&project.newest()).to_owned();
    approve(&project, &id, "ann").exits(0);
    run.line_with(" suspended until someone acts");
    approve(&project, &id, "bob").exits(0);
    run.end()
        .exits(0)
        .says("1 PROBE | Some(\"[]\")")
        .says("3 PROBE | approvals");
    let log = project.log(&id, "3").join("\n").replace('\\', "");
    let done = project.show(&id);
    let stage = &done["stages"][1];
    for place in [0, 1] {
        let by = &stage["commands"][place];
        let told = format!(
            r#"{{"stage":{},"name":"WAIT_APPROVAL","index":1,"by":{},"at":{}}}"#,
            stage["id"], by["by"], by["at"]
        );
        assert!(log.contains(&told), "{log} should have {told}");
    }
}
