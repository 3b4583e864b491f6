//! Deployments of one application: one at a time, in their order.

use stagewright_tests::{Gate, Project};

use crate::{course, id};

#[test]
fn a_second_deployment_waits_for_the_first_says_so_and_is_planned_at_its_turn() {
    let mut gate = Gate::new();
    let project = Project::with(&["script"]);
    project.grant_shell().pipeline(&format!(
        "- name: SCRIPT_RUN\n  with:\n    run: echo begun; {}\n",
        gate.wait()
    ));
    let mut first = project.start(&["run", "app.yaml"]);
    first.line_with("| begun");
    let ahead = project.newest();
    project.pipeline("- name: SCRIPT_RUN\n  with: { run: echo second }\n");
    let mut second = project.start(&["run", "app.yaml"]);
    second.line_with(&format!("queued behind deployment {}", id(&ahead)));
    let behind = project.newest();
    assert_eq!(behind["status"], "queued");
    project
        .run(&["show", id(&behind)])
        .exits(0)
        .says(&format!("waits for deployment {}", id(&ahead)));
    gate.open();
    first.end().exits(0);
    second.end().exits(0).says("| second");
    // It was planned after the first had succeeded: that is what ran before.
    let behind = project.show(id(&behind));
    assert_eq!(behind["running"]["commit"], ahead["target"]["commit"]);
    let first = project.show(id(&ahead));
    let ended = first["endedAt"].as_u64().unwrap();
    assert!(behind["startedAt"].as_u64().unwrap() >= ended);
}

#[test]
fn those_that_were_detached_are_done_in_order_and_other_applications_do_not_wait() {
    let project = Project::with(&["script"]);
    let ran = project.path("ran");
    project.write(
        "stagewright.yaml",
        "plugins: { script: { allow: { commands: [/bin/sh] } } }\n",
    );
    for place in 0..4 {
        // The third is of another application, and fails.
        let (file, exit) = if place == 2 {
            ("other.yaml", 1)
        } else {
            ("app.yaml", 0)
        };
        project.pipeline(&format!(
            "- name: SCRIPT_RUN\n  with:\n    run: echo {place} >> '{}'; exit {exit}\n",
            ran.display()
        ));
        if place == 2 {
            std::fs::rename(project.path("app.yaml"), project.path("other.yaml")).unwrap();
        }
        project.run(&["run", file, "--detach"]).exits(5);
    }
    project.run(&["work", "--until-idle"]).exits(0);
    let ran = project.read("ran");
    let mine: Vec<&str> = ran.lines().filter(|line| *line != "2").collect();
    assert_eq!(mine, ["0", "1", "3"]);
    assert!(ran.contains('2'));
}

#[test]
fn one_that_is_cancelled_in_the_queue_lets_the_next_go_on() {
    let project = Project::with(&["wait"]);
    project.pipeline("- { name: WAIT, with: { duration: 1ms } }\n");
    let mut ids = Vec::new();
    for _ in 0..3 {
        project.run(&["run", "app.yaml", "--detach"]).exits(5);
        ids.push(id(&project.newest()).to_owned());
    }
    project.run(&["cancel", &ids[0], "--by", "ann"]).exits(0);
    project.run(&["cancel", &ids[1], "--by", "ann"]).exits(0);
    // A millisecond is waited for as a second at the least.
    let work = project.start(&["work"]);
    project.run(&["logs", &ids[2], "--follow"]).exits(0);
    work.terminate();
    work.end().exits(0);
    assert_eq!(course(&project.show(&ids[2])), ["WAIT succeeded"]);
    assert_eq!(project.show(&ids[0])["status"], "cancelled");
}

#[test]
fn stages_that_need_no_other_run_at_once_and_one_that_needs_both_waits_for_both() {
    let mut left = Gate::new();
    let mut right = Gate::new();
    let project = Project::with(&["script"]);
    project.grant_shell().pipeline(&format!(
        "- {{ id: left, name: SCRIPT_RUN, needs: [], with: {{ run: 'echo left; {}' }} }}\n\
         - {{ id: right, name: SCRIPT_RUN, needs: [], with: {{ run: 'echo right; {}' }} }}\n\
         - {{ id: both, name: SCRIPT_RUN, needs: [left, right], with: {{ run: echo both }} }}\n",
        left.wait().replace('\'', ""),
        right.wait().replace('\'', "")
    ));
    let mut run = project.start(&["run", "app.yaml"]);
    // Each waits at its gate: so both are at work before either ends.
    run.line_with("running");
    run.line_with("running");
    right.open();
    run.line_with("2 SCRIPT_RUN succeeded");
    let half = project.newest();
    assert_eq!(half["stages"][2]["status"], "waiting");
    project
        .run(&["show", id(&half)])
        .exits(0)
        .says("3 SCRIPT_RUN waits for the end of 1 SCRIPT_RUN");
    left.open();
    run.end().exits(0).says("| both");
}
