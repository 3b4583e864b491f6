//! How stages and deployments end, and what is said of it.

use super::order::is_over;
use super::{Held, Seen, Step, hold};
use crate::lifecycle::{DEFAULT_DEPLOYMENT_TIMEOUT, Event, TurnEnd};
use crate::model::{
    Cancellation, Deployment, DeploymentStatus, Ending, Operation, RollbackStatus, Stage,
    StageStatus, Wake,
};

pub(super) fn what_is_at_its_end_stays_so(seen: &Seen<'_>) -> Held {
    let Some(after) = seen.after() else {
        return Ok(());
    };
    let before = seen.before;
    if before.status.is_final() {
        let same = (before.status, &before.reason, before.ended_at)
            == (after.status, &after.reason, after.ended_at);
        hold!(same, "{} became {}", before.status, after.status);
        let taken = !matches!(seen.event, Event::Tick);
        hold!(!taken, "{:?} was taken after the end", seen.event);
    }
    for Step { was, is, .. } in seen.steps() {
        let same = (was.status, &was.reason, was.ended_at, was.attempt)
            == (is.status, &is.reason, is.ended_at, is.attempt);
        hold!(
            !was.status.is_final() || same,
            "{} was {} and became {}",
            is.name,
            was.status,
            is.status
        );
    }
    Ok(())
}

fn of_rollback(deployment: &Deployment) -> Option<&Cancellation> {
    deployment.rollback.as_ref()?.cancel.as_ref()
}

pub(super) fn a_cancel_that_was_taken_is_kept_and_followed(seen: &Seen<'_>) -> Held {
    let Some(after) = seen.after() else {
        return Ok(());
    };
    let pairs = [
        (seen.before.cancel.as_ref(), after.cancel.as_ref()),
        (of_rollback(seen.before), of_rollback(after)),
    ];
    for (old, new) in pairs {
        // One without a rollback is not to be had back; one with may be changed.
        let kept = match (old, new) {
            (Some(old), Some(new)) => old == new || (old.rollback && !new.rollback),
            (Some(_), None) => false,
            (None, _) => true,
        };
        hold!(kept, "{old:?} became {new:?}");
    }
    if let Event::Cancelled { by, rollback, .. } = seen.event {
        let theirs = |cancel: &Cancellation| {
            &cancel.by == by && cancel.rollback == *rollback && cancel.at == seen.now
        };
        let is_there =
            after.cancel.as_ref().is_some_and(theirs) || of_rollback(after).is_some_and(theirs);
        hold!(is_there, "the cancel of {by:?} is nowhere");
    }
    // What waits ends at once; what runs is told.
    let waits = |stage: &Stage| !stage.status.is_final() && stage.status != StageStatus::Running;
    if after.cancel.is_some() {
        let stage = after.forward_stages().find(|stage| waits(stage));
        let name = stage.map(|stage| &stage.name);
        hold!(name.is_none(), "{name:?} waits after a cancel");
        let well = after.status == DeploymentStatus::Succeeded;
        hold!(!well, "it succeeded although it was cancelled");
    }
    if of_rollback(after).is_some() {
        let stage = after.rollback_stages().find(|stage| waits(stage));
        let name = stage.map(|stage| &stage.name);
        hold!(
            name.is_none(),
            "{name:?} waits after its rollback was cancelled"
        );
    }
    Ok(())
}

pub(super) fn a_cancel_is_refused_only_when_it_says_nothing_new(seen: &Seen<'_>) -> Held {
    let (Event::Cancelled { rollback, .. }, Err(rejected)) = (seen.event, seen.outcome) else {
        return Ok(());
    };
    let stood = seen.as_it_stood();
    let over = stood.status.is_final();
    let said = match (&stood.rollback, &stood.cancel) {
        (Some(undoing), _) => *rollback || undoing.status != RollbackStatus::Running,
        (None, Some(cancel)) => *rollback || !cancel.rollback,
        (None, None) => false,
    };
    hold!(over || said, "refused: {rejected}");
    hold!(over != rejected.already, "already: {}", rejected.already);
    Ok(())
}

/// Whether a stage was told to stop.
fn is_told(deployment: &Deployment, stage: &Stage) -> bool {
    if stage.rollback {
        of_rollback(deployment).is_some()
    } else {
        deployment.cancel.is_some()
    }
}

pub(super) fn an_answer_counts_as_it_was_given(seen: &Seen<'_>) -> Held {
    let Event::StageEnded { stage, end, .. } = seen.event else {
        return Ok(());
    };
    let Some(step) = seen.steps().find(|step| &step.is.id == stage) else {
        return Err(format!(
            "the answer of {stage} was refused: {:?}",
            seen.outcome
        ));
    };
    let Step { was, is, .. } = step;
    let told = is_told(seen.before, was);
    let wanted: &[StageStatus] = match end {
        TurnEnd::Succeeded => &[StageStatus::Succeeded],
        TurnEnd::Skipped(_) => &[StageStatus::Skipped],
        TurnEnd::TimedOut => &[StageStatus::TimedOut],
        _ if told => &[StageStatus::Cancelled],
        TurnEnd::Failed(_) => &[StageStatus::Failed],
        TurnEnd::Exited(_) => &[StageStatus::Exited],
        // Nobody had cancelled it: so it did not do what it is for.
        TurnEnd::Cancelled => &[StageStatus::Failed],
        // Else it would wait for ever.
        TurnEnd::Suspended(wakes) if never_comes(wakes, was) => &[StageStatus::Failed],
        TurnEnd::Suspended(_) => &[
            StageStatus::Suspended,
            StageStatus::TimedOut,
            StageStatus::Cancelled,
        ],
    };
    hold!(
        wanted.contains(&is.status),
        "{end:?} made {} {}",
        is.name,
        is.status
    );
    Ok(())
}

