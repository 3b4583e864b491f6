//! A state that this user may read and not write: whoever only looks is shown what it
//! holds, nothing is made or changed, and what would write says what is missing.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rusqlite::Connection;
use stagewright_tests::{Ended, Gate, Project, Running};

use crate::bad_input::one_error;
use crate::id;
use crate::leaving::gated;

/// Starts the program as a user whom permissions bind, which root is not as it is.
fn start(project: &Project, arguments: &[&str]) -> Running {
    if rustix::process::geteuid().is_root() {
        let without = "--bounding-set=-dac_override,-dac_read_search";
        return project.start_by(&["setpriv", without], arguments);
    }
    project.start(arguments)
}

fn run(project: &Project, arguments: &[&str]) -> Ended {
    start(project, arguments).end()
}

/// A state that nobody may write, until this is dropped.
struct Shut<'a>(&'a Project);

impl<'a> Shut<'a> {
    fn new(project: &'a Project) -> Self {
        let shut = Self(project);
        shut.set(0o555, 0o444);
        shut
    }

    fn set(&self, directory: u32, file: u32) {
        let state = self.0.path(".stagewright");
        for name in ["state.db", "state.db-wal", "state.db-shm"] {
            let path = state.join(name);
            if path.exists() {
                set(&path, file);
            }
        }
        set(&state, directory);
    }
}

impl Drop for Shut<'_> {
    fn drop(&mut self) {
        self.set(0o755, 0o644);
    }
}

fn set(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("it is the test's own");
}

/// A project with a finished deployment, and its id.
fn deployed() -> (Project, String) {
    let project = Project::with(&["script"]);
    project
        .grant_shell()
        .pipeline("- { name: SCRIPT_RUN, with: { run: echo done } }\n");
    project.run(&["run", "app.yaml"]).exits(0);
    let id = id(&project.newest()).to_owned();
    (project, id)
}

/// The names in the state's directory, with their contents.
fn content(project: &Project) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(project.path(".stagewright")).expect("a directory");
    let mut content: Vec<_> = entries
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_file())
        .map(|path| (path.display().to_string(), fs::read(&path).expect("a file")))
        .collect();
    content.sort();
    content
}

/// Demands that all that is only looked at is shown, and nothing else done.
#[track_caller]
fn is_shown(project: &Project, id: &str) {
    let before = content(project);
    run(project, &["deployments"]).exits(0).says(id);
    run(project, &["show", id])
        .exits(0)
        .says("1  SCRIPT_RUN  succeeded");
    run(project, &["logs", id, "--follow"])
        .exits(0)
        .says("| done");
    for command in [&["run", "app.yaml"][..], &["cancel", id, "--by", "ann"]] {
        one_error(run(project, command), 4)
            .complains("state.db can't be written")
            .complains("the right to write");
    }
    assert!(content(project) == before, "it was changed");
}

#[test]
fn a_state_that_may_not_be_written_is_shown() {
    let (project, id) = deployed();
    let _shut = Shut::new(&project);
    is_shown(&project, &id);
}

#[test]
fn a_state_of_one_file_is_shown_where_nothing_can_be_made_beside_it() {
    let (project, id) = deployed();
    // Whoever closes it last puts all into the one file.
    let last = Connection::open(project.path(".stagewright/state.db")).expect("a database");
    let moved = last.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    moved.expect("nobody else has it open");
    drop(last);
    assert!(!project.path(".stagewright/state.db-wal").exists());
    let _shut = Shut::new(&project);
    is_shown(&project, &id);
}

#[test]
fn a_state_that_can_not_be_read_without_writing_says_so_and_what_to_do() {
    let (project, id) = deployed();
    // As it is after a copy of two of the three files.
    let open = Connection::open(project.path(".stagewright/state.db")).expect("a database");
    open.pragma_update(None, "wal_autocheckpoint", 0)
        .and_then(|()| open.execute_batch("CREATE TABLE t (x)"))
        .expect("nobody else has it open");
    let log = fs::read(project.path(".stagewright/state.db-wal")).expect("a log");
    drop(open);
    project.write(".stagewright/state.db-wal", log);
    let _ = fs::remove_file(project.path(".stagewright/state.db-shm"));
    let _shut = Shut::new(&project);
    for command in [&["deployments"][..], &["show", &id], &["logs", &id]] {
        one_error(run(&project, command), 4)
            .complains("state.db-wal")
            .complains("to a directory that can be written")
            .complains("let `stateFile` name the copy");
    }
}

#[test]
fn a_state_that_others_write_is_followed_by_one_who_may_not() {
    let mut gate = Gate::new();
    let project = gated(&gate, "");
    let mut host = project.start(&["run", "app.yaml"]);
    host.line_with("| begun");
    let newest = project.newest();
    let shut = Shut::new(&project);
    let mut log = start(&project, &["logs", id(&newest), "--follow"]);
    log.line_with("| begun");
    gate.open();
    log.line_with("2 SCRIPT_RUN | next");
    log.end().exits(0);
    drop(shut);
    host.end().exits(0);
}
