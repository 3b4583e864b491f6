//! What follows by itself from where a deployment stands: who may start, who is
//! skipped, when it is over, what is rolled back, whose time is up.

use crate::model::{Deployment, DeploymentStatus, Ending, Stage, StageStatus, Timestamp};

use super::{DEFAULT_DEPLOYMENT_TIMEOUT, DEFAULT_STAGE_TIMEOUT, fails};

/// Draws every consequence that needs nobody's help. Idempotent.
pub(super) fn settle(deployment: &mut Deployment, now: Timestamp) {
    if deployment.status.is_final() || deployment.status == DeploymentStatus::Planning {
        return;
    }
    count_active_time(deployment, now);
    time_out_suspended(deployment, now);
    if deployment.status != DeploymentStatus::RollingBack {
        skip(deployment, now);
        notice_the_ending(deployment, now);
        stop(deployment, now);
        if forward(deployment).all(|stage| stage.status.is_final()) {
            finish_forward(deployment, now);
        }
    }
    if deployment.status == DeploymentStatus::RollingBack {
        drop_rollbacks_of_what_never_started(deployment);
        if deployment
            .rollback_stages()
            .all(|stage| stage.status.is_final())
        {
            finish(deployment, now);
        }
    }
    count_active_time(deployment, now);
}

/// The stages whose turn may begin now.
pub(super) fn ready(deployment: &Deployment, now: Timestamp) -> impl Iterator<Item = &Stage> {
    let rolling_back = deployment.status == DeploymentStatus::RollingBack;
    let may = !deployment.status.is_final()
        && deployment.status != DeploymentStatus::Planning
        && (rolling_back || deployment.ending.is_none());
    let next_rollback = next_rollback(deployment).map(|stage| &stage.id);
    deployment.stages.iter().filter(move |stage| {
        let its_turn = if rolling_back {
            next_rollback == Some(&stage.id)
        } else {
            !stage.rollback && may_start(deployment, stage)
        };
        may && its_turn
            && match stage.status {
                StageStatus::Waiting => true,
                StageStatus::Suspended => stage.wait.as_ref().is_some_and(|w| w.until <= now),
                _ => false,
            }
    })
}

