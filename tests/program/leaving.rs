//! Leaving a deployment, in every way there is, and going on with it.

use std::fs;

use serde_json::Value;
use stagewright_tests::{Ended, Gate, Project, Running};

use crate::{course, id};

/// A project whose script says `begun` and waits at a gate; the stage after it
/// says `next`.
pub(crate) fn gated(gate: &Gate, limits: &str) -> Project {
    let project = Project::with(&["script"]);
    project.write(
        "stagewright.yaml",
        format!("{limits}plugins:\n  script:\n    allow:\n      commands: [/bin/sh]\n"),
    );
    project.pipeline(&format!(
        "- name: SCRIPT_RUN\n  with:\n    run: echo begun; {}; echo through\n    \
         onRollback: echo undone\n\
         - name: SCRIPT_RUN\n  with: {{ run: echo next }}\n",
        gate.wait()
    ));
    project
}

/// What `run` says of a deployment that it leaves.
pub(crate) fn left(ended: Ended, status: &str) -> Value {
    let ended = ended.exits(5).says(&format!("is left {status}"));
    let ended = ended.says("go on with `stagewright work --until-idle`");
    let shown = "look at it with `stagewright show ";
    let rest = ended.stdout.split_once(shown).expect("how to look at it").1;
    Value::from(rest.split_once('`').expect("an id").0)
}

#[test]
fn a_detached_run_says_how_to_go_on_and_work_finishes_it() {
    let project = Project::with(&["script"]);
    project
        .grant_shell()
        .pipeline("- { name: SCRIPT_RUN, with: { run: echo done } }\n");
    let left = left(project.run(&["run", "app.yaml", "--detach"]), "queued");
    let id = left.as_str().expect("an id");
    assert_eq!(project.show(id)["status"], "queued");
    project
        .run(&["show", id])
        .exits(0)
        .says("deployment waits for its planning by a host: `stagewright work`");
    // What was stored is what is deployed, whatever becomes of the file.
    fs::remove_file(project.path("app.yaml")).unwrap();
    project.run(&["work", "--until-idle"]).exits(0);
    let done = project.show(id);
    assert_eq!(course(&done), ["SCRIPT_RUN succeeded"]);
    assert!(project.log(id, "1").contains(&"done".to_owned()));
    project.run(&["work", "--until-idle"]).exits(0);
}

#[test]
fn a_wait_that_was_left_holds_nothing_and_is_woken_by_work() {
    let project = Project::with(&["wait"]);
    project.pipeline("- { name: WAIT, with: { duration: 3s } }\n");
    let left = left(project.run(&["run", "app.yaml", "--detach"]), "queued");
    let id = left.as_str().expect("an id");
    // It does not stay for the wait.
    project
        .run(&["work", "--until-idle"])
        .exits(5)
        .says("left unfinished:")
        .says(id);
    let waiting = project.show(id);
    assert_eq!(course(&waiting), ["WAIT suspended"]);
    project
        .run(&["show", id])
        .exits(0)
        .says("1 WAIT waits for the time");
    let work = project.start(&["work"]);
    project
        .run(&["logs", id, "--follow"])
        .exits(0)
        .says("Waited for 3s");
    work.interrupt();
    work.end().exits(0);
    let done = project.show(id);
    assert_eq!(course(&done), ["WAIT succeeded"]);
    assert_eq!(done["stages"][0]["attempt"]["number"], 1);
    assert_eq!(done["stages"][0]["attempt"]["turn"], 2);
    // It was remembered over the turns, in another process, that this was said.
    let log = project.log(id, "1");
    assert_eq!(log.len(), 2, "{log:?}");
    assert!(log[0].starts_with("Waiting for 3s, until "), "{log:?}");
}

