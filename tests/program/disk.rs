//! A disk that is full, that may not be written, or whose file another process
//! has locked: what is said, and that nothing is lost by it.

use std::fs;

use stagewright_tests::{Gate, Project, Running, State};

use crate::bad_input::one_error;
use crate::{course, id};

/// Lines of the log that do not fit.
const LINES: usize = 40_000;

/// A project whose script writes more than fits, if it is let through the first
/// gate, and ends behind the second.
fn flooding(gates: [&Gate; 2]) -> Project {
    let project = Project::with(&["script"]);
    let [first, second] = gates.map(Gate::wait);
    project.grant_shell().pipeline(&format!(
        "- name: SCRIPT_RUN\n  with:\n    run: |\n      echo begun\n      {first}\n      \
         yes 'a line that takes its place' | head -n {LINES}\n      {second}\n\
         - name: SCRIPT_RUN\n  with: {{ run: echo next }}\n"
    ));
    project
}

/// Starts the program so that it is told of a full disk rather than killed.
fn start(project: &Project, arguments: &[&str]) -> Running {
    let by = ["sh", "-c", "trap '' XFSZ; exec \"$@\"", "sh"];
    project.start_by(&by, arguments)
}

/// Leaves so little room on the disk that the flood does not fit.
fn fill(project: &Project, program: &Running) {
    let size = |name: &str| fs::metadata(project.path(name)).map_or(0, |file| file.len());
    let state = size(".stagewright/state.db").max(size(".stagewright/state.db-wal"));
    program.limit_files(Some(state + (64 << 10)));
}

/// Demands that the newest attempt of the first stage has all lines of the flood,
/// and that the numbers of all lines go on.
#[track_caller]
fn whole(project: &Project, id: &str, attempt: u64) {
    let lines = project.log_lines(id, "1");
    let numbers = lines.iter().map(|line| line["number"].as_u64());
    assert!(numbers.eq((0..lines.len() as u64).map(Some)));
    let newest = lines.iter().filter(|line| line["attempt"] == attempt);
    let flood = newest.filter(|line| line["text"] == "a line that takes its place");
    assert_eq!(flood.count(), LINES);
    let done = project.show(id);
    assert_eq!(
        course(&done),
        ["SCRIPT_RUN succeeded", "SCRIPT_RUN succeeded"]
    );
    assert_eq!(done["stages"][0]["attempt"]["number"], attempt);
}

#[test]
fn a_run_on_a_full_disk_says_so_and_is_brought_to_its_end_when_there_is_room() {
    let (mut first, mut second) = (Gate::new(), Gate::new());
    let project = flooding([&first, &second]);
    let mut run = start(&project, &["run", "app.yaml"]);
    run.line_with("| begun");
    fill(&project, &run);
    first.open();
    second.open();
    let ended = run.end().exits(4);
    ended
        .complains("lines of a log are lost")
        .complains("state.db: writing to the disk failed")
        .complains("see whether it is full");
    let newest = project.newest();
    assert_eq!(newest["status"], "running");
    first.open();
    second.open();
    project.run(&["work", "--until-idle"]).exits(0);
    whole(&project, id(&newest), 2);
}

#[test]
fn a_stage_whose_log_finds_no_room_goes_on_where_it_was_when_there_is_room() {
    let (mut first, mut second) = (Gate::new(), Gate::new());
    let project = flooding([&first, &second]);
    let mut run = start(&project, &["run", "app.yaml"]);
    run.line_with("| begun");
    fill(&project, &run);
    first.open();
    run.complaint_with("log lines can't be stored yet");
    run.limit_files(None);
    second.open();
    run.end().exits(0).says("2 SCRIPT_RUN | next");
    whole(&project, id(&project.newest()), 1);
}

#[test]
fn what_does_not_fit_on_the_disk_is_not_deployed_and_the_file_is_named() {
    let project = Project::with(&["wait"]);
    project.pipeline("- { name: WAIT, with: { duration: 1ms } }\n");
    project.run(&["work", "--until-idle"]).exits(0);
    project.write("large", vec![b'x'; 1 << 20]);
    // In blocks of half a KiB or of one, as the shell sees fit.
    let by = ["sh", "-c", "trap '' XFSZ; ulimit -f 600; exec \"$@\"", "sh"];
    let ended = project.start_by(&by, &["run", "app.yaml", "--detach"]);
    one_error(ended.end(), 4).complains("large");
    project
        .run(&["deployments"])
        .exits(0)
        .says("no deployments");
    project.run(&["run", "app.yaml", "--detach"]).exits(5);
}

#[test]
fn a_state_where_nothing_can_be_made_is_refused_with_its_place() {
    let project = Project::with(&["wait"]);
    project.pipeline("- { name: WAIT, with: { duration: 1ms } }\n");
    project.write("file", "");
    // Where the system lets nobody make anything, however mighty.
    for place in ["/proc/stagewright.db", "/sys/a/state.db", "file/state.db"] {
        project.write("stagewright.yaml", format!("stateFile: {place}\n"));
        for command in [&["run", "app.yaml"][..], &["work", "--until-idle"][..]] {
            let ended = one_error(project.run(command), 4);
            let directory = place.rsplit_once('/').expect("a directory").0;
            ended.complains(directory).complains("name another file");
        }
    }
}

#[test]
fn a_write_waits_for_another_process_that_has_the_state_locked_and_reading_does_not() {
    let mut gate = Gate::new();
    let project = Project::with(&["approval", "script"]);
    project.grant_shell().pipeline(&format!(
        "- name: SCRIPT_RUN\n  with:\n    run: echo begun; {}; echo through\n\
         - name: WAIT_APPROVAL\n",
        gate.wait()
    ));
    let mut run = project.start(&["run", "app.yaml"]);
    run.line_with("| begun");
    let newest = project.newest();
    let id = id(&newest);
    let state = State::of(&project);
    let lock = || while !state.lock() {};
    lock();
    gate.open();
    // Whoever only looks sees what was stored before.
    let seen = project.show(id);
    assert_eq!(course(&seen)[0], "SCRIPT_RUN running");
    state.unlock();
    run.line_with("2 WAIT_APPROVAL suspended");
    lock();
    let approve = project.start(&["approve", id, "--by", "ann"]);
    assert_eq!(
        project.log(id, "1").last().unwrap(),
        "The script exited with code 0"
    );
    state.unlock();
    approve.end().exits(0).says("was approved by ann");
    run.end().exits(0).says("shop succeeded");
}

#[test]
fn a_lock_that_is_kept_too_long_is_told_with_the_file_and_nothing_was_done() {
    let project = Project::with(&["approval"]);
    project.pipeline("- { name: WAIT_APPROVAL }\n");
    project.run(&["run", "app.yaml", "--detach"]).exits(5);
    project.run(&["work", "--until-idle"]).exits(5);
    let newest = project.newest();
    let state = State::of(&project);
    while !state.lock() {}
    one_error(project.run(&["approve", id(&newest), "--by", "ann"]), 4)
        .complains(".stagewright/state.db: another process has kept the file locked")
        .complains("try again");
    state.unlock();
    let waiting = project.show(id(&newest));
    assert_eq!(waiting["stages"][0]["commands"], serde_json::json!([]));
    let approve = ["approve", id(&newest), "--by", "ann"];
    project.run(&approve).exits(0);
    project.run(&["work", "--until-idle"]).exits(0);
}
