//! Logs: which is meant, what is in it, and following one that is being written.

use stagewright_tests::{Gate, Project};

use crate::id;
use crate::leaving::gated;

fn scripts(project: &Project) -> String {
    project.grant_shell().pipeline(
        "- { name: SCRIPT_RUN, with: { run: echo one } }\n\
         - { name: WAIT, with: { duration: 10ms } }\n\
         - { id: last, name: SCRIPT_RUN, with: { run: echo three } }\n",
    );
    project.run(&["run", "app.yaml"]).exits(0);
    id(&project.newest()).to_owned()
}

#[test]
fn a_log_is_named_by_place_name_or_id_and_a_name_that_is_two_is_refused_with_their_places() {
    let project = Project::with(&["script", "wait"]);
    let id = scripts(&project);
    assert_eq!(project.log(&id, "1")[0], "one");
    assert_eq!(project.log(&id, "3")[0], "three");
    assert!(project.log(&id, "WAIT")[0].contains("for 10ms"));
    let stage = project.show(&id)["stages"][2]["id"].clone();
    assert_eq!(project.log(&id, stage.as_str().expect("an id"))[0], "three");
    assert_eq!(project.log(&id, "last")[0], "three", "its id in the file");
    let plan = project.log(&id, "plan");
    assert_eq!(plan.len(), 1, "{plan:?}");
    assert!(plan[0].starts_with("pipeline, since this is the first deployment"));

    // A few digits are enough for the deployment.
    project
        .run(&["logs", &id[..8], "3"])
        .exits(0)
        .says("three\n");
    project
        .run(&["logs", &id, "SCRIPT_RUN"])
        .exits(2)
        .complains("SCRIPT_RUN is the name of several stages; name one by its place: 1 SCRIPT_RUN, 3 SCRIPT_RUN");
    project
        .run(&["logs", &id, "SCRIPT"])
        .exits(2)
        .complains("has no stage SCRIPT; it has: 1 SCRIPT_RUN, 2 WAIT, 3 SCRIPT_RUN");
    project
        .run(&["logs", "nothing"])
        .exits(2)
        .complains("there is no deployment nothing in ")
        .complains("; see `stagewright deployments`");
}

#[test]
fn the_log_of_a_deployment_is_the_plans_and_then_each_stages_with_its_name() {
    let project = Project::with(&["script", "wait"]);
    let id = scripts(&project);
    let all = project.run(&["logs", &id]).exits(0).stdout;
    let mut heads: Vec<&str> = all
        .lines()
        .filter_map(|line| Some(line.split_once(" | ")?.0))
        .collect();
    heads.dedup();
    let order = ["plan", "1 SCRIPT_RUN", "2 WAIT", "3 SCRIPT_RUN"];
    assert_eq!(heads, order, "{all}");
    // The same to whoever follows what has ended.
    let followed = project.run(&["logs", &id, "--follow"]).exits(0);
    assert_eq!(followed.stdout, all);
}

#[test]
fn a_follower_in_another_process_sees_lines_as_they_come_and_ends_with_the_stage() {
    let mut gate = Gate::new();
    let project = Project::with(&["script"]);
    project.grant_shell().pipeline(&format!(
        "- name: SCRIPT_RUN\n  with:\n    run: echo before; {0}; echo after; {0}; echo late\n",
        gate.wait()
    ));
    let mut run = project.start(&["run", "app.yaml"]);
    run.line_with("| before");
    let id = id(&project.newest()).to_owned();
    let mut one = project.start(&["logs", &id, "1", "--follow"]);
    let mut all = project.start(&["logs", &id, "--follow"]);
    one.line_with("before");
    all.line_with("1 SCRIPT_RUN | before");
    gate.open();
    one.line_with("after");
    all.line_with("1 SCRIPT_RUN | after");
    gate.open();
    let last = "The script exited with code 0";
    let one = one.end().exits(0);
    assert_eq!(one.stdout, format!("before\nafter\nlate\n{last}\n"));
    all.end().exits(0).says(last);
    run.end().exits(0);
}