#[test]
fn an_interrupted_run_lets_its_stage_end_begins_no_other_and_work_goes_on_without_a_rollback() {
    let mut gate = Gate::new();
    let project = gated(&gate, "");
    let mut run = project.start(&["run", "app.yaml"]);
    run.line_with("| begun");
    run.interrupt();
    gate.open();
    let left = left(run.end(), "running");
    let id = left.as_str().expect("an id");
    assert_eq!(
        course(&project.show(id)),
        [
            "SCRIPT_RUN succeeded",
            "SCRIPT_RUN waiting",
            "SCRIPT_RUN_ROLLBACK waiting"
        ]
    );
    project
        .run(&["show", id])
        .exits(0)
        .says("2 SCRIPT_RUN waits for a host: `stagewright work`");
    project.run(&["work", "--until-idle"]).exits(0);
    let done = project.show(id);
    assert_eq!(
        course(&done),
        ["SCRIPT_RUN succeeded", "SCRIPT_RUN succeeded"]
    );
    assert_eq!(done["stages"][0]["attempt"]["number"], 1);
}

#[test]
fn a_stage_that_outlasts_the_grace_period_is_handed_back_and_runs_again_unblamed() {
    let mut gate = Gate::new();
    let project = gated(&gate, "limits: { gracePeriod: 10ms, attempts: 1 }\n");
    let mut run = project.start(&["run", "app.yaml"]);
    run.line_with("| begun");
    run.terminate();
    let left = left(run.end(), "running");
    let id = left.as_str().expect("an id");
    let handed_back = project.show(id);
    assert_eq!(handed_back["stages"][0]["status"], "waiting");
    gate.open();
    project.run(&["work", "--until-idle"]).exits(0);
    let done = project.show(id);
    assert_eq!(
        course(&done),
        ["SCRIPT_RUN succeeded", "SCRIPT_RUN succeeded"]
    );
    assert_eq!(done["stages"][0]["attempt"]["number"], 2);
    assert_eq!(done["stages"][0]["losses"], 0);
}

#[test]
fn a_second_interrupt_does_not_wait_for_the_grace_period() {
    let gate = Gate::new();
    let project = gated(&gate, "limits: { gracePeriod: 1h }\n");
    let mut run = project.start(&["run", "app.yaml"]);
    run.line_with("| begun");
    // Two of a kind may come as one.
    run.interrupt();
    run.terminate();
    left(run.end(), "running");
    let log = project.log(id(&project.newest()), "1");
    assert_eq!(log, ["begun"], "what it had said is kept");
}

#[test]
fn all_that_a_stage_had_said_when_its_host_stops_at_once_is_kept() {
    let (mut said, gate) = (Gate::new(), Gate::new());
    let project = Project::with(&["probe"]);
    project.write(
        "stagewright.yaml",
        "limits: { gracePeriod: 1h }\n\
         plugins: { probe: { allow: { commands: [/bin/sh] } } }\n",
    );
    let lines: String = (0..100).map(|n| format!("- log: line {n}\n")).collect();
    project.pipeline(&format!(
        "- name: PROBE\n  with:\n    do:\n{}{}",
        stagewright_tests::indented(&lines, 6),
        format_args!(
            "      - spawn: {{ program: /bin/sh, arguments: [-c, \"{}; {}\"] }}\n",
            said.tell(),
            gate.wait()
        )
    ));
    let run = project.start(&["run", "app.yaml", "--strategy", "pipeline"]);
    // As soon as it has said the last of it.
    said.pass();
    run.interrupt();
    run.terminate();
    left(run.end(), "running");
    let log = project.log(id(&project.newest()), "1");
    let wanted: Vec<String> = (0..100).map(|n| format!("line {n}")).collect();
    assert_eq!(log, wanted);
}

/// A stage that waits at a gate in its first attempt and goes on in the next; it
/// says which it is.
fn twice(project: &Project, gate: &Gate) {
    let marker = project.path("marker");
    let marker = marker.display();
    project.pipeline(&format!(
        "- name: SCRIPT_RUN\n  with:\n    run: |\n      \
         if [ -e '{marker}' ]; then echo second; exit; fi\n      \
         touch '{marker}'\n      for n in 1 2 3 4 5; do echo first $n; done\n      \
         echo begun\n      {}\n    onRollback: echo undone\n",
        gate.wait()
    ));
}