/// Whether nothing will ever end the suspension of a stage.
fn never_comes(wakes: &[Wake], stage: &Stage) -> bool {
    wakes.iter().all(|wake| match wake {
        Wake::At(_) => false,
        Wake::Command(_) => stage.operation == Operation::None,
    })
}

pub(super) fn what_timed_out_is_told_so(seen: &Seen<'_>) -> Held {
    let Some(after) = seen.after() else {
        return Ok(());
    };
    let before = seen.before;
    let over = is_over(before.started_at, before.timeout, seen.now);
    let timed_out = |deployment: &Deployment| deployment.ending == Some(Ending::TimedOut);
    // Its time was over before anything else was known of its end.
    let goes_on = matches!(
        before.status,
        DeploymentStatus::Planned | DeploymentStatus::Running
    ) && matches!(before.ending, None | Some(Ending::Exited));
    let ends_a_turn = matches!(
        seen.event,
        Event::StageEnded { .. } | Event::StageLost { .. }
    );
    // But what people did in time counts.
    let owed = |deployment: &Deployment| deployment.forward_stages().any(Seen::is_owed);
    let held = owed(before) || owed(after);
    hold!(
        !(over && goes_on) || ends_a_turn || held || timed_out(after),
        "its time was over, but it ends: {:?}",
        after.ending
    );
    let ended = matches!(
        seen.event,
        Event::StageEnded {
            end: TurnEnd::TimedOut,
            ..
        }
    );
    let used_up = match before.timeout {
        Some(_) => over,
        None => seen.ledger.active(seen.now) >= DEFAULT_DEPLOYMENT_TIMEOUT,
    };
    let news = timed_out(after) && !timed_out(before);
    hold!(!news || used_up || ended, "it timed out before its time");
    // Who ran out of the deployment's time is not to be blamed for it; but who ran
    // out of their own is, while that of the deployment waits for what people did.
    let failed = after.ending == Some(Ending::Failed) && goes_on && before.ending != after.ending;
    hold!(
        !(failed && ended && used_up) || held,
        "a stage was blamed: {}",
        after.reason
    );
    Ok(())
}

pub(super) fn what_was_cancelled_is_told_so(seen: &Seen<'_>) -> Held {
    let Some(after) = seen.after() else {
        return Ok(());
    };
    let someone = after.cancel.is_some();
    let says =
        after.status == DeploymentStatus::Cancelled || after.ending == Some(Ending::Cancelled);
    hold!(someone || !says, "it is cancelled, but nobody did so");
    for Step { was, is, .. } in seen.steps() {
        if is.status != StageStatus::Cancelled || was.status == is.status {
            continue;
        }
        let told = is_told(after, is);
        // What waits ends with the others, in which nobody need have had a hand.
        let left = matches!(after.ending, Some(Ending::Failed | Ending::Exited)) && !is.rollback;
        let suspends = matches!(
            seen.event,
            Event::StageEnded {
                end: TurnEnd::Suspended(_),
                ..
            }
        );
        let waited = was.status == StageStatus::Suspended || suspends;
        hold!(
            told || (left && waited),
            "{} is cancelled, but nobody did so",
            is.name
        );
    }
    Ok(())
}

pub(super) fn a_result_says_how_it_came_about(seen: &Seen<'_>) -> Held {
    let Some(after) = seen.after() else {
        return Ok(());
    };
    if !after.status.is_final() {
        hold!(
            after.ended_at.is_none(),
            "it has ended and is {}",
            after.status
        );
        return Ok(());
    }
    if seen.before.status.is_final() {
        return Ok(());
    }
    hold!(
        after.ended_at == Some(seen.now),
        "it ended at {:?}",
        after.ended_at
    );
    for stage in &after.stages {
        let status = stage.status;
        hold!(
            status.is_final(),
            "it ended while {} is {status}",
            stage.name
        );
        let called = stage.started_at.is_some();
        let idle = matches!(status, StageStatus::NotRun)
            || (status == StageStatus::Skipped && stage.skip.is_some());
        hold!(
            called != idle,
            "{} is {status}, called: {called}",
            stage.name
        );
        let dated = stage.ended_at.is_some() == (status != StageStatus::NotRun);
        hold!(
            dated,
            "{} is {status}, ended at {:?}",
            stage.name,
            stage.ended_at
        );
    }
    let some = |wanted: fn(StageStatus) -> bool| {
        let mut forward = after.forward_stages();
        forward.any(|stage| wanted(stage.status))
    };
    let failed = some(StageStatus::is_failure);
    let exited = some(|status| status == StageStatus::Exited);
    let unwell = some(|status| !status.lets_others_start());
    let fits = match after.status {
        DeploymentStatus::Succeeded => !failed && (exited || !unwell) && after.cancel.is_none(),
        DeploymentStatus::Failed => failed || after.stages.is_empty(),
        DeploymentStatus::Cancelled => after.cancel.is_some(),
        _ => after.ending == Some(Ending::TimedOut),
    };
    hold!(fits, "it is {}: {}", after.status, after.reason);
    let silent = after.reason.is_empty();
    let clear = after.status == DeploymentStatus::Succeeded && after.ending.is_none();
    hold!(
        silent == clear,
        "it is {}: `{}`",
        after.status,
        after.reason
    );
    Ok(())
}
