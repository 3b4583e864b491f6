//! What people do to a stage: approve and skip it.

use super::*;
use crate::model::CommandKind;

fn approve_event(name: &str, by: &str) -> Event {
    Event::Commanded {
        stage: StageId::new(name),
        kind: CommandKind::Approve,
        by: by.into(),
    }
}

/// A deployment of A, to be approved by ann or bob, and of B.
fn for_approval() -> Deployment {
    let mut d = deployment("AB");
    d.stages[0].operation = Operation::Approve;
    d.stages[0].authorized_operators = vec!["ann".into(), "bob".into()];
    d
}

fn approve(deployment: &Deployment, by: &str, time: u64) -> Result<Deployment, Rejected> {
    let id = stage(deployment, "A").id.clone();
    apply(deployment, approve_event(id.as_str(), by), at(time)).map(|change| change.deployment)
}

#[test]
fn who_is_listed_may_approve_and_each_counts_once() {
    let d = run(&for_approval(), "A", until(600), at(1));
    let refused = approve(&d, "eve", 2).unwrap_err();
    assert!(refused.what.contains("these may: ann, bob"), "{refused}");
    let d = approve(&d, "ann", 2).unwrap();
    let twice = approve(&d, "ann", 3).unwrap_err();
    assert!(twice.already);
    let d = approve(&d, "bob", 3).unwrap();
    let said: Vec<_> = stage(&d, "A")
        .commands
        .iter()
        .map(|command| (command.number, command.by.as_str(), command.at))
        .collect();
    assert_eq!(said, [(1, "ann", at(2)), (2, "bob", at(3))]);
}

#[test]
fn a_name_is_a_line_of_text_that_people_can_read() {
    let mut d = for_approval();
    d.stages[0].authorized_operators.clear();
    let d = begin(&d, "A", at(1));
    for name in ["", " ", "a\nb", "\u{1b}[31m", &"x".repeat(201)] {
        let refused = approve(&d, name, 2).unwrap_err();
        assert!(refused.what.contains("is no name"), "{refused}");
        let refused = apply(&d, cancel_event(name, true), at(2)).unwrap_err();
        assert!(refused.what.contains("is no name"), "{refused}");
    }
    approve(&d, &"x".repeat(200), 2).unwrap();
    let d = approve(&d, " ann\n", 2).unwrap();
    assert_eq!(stage(&d, "A").commands[0].by, "ann");
    assert!(approve(&d, "ann", 3).unwrap_err().already);
    let cancelled = apply(&d, cancel_event(" ann ", true), at(2)).unwrap();
    assert_eq!(cancelled.deployment.cancel.unwrap().by.unwrap(), "ann");
}

#[test]
fn where_nobody_is_listed_anyone_may() {
    let mut d = for_approval();
    d.stages[0].authorized_operators.clear();
    let d = begin(&d, "A", at(1));
    assert!(approve(&d, "eve", 2).is_ok());
}

#[test]
fn it_is_too_early_before_the_start_and_too_late_after_the_end_or_a_cancel() {
    let d = for_approval();
    assert!(
        approve(&d, "ann", 1)
            .unwrap_err()
            .what
            .contains("too early")
    );
    let running = begin(&d, "A", at(1));
    let cancelled = cancel(&running, true, at(2));
    let late = approve(&cancelled, "ann", 3).unwrap_err();
    assert!(late.what.contains("being cancelled"), "{late}");
    let ended = end(&running, "A", TurnEnd::Succeeded, at(2));
    let late = approve(&ended, "ann", 3).unwrap_err();
    assert!(late.what.contains("too late"), "{late}");
}

#[test]
fn a_stage_that_was_planned_for_something_else_is_not_approved() {
    let mut d = for_approval();
    d.stages[0].operation = Operation::Skip;
    let d = begin(&d, "A", at(1));
    let refused = approve(&d, "ann", 2).unwrap_err();
    assert!(
        refused.what.contains("none that people approve"),
        "{refused}"
    );
}