#[test]
fn a_stage_whose_host_was_killed_runs_again_as_its_second_attempt_with_the_log_of_both_in_order() {
    let gate = Gate::new();
    let project = Project::with(&["script"]);
    project.grant_shell();
    twice(&project, &gate);
    let mut run = project.start(&["run", "app.yaml"]);
    run.line_with("| begun");
    run.kill();
    let left = project.newest();
    assert_eq!(left["stages"][0]["status"], "running");
    project.run(&["work", "--until-idle"]).exits(0);

    let done = project.show(id(&left));
    assert_eq!(course(&done), ["SCRIPT_RUN succeeded"]);
    assert_eq!(done["stages"][0]["attempt"]["number"], 2);
    assert_eq!(done["stages"][0]["losses"], 1);
    assert_eq!(
        done["stages"][0]["startedAt"],
        left["stages"][0]["startedAt"]
    );
    let lines = project.log_lines(id(&left), "1");
    let told: Vec<(&str, u64)> = lines
        .iter()
        .map(|line| {
            let attempt = line["attempt"].as_u64().expect("a number");
            (line["text"].as_str().expect("a text"), attempt)
        })
        .collect();
    assert_eq!(
        told,
        [
            ("first 1", 1),
            ("first 2", 1),
            ("first 3", 1),
            ("first 4", 1),
            ("first 5", 1),
            ("begun", 1),
            ("second", 2),
            ("The script exited with code 0", 2)
        ]
    );
    let numbers: Vec<u64> = lines
        .iter()
        .map(|line| line["number"].as_u64().expect("a number"))
        .collect();
    assert_eq!(numbers, (0..told.len() as u64).collect::<Vec<_>>());
}

#[test]
fn a_stage_whose_host_was_killed_too_often_is_lost_and_rolled_back() {
    let gate = Gate::new();
    let project = gated(&gate, "limits: { attempts: 1 }\n");
    let mut run = project.start(&["run", "app.yaml"]);
    run.line_with("| begun");
    run.kill();
    project.run(&["work", "--until-idle"]).exits(0);
    let ended = project.newest();
    assert_eq!(ended["status"], "failed");
    assert_eq!(
        course(&ended),
        ["SCRIPT_RUN lost", "SCRIPT_RUN_ROLLBACK succeeded"]
    );
    assert!(
        project
            .log(id(&ended), &rollback_id(&ended))
            .contains(&"undone".to_owned())
    );
}

#[test]
fn a_host_that_was_killed_in_the_rollback_leaves_it_to_the_next_which_finishes_it() {
    let gate = Gate::new();
    let project = Project::with(&["script"]);
    let marker = project.path("marker");
    project.grant_shell().pipeline(&format!(
        "- name: SCRIPT_RUN\n  with:\n    run: exit 7\n    onRollback: |\n      \
         if [ -e '{0}' ]; then echo undone; exit; fi\n      touch '{0}'\n      \
         echo begun\n      {1}\n",
        marker.display(),
        gate.wait()
    ));
    let mut run = project.start(&["run", "app.yaml"]);
    run.line_with("| begun");
    run.kill();
    let left = project.newest();
    assert_eq!(left["status"], "rolling-back");
    project.run(&["work", "--until-idle"]).exits(0);
    let ended = project.show(id(&left));
    assert_eq!(ended["status"], "failed");
    assert_eq!(
        course(&ended),
        ["SCRIPT_RUN failed", "SCRIPT_RUN_ROLLBACK succeeded"]
    );
    assert_eq!(ended["stages"][1]["attempt"]["number"], 2);
}

fn rollback_id(deployment: &Value) -> String {
    let stages = deployment["stages"].as_array().expect("a list");
    let rollback = stages.iter().find(|stage| stage["rollback"] == true);
    let id = rollback.expect("a rollback stage")["id"].as_str();
    id.expect("an id").to_owned()
}

