//! Whose time is up when. Time is counted from stored starts, so a restart gives
//! nobody more of it. A limit that someone wrote includes suspended time, the
//! default ones do not.

use std::time::Duration;

use crate::model::{
    Deployment, DeploymentStatus, RollbackStatus, Stage, StageStatus, Timestamp, format_duration,
};

/// How long a stage's turn may take when the file does not say.
pub const DEFAULT_STAGE_TIMEOUT: Duration = Duration::from_secs(6 * 60 * 60);

/// How long a deployment's stages may be running in all when the file does not
/// say, and those of its rollback.
pub const DEFAULT_DEPLOYMENT_TIMEOUT: Duration = Duration::from_secs(6 * 60 * 60);

/// A time limit for people. Limits are stored in whole milliseconds.
pub(super) fn written(limit: Duration) -> String {
    if limit < Duration::from_millis(1) {
        "less than 1ms".to_owned()
    } else {
        format_duration(limit)
    }
}

/// How long a turn may take at least that people began by a command: it was given in
/// time, and counts even if no host came before the limit.
pub const COMMANDED_TURN: Duration = Duration::from_secs(60);

/// How long the turn of a stage that is running may still take.
pub fn time_left(deployment: &Deployment, stage: &Stage, now: Timestamp) -> Duration {
    turn_deadline(deployment, stage).map_or(DEFAULT_STAGE_TIMEOUT, |deadline| deadline.since(now))
}

/// When the turn of a stage that is running has to be over.
pub(super) fn turn_deadline(deployment: &Deployment, stage: &Stage) -> Option<Timestamp> {
    let limit = deadline(deployment, stage)?;
    // What comes while it is at work was not what it was begun for.
    let began = stage.turn_started_at.filter(|began| {
        let mut commands = stage.commands.iter();
        commands.any(|command| command.number > stage.answered && command.at <= *began)
    });
    Some(began.map_or(limit, |began| limit.max(began.after(COMMANDED_TURN))))
}

/// When a stage's time is over: its own, or that of what it belongs to.
pub(super) fn deadline(deployment: &Deployment, stage: &Stage) -> Option<Timestamp> {
    let whole = whole_deadline(deployment, stage.rollback);
    [stage_deadline(stage), whole].into_iter().flatten().min()
}

/// When the deployment, or its rollback, has run out of time.
pub(super) fn whole_deadline(deployment: &Deployment, rollback: bool) -> Option<Timestamp> {
    if rollback {
        rollback_deadline(deployment)
    } else {
        deployment_deadline(deployment)
    }
}

/// When something will be ready or run out of time that waits now.
pub(super) fn wakes_at(deployment: &Deployment) -> Option<Timestamp> {
    let suspended = || {
        deployment
            .all_stages()
            .filter(|stage| stage.status == StageStatus::Suspended)
    };
    let wakes = suspended().filter_map(|stage| stage.wait.as_ref()?.until);
    let limits = suspended().filter_map(stage_deadline);
    let rolling_back = deployment.status == DeploymentStatus::RollingBack;
    let whole = suspended()
        .next()
        .and_then(|_| whole_deadline(deployment, rolling_back));
    wakes.chain(limits).chain(whole).min()
}

/// When a time comes that changes something of what waits, though nothing begins
/// that may: a limit, or the time that a suspended stage waits for.
pub fn limit_at(deployment: &Deployment, now: Timestamp) -> Option<Timestamp> {
    let waits =
        |stage: &&Stage| matches!(stage.status, StageStatus::Waiting | StageStatus::Suspended);
    let limits = deployment.all_stages().filter(waits).flat_map(|stage| {
        let until = stage.wait.as_ref().and_then(|wait| wait.until);
        [deadline(deployment, stage), until]
    });
    limits.flatten().filter(|limit| *limit > now).min()
}

/// When a stage has run out of time: of the time that its file gives it, counted
/// from its first start, or of the default for its present turn.
pub(super) fn stage_deadline(stage: &Stage) -> Option<Timestamp> {
    match stage.timeout {
        Some(limit) => Some(stage.started_at?.after(limit)),
        None if stage.status == StageStatus::Running => {
            Some(stage.turn_started_at?.after(DEFAULT_STAGE_TIMEOUT))
        }
        None => None,
    }
}

/// Whether what a running stage belongs to, the deployment or its rollback, runs
/// out of time no later than the stage itself.
pub(super) fn ends_with_the_whole(deployment: &Deployment, stage: &Stage) -> bool {
    // Somebody may have seen already that the rollback's time is over; then it has
    // no limit any more.
    let timed_out = deployment.rollback.as_ref().is_some_and(|rollback| {
        rollback.status == RollbackStatus::Stopping && rollback.cancel.is_none()
    });
    if stage.rollback && timed_out {
        return true;
    }
    let whole = whole_deadline(deployment, stage.rollback);
    whole.is_some_and(|whole| stage_deadline(stage).is_none_or(|own| whole <= own))
}

/// When the deployment has run out of time, as far as that can be said: the
/// default limit stands still while nothing runs.
pub(super) fn deployment_deadline(deployment: &Deployment) -> Option<Timestamp> {
    // A rollback has to be given its time even when it is the time that ran out.
    if deployment.status == DeploymentStatus::RollingBack {
        return None;
    }
    match deployment.timeout {
        Some(limit) => Some(deployment.started_at?.after(limit)),
        None => active_deadline(deployment, Duration::ZERO),
    }
}

/// When the rollback has run out of time: it has as much as the deployment had.
pub(super) fn rollback_deadline(deployment: &Deployment) -> Option<Timestamp> {
    let rollback = deployment.rollback.as_ref()?;
    if rollback.status != RollbackStatus::Running {
        return None;
    }
    match deployment.timeout {
        Some(limit) => Some(rollback.started_at.after(limit)),
        None => active_deadline(deployment, rollback.active_before),
    }
}

fn active_deadline(deployment: &Deployment, before: Duration) -> Option<Timestamp> {
    let used = deployment.active.saturating_sub(before);
    let left = DEFAULT_DEPLOYMENT_TIMEOUT.saturating_sub(used);
    match deployment.active_since {
        Some(since) => Some(since.after(left)),
        // It stands still, but none of it is left.
        None if left.is_zero() => Some(Timestamp(0)),
        None => None,
    }
}

/// Counts the time in which some stage was running.
pub(super) fn count_active_time(deployment: &mut Deployment, now: Timestamp) {
    let running = deployment
        .stages
        .iter()
        .any(|stage| stage.status == StageStatus::Running);
    match (running, deployment.active_since) {
        (true, None) => deployment.active_since = Some(now),
        (false, Some(since)) => {
            deployment.active += now.since(since);
            deployment.active_since = None;
        }
        _ => {}
    }
}
