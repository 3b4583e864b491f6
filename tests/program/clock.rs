//! The clock is set, forward and back, while the program runs: what waits for a
//! time of day waits for that, what runs is measured by no clock that people set,
//! and nobody takes the time of day for the death of a host.

use stagewright_tests::{Clock, Ended, Gate, Project, Running, State};

use crate::{course, id, texts};

const HOUR: i64 = 3600;

fn start(project: &Project, clock: &Clock, arguments: &[&str]) -> Running {
    project.start_by(&["env", &clock.variable()], arguments)
}

/// Runs the program by a clock that is set.
pub(crate) fn run(project: &Project, clock: &Clock, arguments: &[&str]) -> Ended {
    start(project, clock, arguments).end()
}

/// A project with one script that says `begun` and waits at a gate, and a second.
fn gated(gate: &Gate, timeout: &str) -> Project {
    let project = Project::with(&["script"]);
    project.grant_shell().pipeline(&format!(
        "- name: SCRIPT_RUN\n  {timeout}with:\n    run: echo begun; {}; echo through\n\
         - name: SCRIPT_RUN\n  with: {{ run: echo next }}\n",
        gate.wait()
    ));
    project
}

/// Demands that nothing that people are shown of a deployment says that it took
/// less than no time, or longer than there is.
#[track_caller]
fn no_nonsense(project: &Project, clock: &Clock, id: &str) {
    for arguments in [&["show", id][..], &["deployments"][..]] {
        let shown = run(project, clock, arguments).exits(0);
        for word in shown.stdout.split_whitespace() {
            // As `2d03h`.
            let days = word.strip_suffix('h').and_then(|word| word.split_once('d'));
            assert_eq!(days, None, "{shown} says {word}");
            let negative = word.strip_prefix('-').is_some_and(|rest| !rest.is_empty());
            let option = word.starts_with("--");
            assert!(!negative || option, "{shown} says {word}");
        }
    }
}

#[test]
fn a_wait_of_hours_ends_when_the_clock_is_set_beyond_it() {
    let clock = Clock::new();
    let project = Project::with(&["wait"]);
    project.pipeline("- { name: WAIT, with: { duration: 2h } }\n");
    let mut waits = start(&project, &clock, &["run", "app.yaml"]);
    waits.line_with("1 WAIT suspended until");
    clock.set(3 * HOUR);
    waits.end().exits(0).says("1 WAIT | Waited for 2h");
    let newest = project.newest();
    no_nonsense(&project, &clock, id(&newest));
    run(&project, &clock, &["show", id(&newest)])
        .exits(0)
        .says("3h00m");
}

#[test]
fn a_wait_whose_limit_is_passed_by_a_clock_that_is_set_has_timed_out() {
    let clock = Clock::new();
    let project = Project::with(&["wait"]);
    project.pipeline("- { name: WAIT, timeout: 1h, with: { duration: 5h } }\n");
    let mut waits = start(&project, &clock, &["run", "app.yaml"]);
    waits.line_with("1 WAIT suspended until");
    clock.set(2 * HOUR);
    waits
        .end()
        .exits(1)
        .says("1 WAIT timed-out")
        .says("timed out: it may take 1h");
    assert_eq!(course(&project.newest()), ["WAIT timed-out"]);
}

#[test]
fn a_clock_that_is_set_forward_takes_no_stage_from_a_host_that_lives() {
    let clock = Clock::new();
    let mut gate = Gate::new();
    let project = gated(&gate, "");
    let mut lives = start(&project, &clock, &["run", "app.yaml"]);
    lives.line_with("| begun");
    clock.set(HOUR);
    // Every lease was over long ago by the clock of this one.
    run(&project, &clock, &["work", "--until-idle"])
        .exits(5)
        .says("left unfinished:");
    gate.open();
    lives.end().exits(0).says("2 SCRIPT_RUN | next");
    let done = project.newest();
    assert_eq!(done["stages"][0]["attempt"]["number"], 1);
    assert_eq!(done["stages"][0]["losses"], 0);
    no_nonsense(&project, &clock, id(&done));
}

