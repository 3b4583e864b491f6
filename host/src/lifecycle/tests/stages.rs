//! Stages that begin, end, exit, are skipped or suspended.

use super::*;

#[test]
fn stages_begin_one_after_another_and_the_last_success_ends_the_deployment() {
    let d = deployment("ABab");
    assert_eq!(d.status, DeploymentStatus::Planned);
    assert_eq!(ready(&d, at(1)), ["A"]);
    let d = run(&d, "A", TurnEnd::Succeeded, at(1));
    assert_eq!(d.status, DeploymentStatus::Running);
    assert_eq!(ready(&d, at(2)), ["B"]);
    let d = run(&d, "B", TurnEnd::Skipped("nothing new".into()), at(2));
    assert_eq!(d.status, DeploymentStatus::Succeeded);
    assert_eq!(d.ended_at, Some(at(2)));
    assert_eq!(stage(&d, "a").status, StageStatus::NotRun);
    assert_eq!(next(&d, at(3)), Next::Done);
}

#[test]
fn an_exit_ends_the_pipeline_as_a_success_without_a_rollback() {
    let d = deployment("ABab");
    let d = run(&d, "A", TurnEnd::Exited("no change".into()), at(1));
    assert_eq!(d.status, DeploymentStatus::Succeeded);
    assert_eq!(stage(&d, "B").status, StageStatus::NotRun);
    assert_eq!(stage(&d, "a").status, StageStatus::NotRun);
}

#[test]
fn a_suspended_stage_comes_back_in_its_next_turn_when_its_time_has_come() {
    let d = deployment("A");
    let d = run(&d, "A", TurnEnd::Suspended(vec![Wake::At(at(60))]), at(1));
    assert_eq!(stage(&d, "A").status, StageStatus::Suspended);
    assert_eq!(next(&d, at(2)), Next::At(at(60)));
    assert_eq!(ready(&d, at(60)), ["A"]);
    let d = begin(&d, "A", at(60));
    assert_eq!(stage(&d, "A").attempt, Attempt { number: 1, turn: 2 });
    assert_eq!(stage(&d, "A").cause, Cause::Time);
    assert_eq!(stage(&d, "A").started_at, Some(at(1)));
}

#[test]
fn a_wake_in_the_past_is_due_a_second_after_the_turn() {
    let d = deployment("A");
    let d = run(&d, "A", TurnEnd::Suspended(vec![Wake::At(at(0))]), at(5));
    assert_eq!(next(&d, at(5)), Next::At(at(6)));
}

#[test]
fn a_stage_that_is_to_be_skipped_is_skipped_without_a_call_when_its_turn_comes() {
    let mut d = deployment("ABCabc");
    d.stages[1].skip = Some("only docs changed".into());
    assert_eq!(stage(&d, "B").status, StageStatus::Waiting);
    let d = run(&d, "A", TurnEnd::Succeeded, at(1));
    assert_eq!(stage(&d, "B").status, StageStatus::Skipped);
    assert_eq!(stage(&d, "B").reason, "only docs changed");
    assert_eq!(ready(&d, at(1)), ["C"]);
    let d = run(&d, "C", failed(), at(2));
    assert_eq!(
        stage(&d, "b").status,
        StageStatus::NotRun,
        "a skipped stage is not undone"
    );
}

#[test]
fn an_event_that_comes_twice_or_out_of_order_changes_nothing() {
    let d = deployment("AB");
    let b = stage(&d, "B").id.clone();
    assert!(
        apply(&d, Event::StageBegun(b), at(1)).is_err(),
        "before its turn"
    );
    let d = begin(&d, "A", at(1));
    let a = stage(&d, "A").id.clone();
    assert!(
        apply(&d, Event::StageBegun(a.clone()), at(1)).is_err(),
        "twice"
    );
    let d = end(&d, "A", TurnEnd::Succeeded, at(2));
    let again = Event::StageEnded {
        stage: a,
        end: failed(),
        targets: Vec::new(),
        exit_code: None,
    };
    assert!(apply(&d, again, at(2)).is_err(), "after its end");
}

#[test]
fn stages_that_need_no_other_begin_together_and_one_that_needs_both_after_both() {
    let mut d = parallel("ABC");
    d.stages[2].requires = vec![d.stages[0].id.clone(), d.stages[1].id.clone()];
    assert_eq!(ready(&d, at(1)), ["A", "B"]);
    let d = begin(&begin(&d, "A", at(1)), "B", at(1));
    let d = end(&d, "A", TurnEnd::Succeeded, at(2));
    assert_eq!(next(&d, at(2)), Next::Busy);
    let d = end(&d, "B", TurnEnd::Succeeded, at(3));
    assert_eq!(ready(&d, at(3)), ["C"]);
}

#[test]
fn when_one_of_several_fails_the_running_finish_the_suspended_end_and_nothing_starts() {
    let d = parallel("ABCDabc");
    let d = run(&d, "C", until(600), at(1));
    let d = begin(&begin(&d, "A", at(1)), "B", at(1));
    let d = end(&d, "A", failed(), at(2));
    assert_eq!(status(&d, "B"), StageStatus::Running);
    assert_eq!(status(&d, "C"), StageStatus::Cancelled);
    assert_eq!(stage(&d, "C").reason, "another stage had failed");
    assert_eq!(status(&d, "D"), StageStatus::NotRun);
    assert_eq!(d.status, DeploymentStatus::Running, "the rollback waits");
    let d = end(&d, "B", TurnEnd::Succeeded, at(3));
    assert_eq!(ready(&d, at(3)), ["c"]);
}

#[test]
fn an_exit_is_a_success_only_if_what_still_ran_ends_well_too() {
    let d = begin(&begin(&parallel("ABab"), "A", at(1)), "B", at(1));
    let d = end(&d, "A", TurnEnd::Exited("no change".into()), at(2));
    assert_eq!(d.status, DeploymentStatus::Running);
    let well = end(&d, "B", TurnEnd::Succeeded, at(3));
    assert_eq!(well.status, DeploymentStatus::Succeeded);
    assert_eq!(well.reason, "stage 1 (A) exited: no change");
    let badly = end(&d, "B", failed(), at(3));
    assert_eq!(badly.status, DeploymentStatus::RollingBack);
    assert_eq!(badly.reason, "stage 2 (B) failed: boom");
}

#[test]
fn a_stage_is_not_suspended_until_what_never_comes() {
    let begun = begin(&deployment("Aa"), "A", at(1));
    for (wakes, what) in [
        (vec![], "without saying what ends it"),
        (vec![Wake::Command(0)], "nobody approves or skips"),
    ] {
        let end = TurnEnd::Suspended(wakes);
        // Whoever runs it learns of it before it is stored, to say so in its log.
        let judged = judge(stage(&begun, "A"), end.clone());
        let d = self::end(&begun, "A", end, at(2));
        assert_eq!(status(&d, "A"), StageStatus::Failed);
        let reason = &stage(&d, "A").reason;
        assert!(reason.contains(what), "{reason}");
        assert_eq!(judged, TurnEnd::Failed(reason.clone()));
    }
    let told = cancel(&begun, true, at(2));
    let d = end(&told, "A", TurnEnd::Suspended(vec![]), at(3));
    assert_eq!(status(&d, "A"), StageStatus::Cancelled, "as it was told");
}
