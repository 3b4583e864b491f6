//! What follows by itself from where a deployment stands: who may start, who is
//! skipped, when it is to stop, when it is over.

use crate::model::{Deployment, DeploymentStatus, Ending, Shared, Stage, StageStatus, Timestamp};

use super::cancel::{has_command, is_owed_a_turn, was_over_time};
use super::clock::{
    DEFAULT_DEPLOYMENT_TIMEOUT, DEFAULT_STAGE_TIMEOUT, count_active_time, deployment_deadline,
    stage_deadline, whole_deadline, written,
};
use super::rollback;

/// Draws every consequence that needs nobody's help. Idempotent.
pub(super) fn settle(deployment: &mut Deployment, now: Timestamp) {
    match deployment.status {
        DeploymentStatus::Queued | DeploymentStatus::Planning => {
            if let Some(cancel) = &deployment.cancel {
                deployment.reason = cancel.to_string();
                deployment.status = DeploymentStatus::Cancelled;
                deployment.ended_at = Some(now);
            }
            return;
        }
        status if status.is_final() => return,
        _ => {}
    }
    count_active_time(deployment, now);
    time_out_waiting(deployment, now);
    if deployment.status != DeploymentStatus::RollingBack {
        skip(deployment, now);
        notice_the_ending(deployment, now);
        stop(deployment, now);
        if forward_is_over(deployment) {
            rollback::begin_or_finish(deployment, now);
        }
    }
    if deployment.status == DeploymentStatus::RollingBack {
        rollback::settle(deployment, now);
    }
    count_active_time(deployment, now);
}

/// The stages whose turn may begin now.
pub(super) fn ready(deployment: &Deployment, now: Timestamp) -> impl Iterator<Item = &Stage> {
    let rolling_back = deployment.status == DeploymentStatus::RollingBack;
    let may = match deployment.status {
        // When a stage failed or exited, only those are left that were interrupted.
        DeploymentStatus::Planned | DeploymentStatus::Running => {
            deployment.cancel.is_none()
                && matches!(
                    deployment.ending,
                    None | Some(Ending::Exited | Ending::Failed)
                )
        }
        DeploymentStatus::RollingBack => rollback::goes_on(deployment),
        _ => false,
    };
    let next_rollback = rollback::next(deployment).map(|stage| &stage.id);
    let held = is_held(deployment, now);
    deployment.all_stages().filter(move |stage| {
        let its_turn = if rolling_back {
            next_rollback == Some(&stage.id)
        } else {
            !stage.rollback && may_start(deployment, stage)
        };
        may && its_turn
            && (!held || is_owed_a_turn(stage))
            && match stage.status {
                StageStatus::Waiting => true,
                StageStatus::Suspended => is_woken(stage, now),
                _ => false,
            }
    })
}

/// Whether the time of the deployment, or of its rollback, is over, and it goes on
/// only for the turns that are owed to people.
pub(super) fn is_held(deployment: &Deployment, now: Timestamp) -> bool {
    let rolling_back = deployment.status == DeploymentStatus::RollingBack;
    whole_deadline(deployment, rolling_back).is_some_and(|deadline| deadline <= now)
}

fn is_woken(stage: &Stage, now: Timestamp) -> bool {
    let until = stage.wait.as_ref().and_then(|wait| wait.until);
    until.is_some_and(|until| until <= now) || has_command(stage)
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
    let reason = format!("timed out: it may take {}", written(limit));
    end(stage, StageStatus::TimedOut, reason, now);
}

