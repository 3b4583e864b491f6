//! Cancelling at each moment.

use super::*;
use crate::model::Ending;

#[test]
fn what_is_cancelled_before_it_was_planned_ends_at_once_and_a_late_plan_changes_nothing() {
    let queued = deployment_of_nothing();
    let planning = apply(&queued, begin_planning(), at(1)).unwrap().deployment;
    for d in [queued, planning] {
        let change = apply(&d, cancel_event("ann", true), at(2)).unwrap();
        let ended = change.deployment;
        assert_eq!(ended.status, DeploymentStatus::Cancelled);
        assert_eq!(ended.reason, "cancelled by ann");
        assert_eq!(ended.ended_at, Some(at(2)));
        assert_eq!(next(&ended, at(2)), Next::Done);
        let late = Event::PlanFailed("no such stage".into());
        assert!(apply(&ended, late, at(3)).is_err());
        assert!(apply(&ended, begin_planning(), at(3)).is_err());
    }
}

#[test]
fn what_is_cancelled_before_a_stage_began_has_nothing_to_undo() {
    let d = cancel(&deployment("ABab"), true, at(1));
    assert_eq!(d.status, DeploymentStatus::Cancelled);
    assert_eq!(d.rollback, None);
    for name in ["A", "B", "a", "b"] {
        assert_eq!(status(&d, name), StageStatus::NotRun);
    }
}

#[test]
fn a_stage_that_runs_is_told_and_whatever_comes_of_it_but_its_work_comes_of_the_cancel() {
    let d = cancel(&begin(&deployment("ABab"), "A", at(1)), true, at(2));
    assert_eq!(d.status, DeploymentStatus::Running);
    assert_eq!(
        is_cancelled(&d, stage(&d, "A")),
        Some("cancelled by ann".into())
    );
    assert_eq!(next(&d, at(2)), Next::Busy);
    let ends = [
        (failed(), StageStatus::Cancelled),
        (TurnEnd::Exited("done".into()), StageStatus::Cancelled),
        (until(60), StageStatus::Cancelled),
        (TurnEnd::Cancelled, StageStatus::Cancelled),
        (TurnEnd::Succeeded, StageStatus::Succeeded),
        (TurnEnd::Skipped("nothing".into()), StageStatus::Skipped),
        (TurnEnd::TimedOut, StageStatus::TimedOut),
    ];
    for (how, becomes) in ends {
        let d = end(&d, "A", how, at(3));
        assert_eq!(status(&d, "A"), becomes);
        assert_eq!(status(&d, "B"), StageStatus::NotRun);
        assert_eq!(ready(&d, at(3)), ["a"]);
        let d = run(&d, "a", TurnEnd::Succeeded, at(4));
        assert_eq!(d.status, DeploymentStatus::Cancelled);
        assert_eq!(d.reason, "cancelled by ann");
    }
}

#[test]
fn a_cancel_between_two_stages_undoes_the_first() {
    let d = run(&deployment("ABab"), "A", TurnEnd::Succeeded, at(1));
    let d = cancel(&d, true, at(2));
    assert_eq!(d.status, DeploymentStatus::RollingBack);
    assert_eq!(status(&d, "B"), StageStatus::NotRun);
    assert_eq!(ready(&d, at(2)), ["a"]);
}

#[test]
fn a_suspended_stage_that_is_cancelled_ends_without_a_call() {
    let d = run(&deployment("Aa"), "A", until(60), at(1));
    let d = cancel(&d, false, at(2));
    assert_eq!(status(&d, "A"), StageStatus::Cancelled);
    assert_eq!(stage(&d, "A").wait, None);
    assert_eq!(d.status, DeploymentStatus::Cancelled);
    assert_eq!(status(&d, "a"), StageStatus::NotRun);
    assert_eq!(stage(&d, "a").reason, "it was cancelled without a rollback");
}

#[test]
fn a_cancel_reaches_a_stage_whose_host_is_gone_before_and_after_that_is_noticed() {
    let running = begin(&deployment("A"), "A", at(1));
    let before = lose(&cancel(&running, true, at(2)), "A", false);
    let after = cancel(&lose(&running, "A", false), true, at(10));
    for d in [before, after] {
        assert_eq!(status(&d, "A"), StageStatus::Cancelled);
        assert_eq!(d.status, DeploymentStatus::Cancelled);
    }
}

#[test]
fn a_cancel_while_another_stage_fails_stops_what_runs_but_does_not_hide_the_failure() {
    let d = parallel("ABab");
    let d = begin(&begin(&d, "A", at(1)), "B", at(1));
    let d = end(&d, "A", failed(), at(2));
    assert_eq!(is_cancelled(&d, stage(&d, "B")), None, "it may finish");
    let d = cancel(&d, false, at(3));
    assert!(is_cancelled(&d, stage(&d, "B")).is_some());
    let d = end(&d, "B", TurnEnd::Cancelled, at(4));
    assert_eq!(d.status, DeploymentStatus::Failed);
    assert_eq!(d.reason, "stage 1 (A) failed: boom");
    assert_eq!(d.rollback, None, "it was not wanted");
}

#[test]
fn who_cancels_wants_the_state_from_before_so_a_rollback_goes_on() {
    let d = run(&deployment("Aa"), "A", failed(), at(1));
    let d = begin(&d, "a", at(2));
    let again = apply(&d, cancel_event("ann", true), at(3)).unwrap_err();
    assert!(again.already);
    assert!(again.what.contains("cancel without a rollback"), "{again}");
}

