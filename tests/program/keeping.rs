//! What is kept, and for how long: copies of the state, and old deployments.

use std::fs;
use std::process::Command;

use serde_json::Value;
use stagewright_tests::{Gate, Project};

use crate::leaving::gated;
use crate::{course, id};

#[test]
fn a_copy_made_while_a_deployment_runs_is_a_state_from_which_it_goes_on() {
    let project = Project::with(&["wait"]);
    project.pipeline("- { name: WAIT, with: { duration: 2s } }\n");
    let mut run = project.start(&["run", "app.yaml"]);
    run.line_with("WAIT suspended");
    project
        .run(&["backup", "copy"])
        .exits(0)
        .says("copied the state to copy");
    run.end().exits(0);
    let original = project.newest();
    fs::remove_dir_all(project.path(".stagewright")).unwrap();
    fs::remove_file(project.path("app.yaml")).unwrap();
    project.write("stagewright.yaml", "stateFile: copy/state.db\n");
    let copied = project.newest();
    assert_eq!(copied["id"], original["id"]);
    assert_eq!(course(&copied), ["WAIT suspended"]);
    let work = project.start(&["work"]);
    project.run(&["logs", id(&copied), "--follow"]).exits(0);
    work.terminate();
    work.end().exits(0);
    assert_eq!(course(&project.newest()), ["WAIT succeeded"]);
}

#[test]
fn a_copy_made_while_a_stage_runs_goes_on_at_once_since_its_host_has_no_part_in_it() {
    let mut gate = Gate::new();
    let project = gated(&gate, "");
    let mut run = project.start(&["run", "app.yaml"]);
    run.line_with("| begun");
    project.run(&["backup", "copy"]).exits(0);
    gate.open();
    run.end().exits(0);
    let config = fs::read_to_string(project.path("stagewright.yaml")).expect("a file");
    project.write(
        "stagewright.yaml",
        format!("stateFile: copy/state.db\n{config}"),
    );
    project
        .run(&["show", id(&project.newest())])
        .exits(0)
        .says("waits for another host, as its own is gone");
    gate.open();
    project.run(&["work", "--until-idle"]).exits(0);
    let done = project.newest();
    assert_eq!(done["stages"][0]["attempt"]["number"], 2);
    assert_eq!(done["status"], "succeeded");
}

#[test]
fn what_stages_hand_each_other_is_in_a_copy_that_is_made_between_them() {
    let project = Project::with(&["script", "approval"]);
    project.grant_shell().pipeline(
        "- { name: SCRIPT_RUN, with: { run: echo handed over > made } }\n\
         - { name: WAIT_APPROVAL }\n\
         - { name: SCRIPT_RUN, with: { run: cat made; rm made } }\n",
    );
    let mut run = project.start(&["run", "app.yaml"]);
    run.line_with("2 WAIT_APPROVAL suspended");
    project.run(&["backup", "copy"]).exits(0);
    let id = id(&project.newest()).to_owned();
    project.run(&["approve", &id, "--by", "ann"]).exits(0);
    run.end().exits(0);
    fs::remove_dir_all(project.path(".stagewright")).unwrap();
    project.write(
        "stagewright.yaml",
        "stateFile: copy/state.db\nplugins: { script: { allow: { commands: [/bin/sh] } } }\n",
    );
    project.run(&["approve", &id, "--by", "ann"]).exits(0);
    project.run(&["work", "--until-idle"]).exits(0);
    let done = project.show(&id);
    assert_eq!(
        course(&done),
        [
            "SCRIPT_RUN succeeded",
            "WAIT_APPROVAL succeeded",
            "SCRIPT_RUN succeeded"
        ]
    );
    assert!(project.log(&id, "3").contains(&"handed over".to_owned()));
}

#[test]
fn a_copy_never_replaces_what_is_there() {
    let project = Project::with(&["wait"]);
    project.write("copy/mine", "precious");
    project.run(&["work", "--until-idle"]).exits(0);
    project
        .run(&["backup", "copy"])
        .exits(2)
        .complains("copy is there already: name a new directory for the backup");
    assert_eq!(project.read("copy/mine"), "precious");
}

#[test]
fn a_copy_is_not_put_among_the_states_own_files_and_one_that_fails_leaves_nothing() {
    let project = Project::with(&["wait"]);
    project.pipeline("- { name: WAIT, with: { duration: 1ms } }\n");
    project.run(&["run", "app.yaml", "--detach"]).exits(5);
    project
        .run(&["backup", ".stagewright/state.db-files/sources/copy"])
        .exits(2)
        .complains("lies among the state's own files");
    // What can't be copied: a tree that is no tree.
    let applications = project.path(".stagewright/state.db-files/sources");
    let application = fs::read_dir(&applications)
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    let tree = fs::read_dir(application.path())
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    let made = Command::new("mkfifo")
        .arg(tree.path().join("pipe"))
        .status();
    assert!(made.unwrap().success());
    let failed = project.run(&["backup", "copy"]);
    assert_ne!(failed.code, Some(0), "{failed} should fail");
    assert!(!project.path("copy").exists());
}

