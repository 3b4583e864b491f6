//! `stagewright skip`: a stage that people may skip ends at once, and the next one
//! starts.

use stagewright_tests::{Project, Running};

use crate::{course, id};

/// Follows a deployment that waits for an hour and then says `behind it`. Gives
/// its id.
fn follow(project: &Project) -> (Running, String) {
    project.grant_shell().pipeline(
        "- { name: WAIT, with: { duration: 1h } }\n\
         - { name: SCRIPT_RUN, with: { run: echo behind it } }\n",
    );
    let mut run = project.start(&["run", "app.yaml"]);
    run.line_with("1 WAIT suspended until 2");
    let id = id(&project.newest()).to_owned();
    (run, id)
}

#[test]
fn a_wait_that_someone_skips_ends_at_once_with_their_name_and_the_next_stage_runs() {
    let project = Project::with(&["wait", "script"]);
    let (run, id) = follow(&project);
    project
        .run(&["skip", &id, "--by", "ann"])
        .exits(0)
        .says(&format!(
            "stage 1 (WAIT) of deployment {id} was skipped by ann"
        ));
    run.end()
        .exits(0)
        .says("1 WAIT skipped after ")
        .says(": skipped by ann")
        .says("2 SCRIPT_RUN | behind it");
    let done = project.show(&id);
    assert_eq!(course(&done), ["WAIT skipped", "SCRIPT_RUN succeeded"]);
    assert_eq!(done["stages"][0]["reason"], "skipped by ann");
    assert_eq!(done["stages"][0]["cause"], "command");
}

#[test]
fn show_says_until_when_a_wait_lasts_and_how_to_skip_it() {
    let project = Project::with(&["wait", "script"]);
    let (run, id) = follow(&project);
    project
        .start_by(&["env", "USER=ann"], &["show", &id])
        .end()
        .exits(0)
        .says("1 WAIT waits for the time 2")
        .says(&format!(
            "; or anyone to skip it: `stagewright skip {id}`; since 2"
        ))
        .says("2 SCRIPT_RUN waits for the end of 1 WAIT");
    project.run(&["skip", &id, "WAIT", "--by", "ann"]).exits(0);
    run.end().exits(0);
}

#[test]
fn a_wait_that_nobody_drives_is_skipped_by_the_next_host_that_comes() {
    let project = Project::with(&["wait", "script"]);
    let (run, id) = follow(&project);
    run.kill();
    project.run(&["skip", &id, "--by", "ann"]).exits(0);
    project
        .run(&["skip", &id, "--by", "ann"])
        .exits(0)
        .says("stage 1 (WAIT) was skipped by ann already");
    project.run(&["work", "--until-idle"]).exits(0);
    let done = project.show(&id);
    assert_eq!(course(&done), ["WAIT skipped", "SCRIPT_RUN succeeded"]);
}

#[test]
fn what_is_not_to_be_skipped_is_refused_with_what_it_is() {
    let project = Project::with(&["wait", "script"]);
    let (run, id) = follow(&project);
    let skip = |stage: &str| project.run(&["skip", &id, stage, "--by", "ann"]);
    skip("2")
        .exits(2)
        .complains("stage 2 (SCRIPT_RUN) is none that people skip");
    project
        .run(&["approve", &id, "1", "--by", "ann"])
        .exits(2)
        .complains("stage 1 (WAIT) is none that people approve");
    skip("1").exits(0);
    run.end().exits(0);
    skip("1")
        .exits(2)
        .complains("stage 1 (WAIT) is skipped, it is too late to skip it");
}
