//! Undoing what had started.

use super::*;

#[test]
fn after_a_failure_nothing_new_starts_and_what_had_started_is_undone_in_descending_order() {
    let d = deployment("ABCabc");
    let d = run(&d, "A", TurnEnd::Succeeded, at(1));
    let d = run(&d, "B", failed(), at(2));
    assert_eq!(d.status, DeploymentStatus::RollingBack);
    assert_eq!(stage(&d, "C").status, StageStatus::NotRun);
    assert_eq!(stage(&d, "c").status, StageStatus::NotRun);
    assert_eq!(ready(&d, at(3)), ["b"]);
    let d = begin(&d, "b", at(3));
    assert!(ready(&d, at(3)).is_empty(), "one by one");
    let d = end(&d, "b", failed(), at(4));
    assert_eq!(ready(&d, at(4)), ["a"], "a failing one stops none");
    let d = run(&d, "a", TurnEnd::Succeeded, at(5));
    assert_eq!(d.status, DeploymentStatus::Failed);
    assert_eq!(d.reason, "stage 2 (B) failed: boom");
}

#[test]
fn a_rollback_stage_is_hidden_until_it_starts_and_then_requires_the_last_that_started() {
    let d = deployment("ABab");
    let d = run(&d, "A", TurnEnd::Succeeded, at(1));
    let d = run(&d, "B", failed(), at(2));
    assert!(!stage(&d, "b").visible);
    let d = run(&d, "b", TurnEnd::Succeeded, at(3));
    assert!(stage(&d, "b").visible);
    assert_eq!(stage(&d, "b").requires, [stage(&d, "B").id.clone()]);
    let d = begin(&d, "a", at(4));
    assert_eq!(stage(&d, "a").requires, [stage(&d, "b").id.clone()]);
}

#[test]
fn without_auto_rollback_no_rollback_stage_runs() {
    let mut d = deployment("Aa");
    d.auto_rollback = false;
    let d = run(&d, "A", failed(), at(1));
    assert_eq!(d.status, DeploymentStatus::Failed);
    assert_eq!(stage(&d, "a").status, StageStatus::NotRun);
}

/// A deployment that rolls back A and B, one after another.
fn rolling_back() -> Deployment {
    let mut d = deployment("ABab");
    d.timeout = Some(60 * SECOND);
    let d = run(&d, "A", TurnEnd::Succeeded, at(1));
    run(&d, "B", failed(), at(2))
}

#[test]
fn a_rollback_has_a_result_beside_the_deployments() {
    let well = run(&rolling_back(), "b", TurnEnd::Succeeded, at(3));
    let well = run(&well, "a", TurnEnd::Skipped("nothing".into()), at(4));
    assert_eq!(rollback_status(&well), Some(RollbackStatus::Succeeded));
    assert_eq!(well.status, DeploymentStatus::Failed);
    let badly = run(&rolling_back(), "b", failed(), at(3));
    let badly = run(&badly, "a", TurnEnd::Succeeded, at(4));
    assert_eq!(rollback_status(&badly), Some(RollbackStatus::Failed));
    let rollback = badly.rollback.as_ref().unwrap();
    assert_eq!(rollback.reason, "stage r2 (b) failed: boom");
    assert_eq!(rollback.ended_at, Some(at(4)));
    assert_eq!(badly.reason, "stage 2 (B) failed: boom");
}

#[test]
fn a_rollback_has_as_much_time_as_the_deployment_counted_from_its_start() {
    let d = begin(&rolling_back(), "b", at(50));
    assert_eq!(time_left(&d, stage(&d, "b"), at(50)), 12 * SECOND);
    let d = end(&d, "b", until(600), at(51));
    assert_eq!(next(&d, at(52)), Next::At(at(62)));
    let d = tick(&d, at(62));
    assert_eq!(rollback_status(&d), Some(RollbackStatus::TimedOut));
    assert_eq!(status(&d, "b"), StageStatus::TimedOut);
    assert_eq!(status(&d, "a"), StageStatus::NotRun);
    assert_eq!(d.status, DeploymentStatus::Failed);
}

#[test]
fn a_rollback_stage_that_ran_out_of_the_rollbacks_time_is_not_blamed_for_it() {
    let d = begin(&rolling_back(), "b", at(3));
    let d = end(&d, "b", TurnEnd::TimedOut, at(62));
    assert_eq!(rollback_status(&d), Some(RollbackStatus::TimedOut));
    assert_eq!(stage(&d, "b").reason, "the rollback had timed out");
    assert_eq!(
        status(&d, "a"),
        StageStatus::NotRun,
        "there is no time left"
    );
}

#[test]
fn a_rollback_stage_is_not_blamed_for_the_rollbacks_limit_though_somebody_saw_that_first() {
    let d = begin(&rolling_back(), "b", at(3));
    let d = tick(&d, at(62));
    assert_eq!(rollback_status(&d), Some(RollbackStatus::Stopping));
    let d = end(&d, "b", TurnEnd::TimedOut, at(62));
    assert_eq!(stage(&d, "b").reason, "the rollback had timed out");
    assert_eq!(rollback_status(&d), Some(RollbackStatus::TimedOut));
}

#[test]
fn without_a_written_limit_a_rollback_that_used_up_the_default_one_begins_nothing_more() {
    let mut d = rolling_back();
    d.timeout = None;
    let six_hours = 6 * 3600;
    let d = end(&begin(&d, "b", at(3)), "b", failed(), at(3 + six_hours));
    assert_eq!(rollback_status(&d), Some(RollbackStatus::TimedOut));
    assert_eq!(status(&d, "a"), StageStatus::NotRun);
}

#[test]
fn a_finished_rollback_stage_is_not_run_again() {
    let d = run(&rolling_back(), "b", TurnEnd::Succeeded, at(3));
    let again = Event::StageBegun(stage(&d, "b").id.clone());
    assert!(apply(&d, again, at(4)).is_err());
    let d = lose(&begin(&d, "a", at(4)), "a", false);
    assert_eq!(ready(&d, at(9)), ["a"], "only what was interrupted");
}

#[test]
fn the_last_that_started_is_known_within_a_millisecond_and_when_the_clock_is_set_back() {
    for back in [0, 500] {
        let d = deployment("ABCabc");
        let d = run(&d, "A", TurnEnd::Succeeded, at(500));
        let d = run(&d, "B", TurnEnd::Succeeded, at(500 - back));
        let d = run(&d, "C", failed(), at(500 - back));
        let d = run(&d, "c", TurnEnd::Succeeded, at(500 - back));
        assert_eq!(stage(&d, "c").requires, [stage(&d, "C").id.clone()]);
        let d = run(&d, "b", TurnEnd::Succeeded, at(500 - back));
        assert_eq!(stage(&d, "b").requires, [stage(&d, "c").id.clone()]);
        let d = begin(&d, "a", at(500 - back));
        assert_eq!(stage(&d, "a").requires, [stage(&d, "b").id.clone()]);
    }
}
