//! What people do to a deployment: cancel it, approve or skip a stage of it.

use crate::model::{
    Cancellation, Command, CommandKind, Deployment, DeploymentStatus, Ending, RollbackStatus,
    Stage, StageId, StageStatus, Timestamp, person, reason,
};

use super::clock::{deadline, stage_deadline, turn_deadline};
use super::event::Rejected;
use super::turn::place;
use super::waiting::People;
use super::{reject, reject_twice};

/// Why a stage is to stop before its time, if it is: what it belongs to, the
/// deployment or its rollback, was cancelled.
pub fn is_cancelled(deployment: &Deployment, stage: &Stage) -> Option<String> {
    wish(deployment, stage).map(ToString::to_string)
}

/// Whether a stage that is at work had run out of its own time before someone
/// cancelled what it belongs to: then it has timed out, whatever came after that.
pub(super) fn was_over_time(deployment: &Deployment, stage: &Stage) -> bool {
    let limits = [stage_deadline(stage), turn_deadline(deployment, stage)];
    cancelled_at(deployment, stage).is_some_and(|cancelled| {
        limits
            .iter()
            .all(|limit| limit.is_some_and(|l| l <= cancelled))
    })
}

/// When someone first cancelled what a stage belongs to.
pub(super) fn cancelled_at(deployment: &Deployment, stage: &Stage) -> Option<Timestamp> {
    let first = wish(deployment, stage)?.each().next()?;
    Some(first.at)
}

fn wish<'a>(deployment: &'a Deployment, stage: &Stage) -> Option<&'a Cancellation> {
    if stage.rollback {
        deployment.rollback.as_ref()?.cancel.as_ref()
    } else {
        deployment.cancel.as_ref()
    }
}

/// Takes the wish that a deployment should not go on. What follows from it, the
/// settling draws.
pub(super) fn cancel(deployment: &mut Deployment, mut wish: Cancellation) -> Result<(), Rejected> {
    if let Some(by) = &mut wish.by {
        let name = person(by).map_err(|no_name| reject(deployment, no_name.to_string()))?;
        *by = name.to_owned();
    }
    let why = reason(&wish.why).map_err(|too_long| reject(deployment, too_long.to_string()))?;
    wish.why = why.to_owned();
    if deployment.status.is_final() {
        return Err(reject(
            deployment,
            "it is at its end, so nothing can be cancelled".to_owned(),
        ));
    }
    if deployment.status == DeploymentStatus::RollingBack {
        return cancel_rollback(deployment, wish);
    }
    if let Some(before) = &mut deployment.cancel {
        if before.rollback && !wish.rollback {
            wish.before = Some(Box::new(before.clone()));
            *before = wish;
            if deployment.ending == Some(Ending::Cancelled) {
                deployment.reason = before.to_string();
            }
            return Ok(());
        }
        let what = format!("it is being stopped already ({before})");
        return Err(reject_twice(deployment, what));
    }
    deployment.cancel = Some(wish);
    Ok(())
}

/// Who wants the state from before gets it from the rollback; so only the wish
/// to stop where it stands stops one.
fn cancel_rollback(deployment: &mut Deployment, wish: Cancellation) -> Result<(), Rejected> {
    if wish.rollback {
        let what = "it is being undone already; to stop the rollback, cancel without a rollback";
        return Err(reject_twice(deployment, what.to_owned()));
    }
    match &mut deployment.rollback {
        Some(rollback) if rollback.status == RollbackStatus::Running => {
            rollback.cancel = Some(wish);
            Ok(())
        }
        _ => {
            let what = "its rollback is being stopped already".to_owned();
            Err(reject_twice(deployment, what))
        }
    }
}

