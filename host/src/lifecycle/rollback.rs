//! Undoing what had started: whether it is done, in which order, and how it ends.
//! A rollback has a status, a time limit and a cancellation of its own.

use crate::model::{
    Deployment, DeploymentStatus, Ending, Rollback, RollbackStatus, Shared, Stage, StageStatus,
    Timestamp,
};

use super::cancel::is_owed_a_turn;
use super::clock::{DEFAULT_DEPLOYMENT_TIMEOUT, rollback_deadline, written};
use super::settle::{blame, stop_waiting};

/// What comes after the forward stages: the rollback, if there is something to
/// undo; else the end.
pub(super) fn begin_or_finish(deployment: &mut Deployment, now: Timestamp) {
    let why_not = why_not(deployment);
    let Some(why) = why_not else {
        deployment.status = DeploymentStatus::RollingBack;
        deployment.rollback = Some(Rollback {
            status: RollbackStatus::Running,
            reason: String::new(),
            started_at: now,
            ended_at: None,
            cancel: None,
            active_before: deployment.active,
        });
        return;
    };
    for stage in stages(deployment) {
        stage.status = StageStatus::NotRun;
        why.clone_into(&mut stage.reason);
    }
    finish(deployment, now);
}

/// Why no rollback stage is to run, if none is.
fn why_not(deployment: &Deployment) -> Option<&'static str> {
    if matches!(deployment.ending, None | Some(Ending::Exited)) {
        Some("nothing had to be undone")
    } else if !deployment.auto_rollback {
        Some("the application is not to be rolled back by itself")
    } else if deployment
        .cancel
        .as_ref()
        .is_some_and(|cancel| !cancel.rollback)
    {
        Some("it was cancelled without a rollback")
    } else {
        let undone = |stage: &Stage| undoes_something(deployment, stage);
        let something = deployment.rollback_stages().any(undone);
        (!something).then_some("there was nothing to undo")
    }
}

/// Whether rollback stages may still begin.
pub(super) fn goes_on(deployment: &Deployment) -> bool {
    let rollback = deployment.rollback.as_ref();
    rollback.is_some_and(|rollback| rollback.status == RollbackStatus::Running)
}

/// The rollback stage that is at work or whose turn it is: they go one by one, in
/// descending order.
pub(super) fn next(deployment: &Deployment) -> Option<&Stage> {
    deployment
        .rollback_stages()
        .filter(|stage| !stage.status.is_final())
        .max_by_key(|stage| stage.index)
}

/// Draws what follows by itself while it rolls back.
pub(super) fn settle(deployment: &mut Deployment, now: Timestamp) {
    drop_those_of_what_never_started(deployment);
    notice_the_ending(deployment, now);
    if stages(deployment).all(|stage| stage.status.is_final()) {
        end(deployment, now);
        finish(deployment, now);
    }
}

/// Finds out that a rollback is not to go on, and ends what waits of it.
fn notice_the_ending(deployment: &mut Deployment, now: Timestamp) {
    let over = rollback_deadline(deployment).is_some_and(|deadline| deadline <= now);
    let open =
        stages(deployment).any(|s| !s.status.is_final() || s.status == StageStatus::TimedOut);
    let owed = deployment.rollback_stages().any(is_owed_a_turn);
    if over && open && !owed {
        time_out(deployment);
    }
    let Some(rollback) = &mut deployment.rollback else {
        return;
    };
    if rollback.status == RollbackStatus::Running
        && open
        && let Some(cancel) = &rollback.cancel
    {
        rollback.status = RollbackStatus::Stopping;
        rollback.reason = cancel.to_string();
    }
    if rollback.status == RollbackStatus::Stopping {
        let (ending, why) = if rollback.cancel.is_some() {
            (Ending::Cancelled, "the rollback was cancelled")
        } else {
            (Ending::TimedOut, "the rollback had timed out")
        };
        stop_waiting(stages(deployment), ending, why, now);
    }
}

/// Has the rollback end because its time is over, unless it was stopped before.
pub(super) fn time_out(deployment: &mut Deployment) {
    let limit = deployment.timeout.unwrap_or(DEFAULT_DEPLOYMENT_TIMEOUT);
    if let Some(rollback) = &mut deployment.rollback
        && rollback.status == RollbackStatus::Running
    {
        rollback.status = RollbackStatus::Stopping;
        let limit = written(limit);
        rollback.reason = format!("timed out: the rollback may take {limit}");
    }
}

/// Gives the rollback its result.
fn end(deployment: &mut Deployment, now: Timestamp) {
    let failed = deployment
        .rollback_stages()
        .find(|stage| stage.status.is_failure())
        .map(|stage| blame(deployment, stage));
    let Some(rollback) = &mut deployment.rollback else {
        return;
    };
    rollback.ended_at = Some(now);
    rollback.status = match (rollback.status, failed) {
        (RollbackStatus::Stopping, _) if rollback.cancel.is_some() => RollbackStatus::Cancelled,
        (RollbackStatus::Stopping, _) => RollbackStatus::TimedOut,
        (_, Some(reason)) => {
            rollback.reason = reason;
            RollbackStatus::Failed
        }
        (_, None) => RollbackStatus::Succeeded,
    };
}

fn undoes_something(deployment: &Deployment, rollback: &Stage) -> bool {
    rollback.undoes.iter().any(|id| {
        deployment
            .stage(id)
            .is_some_and(|stage| stage.started_at.is_some())
    })
}

fn drop_those_of_what_never_started(deployment: &mut Deployment) {
    let idle: Vec<usize> = (0..deployment.stages.len())
        .filter(|&place| {
            let stage = &deployment.stages[place];
            stage.rollback
                && stage.status == StageStatus::Waiting
                && !undoes_something(deployment, stage)
        })
        .collect();
    for place in idle {
        let stage = &mut deployment.stages[place];
        stage.status = StageStatus::NotRun;
        stage.reason = "what it undoes had not started".to_owned();
    }
}

fn stages(deployment: &mut Deployment) -> impl Iterator<Item = &mut Shared<Stage>> {
    deployment.stages.iter_mut().filter(|stage| stage.rollback)
}

fn finish(deployment: &mut Deployment, now: Timestamp) {
    deployment.status = match deployment.ending {
        None | Some(Ending::Exited) => DeploymentStatus::Succeeded,
        Some(Ending::Failed) => DeploymentStatus::Failed,
        Some(Ending::TimedOut) => DeploymentStatus::TimedOut,
        Some(Ending::Cancelled) => DeploymentStatus::Cancelled,
    };
    deployment.ended_at = Some(now);
}
