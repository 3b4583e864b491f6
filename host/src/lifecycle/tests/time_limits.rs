//! Time that runs out.

use super::*;

#[test]
fn a_written_stage_timeout_includes_suspended_time_and_is_told_as_a_timeout() {
    let mut d = deployment("Aa");
    d.stages[0].timeout = Some(30 * SECOND);
    let d = run(&d, "A", TurnEnd::Suspended(vec![Wake::At(at(3600))]), at(1));
    assert_eq!(next(&d, at(2)), Next::At(at(31)));
    assert_eq!(next(&d, at(31)), Next::Tick);
    let d = apply(&d, Event::Tick, at(31)).unwrap().deployment;
    assert_eq!(stage(&d, "A").status, StageStatus::TimedOut);
    assert_eq!(d.status, DeploymentStatus::RollingBack);
    let d = run(&d, "a", TurnEnd::Succeeded, at(32));
    assert_eq!(d.status, DeploymentStatus::Failed);
    assert!(d.reason.contains("timed-out"), "{}", d.reason);
}

#[test]
fn the_default_stage_limit_does_not_count_suspended_time() {
    let d = deployment("A");
    let day = 24 * 3600;
    let d = run(&d, "A", TurnEnd::Suspended(vec![Wake::At(at(day))]), at(1));
    assert_eq!(ready(&d, at(day)), ["A"]);
    let d = begin(&d, "A", at(day));
    assert_eq!(
        time_left(&d, stage(&d, "A"), at(day)),
        DEFAULT_STAGE_TIMEOUT
    );
}

#[test]
fn a_written_deployment_timeout_ends_it_as_timed_out_after_its_rollback() {
    let mut d = deployment("ABab");
    d.timeout = Some(60 * SECOND);
    let d = run(&d, "A", TurnEnd::Suspended(vec![Wake::At(at(3600))]), at(1));
    assert_eq!(next(&d, at(2)), Next::At(at(61)));
    let d = apply(&d, Event::Tick, at(61)).unwrap().deployment;
    assert_eq!(stage(&d, "A").status, StageStatus::TimedOut);
    assert_eq!(stage(&d, "B").status, StageStatus::NotRun);
    let d = run(&d, "a", TurnEnd::Succeeded, at(62));
    assert_eq!(d.status, DeploymentStatus::TimedOut);
}

#[test]
fn a_stage_that_ran_when_the_deployments_time_was_over_is_not_blamed_for_it() {
    let mut d = deployment("A");
    d.timeout = Some(60 * SECOND);
    let d = begin(&d, "A", at(1));
    assert_eq!(time_left(&d, stage(&d, "A"), at(2)), 59 * SECOND);
    let d = end(&d, "A", TurnEnd::TimedOut, at(61));
    assert_eq!(d.status, DeploymentStatus::TimedOut);
}

#[test]
fn the_default_deployment_limit_counts_only_time_in_which_something_ran() {
    let d = deployment("AB");
    let day = 24 * 3600;
    let d = run(&d, "A", TurnEnd::Suspended(vec![Wake::At(at(day))]), at(1));
    let d = begin(&d, "A", at(day));
    let d = end(&d, "A", TurnEnd::Succeeded, at(day + 100));
    assert_eq!(d.active, 100 * SECOND);
    let d = begin(&d, "B", at(day + 100));
    let left = time_left(&d, stage(&d, "B"), at(day + 100));
    assert_eq!(left, DEFAULT_DEPLOYMENT_TIMEOUT - 100 * SECOND);
}

#[test]
fn a_deployment_that_used_up_its_default_time_is_told_so_and_begins_nothing_more() {
    let hour = 3600;
    let d = begin(&deployment("ABCabc"), "A", at(0));
    let d = end(&d, "A", TurnEnd::Succeeded, at(5 * hour));
    let d = begin(&d, "B", at(5 * hour));
    let by_its_host = end(&d, "B", TurnEnd::TimedOut, at(6 * hour));
    assert_eq!(by_its_host.reason, "timed out: the deployment may take 6h");
    assert_eq!(
        stage(&by_its_host, "B").reason,
        "the deployment had timed out"
    );
    let at_the_last = end(&d, "B", TurnEnd::Succeeded, at(6 * hour));
    for d in [by_its_host, at_the_last] {
        assert_eq!(d.ending, Some(crate::model::Ending::TimedOut));
        assert_eq!(status(&d, "C"), StageStatus::NotRun);
        assert_eq!(ready(&d, at(6 * hour)), ["b"]);
    }
}

#[test]
fn a_deployment_that_timed_out_is_told_so_although_the_clock_was_set_back() {
    let mut d = deployment("A");
    d.timeout = Some(60 * SECOND);
    let d = begin(&d, "A", at(100));
    let d = end(&d, "A", TurnEnd::TimedOut, at(50));
    assert_eq!(d.status, DeploymentStatus::TimedOut);
}

#[test]
fn what_was_ready_does_not_begin_when_its_time_is_over_meanwhile() {
    let mut d = deployment("ABab");
    d.timeout = Some(60 * SECOND);
    let d = run(&d, "A", TurnEnd::Succeeded, at(1));
    assert_eq!(ready(&d, at(60)), ["B"]);
    let b = Event::StageBegun(stage(&d, "B").id.clone());
    let refused = apply(&d, b, at(61)).unwrap_err();
    assert!(refused.what.contains("time limit"), "{refused}");
    assert_eq!(next(&d, at(61)), Next::Tick);
    assert_eq!(
        tick(&d, at(61)).ending,
        Some(crate::model::Ending::TimedOut)
    );
}

#[test]
fn a_stage_that_timed_out_by_its_own_limit_is_blamed_and_nobody_else() {
    let mut d = deployment("A");
    d.stages[0].timeout = Some(5 * SECOND);
    d.timeout = Some(60 * SECOND);
    let d = run(&d, "A", TurnEnd::TimedOut, at(1));
    assert_eq!(d.status, DeploymentStatus::Failed);
    assert_eq!(d.reason, "stage 1 (A) timed-out: timed out: it may take 5s");
}

#[test]
fn what_timed_out_is_not_told_as_cancelled_nor_the_reverse() {
    let mut d = deployment("A");
    d.timeout = Some(60 * SECOND);
    let d = begin(&d, "A", at(1));
    let late = cancel(&d, true, at(61));
    assert_eq!(
        end(&late, "A", TurnEnd::Cancelled, at(62)).status,
        DeploymentStatus::TimedOut
    );
    let early = cancel(&d, true, at(60));
    assert_eq!(
        end(&early, "A", TurnEnd::TimedOut, at(61)).status,
        DeploymentStatus::Cancelled
    );
}