#[test]
fn a_command_wakes_and_says_so_and_the_time_comes_first_if_both_have_come() {
    let d = run(&for_approval(), "A", until(600), at(1));
    assert_eq!(ready(&d, at(2)), Vec::<&str>::new());
    let d = approve(&d, "ann", 2).unwrap();
    assert_eq!(ready(&d, at(2)), ["A"]);
    let by_command = begin(&d, "A", at(3));
    assert_eq!(stage(&by_command, "A").cause, Cause::Command);
    let by_both = begin(&d, "A", at(600));
    assert_eq!(stage(&by_both, "A").cause, Cause::Time);
}

#[test]
fn a_command_between_the_look_and_the_suspension_is_not_missed() {
    let d = begin(&for_approval(), "A", at(1));
    let d = approve(&d, "ann", 2).unwrap();
    let seen_none = TurnEnd::Suspended(vec![Wake::Command(0)]);
    assert_eq!(ready(&end(&d, "A", seen_none, at(3)), at(3)), ["A"]);
    let seen_it = TurnEnd::Suspended(vec![Wake::Command(1)]);
    let d = end(&d, "A", seen_it, at(3));
    assert_eq!(next(&d, at(3)), Next::Busy, "it waits for the next one");
    let d = approve(&d, "bob", 4).unwrap();
    assert_eq!(ready(&d, at(4)), ["A"]);
}

#[test]
fn what_was_said_is_kept_when_the_host_dies_and_can_be_said_before_it_runs_again() {
    let d = begin(&for_approval(), "A", at(1));
    let d = lose(&approve(&d, "ann", 2).unwrap(), "A", false);
    assert!(takes(stage(&d, "A"), CommandKind::Approve));
    let d = approve(&d, "bob", 9).unwrap();
    assert_eq!(stage(&d, "A").commands.len(), 2);
}

#[test]
fn a_limit_that_had_passed_unnoticed_makes_an_approval_late() {
    let mut d = for_approval();
    d.stages[0].timeout = Some(30 * SECOND);
    let d = run(&d, "A", until(600), at(1));
    let late = approve(&d, "ann", 31).unwrap_err();
    assert!(late.what.contains("timed-out"), "{late}");
}

#[test]
fn a_command_that_was_there_before_the_turn_wakes_again_after_a_pause_only() {
    let d = begin(&for_approval(), "A", at(1));
    let d = approve(&d, "ann", 2).unwrap();
    // It came while the plugin was at work, which may have looked before.
    let d = end(&d, "A", TurnEnd::Suspended(vec![Wake::Command(0)]), at(3));
    assert_eq!(ready(&d, at(3)), ["A"]);
    // The second turn has seen it, and asks for it once more.
    let d = begin(&d, "A", at(4));
    let d = end(&d, "A", TurnEnd::Suspended(vec![Wake::Command(0)]), at(5));
    assert!(ready(&d, at(5)).is_empty());
    assert_eq!(ready(&d, at(6)), ["A"]);
    // A new one does not wait for that.
    let d = approve(&d, "bob", 5).unwrap();
    assert_eq!(ready(&d, at(5)), ["A"]);
}

#[test]
fn an_approval_before_the_stages_limit_counts_whenever_a_host_comes() {
    let mut d = for_approval();
    d.stages[0].timeout = Some(30 * SECOND);
    let d = run(&d, "A", waits_for_a_person(), at(1));
    let d = approve(&d, "ann", 20).unwrap();
    assert_eq!(ready(&d, at(100)), ["A"]);
    let late = approve(&d, "bob", 100).unwrap_err();
    assert!(late.what.contains("too late to approve it"), "{late}");
    let d = begin(&d, "A", at(100));
    assert_eq!(stage(&d, "A").cause, Cause::Command);
    assert_eq!(time_left(&d, stage(&d, "A"), at(100)), COMMANDED_TURN);
    let done = end(&d, "A", TurnEnd::Succeeded, at(101));
    assert_eq!(status(&done, "A"), StageStatus::Succeeded);
    assert_eq!(ready(&done, at(101)), ["B"]);
    // It was not enough, and what was to come had to come in time.
    let seen = TurnEnd::Suspended(vec![Wake::Command(1)]);
    let short = end(&d, "A", seen, at(101));
    assert_eq!(status(&short, "A"), StageStatus::TimedOut);
}