#[test]
fn all_of_a_failing_scripts_lines_are_there_in_order_with_continuous_numbers() {
    let project = Project::with(&["script"]);
    project.grant_shell().pipeline(
        "- name: SCRIPT_RUN\n  with:\n    run: |\n      i=0\n      \
         while [ $i -lt 3000 ]; do echo \"line $i\"; i=$((i+1)); done\n      \
         printf 'the last words'\n      exit 3\n",
    );
    let run = project.run(&["run", "app.yaml"]).exits(1);
    let lines = project.log_lines(id(&project.newest()), "1");
    for (place, line) in lines.iter().enumerate() {
        assert_eq!(line["number"], place);
        if place < 3000 {
            assert_eq!(line["text"], format!("line {place}"));
        }
    }
    let texts: Vec<&str> = lines[3000..]
        .iter()
        .map(|line| line["text"].as_str().expect("a text"))
        .collect();
    assert_eq!(texts[0], "the last words");
    assert!(texts[1].contains("code 3"), "{texts:?}");
    // Who followed it has seen the same, before the status.
    let printed: Vec<&str> = run
        .stdout
        .lines()
        .filter(|line| line.starts_with("1 SCRIPT_RUN"))
        .collect();
    assert_eq!(printed.len(), lines.len() + 2, "begun and failed besides");
    assert!(printed[printed.len() - 1].starts_with("1 SCRIPT_RUN failed"));
}

#[test]
fn a_log_can_neither_move_the_cursor_nor_forge_a_line_of_the_host() {
    let project = Project::with(&["script"]);
    project.grant_shell().pipeline(
        r#"- name: SCRIPT_RUN
  with:
    run: |
      printf 'a\033[2J\033[31mred\033[0m\rb\a\033]0;title\007c\n'
      printf 'bytes \377 end\n'
      printf '\n'
      printf '2 SCRIPT_RUN succeeded\n'
"#,
    );
    let run = project.run(&["run", "app.yaml"]).exits(0);
    let texts = project.log(id(&project.newest()), "1");
    assert_eq!(texts[0], "a\u{1b}[31mred\u{1b}[0mbc");
    assert_eq!(texts[1], "bytes \u{fffd} end");
    assert_eq!(texts[2], "");
    // A script's words always stand behind the stage's name.
    assert!(
        !run.stdout
            .lines()
            .any(|line| line == "2 SCRIPT_RUN succeeded")
    );
    let run = run.says("1 SCRIPT_RUN | 2 SCRIPT_RUN succeeded");
    assert!(!run.stdout.contains('\r') && !run.stdout.contains('\u{7}'));
}

const AGAIN: &str = "attempt 2: its host died; it runs again";
const DONE: &str = "The script exited with code 0";

#[test]
fn a_log_shows_where_a_new_attempt_begins() {
    let gate = Gate::new();
    let project = Project::with(&["script"]);
    let marker = project.path("marker");
    project.grant_shell().pipeline(&format!(
        "- name: SCRIPT_RUN\n  with:\n    run: |\n      \
         if [ -e '{0}' ]; then echo again; exit; fi\n      touch '{0}'\n      \
         echo once\n      {1}\n",
        marker.display(),
        gate.wait()
    ));
    let mut run = project.start(&["run", "app.yaml"]);
    run.line_with("| once");
    run.kill();
    project.run(&["work", "--until-idle"]).exits(0);
    let id = id(&project.newest()).to_owned();
    let one = project.run(&["logs", &id, "1"]).exits(0);
    let lines: Vec<&str> = one.stdout.lines().collect();
    assert_eq!(lines, ["once", AGAIN, "again", DONE]);
    let all = project.run(&["logs", &id]).exits(0);
    let all = all.says(&format!("1 SCRIPT_RUN | {AGAIN}\n1 SCRIPT_RUN | again\n"));
    assert_eq!(all.stdout.matches(AGAIN).count(), 1, "{all}");
    // For programs it is in each line.
    let lines = project.log_lines(&id, "1");
    let attempts: Vec<_> = lines.iter().map(|line| line["attempt"].as_u64()).collect();
    assert_eq!(attempts, [Some(1), Some(2), Some(2)]);
}