#[test]
fn processes_that_open_a_state_file_that_is_not_there_yet_make_it_once() {
    for _ in 0..5 {
        let project = Project::with(&["wait"]);
        let all = [(); 4].map(|()| project.start(&["work", "--until-idle"]));
        for one in all {
            one.end().exits(0);
        }
    }
}

#[test]
fn only_the_newest_deployments_and_logs_are_kept_and_nothing_that_is_not_at_its_end() {
    let project = Project::with(&["script"]);
    project.write(
        "stagewright.yaml",
        "keep: { deployments: 3, logs: 2 }\n\
         plugins: { script: { allow: { commands: [/bin/sh] } } }\n",
    );
    project.pipeline("- { name: SCRIPT_RUN, with: { run: echo done } }\n");
    fs::copy(project.path("app.yaml"), project.path("other.yaml")).unwrap();
    project.run(&["run", "other.yaml"]).exits(0);
    let other = project.newest();
    project.run(&["run", "app.yaml", "--detach"]).exits(5);
    let unfinished = project.newest();
    project
        .run(&["cancel", id(&unfinished), "--by", "ann"])
        .exits(0);
    let mut ids = vec![id(&unfinished).to_owned()];
    for _ in 0..4 {
        project.run(&["run", "app.yaml"]).exits(0);
        ids.push(id(&project.newest()).to_owned());
    }
    let listed = project
        .run(&["--output", "json", "deployments"])
        .exits(0)
        .json();
    let kept: Vec<&str> = listed.as_array().unwrap().iter().map(id).collect();
    assert_eq!(kept, [&ids[4], &ids[3], &ids[2], id(&other)]);
    // Of one whose logs are gone that is said; of one that has them, nothing.
    let gone = format!("the logs of deployment {} were removed", ids[2]);
    project.run(&["logs", &ids[2]]).exits(0).complains(&gone);
    assert_eq!(project.run(&["logs", &ids[4]]).exits(0).stderr, "");
    project
        .run(&["show", &ids[1]])
        .exits(2)
        .complains("there is no deployment");
    let log = |id: &str| project.run(&["logs", id]).exits(0).stdout;
    assert!(log(&ids[4]).contains("done") && log(&ids[3]).contains("done"));
    assert_eq!(log(&ids[2]), "");
    assert!(log(id(&other)).contains("done"), "another application's");
}

#[test]
fn deployments_are_listed_by_the_time_at_which_they_were_stored() {
    let project = Project::with(&["wait"]);
    project.pipeline("- { name: WAIT, with: { duration: 1ms } }\n");
    project.run(&["run", "app.yaml", "--detach"]).exits(5);
    let count = |arguments: &[&str]| {
        let mut all = vec!["--output", "json", "deployments"];
        all.extend(arguments);
        let listed: Value = project.run(&all).exits(0).json();
        listed.as_array().unwrap().len()
    };
    assert_eq!(count(&["--since", "1h"]), 1);
    assert_eq!(count(&["--until", "1h"]), 0);
    assert_eq!(count(&["--since", "2001-01-01T00:00:00Z"]), 1);
    assert_eq!(
        count(&[
            "--since",
            "2001-01-01T00:00:00Z",
            "--until",
            "2001-01-02T00:00:00Z"
        ]),
        0
    );
    for (wrong, what) in [
        ("yesterday", "it is no time; "),
        ("", "it is no time; "),
        ("2026-05-30", "it is no time; "),
        ("2026-05-30T12:00:00", "it is no time; "),
        ("1969-01-01T00:00:00Z", "nothing was stored before 1970; "),
        ("24", "`24` has no unit"),
        ("1d", "1d is `24h`"),
    ] {
        for option in ["--since", "--until"] {
            project
                .run(&["deployments", option, wrong])
                .exits(2)
                .complains(what)
                .complains(
                    "give a time with its zone, such as `2026-05-30T12:00:00Z`, or how long ago, \
                     such as `90m` or `24h`",
                );
        }
    }
    project
        .run(&["deployments", "--since", "1h", "--until", "2h"])
        .exits(2)
        .complains("give an `--until` that is later");
}

#[test]
fn a_list_of_nothing_is_refused() {
    let project = Project::with(&["wait"]);
    project.run(&["work", "--until-idle"]).exits(0);
    for (wrong, what) in [("0", "nothing would be listed; "), ("many", ""), ("-1", "")] {
        project
            .run(&["deployments", &format!("--limit={wrong}")])
            .exits(2)
            .complains(&format!("{what}give how many to list at most, 1 or more"));
    }
    project.run(&["deployments", "--limit", "1"]).exits(0);
}
