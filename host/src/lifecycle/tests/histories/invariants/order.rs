//! What may begin, and when.

use std::time::Duration;

use super::{Held, Seen, Step, hold};
use crate::lifecycle::{Event, Next, SHORTEST_PAUSE, TurnEnd};
use crate::model::{Cause, Ending, Stage, StageStatus, Timestamp, Wake};

pub(super) fn a_stage_begins_if_and_only_if_it_is_offered(seen: &Seen<'_>) -> Held {
    let Event::StageBegun(id) = seen.event else {
        return match seen.begun() {
            Some(step) => Err(format!("{} began unasked", step.is.name)),
            None => Ok(()),
        };
    };
    let next = seen.rules.next(seen.before, seen.now);
    let offered = matches!(&next, Next::Begin(ids) if ids.contains(id));
    let began = seen.begun().is_some_and(|step| &step.is.id == id);
    hold!(
        offered == began,
        "{id} began: {began}, but next was {next:?}"
    );
    Ok(())
}

pub(super) fn no_stage_begins_before_what_it_requires_ended_well(seen: &Seen<'_>) -> Held {
    let Some(Step { place, is, .. }) = seen.begun().filter(|step| !step.is.rollback) else {
        return Ok(());
    };
    for id in &seen.plan[place].requires {
        let status = seen.before.stage(id).map(|stage| stage.status);
        let well = matches!(status, Some(StageStatus::Succeeded | StageStatus::Skipped));
        hold!(well, "{} began although {id} was {status:?}", is.name);
    }
    Ok(())
}

/// But what was interrupted in its work after another stage failed or exited is
/// finished.
pub(super) fn no_stage_begins_once_the_ending_is_known(seen: &Seen<'_>) -> Held {
    let Some(Step { was, is, .. }) = seen.begun().filter(|step| !step.is.rollback) else {
        return Ok(());
    };
    let (ending, cancel) = (seen.before.ending, &seen.before.cancel);
    hold!(cancel.is_none(), "{} began after a cancel", is.name);
    let interrupted = was.status == StageStatus::Waiting && was.started_at.is_some();
    let may = match ending {
        None => true,
        Some(Ending::Failed | Ending::Exited) => interrupted,
        Some(_) => false,
    };
    hold!(may, "{} began although it ends: {ending:?}", is.name);
    Ok(())
}

pub(super) fn nothing_begins_when_its_time_is_over(seen: &Seen<'_>) -> Held {
    let Some(Step { place, was, is }) = seen.begun() else {
        return Ok(());
    };
    // What people did in time counts.
    if Seen::is_owed(was) {
        return Ok(());
    }
    let over = is_over(was.started_at, seen.plan[place].timeout, seen.now);
    hold!(!over, "{} began when its own time was over", is.name);
    let over = seen.is_over(seen.before, is.rollback);
    hold!(!over, "{} began when there was no time left", is.name);
    Ok(())
}

pub(super) fn what_is_to_be_skipped_is_never_called(seen: &Seen<'_>) -> Held {
    for Step { place, was, is } in seen.steps() {
        if seen.plan[place].skip.is_none() {
            continue;
        }
        hold!(is.started_at.is_none(), "{} was called", is.name);
        let skipped = is.status == StageStatus::Skipped && was.status != is.status;
        let open = seen.before.ending.is_none() && seen.before.cancel.is_none();
        hold!(open || !skipped, "{} was skipped after the end", is.name);
        let well =
            |stage: Option<&Stage>| stage.is_some_and(|stage| stage.status.lets_others_start());
        let after = seen.after();
        let turn = seen.plan[place]
            .requires
            .iter()
            .all(|id| well(after.and_then(|after| after.stage(id))));
        hold!(turn || !skipped, "{} was skipped before its turn", is.name);
        // The turn of such a stage is nothing to wait for.
        let missed = turn && is.status == StageStatus::Waiting;
        hold!(!missed, "{} was to be skipped", is.name);
    }
    Ok(())
}

pub(super) fn what_is_suspended_comes_back_for_what_it_waits_for(seen: &Seen<'_>) -> Held {
    for Step { was, is, .. } in seen.steps() {
        let suspended = is.status == StageStatus::Suspended;
        hold!(
            suspended == is.wait.is_some(),
            "{} is {} and waits for {:?}",
            is.name,
            is.status,
            is.wait
        );
        if let Some(wait) = &is.wait {
            let ends = wait.until.is_some() || wait.after_command.is_some();
            hold!(ends, "nothing ends the suspension of {}", is.name);
            let fresh = was.status == StageStatus::Running;
            let wanted = wanted(seen, was);
            let right = !fresh || wanted == Some((wait.until, wait.after_command));
            hold!(right, "{} waits for {wait:?}, not {wanted:?}", is.name);
            hold!(fresh || was.wait == is.wait, "{} waits anew", is.name);
            let offered = matches!(&seen.next, Some(Next::Begin(ids)) if ids.contains(&is.id));
            // When the time of the whole is over, only what people did counts.
            let after = seen.after().unwrap_or(seen.before);
            let may = Seen::is_owed(is) || !seen.is_over(after, is.rollback);
            hold!(
                offered == (may && comes_back(is, seen.now)),
                "{} comes back: {offered}",
                is.name
            );
        }
    }
    let Some(Step { was, is, .. }) = seen.begun() else {
        return Ok(());
    };
    let cause = match &was.wait {
        Some(wait) => {
            hold!(
                comes_back(was, seen.now),
                "{} came back for nothing",
                is.name
            );
            let time = wait.until.is_some_and(|until| until <= seen.now);
            if time { Cause::Time } else { Cause::Command }
        }
        None if was.started_at.is_some() => Cause::Loss,
        None => Cause::First,
    };
    hold!(
        is.cause == cause,
        "{} says {:?} for {cause:?}",
        is.name,
        is.cause
    );
    Ok(())
}

/// The time and the command that a turn was suspended until: the first of each. A
/// time that is past is a little later; so is a command that the turn could have
/// seen, since it was there before.
fn wanted(seen: &Seen<'_>, ran: &Stage) -> Option<(Option<Timestamp>, Option<u64>)> {
    let Event::StageEnded {
        end: TurnEnd::Suspended(wakes),
        ..
    } = seen.event
    else {
        return None;
    };
    let soon = seen.now.after(SHORTEST_PAUSE);
    let there = ran
        .commands
        .iter()
        .filter(|command| Some(command.at) < ran.turn_started_at)
        .map(|command| command.number)
        .max()
        .unwrap_or_default();
    let mut times = Vec::new();
    let mut commands = Vec::new();
    for wake in wakes {
        match *wake {
            Wake::At(time) => times.push(if time > seen.now { time } else { soon }),
            Wake::Command(after) => {
                commands.push(after.max(there));
                times.extend((after < there).then_some(soon));
            }
        }
    }
    Some((times.into_iter().min(), commands.into_iter().min()))
}

/// Whether what a suspended stage waits for has come.
fn comes_back(stage: &Stage, now: Timestamp) -> bool {
    stage.wait.as_ref().is_some_and(|wait| {
        let time = wait.until.is_some_and(|until| until <= now);
        let newer = |after: u64| stage.commands.iter().any(|command| command.number > after);
        time || wait.after_command.is_some_and(newer)
    })
}

/// Whether a time limit counted from a start has passed.
pub(super) fn is_over(start: Option<Timestamp>, limit: Option<Duration>, now: Timestamp) -> bool {
    start
        .zip(limit)
        .is_some_and(|(start, limit)| start.after(limit) <= now)
}