#[test]
fn an_approval_in_time_counts_although_hosts_die_on_its_way() {
    let mut d = for_approval();
    d.stages[0].timeout = Some(5 * SECOND);
    let d = approve(&begin(&d, "A", at(1)), "ann", 2).unwrap();
    let d = lose(&d, "A", false);
    assert_eq!(ready(&d, at(9)), ["A"], "the limit was at 6");
    let d = lose(&begin(&d, "A", at(9)), "A", false);
    assert_eq!(ready(&d, at(9)), ["A"]);
    let d = begin(&d, "A", at(9));
    let d = end(&d, "A", TurnEnd::Suspended(vec![Wake::Command(1)]), at(10));
    assert_eq!(status(&d, "A"), StageStatus::TimedOut, "it was answered");
}

#[test]
fn an_approval_before_the_deployments_limit_counts_and_what_comes_after_it_is_too_late() {
    for (stages, status) in [
        ("A", DeploymentStatus::Succeeded),
        ("AB", DeploymentStatus::TimedOut),
    ] {
        let mut d = deployment(stages);
        d.stages[0].operation = Operation::Approve;
        d.timeout = Some(30 * SECOND);
        let d = run(&d, "A", waits_for_a_person(), at(1));
        let d = approve(&d, "ann", 20).unwrap();
        assert_eq!(ready(&tick(&d, at(100)), at(100)), ["A"]);
        let d = begin(&d, "A", at(100));
        assert_eq!(next(&d, at(101)), Next::Busy);
        let d = end(&d, "A", TurnEnd::Succeeded, at(101));
        assert_eq!(self::status(&d, "A"), StageStatus::Succeeded);
        assert_eq!(d.status, status);
    }
}

#[test]
fn an_approval_before_the_rollbacks_limit_counts_too() {
    let mut d = deployment("Aa");
    d.stages[1].operation = Operation::Approve;
    d.timeout = Some(30 * SECOND);
    let d = run(&d, "A", failed(), at(1));
    let d = run(&d, "a", waits_for_a_person(), at(2));
    let event = approve_event(stage(&d, "a").id.as_str(), "ann");
    let d = apply(&d, event, at(20)).unwrap().deployment;
    assert_eq!(ready(&d, at(100)), ["a"]);
    let d = run(&d, "a", TurnEnd::Succeeded, at(100));
    assert_eq!(rollback_status(&d), Some(RollbackStatus::Succeeded));
}

#[test]
fn what_waits_beside_a_stage_that_was_approved_in_time_does_not_begin_when_the_time_is_over() {
    let mut d = parallel("ABC");
    d.stages[0].operation = Operation::Approve;
    d.timeout = Some(30 * SECOND);
    let d = run(&d, "A", waits_for_a_person(), at(1));
    let d = run(&d, "B", TurnEnd::Suspended(vec![Wake::At(at(25))]), at(1));
    let d = lose(&begin(&d, "C", at(1)), "C", false);
    let d = approve(&d, "ann", 20).unwrap();
    assert_eq!(ready(&d, at(100)), ["A"]);
    let d = begin(&d, "A", at(100));
    assert_eq!(next(&d, at(100)), Next::Busy);
    let d = end(&d, "A", TurnEnd::Succeeded, at(101));
    assert_eq!(d.status, DeploymentStatus::TimedOut);
    assert_eq!(status(&d, "A"), StageStatus::Succeeded);
    assert_eq!(status(&d, "B"), StageStatus::TimedOut);
    assert_eq!(status(&d, "C"), StageStatus::TimedOut);
}

#[test]
fn a_cancel_and_another_stages_failure_end_what_was_approved_as_ever() {
    let mut d = parallel("AB");
    d.stages[0].operation = Operation::Approve;
    d.timeout = Some(30 * SECOND);
    let d = begin(&d, "B", at(1));
    let d = run(&d, "A", waits_for_a_person(), at(1));
    let d = approve(&d, "ann", 20).unwrap();
    let cancelled = cancel(&d, true, at(100));
    assert_eq!(status(&cancelled, "A"), StageStatus::Cancelled);
    let failed = end(&d, "B", failed(), at(21));
    assert_eq!(status(&failed, "A"), StageStatus::Cancelled);
}