/// Ends what waits in a part of the deployment that is not to go on: what never
/// started never will, what is suspended ends.
pub(super) fn stop_waiting<'a>(
    stages: impl IntoIterator<Item = &'a mut Shared<Stage>>,
    ending: Ending,
    why: &str,
    now: Timestamp,
) {
    for stage in stages {
        match stage.status {
            StageStatus::Waiting if stage.started_at.is_none() => {
                stage.status = StageStatus::NotRun;
                why.clone_into(&mut stage.reason);
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

/// Why a stage decided how what it belongs to ends.
pub(super) fn blame(deployment: &Deployment, stage: &Stage) -> String {
    let place = deployment.place(stage);
    let (name, status, reason) = (&stage.name, stage.status, &stage.reason);
    if reason.is_empty() {
        format!("stage {place} ({name}) {status}")
    } else {
        format!("stage {place} ({name}) {status}: {reason}")
    }
}

fn forward_is_over(deployment: &Deployment) -> bool {
    let mut forward = deployment.forward_stages();
    forward.all(|stage| stage.status.is_final())
}

fn may_start(deployment: &Deployment, stage: &Stage) -> bool {
    stage.requires.iter().all(|id| {
        deployment
            .stage(id)
            .is_none_or(|before| before.status.lets_others_start())
    })
}

/// A stage that waits and whose time is over ends without a call. One that runs
/// is ended by the host that runs it.
fn time_out_waiting(deployment: &mut Deployment, now: Timestamp) {
    for stage in &mut deployment.stages {
        let waits = matches!(stage.status, StageStatus::Suspended)
            || (stage.status == StageStatus::Waiting && stage.started_at.is_some());
        let over = stage_deadline(stage).is_some_and(|deadline| deadline <= now);
        if waits && over && !is_owed_a_turn(stage) {
            time_out(stage, now);
        }
    }
}

/// A stage that is to be skipped is, when its turn comes; which may bring the
/// turn of the next.
fn skip(deployment: &mut Deployment, now: Timestamp) {
    if deployment.ending.is_some() || deployment.cancel.is_some() {
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

/// Finds out that a deployment is not to go on. What is known first counts; but
/// an exit is a success only if what still ran ends well too.
fn notice_the_ending(deployment: &mut Deployment, now: Timestamp) {
    if !matches!(deployment.ending, None | Some(Ending::Exited)) {
        return;
    }
    // The deployment's own limit is looked at first: a stage that it ended has
    // timed out too, and must not be blamed for it.
    let over = deployment_deadline(deployment).is_some_and(|deadline| deadline <= now)
        && deployment
            .forward_stages()
            .any(|stage| !stage.status.is_final() || stage.status == StageStatus::TimedOut);
    if over && !deployment.forward_stages().any(is_owed_a_turn) {
        time_out_the_whole(deployment);
        return;
    }
    let first = |wanted: fn(StageStatus) -> bool| {
        let mut forward = deployment.forward_stages();
        let found = forward.find(|stage| wanted(stage.status));
        found.map(|stage| blame(deployment, stage))
    };
    if let Some(reason) = first(StageStatus::is_failure) {
        deployment.reason = reason;
        deployment.ending = Some(Ending::Failed);
    } else if let Some(cancel) = &deployment.cancel {
        // A stage that had run out of time before, and is being ended for it, decides
        // as it ends.
        let ends_over_time = |stage: &Stage| {
            stage.status == StageStatus::Running && was_over_time(deployment, stage)
        };
        if !deployment.forward_stages().any(ends_over_time) {
            deployment.reason = cancel.to_string();
            deployment.ending = Some(Ending::Cancelled);
        }
    } else if let Some(reason) = first(|status| status == StageStatus::Exited) {
        deployment.reason = reason;
        deployment.ending = Some(Ending::Exited);
    }
}

/// Has the deployment end because its time is over, unless something else was
/// known first.
pub(super) fn time_out_the_whole(deployment: &mut Deployment) {
    if matches!(deployment.ending, None | Some(Ending::Exited)) {
        let limit = deployment.timeout.unwrap_or(DEFAULT_DEPLOYMENT_TIMEOUT);
        let limit = written(limit);
        deployment.reason = format!("timed out: the deployment may take {limit}");
        deployment.ending = Some(Ending::TimedOut);
    }
}

/// Once it is known how the deployment ends, nothing new starts and what is
/// suspended ends. What ran when its host was gone is to finish, as what runs is,
/// unless that has to stop too.
fn stop(deployment: &mut Deployment, now: Timestamp) {
    // After a cancel that is so, also while it is not known yet how it ends.
    let cancel = deployment.cancel.as_ref().map(|_| Ending::Cancelled);
    let Some(ending) = deployment.ending.or(cancel) else {
        return;
    };
    let over = deployment_deadline(deployment).is_some_and(|deadline| deadline <= now);
    let cancelled = deployment.cancel.is_some();
    let of_interrupted = |stage: &Stage| match ending {
        Ending::TimedOut | Ending::Cancelled => Some(ending),
        Ending::Exited | Ending::Failed if cancelled => Some(Ending::Cancelled),
        Ending::Exited | Ending::Failed => {
            (over && !is_owed_a_turn(stage)).then_some(Ending::TimedOut)
        }
    };
    for stage in deployment.stages.iter_mut().filter(|stage| !stage.rollback) {
        let interrupted = stage.status == StageStatus::Waiting && stage.started_at.is_some();
        let ending = if interrupted {
            of_interrupted(stage)
        } else {
            Some(ending)
        };
        if let Some(ending) = ending {
            let why = match ending {
                Ending::Exited => "the pipeline had ended",
                Ending::Failed => "another stage had failed",
                Ending::TimedOut => "the deployment had timed out",
                Ending::Cancelled => "the deployment was cancelled",
            };
            stop_waiting([stage], ending, why, now);
        }
    }
}