#[test]
fn a_wait_whose_clock_is_set_back_ends_neither_too_early_nor_never() {
    let clock = Clock::new();
    let project = Project::with(&["wait"]);
    project.pipeline("- { name: WAIT, with: { duration: 2s } }\n");
    let mut waits = start(&project, &clock, &["run", "app.yaml"]);
    waits.line_with("1 WAIT suspended until");
    clock.set(-HOUR);
    let newest = project.newest();
    // Its time of day has not come, whoever looks.
    run(&project, &clock, &["work", "--until-idle"]).exits(5);
    assert_eq!(course(&project.newest()), ["WAIT suspended"]);
    no_nonsense(&project, &clock, id(&newest));
    clock.set(0);
    waits.end().exits(0).says("1 WAIT | Waited for 2s");
}

#[test]
fn a_script_has_its_time_and_no_more_though_the_clock_is_set_back() {
    let clock = Clock::new();
    let gate = Gate::new();
    let project = gated(&gate, "timeout: 3s\n  ");
    let mut hangs = start(&project, &clock, &["run", "app.yaml"]);
    hangs.line_with("| begun");
    clock.set(-HOUR);
    hangs
        .end()
        .exits(1)
        .says("1 SCRIPT_RUN timed-out")
        .says("timed out: it may take 3s");
    let ended = project.newest();
    assert_eq!(course(&ended)[0], "SCRIPT_RUN timed-out");
    no_nonsense(&project, &clock, id(&ended));
}

#[test]
fn what_happens_after_the_clock_was_set_back_comes_after_what_happened_before() {
    let clock = Clock::new();
    let mut gate = Gate::new();
    let project = gated(&gate, "");
    let first = &["--output", "json", "run", "app.yaml"];
    let mut first = start(&project, &clock, first);
    first.line_with("\"begun\"");
    let before = id(&project.newest()).to_owned();
    clock.set(-HOUR);
    let second = run(&project, &clock, &["run", "app.yaml", "--detach"]);
    second.exits(5);
    let after = id(&project.newest()).to_owned();
    assert_ne!(before, after, "the newest is the one that was stored last");
    // It was stored at an earlier time of day, and has its place behind the other.
    run(&project, &clock, &["show", &after])
        .exits(0)
        .says(&format!("waits for deployment {before}"));
    gate.open();
    let lines = first.end().exits(0).json_lines();
    let numbers: Vec<u64> = lines
        .iter()
        .filter_map(|line| line["event"]["number"].as_u64())
        .collect();
    assert!(numbers.is_sorted(), "{numbers:?}");
    let log: Vec<&str> = lines
        .iter()
        .filter_map(|line| line["log"]["line"]["text"].as_str())
        .filter(|text| ["begun", "through", "next"].contains(text))
        .collect();
    assert_eq!(log, ["begun", "through", "next"]);
    gate.open();
    run(&project, &clock, &["work", "--until-idle"]).exits(0);
    let listed = run(&project, &clock, &["--output", "json", "deployments"]);
    let listed = listed.exits(0).json();
    assert_eq!(texts(&listed, "id"), [&after, &before]);
    for id in [&before, &after] {
        assert_eq!(project.show(id)["status"], "succeeded");
        no_nonsense(&project, &clock, id);
    }
}

#[test]
fn a_host_that_hangs_is_found_out_though_the_clock_was_set_back_behind_its_lease() {
    let clock = Clock::new();
    let mut gate = Gate::new();
    let project = gated(&gate, "");
    let briefly = [&*clock.variable(), "STAGEWRIGHT_LEASE=2000"];
    let briefly = ["env", briefly[0], briefly[1]];
    let mut hangs = project.start_by(&briefly, &["run", "app.yaml"]);
    hangs.line_with("| begun");
    let id = id(&project.newest()).to_owned();
    State::of(&project).halt(&hangs);
    clock.set(-HOUR);
    let other = project.start_by(&briefly, &["work"]);
    let mut log = project.start(&["logs", &id, "--follow"]);
    log.line_with("attempt 2");
    // One gate for the script that hangs as for the other.
    gate.open();
    gate.open();
    log.end().exits(0);
    other.terminate();
    other.end().exits(0);
    let done = project.show(&id);
    assert_eq!(done["status"], "succeeded");
    assert_eq!(done["stages"][0]["attempt"]["number"], 2);
    hangs.go_on();
    hangs.end().exits(0);
}
