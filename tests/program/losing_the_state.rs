//! The state is removed, moved or replaced while hosts have it open: each notices,
//! and says so, rather than write to a file that nobody will find again.

use std::fs;

use stagewright_tests::{Gate, Project};

use crate::bad_input::one_error;
use crate::leaving::gated;
use crate::{course, id};

/// Has a deployment run under `work`, with somebody who follows its log, while the
/// state is made off with; gives it and the id.
fn lost(gate: &Gate, make_off: impl Fn(&Project)) -> (Project, String) {
    let project = gated(gate, "");
    project.run(&["run", "app.yaml", "--detach"]).exits(5);
    let id = id(&project.newest()).to_owned();
    let work = project.start(&["work"]);
    let mut log = project.start(&["logs", &id, "1", "--follow"]);
    log.line_with("begun");
    make_off(&project);
    let named = project.path(".stagewright/state.db");
    for one in [work, log] {
        one_error(one.end().without_output(), 4)
            .complains(&format!("the state file {}", named.display()))
            .complains("was removed, moved or replaced while it was in use")
            .complains("start again");
    }
    (project, id)
}

fn moved(project: &Project, from: &str, to: &str) {
    fs::rename(project.path(from), project.path(to)).expect("a file");
}

#[test]
fn a_host_whose_state_is_removed_stops_and_names_it() {
    for name in ["state.db", "state.db-wal", "state.db-shm"] {
        lost(&Gate::new(), |project| {
            fs::remove_file(project.path(".stagewright").join(name)).expect("a file");
        });
    }
}

#[test]
fn a_host_whose_state_is_replaced_stops_and_leaves_the_other_one_alone() {
    let (project, _) = lost(&Gate::new(), |project| {
        project.run(&["backup", "copy"]).exits(0);
        moved(project, "copy/state.db", ".stagewright/state.db");
    });
    assert_eq!(project.newest()["status"], "running");
}

#[test]
fn a_state_that_is_put_back_goes_on_where_it_was() {
    let mut gate = Gate::new();
    let (project, id) = lost(&gate, |project| moved(project, ".stagewright", "elsewhere"));
    moved(&project, "elsewhere", ".stagewright");
    gate.open();
    project.run(&["work", "--until-idle"]).exits(0);
    let done = project.show(&id);
    assert_eq!(course(&done), ["SCRIPT_RUN succeeded"; 2]);
    assert_eq!(done["stages"][0]["attempt"]["number"], 2);
}
