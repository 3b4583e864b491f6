//! A host that stands still for longer than its leases last, and then goes on:
//! what it was at is another's by then.

use stagewright_tests::{Clock, Gate, Project, Running, State};

use crate::{course, id};

/// A host whose leases last so briefly that a test can wait for their end.
fn start(project: &Project, arguments: &[&str]) -> Running {
    project.start_by(&["env", "STAGEWRIGHT_LEASE=2000"], arguments)
}

/// A project whose stage says which attempt it is, waits at the gate of that
/// attempt, and remembers which it was; the stage after it says what that was.
fn project(gates: [&Gate; 2]) -> Project {
    let project = Project::with(&["probe"]);
    project.write(
        "stagewright.yaml",
        "plugins:\n  probe:\n    allow:\n      commands: [/bin/sh]\n",
    );
    let [first, second] = gates.map(Gate::wait);
    project.pipeline(&format!(
        "- name: PROBE\n  with:\n    do:\n      \
         - log: attempt {{attempt}} began\n      \
         - spawn:\n          program: /bin/sh\n          log: true\n          arguments:\n            \
         - -c\n            \
         - if [ {{attempt}} = 1 ]; then {first}; else {second}; fi; echo through {{attempt}}\n      \
         - put: [application, who, 'attempt {{attempt}}']\n      \
         - log: attempt {{attempt}} ended\n\
         - name: PROBE\n  with: {{ do: [{{ get: [application, who] }}] }}\n"
    ));
    project
}

/// What people are shown of a deployment who look so late that the leases have lapsed
/// of a host that stands still.
fn shown_later(project: &Project, id: &str) -> String {
    let clock = Clock::new();
    clock.set(60);
    let shown = project.start_by(&["env", &clock.variable()], &["show", id]);
    shown.end().exits(0).stdout
}

#[test]
fn of_a_stage_whose_host_does_not_answer_is_said_since_when_and_what_comes_next() {
    let gates = [Gate::new(), Gate::new()];
    let project = project([&gates[0], &gates[1]]);
    let mut still = project.start(&["run", "app.yaml", "--strategy", "pipeline"]);
    still.line_with("| attempt 1 began");
    let newest = project.newest();
    let id = id(&newest);
    let shown = project.run(&["show", id]).exits(0);
    shown.says("1 PROBE waits for its plugin, which is at work");
    State::of(&project).halt(&still);
    let shown = shown_later(&project, id);
    for words in [
        "1 PROBE waits for its host, which has not answered since 20",
        "the next host that works on this state takes it over: `stagewright work`",
    ] {
        assert!(shown.contains(words), "{shown}");
    }
    assert!(!shown.contains("at work:"), "{shown}");
    // Nor has anybody told its plugin of a cancel.
    project.run(&["cancel", id, "--by", "ann"]).exits(0);
    let shown = shown_later(&project, id);
    for words in [
        "1 PROBE waits for its host, which has not answered since 20",
        "the next host that works on this state ends it, as it was cancelled",
    ] {
        assert!(shown.contains(words), "{shown}");
    }
    assert!(!shown.contains("was told to stop"), "{shown}");
    still.go_on();
    still.end().exits(3);
}

#[test]
fn of_a_planning_whose_host_does_not_answer_is_said_so_too() {
    let project = Project::with(&["probe"]);
    let config = "{ do: [{ log: asked }, spin-until-cancelled] }";
    project.write(
        "stagewright.yaml",
        format!("limits: {{ planTimeout: 1h }}\nplugins: {{ probe: {{ config: {config} }} }}\n"),
    );
    project.pipeline("- { name: PROBE }\n");
    let mut still = project.start(&["run", "app.yaml"]);
    still.line_with("| asked");
    let newest = project.newest();
    State::of(&project).halt(&still);
    let shown = shown_later(&project, id(&newest));
    let words = "waits for its planning by its host, which has not answered since 20";
    assert!(shown.contains(words), "{shown}");
}

/// What the first stage said, as `attempt: text`.
fn told(project: &Project, id: &str) -> Vec<String> {
    let lines = project.log_lines(id, "1");
    let numbers = lines.iter().map(|line| line["number"].as_u64());
    let wanted = (0..lines.len() as u64).map(Some);
    assert!(numbers.eq(wanted), "{lines:?}");
    lines
        .iter()
        .map(|line| {
            format!(
                "{}: {}",
                line["attempt"],
                line["text"].as_str().expect("text")
            )
        })
        .collect()
}