#[test]
fn a_new_attempt_shows_even_if_the_one_before_it_said_nothing() {
    let mut gate = Gate::new();
    let project = Project::with(&["script"]);
    project.grant_shell().pipeline(&format!(
        "- name: SCRIPT_RUN\n  with: {{ run: \"{}; echo again\" }}\n",
        gate.wait()
    ));
    let mut run = project.start(&["run", "app.yaml"]);
    run.line_with("1 SCRIPT_RUN running");
    run.kill();
    // The script of the host that was killed may still be there.
    gate.open();
    gate.open();
    project.run(&["work", "--until-idle"]).exits(0);
    let one = project.run(&["logs", id(&project.newest()), "1"]).exits(0);
    let lines: Vec<&str> = one.stdout.lines().collect();
    assert_eq!(lines, [AGAIN, "again", DONE]);
}

#[test]
fn an_attempt_after_a_clean_stop_says_that_its_host_was_stopped() {
    let mut gate = Gate::new();
    let project = gated(&gate, "limits: { gracePeriod: 10ms }\n");
    let mut run = project.start(&["run", "app.yaml"]);
    run.line_with("| begun");
    run.terminate();
    run.end().exits(5);
    gate.open();
    project.run(&["work", "--until-idle"]).exits(0);
    let one = project.run(&["logs", id(&project.newest()), "1"]).exits(0);
    one.says("attempt 2: its host stopped; it runs again\n");
}

#[test]
fn each_piece_of_a_line_that_is_too_long_is_marked_but_the_first() {
    let project = Project::with(&["script"]);
    project.grant_shell().pipeline(
        "- name: SCRIPT_RUN\n  with:\n    run: \
         \"head -c 200000 /dev/zero | tr '\\\\0' x; echo; echo next\"\n",
    );
    project.run(&["run", "app.yaml"]).exits(0);
    let texts = project.log(id(&project.newest()), "1");
    let next = texts
        .iter()
        .position(|text| text == "next")
        .expect("a line");
    let pieces = &texts[..next];
    assert!(pieces.iter().all(|piece| piece.len() <= 64 << 10));
    let first = &pieces[0];
    let rest = pieces[1..].iter().map(|piece| piece.strip_prefix("… "));
    let rest: Option<Vec<&str>> = rest.collect();
    let rest = rest.expect("each further piece bears the mark").concat();
    assert_eq!(format!("{first}{rest}"), "x".repeat(200_000));
    assert_eq!(pieces.len(), 4, "no piece is cut again");
}

#[test]
fn the_log_of_a_stage_that_is_not_planned_yet_can_be_followed() {
    let project = Project::with(&["script"]);
    project
        .grant_shell()
        .pipeline("- { name: SCRIPT_RUN, with: { run: echo done } }\n");
    project.run(&["run", "app.yaml", "--detach"]).exits(5);
    let queued = project.newest();
    project
        .run(&["logs", id(&queued), "1"])
        .exits(2)
        .complains("is queued: its stages are known when it is planned; add `--follow`");
    let follower = project.start(&["logs", id(&queued), "1", "--follow"]);
    project.run(&["work", "--until-idle"]).exits(0);
    follower.end().exits(0).says("done");
}

#[test]
fn the_attempts_of_a_planning_are_told_apart() {
    let project = Project::with(&["probe"]);
    project.write(
        "stagewright.yaml",
        "limits: { planTimeout: 1h }\n\
         plugins: { probe: { config: { do: [{ log: planning }, spin-until-cancelled] } } }\n",
    );
    project.pipeline("- { name: PROBE }\n");
    project.run(&["run", "app.yaml", "--detach"]).exits(5);
    let id = id(&project.newest()).to_owned();
    let first = project.start(&["work"]);
    let mut log = project.start(&["logs", &id, "plan", "--follow"]);
    log.line_with("planning");
    first.kill();
    let second = project.start(&["work"]);
    log.line_with("attempt 2, since its host died");
    log.line_with("planning");
    project.run(&["cancel", &id, "--by", "ann"]).exits(0);
    log.end().exits(0);
    second.terminate();
    second.end().exits(0);
    let lines = project.log_lines(&id, "plan");
    let attempts: Vec<_> = lines.iter().map(|line| line["attempt"].as_u64()).collect();
    assert_eq!(attempts[..2], [Some(1), Some(2)], "{lines:?}");
}