#[test]
fn what_was_planned_is_what_runs_whatever_becomes_of_the_plugins_files() {
    for removed in [true, false] {
        let mut gate = Gate::new();
        let project = gated(&gate, "");
        let mut run = project.start(&["run", "app.yaml"]);
        run.line_with("| begun");
        // While a call is in it, and over the same bytes on the disk.
        if removed {
            fs::remove_file(project.path("plugins/script.wasm")).unwrap();
            project.add_plugin("wait", "plugins/wait.wasm");
        } else {
            project.add_plugin("wait", "plugins/script.wasm");
        }
        run.interrupt();
        gate.open();
        let left = left(run.end(), "running");
        project.run(&["work", "--until-idle"]).exits(0);
        let id = left.as_str().expect("an id");
        let done = project.show(id);
        assert_eq!(
            course(&done),
            ["SCRIPT_RUN succeeded", "SCRIPT_RUN succeeded"]
        );
        assert!(project.log(id, "2").contains(&"next".to_owned()));
        // What is planned now is planned with what is there now.
        project.run(&["plan", "app.yaml"]).exits(2);
    }
}

#[test]
fn a_deployment_that_is_over_leaves_neither_scratch_nor_half_a_copy_behind() {
    let project = Project::with(&["script"]);
    project.grant_shell().pipeline(
        "- { name: SCRIPT_RUN, with: { run: touch written } }\n\
         - { name: SCRIPT_RUN, with: { run: test -f written } }\n",
    );
    project.run(&["run", "app.yaml"]).exits(0);
    let files = project.path(".stagewright/state.db-files");
    let scratch = fs::read_dir(files.join("scratch")).unwrap();
    assert_eq!(scratch.count(), 0);
    for application in fs::read_dir(files.join("sources")).unwrap() {
        let commits = fs::read_dir(application.unwrap().path()).unwrap();
        let names: Vec<_> = commits.map(|commit| commit.unwrap().file_name()).collect();
        let target = project.newest()["target"]["commit"].clone();
        assert_eq!(names, [target.as_str().expect("a hash")]);
    }
}

/// A component that never says what it is: it loops when it is instantiated.
const NEVER_LOADED: &str = r#"(component
    (core module $m
        (func $start (loop br 0))
        (start $start)
        (func (export "describe")))
    (core instance $m (instantiate $m))
    (func $describe (canon lift (core func $m "describe")))
    (instance $i (export "describe" (func $describe)))
    (export "stagewright:plugin/manifest@0.1.0" (instance $i)))"#;

#[test]
fn an_interrupt_while_plugins_are_loaded_ends_at_once_says_so_and_nothing_was_begun() {
    let project = Project::with(&["wait"]);
    project
        .write("plugins/never.wasm", wat::parse_str(NEVER_LOADED).unwrap())
        .write("stagewright.yaml", "limits: { describeTimeout: 1h }\n")
        .pipeline("- { name: WAIT, with: { duration: 1ms } }\n");
    let by_default = ["env", "--default-signal=HUP"];
    for (command, signal) in [
        (&["run", "app.yaml"][..], Running::interrupt as fn(&Running)),
        (&["run", "app.yaml", "--detach"], Running::terminate),
        (&["run", "app.yaml"], Running::hang_up),
        (&["work"], Running::terminate),
    ] {
        let hosts = project.path(".stagewright/state.db-files/hosts");
        let _ = fs::remove_dir_all(&hosts);
        let run = project.start_by(&by_default, command);
        // It has opened the state, and loads its plugins next.
        let locks = || fs::read_dir(&hosts).map_or(0, |locks| locks.count());
        while locks() == 0 {
            std::thread::yield_now();
        }
        signal(&run);
        run.end()
            .exits(5)
            .complains("interrupted while the plugins were being loaded: nothing was begun");
    }
    project
        .run(&["deployments"])
        .exits(0)
        .says("no deployments");
}
