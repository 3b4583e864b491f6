//! A terminal that goes, and how to go on from elsewhere.

use stagewright_tests::{Gate, Project};

use crate::leaving::{gated, left};
use crate::{course, id};

/// Whoever started the tests may ignore the signal, as `nohup` does; the program
/// would inherit that.
const BY_DEFAULT: [&str; 2] = ["env", "--default-signal=HUP"];

#[test]
fn a_terminal_that_goes_leaves_the_deployment_as_an_interrupt_does() {
    let mut gate = Gate::new();
    let project = gated(&gate, "");
    let mut run = project.start_by(&BY_DEFAULT, &["run", "app.yaml"]);
    run.line_with("| begun");
    run.hang_up();
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
    let mut follower = project.start(&["logs", id, "--follow"]);
    follower.line_with("through");
    let work = project.start_by(&BY_DEFAULT, &["work"]);
    follower.end().exits(0);
    work.hang_up();
    work.end().exits(0);
    assert_eq!(
        course(&project.show(id)),
        ["SCRIPT_RUN succeeded", "SCRIPT_RUN succeeded"]
    );
}

#[test]
fn a_run_that_was_started_to_outlive_its_terminal_does_and_so_do_its_scripts() {
    let mut gate = Gate::new();
    let project = Project::with(&["script"]);
    project.grant_shell().pipeline(&format!(
        "- name: SCRIPT_RUN\n  with:\n    run: echo begun; {}; kill -HUP $$; echo through\n",
        gate.wait()
    ));
    let mut run = project.start_by(&["env", "--ignore-signal=HUP"], &["run", "app.yaml"]);
    run.line_with("| begun");
    run.hang_up();
    gate.open();
    run.end().exits(0).says("| through").says("shop succeeded");
}

#[test]
fn how_to_go_on_names_the_configuration_that_the_deployment_is_under() {
    let project = Project::with(&["probe"]);
    project
        .write("other.yaml", "stateFile: elsewhere/state.db\n")
        .write("a host's.yaml", "stateFile: elsewhere/state.db\n")
        .application("plugins: { probe: }\n");
    for (config, argument) in [
        ("other.yaml", "other.yaml"),
        ("a host's.yaml", r"'a host'\''s.yaml'"),
    ] {
        let command = format!("stagewright --config {argument}");
        let run = project
            .run(&["--config", config, "run", "app.yaml", "--detach"])
            .exits(5)
            .says(&format!("go on with `{command} work --until-idle`"))
            .says(&format!("look at it with `{command} show "));
        let listed = ["--config", config, "--output", "json", "deployments"];
        let listed = project.run(&listed).exits(0).json();
        let id = id(&listed[0]);
        assert!(run.stdout.contains(id), "{run} should name {id}");
        project
            .run(&["--config", config, "show", id])
            .exits(0)
            .says(&format!("its planning by a host: `{command} work`"));
        // Else the next one would wait for it.
        let cancel = ["--config", config, "cancel", id, "--by", "ann"];
        project.run(&cancel).exits(0);
    }
    // It is where that says, and nowhere else.
    project
        .run(&["deployments"])
        .exits(2)
        .complains("there is no state file");
    project
        .run(&["--config", "other.yaml", "work", "--until-idle"])
        .exits(0);
}
