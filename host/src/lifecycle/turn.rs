//! The turns of a stage: how one begins and ends, and what becomes of a stage
//! whose host is gone.

use crate::model::{
    Cause, Command, Deployment, DeploymentStatus, OnLoss, Operation, Stage, StageId, StageStatus,
    Timestamp, Wait, Wake,
};

use super::cancel::{is_cancelled, was_over_time};
use super::event::{Rejected, TurnEnd};
use super::{SHORTEST_PAUSE, clock, reject, rollback, settle, times};

/// Begins a turn of a stage that is ready.
pub(super) fn begin(
    deployment: &mut Deployment,
    id: &StageId,
    now: Timestamp,
) -> Result<(), Rejected> {
    if !settle::ready(deployment, now).any(|stage| &stage.id == id) {
        let what = format!("stage {id} is not ready to begin");
        return Err(reject(deployment, what));
    }
    let last_started = last_started(deployment);
    let place = place(deployment, id)?;
    let stage = &mut deployment.stages[place];
    if let (StageStatus::Suspended, Some(wait)) = (stage.status, &stage.wait) {
        stage.cause = if wait.until.is_some_and(|until| until <= now) {
            Cause::Time
        } else {
            Cause::Command
        };
    }
    if stage.started_at.is_none() {
        stage.started_at = Some(now);
        if stage.rollback {
            stage.visible = true;
            stage.requires = last_started.into_iter().collect();
        }
    }
    stage.attempt.number = stage.attempt.number.max(1);
    stage.attempt.turn += 1;
    stage.turn_started_at = Some(now);
    stage.status = StageStatus::Running;
    stage.reason.clear();
    stage.wait = None;
    if deployment.status == DeploymentStatus::Planned {
        deployment.status = DeploymentStatus::Running;
    }
    deployment.started_at.get_or_insert(now);
    Ok(())
}

/// The stage that started last. Several start within a millisecond, and the clock
/// may be set back: so the order in which they require each other counts first.
fn last_started(deployment: &Deployment) -> Option<StageId> {
    let started = || {
        let stages = deployment.stages.iter();
        stages.filter(|stage| stage.started_at.is_some())
    };
    started()
        .filter(|stage| !started().any(|other| other.requires.contains(&stage.id)))
        .max_by_key(|stage| (stage.rollback, stage.started_at))
        .map(|stage| stage.id.clone())
}

/// Ends the turn of a stage that runs.
pub(super) fn end(
    deployment: &mut Deployment,
    id: &StageId,
    end: TurnEnd,
    now: Timestamp,
) -> Result<(), Rejected> {
    let place = running(deployment, id)?;
    let cancelled = is_cancelled(deployment, &deployment.stages[place]);
    let whole = clock::ends_with_the_whole(deployment, &deployment.stages[place]);
    if end == TurnEnd::TimedOut && whole {
        // Not the stage is to be blamed for it.
        let why = if deployment.stages[place].rollback {
            rollback::time_out(deployment);
            "the rollback had timed out"
        } else {
            settle::time_out_the_whole(deployment);
            "the deployment had timed out"
        };
        let stage = &mut deployment.stages[place];
        settle::end(stage, StageStatus::TimedOut, why, now);
        return Ok(());
    }
    let stage = &mut deployment.stages[place];
    // What did its work before it could be stopped has done it. Whatever else
    // comes of a stage that was told to stop comes of that.
    let end = match end {
        TurnEnd::Succeeded | TurnEnd::Skipped(_) | TurnEnd::TimedOut => end,
        _ if cancelled.is_some() => TurnEnd::Cancelled,
        // Else what needs it would wait for ever.
        TurnEnd::Cancelled => {
            TurnEnd::Failed("it says that it was cancelled, but nobody cancelled it".to_owned())
        }
        end => judge(stage, end),
    };
    match end {
        TurnEnd::Succeeded => settle::end(stage, StageStatus::Succeeded, "", now),
        TurnEnd::Failed(reason) => settle::end(stage, StageStatus::Failed, reason, now),
        TurnEnd::Skipped(reason) => settle::end(stage, StageStatus::Skipped, reason, now),
        TurnEnd::Exited(reason) => settle::end(stage, StageStatus::Exited, reason, now),
        TurnEnd::TimedOut => settle::time_out(stage, now),
        TurnEnd::Cancelled => {
            let reason = cancelled.unwrap_or_else(|| "cancelled".to_owned());
            settle::end(stage, StageStatus::Cancelled, reason, now);
        }
        TurnEnd::Suspended(wakes) => {
            let wait = wait(stage, &wakes, now);
            // Who waits for no command asks nothing of people.
            let last = stage.commands.last().map_or(0, |last| last.number);
            stage.answered = wait.after_command.unwrap_or(last).min(last);
            stage.status = StageStatus::Suspended;
            stage.wait = Some(wait);
        }
    }
    Ok(())
}

