//! The state file. One that can't be used is left as it is, to the byte.

use std::fs;

use rusqlite::Connection;
use stagewright_tests::{Ended, Project};

use super::one_error;
use crate::{id, texts};

/// A state file with a deployment in it.
fn used() -> Project {
    let project = Project::with(&["wait"]);
    project.pipeline("- { name: WAIT, with: { duration: 10ms } }\n");
    project.write("stagewright.yaml", "stateFile: state.db\n");
    project.run(&["run", "app.yaml", "--detach"]).exits(5);
    project
}

/// What the program says of the state file, which it must not change.
#[track_caller]
fn refused(project: &Project) -> Ended {
    let path = project.path("state.db");
    let before = fs::read(&path).ok();
    let ended = one_error(project.run(&["deployments"]), 4).complains("state.db");
    assert_eq!(ended.stderr.lines().count(), 1, "{ended} wrote one line");
    one_error(project.run(&["run", "app.yaml"]), 4);
    assert!(before == fs::read(&path).ok(), "it was changed");
    ended
}

#[test]
fn a_file_that_is_no_database_is_refused_and_left_as_it_is() {
    let project = used();
    project.write("state.db", "my own notes\n");
    refused(&project)
        .complains("is not a SQLite file")
        .complains("name another file for the state");
}

#[test]
fn a_file_of_a_newer_version_is_refused_and_left_as_it_is() {
    let project = used();
    let database = || Connection::open(project.path("state.db")).unwrap();
    let set = |version: u32| {
        database()
            .pragma_update(None, "user_version", version)
            .unwrap();
    };
    let version = database()
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap();
    set(99);
    refused(&project)
        .complains("newer stagewright")
        .complains("99");
    // With the version put right, all is there.
    set(version);
    project.run(&["deployments"]).exits(0).says("queued");
}

#[test]
fn a_read_only_file_is_looked_at_and_else_refused_and_left_as_it_is() {
    let project = used();
    let path = project.path("state.db");
    let mut permissions = fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&path, permissions).unwrap();
    let before = fs::read(&path).unwrap();
    project.run(&["deployments"]).exits(0).says("queued");
    for command in [&["run", "app.yaml"][..], &["work", "--until-idle"]] {
        one_error(project.run(command), 4)
            .complains("can't be written")
            .complains("the right to write");
    }
    assert!(before == fs::read(&path).unwrap(), "it was changed");
}

#[test]
fn a_directory_and_a_damaged_file_are_refused() {
    let project = used();
    let path = project.path("state.db");
    // All of it into the one file, as a copy of it would be.
    let database = Connection::open(&path).unwrap();
    let mode = database.pragma_update_and_check(None, "journal_mode", "delete", |row| {
        row.get::<_, String>(0)
    });
    assert_eq!(mode.unwrap(), "delete");
    drop(database);
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    refused(&project).complains("damaged").complains("backup");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    refused(&project)
        .complains("is a directory")
        .complains("name a file");
}

#[test]
fn checking_files_alone_needs_neither_state_nor_plugins() {
    let project = Project::empty();
    project.pipeline("- { name: WAIT, with: { duration: 10ms } }\n");
    project
        .run(&["check", "--structure", "app.yaml"])
        .exits(0)
        .says("app.yaml: ok");
    assert!(!project.path(".stagewright").exists());
}

#[test]
fn what_needs_the_plugins_alone_needs_no_state_and_makes_none() {
    let project = Project::with(&["wait"]);
    project.pipeline("- { name: WAIT, with: { duration: 10ms } }\n");
    let looks = || {
        project.run(&["plugins"]).exits(0).says("wait");
        let checked = project.run(&["check", "app.yaml"]).exits(0);
        checked.says("app.yaml: ok");
    };
    looks();
    assert!(!project.path(".stagewright").exists());
    // Nor does it matter what is wrong with one.
    project.write(".stagewright/state.db", "my own notes\n");
    looks();
    assert_eq!(project.read(".stagewright/state.db"), "my own notes\n");
}