/// When something will be ready or run out of time that waits now.
pub(super) fn wakes_at(deployment: &Deployment) -> Option<Timestamp> {
    let suspended = || {
        deployment
            .stages
            .iter()
            .filter(|stage| stage.status == StageStatus::Suspended)
    };
    let wakes = suspended().filter_map(|stage| stage.wait.as_ref().map(|wait| wait.until));
    let limits = suspended().filter_map(stage_deadline);
    let whole = suspended()
        .next()
        .and_then(|_| deployment_deadline(deployment));
    wakes.chain(limits).chain(whole).min()
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

/// When the deployment has run out of time, as far as that can be said: the
/// default limit stands still while nothing runs.
pub(super) fn deployment_deadline(deployment: &Deployment) -> Option<Timestamp> {
    // A rollback has to be given its time even when it is the time that ran out.
    if deployment.status == DeploymentStatus::RollingBack {
        return None;
    }
    match deployment.timeout {
        Some(limit) => Some(deployment.started_at?.after(limit)),
        None => {
            let left = DEFAULT_DEPLOYMENT_TIMEOUT.saturating_sub(deployment.active);
            Some(deployment.active_since?.after(left))
        }
    }
}

/// Ends a stage.
pub(super) fn end(
    stage: &mut Stage,
    status: StageStatus,
    reason: impl Into<String>,
    now: Timestamp,
) {
    stage.status = status;
    stage.reason = reason.into();
    stage.wait = None;
    stage.note.clear();
    stage.ended_at = Some(now);
}

/// Ends a stage that has run out of time.
pub(super) fn time_out(stage: &mut Stage, now: Timestamp) {
    let limit = stage.timeout.unwrap_or(DEFAULT_STAGE_TIMEOUT);
    let reason = format!("timed out: it may take {limit:?}");
    end(stage, StageStatus::TimedOut, reason, now);
}

fn forward(deployment: &Deployment) -> impl Iterator<Item = &Stage> {
    deployment.forward_stages()
}

fn may_start(deployment: &Deployment, stage: &Stage) -> bool {
    stage.requires.iter().all(|id| {
        deployment
            .stage(id)
            .is_none_or(|before| before.status.lets_others_start())
    })
}

/// The rollback stage that is at work or whose turn it is: they go one by one, in
/// descending order.
fn next_rollback(deployment: &Deployment) -> Option<&Stage> {
    deployment
        .rollback_stages()
        .filter(|stage| !stage.status.is_final())
        .max_by_key(|stage| stage.index)
}

fn count_active_time(deployment: &mut Deployment, now: Timestamp) {
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

/// A suspended stage whose time is over ends without a call. One that runs is
/// ended by the host that runs it.
fn time_out_suspended(deployment: &mut Deployment, now: Timestamp) {
    for stage in &mut deployment.stages {
        let waits = matches!(stage.status, StageStatus::Suspended)
            || (stage.status == StageStatus::Waiting && stage.started_at.is_some());
        if waits && stage_deadline(stage).is_some_and(|deadline| deadline <= now) {
            time_out(stage, now);
        }
    }
}

/// A stage that is to be skipped is, when its turn comes; which may bring the
/// turn of the next.
fn skip(deployment: &mut Deployment, now: Timestamp) {
    if deployment.ending.is_some() {
        return;
    }
    loop {
        let place = deployment.stages.iter().position(|stage| {
            !stage.rollback
                && stage.status == StageStatus::Waiting
                && stage.skip.is_some()
                && may_start(deployment, stage)
        });
        let Some(place) = place else { return };
        let stage = &mut deployment.stages[place];
        let reason = stage.skip.clone().unwrap_or_default();
        end(stage, StageStatus::Skipped, reason, now);
    }
}

fn notice_the_ending(deployment: &mut Deployment, now: Timestamp) {
    if deployment.ending.is_some() {
        return;
    }
    // The deployment's own limit is looked at first: a stage that it ended has
    // timed out too, and must not be blamed for it.
    let over = deployment_deadline(deployment).is_some_and(|deadline| deadline <= now)
        && forward(deployment)
            .any(|stage| !stage.status.is_final() || stage.status == StageStatus::TimedOut);
    if over {
        let limit = deployment.timeout.unwrap_or(DEFAULT_DEPLOYMENT_TIMEOUT);
        deployment.reason = format!("timed out: the deployment may take {limit:?}");
        deployment.ending = Some(Ending::TimedOut);
        return;
    }
    let failed = forward(deployment).find(|stage| stage.status.is_failure());
    if let Some(stage) = failed {
        deployment.reason = blame(stage);
        deployment.ending = Some(Ending::Failed);
        return;
    }
    let exited = forward(deployment).find(|stage| stage.status == StageStatus::Exited);
    if let Some(stage) = exited {
        deployment.reason = blame(stage);
        deployment.ending = Some(Ending::Exited);
    }
}

/// Why a stage decided how its deployment ends.
fn blame(stage: &Stage) -> String {
    let place = stage.index + 1;
    let (name, status, reason) = (&stage.name, stage.status, &stage.reason);
    if reason.is_empty() {
        format!("stage {place} ({name}) {status}")
    } else {
        format!("stage {place} ({name}) {status}: {reason}")
    }
}

/// Once it is known how the deployment ends, nothing new starts and what is
/// suspended ends.
fn stop(deployment: &mut Deployment, now: Timestamp) {
    let Some(ending) = deployment.ending else {
        return;
    };
    let why = match ending {
        Ending::Exited => "the pipeline had ended",
        Ending::Failed => "another stage had failed",
        Ending::TimedOut => "the deployment had timed out",
    };
    for stage in deployment.stages.iter_mut().filter(|stage| !stage.rollback) {
        match stage.status {
            StageStatus::Waiting if stage.started_at.is_none() => {
                stage.status = StageStatus::NotRun;
                stage.reason = why.to_owned();
            }
            StageStatus::Waiting | StageStatus::Suspended => {
                let status = if ending == Ending::TimedOut {
                    StageStatus::TimedOut
                } else {
                    StageStatus::Cancelled
                };
                end(stage, status, why, now);
            }
            _ => {}
        }
    }
}

fn finish_forward(deployment: &mut Deployment, now: Timestamp) {
    let failed = deployment.ending.is_some_and(fails);
    let roll_back = failed
        && deployment.auto_rollback
        && deployment
            .rollback_stages()
            .any(|stage| undoes_something(deployment, stage));
    if roll_back {
        deployment.status = DeploymentStatus::RollingBack;
        return;
    }
    let why = if failed {
        "there was nothing to undo"
    } else {
        "nothing had to be undone"
    };
    for stage in deployment.stages.iter_mut().filter(|stage| stage.rollback) {
        stage.status = StageStatus::NotRun;
        stage.reason = why.to_owned();
    }
    finish(deployment, now);
}

fn undoes_something(deployment: &Deployment, rollback: &Stage) -> bool {
    rollback.undoes.iter().any(|id| {
        deployment
            .stage(id)
            .is_some_and(|stage| stage.started_at.is_some())
    })
}

fn drop_rollbacks_of_what_never_started(deployment: &mut Deployment) {
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

fn finish(deployment: &mut Deployment, now: Timestamp) {
    deployment.status = match deployment.ending {
        None | Some(Ending::Exited) => DeploymentStatus::Succeeded,
        Some(Ending::Failed) => DeploymentStatus::Failed,
        Some(Ending::TimedOut) => DeploymentStatus::TimedOut,
    };
    deployment.ended_at = Some(now);
}
