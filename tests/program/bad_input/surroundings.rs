//! What surrounds a command: links that lead nowhere, variables that say nothing,
//! names that are no texts.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use stagewright_tests::Project;

use super::one_error;

#[test]
fn a_configuration_that_is_a_link_to_nowhere_is_not_taken_for_none() {
    let project = Project::empty();
    symlink("../nope.yaml", project.path("stagewright.yaml")).unwrap();
    one_error(project.run(&["deployments"]), 2)
        .complains("stagewright.yaml: error: this is a link to something that is not there");
    assert!(!project.path(".stagewright").exists());
}

#[test]
fn a_wish_for_the_hosts_own_log_that_says_nothing_is_told_and_stops_nothing() {
    let project = Project::with(&["wait"]);
    project.run(&["work", "--until-idle"]).exits(0);
    let with = |wish: &str| {
        let wish = format!("STAGEWRIGHT_LOG={wish}");
        project
            .start_by(&["env", &wish], &["deployments"])
            .end()
            .exits(0)
    };
    with("!!nonsense[").complains("warning: STAGEWRIGHT_LOG is `!!nonsense[`, which says nothing");
    for wish in ["", "debug", "stagewright=info"] {
        assert!(!with(wish).stderr.contains("STAGEWRIGHT_LOG"), "{wish}");
    }
}

#[test]
fn a_variable_that_names_no_configuration_counts_as_not_set() {
    let project = Project::with(&["wait"]);
    project.write("other.yaml", "stateFile: other.db\n");
    let empty = ["env", "STAGEWRIGHT_CONFIG="];
    let work = project.start_by(&empty, &["work", "--until-idle"]).end();
    work.exits(0);
    assert!(project.path(".stagewright/state.db").exists());
    let work = ["--config", "other.yaml", "work", "--until-idle"];
    project.start_by(&empty, &work).end().exits(0);
    assert!(project.path("other.db").exists());
    // Who writes it out has meant something.
    project.run(&["--config", "", "deployments"]).exits(2);
}

#[test]
fn a_plugins_file_whose_name_could_not_be_configured_is_kept_out() {
    let project = Project::with(&["wait"]);
    project.add_plugin("script", "plugins/_two.wasm");
    let listed = project.run(&["--output", "json", "plugins"]).exits(0);
    let listed = listed.json();
    assert_eq!(listed["keptOut"][0]["file"], "_two.wasm");
    let reason = listed["keptOut"][0]["reason"].as_str().expect("a text");
    assert!(
        reason.contains("beginning with a letter or digit"),
        "{reason}"
    );
}

#[test]
fn an_application_file_whose_name_is_no_text_is_refused_by_every_command() {
    let project = Project::with(&["wait"]);
    project.pipeline("- { name: WAIT, with: { duration: 1ms } }\n");
    let odd = project.path("").join(OsStr::from_bytes(b"odd\xff"));
    fs::create_dir(&odd).unwrap();
    fs::copy(
        project.path("app.yaml"),
        odd.join(OsStr::from_bytes(b"app\xff.yaml")),
    )
    .unwrap();
    // A shell finds the name, which is no argument that a test could write.
    for command in ["check", "plan", "run"] {
        let script = format!("exec \"$0\" {command} odd*/*.yaml");
        let ended = project.start_by(&["sh", "-c", &script], &[]).end();
        ended.exits(2).complains("UTF-8").complains("rename it");
    }
}