/// What the end of a turn is, whatever the plugin calls it: a stage can't be
/// suspended until what never comes.
pub fn judge(stage: &Stage, end: TurnEnd) -> TurnEnd {
    let TurnEnd::Suspended(wakes) = &end else {
        return end;
    };
    let time = wakes.iter().any(|wake| matches!(wake, Wake::At(_)));
    let why_not = if wakes.is_empty() {
        "the plugin suspended the stage without saying what ends it"
    } else if !time && stage.operation == Operation::None {
        "the plugin suspended the stage until a command, but planned it as one that nobody \
         approves or skips"
    } else {
        return end;
    };
    TurnEnd::Failed(why_not.to_owned())
}

/// Any of several wakes ends a suspension: so the earliest time and the lowest
/// number stand for all. What has come already is due now, but not sooner than
/// after a pause: a time that is past, and a command that was there before the turn
/// began, which the plugin could have seen.
fn wait(stage: &Stage, wakes: &[Wake], now: Timestamp) -> Wait {
    let seen = |command: &&Command| {
        let began = stage.turn_started_at;
        began.is_some_and(|began| command.at < began)
    };
    let last_seen = stage.commands.iter().rfind(seen);
    let last_seen = last_seen.map_or(0, |command| command.number);
    let pause = now.after(SHORTEST_PAUSE);
    let times = wakes.iter().filter_map(|wake| match wake {
        Wake::At(time) if *time <= now => Some(pause),
        Wake::At(time) => Some(*time),
        Wake::Command(after) => (*after < last_seen).then_some(pause),
    });
    let commands = wakes.iter().filter_map(|wake| match wake {
        Wake::Command(after) => Some(last_seen.max(*after)),
        Wake::At(_) => None,
    });
    Wait {
        since: now,
        until: times.min(),
        after_command: commands.min(),
    }
}

/// Takes a stage that runs from a host that is gone or stops.
pub(super) fn lose(
    deployment: &mut Deployment,
    id: &StageId,
    clean: bool,
    limit: u32,
    now: Timestamp,
) -> Result<(), Rejected> {
    let place = running(deployment, id)?;
    let cancelled = is_cancelled(deployment, &deployment.stages[place]);
    let over_time = was_over_time(deployment, &deployment.stages[place]);
    let stage = &mut deployment.stages[place];
    if over_time {
        settle::time_out(stage, now);
        return Ok(());
    }
    if let Some(why) = cancelled {
        settle::end(stage, StageStatus::Cancelled, why, now);
        return Ok(());
    }
    let what = if clean { "stopped" } else { "died" };
    if stage.on_loss == OnLoss::Fail {
        let reason = format!("its host {what}, and its plugin says it must not run twice");
        settle::end(stage, StageStatus::Lost, reason, now);
        return Ok(());
    }
    if !clean {
        stage.losses += 1;
        if stage.losses >= limit {
            let reason = format!("its host died under it {}", times(stage.losses));
            settle::end(stage, StageStatus::Lost, reason, now);
            return Ok(());
        }
    }
    // The number goes up here rather than when the next attempt begins, so that
    // whatever the old one still writes is refused from now on.
    stage.attempt.number += 1;
    stage.attempt.turn = 0;
    stage.cause = Cause::Loss;
    stage.status = StageStatus::Waiting;
    stage.reason = format!("its host {what}; it runs again");
    Ok(())
}

/// The place of a stage that runs.
pub(super) fn running(deployment: &Deployment, id: &StageId) -> Result<usize, Rejected> {
    let place = place(deployment, id)?;
    let status = deployment.stages[place].status;
    if status != StageStatus::Running {
        let what = format!("stage {id} is {status}, the event fits only when it is running");
        return Err(reject(deployment, what));
    }
    Ok(place)
}

/// The place of a stage.
pub(super) fn place(deployment: &Deployment, id: &StageId) -> Result<usize, Rejected> {
    let place = deployment.stages.iter().position(|stage| &stage.id == id);
    place.ok_or_else(|| reject(deployment, format!("it has no stage {id}")))
}
