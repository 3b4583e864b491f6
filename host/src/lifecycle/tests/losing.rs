//! Hosts that die or stop.

use super::*;

#[test]
fn a_lost_stage_runs_again_with_its_state_until_it_was_lost_too_often() {
    let mut d = deployment("Aa");
    for number in 1..=2 {
        d = begin(&d, "A", at(1));
        assert_eq!(stage(&d, "A").attempt, Attempt { number, turn: 1 });
        d = lose(&d, "A", false);
        assert_eq!(stage(&d, "A").cause, Cause::Loss);
        assert_eq!(ready(&d, at(9)), ["A"]);
    }
    d = lose(&begin(&d, "A", at(9)), "A", false);
    assert_eq!(stage(&d, "A").status, StageStatus::Lost);
    assert_eq!(d.status, DeploymentStatus::RollingBack);
}

#[test]
fn from_the_moment_of_a_loss_the_old_attempt_is_stale() {
    let d = begin(&deployment("A"), "A", at(1));
    let old = stage(&d, "A").attempt;
    let d = lose(&d, "A", false);
    assert!(stage(&d, "A").attempt > old);
}

#[test]
fn a_clean_stop_of_the_host_is_nobodys_failure() {
    let mut d = deployment("A");
    for _ in 0..5 {
        d = lose(&begin(&d, "A", at(1)), "A", true);
    }
    assert_eq!(ready(&d, at(9)), ["A"]);
    assert_eq!(stage(&d, "A").losses, 0);
}

#[test]
fn a_stage_that_must_not_run_twice_is_lost_at_once() {
    let mut d = deployment("A");
    d.stages[0].on_loss = OnLoss::Fail;
    for clean in [false, true] {
        let d = lose(&begin(&d, "A", at(1)), "A", clean);
        assert_eq!(stage(&d, "A").status, StageStatus::Lost);
        assert_eq!(d.status, DeploymentStatus::Failed);
    }
}

#[test]
fn a_planning_that_was_begun_too_often_fails_the_deployment() {
    let mut d = deployment("A");
    d.status = DeploymentStatus::Planning;
    d.plan_attempt = 0;
    for attempt in 1..=3 {
        let begun = apply(&d, begin_planning(), at(1)).unwrap();
        assert_eq!(begun.taken, [Leased::Plan]);
        d = begun.deployment;
        assert_eq!(d.plan_attempt, attempt);
    }
    let change = apply(&d, begin_planning(), at(1)).unwrap();
    assert_eq!(change.deployment.status, DeploymentStatus::Failed);
    assert_eq!(
        change.deployment.reason,
        "its host died 3 times while planning it"
    );
    assert_eq!(change.taken, []);
}

#[test]
fn what_was_interrupted_after_another_stage_failed_or_exited_is_finished() {
    for how in [failed(), TurnEnd::Exited("no change".into())] {
        for clean in [false, true] {
            let d = begin(&begin(&parallel("ABC"), "A", at(1)), "B", at(1));
            let d = end(&d, "A", how.clone(), at(2));
            let d = lose(&d, "B", clean);
            assert_eq!(ready(&d, at(9)), ["B"], "and nothing that is new");
            let d = run(&d, "B", TurnEnd::Succeeded, at(10));
            assert!(d.status.is_final());
            assert_eq!(status(&d, "B"), StageStatus::Succeeded);
        }
    }
}

#[test]
fn what_was_interrupted_after_a_failure_ends_with_a_cancel_or_when_its_time_is_over() {
    let mut d = parallel("AB");
    d.timeout = Some(60 * SECOND);
    let d = begin(&begin(&d, "A", at(1)), "B", at(1));
    let d = lose(&end(&d, "A", failed(), at(2)), "B", false);
    let cancelled = cancel(&d, true, at(10));
    assert_eq!(status(&cancelled, "B"), StageStatus::Cancelled);
    let late = tick(&d, at(61));
    assert_eq!(status(&late, "B"), StageStatus::TimedOut);
    for d in [cancelled, late] {
        assert_eq!(d.status, DeploymentStatus::Failed, "A failed first");
    }
}

#[test]
fn a_lost_stage_whose_own_time_is_over_does_not_run_again() {
    let mut d = deployment("A");
    d.stages[0].timeout = Some(5 * SECOND);
    let d = lose(&begin(&d, "A", at(1)), "A", false);
    assert_eq!(status(&d, "A"), StageStatus::TimedOut);
}

#[test]
fn a_planning_that_its_host_hands_back_waits_in_the_queue_and_is_no_loss() {
    let mut d = deployment_of_nothing();
    for _ in 0..5 {
        let begun = apply(&d, begin_planning(), at(1)).unwrap().deployment;
        let change = apply(&begun, Event::PlanHandedBack, at(2)).unwrap();
        assert_eq!(change.released, [Leased::Plan]);
        assert_eq!(change.due, Some(Timestamp(0)));
        d = change.deployment;
        assert_eq!((d.status, d.plan_attempt), (DeploymentStatus::Queued, 0));
        assert!(apply(&d, Event::PlanHandedBack, at(3)).is_err(), "twice");
    }
}