/// Demands that the second attempt alone counts.
#[track_caller]
fn second_counts(project: &Project, id: &str) {
    let done = project.show(id);
    assert_eq!(course(&done), ["PROBE succeeded", "PROBE succeeded"]);
    let stage = &done["stages"][0];
    assert_eq!(stage["attempt"]["number"], 2);
    assert_eq!(stage["losses"], 1);
    assert_eq!(
        told(project, id),
        [
            "1: attempt 1 began",
            "2: attempt 2 began",
            "2: through 2",
            "2: exit code 0",
            "2: done",
            "2: attempt 2 ended",
        ]
    );
    assert_eq!(project.log(id, "2"), ["Some(\"attempt 2\")"]);
    let ends = State::of(project)
        .number("SELECT count(*) FROM events WHERE kind LIKE '%\"deployment\"%succeeded%'");
    assert_eq!(ends, 1, "a deployment ends once");
}

#[test]
fn a_stopped_host_drops_what_another_took_over_and_writes_nothing_of_it() {
    // What it runs may wait on, or have come to its end while the host stood still.
    for ended_meanwhile in [false, true] {
        let (mut first, mut second) = (Gate::new(), Gate::new());
        let project = project([&first, &second]);
        let mut still = start(&project, &["run", "app.yaml", "--strategy", "pipeline"]);
        still.line_with("| attempt 1 began");
        let newest = project.newest();
        let id = id(&newest);
        State::of(&project).halt(&still);
        let other = start(&project, &["work"]);
        let mut log = project.start(&["logs", id, "1", "--follow"]);
        log.line_with("attempt 2 began");
        if ended_meanwhile {
            first.open();
        }
        still.go_on();
        second.open();
        let ended = still.end().exits(0);
        let says = |words: &str| ended.stdout.matches(words).count();
        assert_eq!(says("shop succeeded"), 1, "{ended}");
        assert_eq!(says("1 PROBE succeeded"), 1, "{ended}");
        assert_eq!(says("attempt 1 ended"), 0, "{ended}");
        // What became of the first attempt comes before anything of the second.
        let at = |words: &str| ended.stdout.find(words).expect("a line");
        let told = [
            at("1 PROBE waiting: its host died; it runs again"),
            at("1 PROBE | attempt 2 began"),
            at("1 PROBE | through 2"),
            at("1 PROBE succeeded"),
        ];
        assert!(told.is_sorted(), "{ended}");
        log.end().exits(0);
        other.terminate();
        other.end().exits(0);
        second_counts(&project, id);
    }
}

#[test]
fn a_stopped_host_that_goes_on_after_all_is_over_tells_how_it_ended() {
    let (mut first, mut second) = (Gate::new(), Gate::new());
    let project = project([&first, &second]);
    let mut still = start(&project, &["run", "app.yaml", "--strategy", "pipeline"]);
    still.line_with("| attempt 1 began");
    let newest = project.newest();
    State::of(&project).halt(&still);
    second.open();
    let other = start(&project, &["work"]);
    project.run(&["logs", id(&newest), "--follow"]).exits(0);
    other.terminate();
    other.end().exits(0);
    first.open();
    still.go_on();
    still.end().exits(0).says("shop succeeded");
    second_counts(&project, id(&newest));
}

#[test]
fn a_host_that_stood_still_while_it_planned_leaves_the_plan_to_who_made_it() {
    // Its planning may have no end, or come to it as soon as the host goes on.
    for hangs in ["spin-until-cancelled", "{ sleep: 5000 }"] {
        let project = Project::with(&["probe"]);
        let config = |steps: &str| {
            let text = format!(
                "limits: {{ planTimeout: 1h }}\n\
                 plugins: {{ probe: {{ config: {{ do: [{steps}] }} }} }}\n"
            );
            project.write("stagewright.yaml", text);
        };
        project.pipeline("- { name: PROBE }\n");
        project.run(&["run", "app.yaml", "--detach"]).exits(5);
        let newest = project.newest();
        let id = id(&newest);
        config(&format!("{{ log: asked first }}, {hangs}, {{ log: late }}"));
        let still = start(&project, &["work"]);
        let mut log = project.start(&["logs", id, "plan", "--follow"]);
        log.line_with("asked first");
        State::of(&project).halt(&still);
        config("{ log: asked again }");
        let other = start(&project, &["work"]);
        log.line_with("asked again");
        project.run(&["logs", id, "--follow"]).exits(0);
        still.go_on();
        for host in [still, other] {
            host.terminate();
            host.end().exits(0);
        }
        log.end().exits(0);
        let done = project.show(id);
        assert_eq!(course(&done), ["PROBE succeeded"]);
        assert_eq!(done["planAttempt"], 2);
        let plan = project.log(id, "plan");
        let [first, again, summary] = plan.as_slice() else {
            panic!("{hangs}: {plan:?}");
        };
        assert_eq!((&**first, &**again), ("asked first", "asked again"));
        assert!(summary.contains("quick sync"), "{summary}");
    }
}