/// Takes what someone did to a stage.
pub(super) fn command(
    deployment: &mut Deployment,
    id: &StageId,
    kind: CommandKind,
    by: &str,
    now: Timestamp,
) -> Result<(), Rejected> {
    let by = person(by).map_err(|no_name| reject(deployment, no_name.to_string()))?;
    let place = place(deployment, id)?;
    let stage = &deployment.stages[place];
    let name = format!("stage {} ({})", deployment.place(stage), stage.name);
    let verb = kind.as_str();
    let why_not = if stage.status.is_final() {
        Some(format!(
            "{name} is {}, it is too late to {verb} it",
            stage.status
        ))
    } else if !kind.fits(stage.operation) {
        Some(format!("{name} is none that people {verb}"))
    } else if stage.started_at.is_none() {
        Some(format!(
            "{name} has not started, it is too early to {verb} it"
        ))
    } else if is_cancelled(deployment, stage).is_some() {
        Some(format!(
            "{name} is being cancelled, it is too late to {verb} it"
        ))
    } else if let Some(over) = deadline(deployment, stage).filter(|limit| *limit <= now) {
        Some(format!(
            "the time of {name} was over{}, it is too late to {verb} it",
            since(over)
        ))
    } else if !may(stage, by) {
        let who = stage.authorized_operators.join(", ");
        Some(format!("{by} may not {verb} {name}; these may: {who}"))
    } else {
        None
    };
    if let Some(what) = why_not {
        return Err(reject(deployment, what));
    }
    if stage
        .commands
        .iter()
        .any(|old| old.kind == kind && old.by == by)
    {
        let what = format!("{name} was {} by {by} already", kind.done());
        return Err(reject_twice(deployment, what));
    }
    let stage = &mut deployment.stages[place];
    let number = stage.commands.last().map_or(0, |last| last.number) + 1;
    stage.commands.push(Command {
        number,
        kind,
        by: by.to_owned(),
        at: now,
    });
    Ok(())
}

/// Since when something is over, if that is known: a default limit counts no time of
/// day.
fn since(time: Timestamp) -> String {
    if time == Timestamp(0) {
        String::new()
    } else {
        format!(" at {time}")
    }
}

fn may(stage: &Stage, by: &str) -> bool {
    let listed = &stage.authorized_operators;
    listed.is_empty() || listed.iter().any(|name| name == by)
}

/// Whether a suspended stage has a command that ends its suspension.
pub(super) fn has_command(stage: &Stage) -> bool {
    woken_at(stage).is_some()
}

/// When the command was given that ends the suspension of a stage.
pub(super) fn woken_at(stage: &Stage) -> Option<Timestamp> {
    let after = stage.wait.as_ref()?.after_command?;
    let mut commands = stage.commands.iter();
    let first = commands.find(|command| command.number > after);
    first.map(|command| command.at)
}

/// Whose command a stage lacks.
pub(super) fn lacks(stage: &Stage, kind: CommandKind) -> People {
    let commands = stage.commands.iter().filter(|one| one.kind == kind);
    let given: Vec<String> = commands.map(|command| command.by.clone()).collect();
    let listed = &stage.authorized_operators;
    let left = listed.iter().filter(|name| !given.contains(name)).cloned();
    let done = u32::try_from(given.len()).unwrap_or(u32::MAX);
    People {
        kind,
        who: (!listed.is_empty()).then(|| left.collect()),
        more: stage.min_operators.saturating_sub(done).max(1),
        given,
    }
}

/// Whether people did something to a stage that its plugin has not answered yet. It
/// was done in time, since what comes later is refused: so it counts, and no time
/// limit ends the stage before the turn that is owed to them, whenever a host comes.
pub(super) fn is_owed_a_turn(stage: &Stage) -> bool {
    match stage.status {
        StageStatus::Suspended => has_command(stage),
        StageStatus::Waiting | StageStatus::Running => {
            let last = stage.commands.last();
            last.is_some_and(|command| command.number > stage.answered)
        }
        _ => false,
    }
}

/// Whether a stage is one that can still be approved or skipped.
pub fn takes(stage: &Stage, kind: CommandKind) -> bool {
    kind.fits(stage.operation) && stage.started_at.is_some() && !stage.status.is_final()
}