#[test]
fn a_cancel_without_a_rollback_stops_one() {
    let d = deployment("ABab");
    let d = run(&d, "A", TurnEnd::Succeeded, at(1));
    let d = run(&d, "B", failed(), at(2));
    let d = cancel(&begin(&d, "b", at(3)), false, at(4));
    assert_eq!(rollback_status(&d), Some(RollbackStatus::Stopping));
    assert_eq!(status(&d, "a"), StageStatus::NotRun);
    assert!(is_cancelled(&d, stage(&d, "b")).is_some());
    let twice = apply(&d, cancel_event("bob", false), at(4)).unwrap_err();
    assert!(twice.already);
    let d = end(&d, "b", TurnEnd::Cancelled, at(5));
    assert_eq!(rollback_status(&d), Some(RollbackStatus::Cancelled));
    assert_eq!(d.status, DeploymentStatus::Failed, "the failure came first");
}

#[test]
fn a_second_cancel_counts_only_if_it_takes_the_rollback_away() {
    let d = begin(&deployment("Aa"), "A", at(1));
    let d = cancel(&d, true, at(2));
    let same = apply(&d, cancel_event("bob", true), at(3)).unwrap_err();
    assert!(same.already);
    let d = apply(&d, cancel_event("bob", false), at(3))
        .unwrap()
        .deployment;
    let back = apply(&d, cancel_event("cid", true), at(4)).unwrap_err();
    assert!(back.already, "what was not to be undone is not undone");
    let d = end(&d, "A", TurnEnd::Cancelled, at(5));
    assert_eq!(d.status, DeploymentStatus::Cancelled);
    assert_eq!(d.rollback, None);
}

#[test]
fn a_second_cancel_that_counts_says_who_decided_what() {
    let event = |by: Option<&str>, why: &str, rollback| Event::Cancelled {
        by: by.map(str::to_owned),
        why: why.to_owned(),
        rollback,
    };
    let running = begin(&deployment("Aa"), "A", at(1));
    for (first, second, reason) in [
        (
            event(Some("ann"), "wrong region", true),
            event(Some("bob"), "it hangs", false),
            "cancelled by ann: wrong region; then by bob without a rollback: it hangs",
        ),
        (
            event(None, "", true),
            event(None, "", false),
            "cancelled; then without a rollback",
        ),
    ] {
        let d = apply(&running, first, at(2)).unwrap().deployment;
        let change = apply(&d, second, at(3)).unwrap();
        let told: Vec<&EventKind> = change.events.iter().collect();
        let [EventKind::Cancel(told)] = told[..] else {
            panic!("{told:?}");
        };
        assert_eq!(told.to_string(), reason);
        let d = change.deployment;
        assert_eq!(d.reason, reason);
        assert_eq!(is_cancelled(&d, stage(&d, "A")), Some(reason.to_owned()));
        let d = end(&d, "A", TurnEnd::Cancelled, at(5));
        assert_eq!((&*d.reason, &*stage(&d, "A").reason), (reason, reason));
        let times: Vec<_> = d
            .cancel
            .iter()
            .flat_map(|c| c.each())
            .map(|c| c.at)
            .collect();
        assert_eq!(times, [at(2), at(3)]);
    }
}

#[test]
fn what_is_at_its_end_is_not_cancelled() {
    let d = run(&deployment("A"), "A", TurnEnd::Succeeded, at(1));
    let late = apply(&d, cancel_event("ann", true), at(2)).unwrap_err();
    assert!(!late.already);
    assert!(late.what.contains("at its end"), "{late}");
}

#[test]
fn a_time_limit_that_had_passed_unnoticed_came_before_the_cancel() {
    let mut d = deployment("Aa");
    d.timeout = Some(60 * SECOND);
    let d = run(&d, "A", until(3600), at(1));
    let d = cancel(&d, false, at(100));
    assert_eq!(d.ending, Some(Ending::TimedOut));
    assert_eq!(status(&d, "A"), StageStatus::TimedOut);
    assert_eq!(d.status, DeploymentStatus::TimedOut);
    assert_eq!(rollback_status(&d), Some(RollbackStatus::Cancelled));
}

#[test]
fn a_stage_that_says_it_was_cancelled_when_nobody_did_so_has_failed() {
    let d = run(&deployment("ABab"), "A", TurnEnd::Cancelled, at(1));
    assert_eq!(status(&d, "A"), StageStatus::Failed);
    assert_eq!(ready(&d, at(1)), ["a"]);
    let d = run(&d, "a", TurnEnd::Cancelled, at(2));
    assert_eq!(rollback_status(&d), Some(RollbackStatus::Failed));
    assert_eq!(d.status, DeploymentStatus::Failed);
}

#[test]
fn a_cancel_of_what_is_being_ended_over_its_time_hides_no_time_out() {
    let mut d = deployment("ABa");
    d.stages[0].timeout = Some(5 * SECOND);
    let d = begin(&d, "A", at(1));
    // In time, it is cancelled; whatever its host then says of its time.
    let in_time = end(&cancel(&d, true, at(5)), "A", TurnEnd::Cancelled, at(7));
    assert_eq!(in_time.ending, Some(Ending::Cancelled));
    let late = cancel(&d, true, at(6));
    assert_eq!(late.ending, None, "that is up to the stage");
    assert_eq!(ready(&late, at(6)), [] as [&str; 0]);
    let ended = end(&late, "A", TurnEnd::TimedOut, at(7));
    let lost = lose(&late, "A", false);
    for d in [ended, lost] {
        assert_eq!(status(&d, "A"), StageStatus::TimedOut);
        assert_eq!(d.ending, Some(Ending::Failed));
        assert_eq!(d.reason, "stage 1 (A) timed-out: timed out: it may take 5s");
        assert_eq!(d.status, DeploymentStatus::RollingBack);
    }
}
