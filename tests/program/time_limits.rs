//! Time limits: what becomes of a stage and of a deployment whose time is over.

use stagewright_tests::{Gate, Project};

use crate::{course, id};

#[test]
fn a_wait_of_an_hour_with_a_timeout_of_a_second_has_timed_out_and_is_not_cancelled() {
    let project = Project::with(&["wait"]);
    project.pipeline(
        "- { name: WAIT, timeout: 1s, with: { duration: 1h } }\n\
         - { name: WAIT, with: { duration: 1h } }\n",
    );
    project
        .run(&["run", "app.yaml"])
        .exits(1)
        .says("1 WAIT timed-out")
        .says("timed out: it may take 1s")
        .says("shop failed");
    let ended = project.newest();
    assert_eq!(ended["status"], "failed");
    assert_eq!(course(&ended), ["WAIT timed-out"]);
    assert_eq!(ended["stages"][1]["reason"], "another stage had failed");
}

#[test]
fn a_script_that_runs_out_of_time_is_ended_with_all_it_started_and_rolled_back() {
    let project = Project::with(&["script"]);
    let gate = Gate::new();
    project.grant_shell().pipeline(&format!(
        "- name: SCRIPT_RUN\n  timeout: 3s\n  with:\n    run: |\n      \
         echo begun\n      ({}) & wait\n      echo never\n    onRollback: echo undone\n",
        gate.wait()
    ));
    project
        .run(&["run", "app.yaml"])
        .exits(1)
        .says("1 SCRIPT_RUN | begun")
        .says("1 SCRIPT_RUN timed-out")
        .says("SCRIPT_RUN_ROLLBACK | undone");
    let ended = project.newest();
    assert_eq!(
        course(&ended),
        ["SCRIPT_RUN timed-out", "SCRIPT_RUN_ROLLBACK succeeded"]
    );
    assert!(!project.log(id(&ended), "1").contains(&"never".to_owned()));
}

#[test]
fn a_deployment_whose_time_is_over_has_timed_out_and_its_stages_are_not_blamed() {
    let project = Project::with(&["wait", "script"]);
    project.grant_shell().application(
        "timeout: 3s\npipeline:\n  stages:\n    - name: SCRIPT_RUN\n      \
         with: { run: 'true', onRollback: echo undone }\n    \
         - { name: WAIT, with: { duration: 1h } }\n",
    );
    project
        .run(&["run", "app.yaml"])
        .exits(1)
        .says("shop timed-out")
        .says("the deployment may take 3s")
        .says("SCRIPT_RUN_ROLLBACK | undone");
    let ended = project.newest();
    assert_eq!(ended["status"], "timed-out");
    assert_eq!(
        course(&ended),
        [
            "SCRIPT_RUN succeeded",
            "WAIT timed-out",
            "SCRIPT_RUN_ROLLBACK succeeded"
        ]
    );
}

#[test]
fn a_stage_that_runs_when_the_deployments_time_is_over_is_told_so() {
    let gate = Gate::new();
    let project = Project::with(&["script"]);
    project.grant_shell().application(&format!(
        "timeout: 2s\npipeline:\n  stages:\n    - name: SCRIPT_RUN\n      \
         with: {{ run: \"{}\" }}\n",
        gate.wait()
    ));
    project
        .run(&["run", "app.yaml"])
        .exits(1)
        .says("the deployment may take 2s");
    let ended = project.newest();
    assert_eq!(course(&ended), ["SCRIPT_RUN timed-out"]);
    assert_eq!(ended["stages"][0]["reason"], "the deployment had timed out");
}

#[test]
fn a_rollback_stage_that_runs_when_the_rollbacks_time_is_over_is_told_so() {
    let gate = Gate::new();
    let project = Project::with(&["script"]);
    project.grant_shell().application(&format!(
        "timeout: 2s\npipeline:\n  stages:\n    - name: SCRIPT_RUN\n      \
         with: {{ run: 'false', onRollback: \"{}\" }}\n",
        gate.wait()
    ));
    project.run(&["run", "app.yaml"]).exits(1);
    let ended = project.newest();
    assert_eq!(
        course(&ended),
        ["SCRIPT_RUN failed", "SCRIPT_RUN_ROLLBACK timed-out"]
    );
    assert_eq!(ended["stages"][1]["reason"], "the rollback had timed out");
    assert_eq!(
        ended["rollback"]["reason"],
        "timed out: the rollback may take 2s"
    );
}

#[test]
fn a_limit_is_told_as_a_person_would_write_it() {
    let project = Project::with(&["wait"]);
    project.pipeline("- { name: WAIT, timeout: 1ns, with: { duration: 1h } }\n");
    project.run(&["run", "app.yaml"]).exits(1);
    let reason = project.newest()["stages"][0]["reason"].clone();
    assert_eq!(reason, "timed out: it may take less than 1ms");
    project.pipeline("- { name: WAIT, timeout: 1500ms, with: { duration: 1h } }\n");
    project
        .run(&["run", "app.yaml"])
        .exits(1)
        .says("timed out: it may take 1s500ms");
}
