//! Attempts and turns, and what becomes of a stage whose host is gone.

use super::order::is_over;
use super::{Held, Seen, Step, hold};
use crate::lifecycle::{DEFAULT_DEPLOYMENT_TIMEOUT, Event, Next};
use crate::model::{Ending, OnLoss, RollbackStatus, StageStatus};

use super::super::super::LIMIT;

pub(super) fn attempts_and_turns_only_grow(seen: &Seen<'_>) -> Held {
    let Some(after) = seen.after() else {
        return Ok(());
    };
    // A planning that was handed back was none.
    let handed_back = u32::from(matches!(seen.event, Event::PlanHandedBack));
    hold!(
        after.plan_attempt + handed_back >= seen.before.plan_attempt && after.plan_attempt <= LIMIT,
        "planning {} became {}",
        seen.before.plan_attempt,
        after.plan_attempt
    );
    for step in seen.steps() {
        let Step { was, is, .. } = &step;
        hold!(
            is.attempt >= was.attempt,
            "{}: {:?} became {:?}",
            is.name,
            was.attempt,
            is.attempt
        );
        hold!(is.losses >= was.losses, "{} was lost less often", is.name);
        let begun = step.is_begun();
        hold!(
            begun == (is.attempt.turn > was.attempt.turn),
            "{}: {:?}",
            is.name,
            is.attempt
        );
        // A turn that was taken from its host must be told from the next.
        let next = is.attempt.number == was.attempt.number + 1 && is.attempt.turn == 0;
        let lost = matches!(seen.event, Event::StageLost { stage, .. } if stage == &is.id);
        let taken = lost && (next || is.status == StageStatus::Waiting);
        let first = was.attempt.number == 0 && begun && is.attempt.number == 1;
        hold!(
            if taken {
                next
            } else {
                first || is.attempt.number == was.attempt.number
            },
            "{}: {:?} became {:?}",
            is.name,
            was.attempt,
            is.attempt
        );
    }
    Ok(())
}

pub(super) fn an_older_attempt_changes_nothing(seen: &Seen<'_>) -> Held {
    let stale = seen.origin.is_some_and(|turn| turn.over);
    hold!(
        !(stale && seen.after().is_some()),
        "a turn ended twice: {:?}",
        seen.event
    );
    Ok(())
}

/// The stage that was taken from its host, and whether that stopped as it should.
fn lost<'a>(seen: &Seen<'a>) -> Option<(Step<'a>, bool)> {
    let Event::StageLost { stage, clean, .. } = seen.event else {
        return None;
    };
    let step = seen.steps().find(|step| &step.is.id == stage)?;
    Some((step, *clean))
}

pub(super) fn a_stage_is_lost_only_when_it_was_lost_too_often(seen: &Seen<'_>) -> Held {
    let lost = lost(seen);
    for Step { place, was, is } in seen.steps() {
        let newly = is.status == StageStatus::Lost && was.status != StageStatus::Lost;
        let this = lost.as_ref().filter(|(step, _)| step.place == place);
        let Some((_, clean)) = this else {
            hold!(!newly, "{} is lost, but its host is not gone", is.name);
            continue;
        };
        let once = seen.plan[place].on_loss == OnLoss::Fail;
        let times = seen.ledger.losses[place] + u32::from(!clean);
        let too_often = once || (!clean && times >= LIMIT);
        hold!(!newly || too_often, "{} is lost, the time {times}", is.name);
        let told = is.status == StageStatus::Cancelled;
        hold!(
            newly || told || !too_often,
            "{} was lost {times} times",
            is.name
        );
    }
    Ok(())
}

pub(super) fn a_clean_stop_never_counts(seen: &Seen<'_>) -> Held {
    let lost = lost(seen);
    for Step { place, was, is } in seen.steps() {
        let this = lost.as_ref().filter(|(step, _)| step.place == place);
        let dies = this.is_some_and(|(_, clean)| !clean);
        hold!(
            dies || is.losses == was.losses,
            "{} counts {}",
            is.name,
            is.losses
        );
    }
    Ok(())
}

/// What ran is not stopped half-way because its host was: unless it was told to
/// stop, or its time is over.
pub(super) fn an_interrupted_stage_runs_again(seen: &Seen<'_>) -> Held {
    let Some((Step { place, was, is }, _)) = lost(seen) else {
        return Ok(());
    };
    let Some(after) = seen.after() else {
        return Ok(());
    };
    let told = matches!(is.status, StageStatus::Cancelled)
        && if is.rollback {
            after
                .rollback
                .as_ref()
                .is_some_and(|rollback| rollback.cancel.is_some())
        } else {
            after.cancel.is_some()
        };
    let limit = seen.plan[place].timeout;
    let whole = match after.timeout {
        Some(limit) => is_over(after.started_at, Some(limit), seen.now),
        None => seen.ledger.active(seen.now) >= DEFAULT_DEPLOYMENT_TIMEOUT,
    };
    let whole = if is.rollback {
        let rollback = after.rollback.as_ref();
        rollback.is_some_and(|rollback| rollback.status != RollbackStatus::Running)
    } else {
        whole || after.ending == Some(Ending::TimedOut)
    };
    let over = whole || is_over(was.started_at, limit, seen.now);
    let timed_out = is.status == StageStatus::TimedOut && over;
    if told || timed_out || is.status == StageStatus::Lost {
        return Ok(());
    }
    let offered = matches!(&seen.next, Some(Next::Begin(ids)) if ids.contains(&is.id));
    // It waits for what people did in time to others, and has no time itself.
    let held = over && after.all_stages().any(Seen::is_owed);
    hold!(
        is.status == StageStatus::Waiting && (offered || held),
        "{} was interrupted and is {}: {}",
        is.name,
        is.status,
        is.reason
    );
    Ok(())
}