#[test]
fn a_deployment_that_can_not_be_read_hides_no_other_and_is_named() {
    let project = used();
    let damaged = id(&project.newest()).to_owned();
    let database = Connection::open(project.path("state.db")).unwrap();
    project.run(&["cancel", &damaged]).exits(0);
    project.run(&["run", "app.yaml", "--detach"]).exits(5);
    let fine = id(&project.newest()).to_owned();
    database
        .execute(
            "UPDATE deployments SET head = '{' WHERE id = ?1",
            [&damaged],
        )
        .unwrap();
    let listed = project.run(&["--output", "json", "deployments"]).exits(0);
    assert_eq!(texts(&listed.json(), "id"), [&fine]);
    listed
        .complains(&damaged)
        .complains("the stored deployment can't be read");
    project
        .run(&["show", &damaged])
        .exits(4)
        .complains(&damaged)
        .complains("can't be read");
}

#[test]
fn a_command_about_what_is_stored_makes_no_state_and_names_the_one_it_looked_for() {
    let project = Project::with(&["approval"]);
    let file = project.path(".stagewright/state.db");
    for command in [
        &["deployments"][..],
        &["show", "x"],
        &["logs", "x"],
        &["cancel", "x", "--by", "ann"],
        &["approve", "x", "--by", "ann"],
        &["skip", "x", "--by", "ann"],
        &["backup", "copy"],
    ] {
        one_error(project.run(command), 2)
            .complains(&format!("there is no state file {}", file.display()))
            .complains("`--config FILE` names another")
            .complains("`stateFile`");
        assert!(!project.path(".stagewright").exists(), "{command:?}");
        assert!(!project.path("copy").exists(), "{command:?}");
    }
    // Where there is one without that deployment, it is named too.
    project.run(&["work", "--until-idle"]).exits(0);
    for command in ["show", "logs", "cancel", "approve", "skip"] {
        one_error(project.run(&[command, "x"]), 2)
            .complains(&format!("there is no deployment x in {}", file.display()))
            .complains("`--config FILE`");
    }
    let listed = project.run(&["deployments"]).exits(0);
    listed.says(&format!("no deployments in {}", file.display()));
}

#[test]
fn a_state_file_that_is_named_as_a_directory_is_refused_and_none_is_made() {
    let project = Project::with(&["wait"]);
    project.write("stagewright.yaml", "stateFile: state/\n");
    one_error(project.run(&["deployments"]), 4)
        .complains("state/ is a directory: name a file for the state, such as");
    assert!(!project.path("state").exists());
}

#[test]
fn a_file_in_the_place_of_the_directory_beside_the_state_is_named() {
    let project = used();
    fs::remove_dir_all(project.path("state.db-files")).unwrap();
    project.write("state.db-files", "mine");
    one_error(project.run(&["deployments"]), 4)
        .complains("state.db-files is a file, where the state needs a directory: move it away");
    assert_eq!(project.read("state.db-files"), "mine");
}

#[test]
fn a_file_with_the_version_of_nobody_is_refused_with_that_version() {
    let project = used();
    let database = Connection::open(project.path("state.db")).unwrap();
    database.pragma_update(None, "user_version", -5).unwrap();
    refused(&project).complains("version -5");
}

#[test]
fn a_state_file_that_is_a_link_is_one_state_under_both_names() {
    let project = Project::with(&["wait"]);
    project.pipeline("- { name: WAIT, with: { duration: 1ms } }\n");
    project.write("link.yaml", "stateFile: link.db\n");
    project.write("stagewright.yaml", "stateFile: kept/state.db\n");
    std::os::unix::fs::symlink("kept/state.db", project.path("link.db")).unwrap();
    // What it leads to is not there yet.
    project
        .run(&["--config", "link.yaml", "run", "app.yaml", "--detach"])
        .exits(5);
    project.run(&["work", "--until-idle"]).exits(0);
    assert_eq!(project.newest()["status"], "succeeded");
    assert!(!project.path("link.db-files").exists());
}
