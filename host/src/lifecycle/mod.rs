//! The rules of a deployment: the one place where "what happens when" is
//! written.
//!
//! Everything here is a pure function. [`apply`] takes a deployment, an event
//! and the time, and gives the [`Change`] to store; [`next`] says what there is
//! to do; [`plan`] makes stages of what plugins planned. Nothing here
//! does IO, reads a clock or draws a random number, so a history can be replayed
//! and a million of them tried.
//!
//! The rules that are easy to get wrong:
//!
//! - when a stage fails or exits, no new stage starts, running ones finish,
//!   suspended ones end; then the rollback;
//! - a rollback stage runs if one of the stages that it undoes had started; in
//!   descending order, one by one, a failing one stopping none;
//! - a stage whose host died runs again as its next attempt, with its state kept,
//!   until it was lost too often;
//! - a time limit that someone wrote includes suspended time, the default one
//!   does not; timed out is never reported as anything else.

mod change;
pub mod plan;
mod settle;

#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::model::{
    Cause, Deployment, DeploymentStatus, Ending, OnLoss, Stage, StageId, StageStatus, TargetResult,
    Timestamp, Wait,
};

pub use change::{Change, Leased};
pub use plan::Plan;

/// How long a stage's turn may take when the file does not say.
pub const DEFAULT_STAGE_TIMEOUT: Duration = Duration::from_secs(6 * 60 * 60);

/// How long a deployment's stages may be running in all when the file does not
/// say.
pub const DEFAULT_DEPLOYMENT_TIMEOUT: Duration = Duration::from_secs(6 * 60 * 60);

/// How soon after its turn a stage that asked for a time already past is called
/// again.
pub const SHORTEST_PAUSE: Duration = Duration::from_secs(1);

/// Something that happens to a deployment.
#[derive(Clone, Debug)]
pub enum Event {
    /// A host begins to plan it.
    PlanBegun {
        /// How often its planning may be begun before it counts as failed.
        limit: u32,
    },
    /// It was planned.
    Planned(Box<Plan>),
    /// It could not be planned; why.
    PlanFailed(String),
    /// A host begins a turn of a stage.
    StageBegun(StageId),
    /// A turn of a stage is over.
    StageEnded {
        /// The stage.
        stage: StageId,
        /// How the turn ended.
        end: TurnEnd,
        /// How the deploy targets fared.
        targets: Vec<TargetResult>,
        /// The exit code of the program that decided it.
        exit_code: Option<i32>,
    },
    /// The host that ran a stage is gone; or it stops and hands the stage back.
    StageLost {
        /// The stage.
        stage: StageId,
        /// Whether the host stopped as it should, which is nobody's failure.
        clean: bool,
        /// How often a stage may be lost before it counts as failed.
        limit: u32,
    },
    /// Time has passed.
    Tick,
}

/// How a turn of a stage ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnEnd {
    /// The stage did what it is for.
    Succeeded,
    /// It did not; why.
    Failed(String),
    /// There was nothing to do; why.
    Skipped(String),
    /// It ends the pipeline, as a success; why.
    Exited(String),
    /// It waits until a time.
    Suspended(Timestamp),
    /// Its time was over.
    TimedOut,
}

/// Why an event does not fit a deployment: it came late, twice or out of order.
/// Nothing changes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("deployment {deployment} is {status}: {what}")]
pub struct Rejected {
    /// The deployment.
    pub deployment: String,
    /// Where it stands.
    pub status: DeploymentStatus,
    /// Why the event does not fit.
    pub what: String,
}

/// What there is to do for a deployment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Plan it.
    Plan,
    /// Begin turns of these stages.
    Begin(Vec<StageId>),
    /// Let time pass: an [`Event::Tick`] changes something now.
    Tick,
    /// Nothing before this time.
    At(Timestamp),
    /// Nothing until something that is under way ends.
    Busy,
    /// Nothing, ever.
    Done,
}

/// What an event makes of a deployment.
pub fn apply(deployment: &Deployment, event: Event, now: Timestamp) -> Result<Change, Rejected> {
    let mut new = deployment.clone();
    match event {
        Event::PlanBegun { limit } => {
            expect(&new, DeploymentStatus::Planning)?;
            if new.plan_attempt < limit {
                new.plan_attempt += 1;
            } else {
                fail_plan(
                    &mut new,
                    format!("its host died {} while planning it", times(limit)),
                    now,
                );
            }
        }
        Event::Planned(plan) => {
            expect(&new, DeploymentStatus::Planning)?;
            new.strategy = Some(plan.strategy);
            new.summary = plan.summary;
            new.versions = plan.versions;
            new.plugins = plan.plugins;
            new.stages = plan.stages;
            new.status = DeploymentStatus::Planned;
        }
        Event::PlanFailed(reason) => {
            expect(&new, DeploymentStatus::Planning)?;
            fail_plan(&mut new, reason, now);
        }
        Event::StageBegun(id) => begin(&mut new, &id, now)?,
        Event::StageEnded {
            stage,
            end,
            targets,
            exit_code,
        } => {
            let stage = in_status(&mut new, &stage, StageStatus::Running)?;
            stage.targets = targets;
            stage.exit_code = exit_code;
            end_turn(stage, end, now);
        }
        Event::StageLost {
            stage,
            clean,
            limit,
        } => {
            let stage = in_status(&mut new, &stage, StageStatus::Running)?;
            lose(stage, clean, limit, now);
        }
        Event::Tick => {}
    }
    settle::settle(&mut new, now);
    Ok(Change::between(deployment, new, now))
}

/// What there is to do for a deployment now.
pub fn next(deployment: &Deployment, now: Timestamp) -> Next {
    if deployment.status.is_final() {
        return Next::Done;
    }
    if deployment.status == DeploymentStatus::Planning {
        return Next::Plan;
    }
    let mut settled = deployment.clone();
    settle::settle(&mut settled, now);
    if settled != *deployment {
        return Next::Tick;
    }
    let ready: Vec<StageId> = settle::ready(deployment, now)
        .map(|stage| stage.id.clone())
        .collect();
    if !ready.is_empty() {
        return Next::Begin(ready);
    }
    match settle::wakes_at(deployment) {
        Some(time) => Next::At(time),
        None => Next::Busy,
    }
}

/// How long the turn of a stage that is running may still take.
pub fn time_left(deployment: &Deployment, stage: &Stage, now: Timestamp) -> Duration {
    let of_stage = settle::stage_deadline(stage);
    let of_deployment = settle::deployment_deadline(deployment);
    [of_stage, of_deployment]
        .into_iter()
        .flatten()
        .min()
        .map_or(DEFAULT_STAGE_TIMEOUT, |deadline| deadline.since(now))
}

fn begin(deployment: &mut Deployment, id: &StageId, now: Timestamp) -> Result<(), Rejected> {
    let ready = settle::ready(deployment, now).any(|stage| &stage.id == id);
    if !ready {
        return Err(reject(
            deployment,
            format!("stage {id} is not ready to begin"),
        ));
    }
    let last_started = deployment
        .stages
        .iter()
        .filter(|stage| stage.started_at.is_some())
        .max_by_key(|stage| (stage.started_at, stage.rollback))
        .map(|stage| stage.id.clone());
    let Some(stage) = deployment.stages.iter_mut().find(|stage| &stage.id == id) else {
        return Err(reject(deployment, format!("it has no stage {id}")));
    };
    if stage.status == StageStatus::Suspended {
        stage.cause = Cause::Time;
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

fn end_turn(stage: &mut Stage, end: TurnEnd, now: Timestamp) {
    match end {
        TurnEnd::Succeeded => settle::end(stage, StageStatus::Succeeded, "", now),
        TurnEnd::Failed(reason) => settle::end(stage, StageStatus::Failed, reason, now),
        TurnEnd::Skipped(reason) => settle::end(stage, StageStatus::Skipped, reason, now),
        TurnEnd::Exited(reason) => settle::end(stage, StageStatus::Exited, reason, now),
        TurnEnd::TimedOut => settle::time_out(stage, now),
        TurnEnd::Suspended(until) => {
            let until = if until <= now {
                now.after(SHORTEST_PAUSE)
            } else {
                until
            };
            stage.status = StageStatus::Suspended;
            stage.wait = Some(Wait { since: now, until });
        }
    }
}

fn fail_plan(deployment: &mut Deployment, reason: String, now: Timestamp) {
    deployment.status = DeploymentStatus::Failed;
    deployment.reason = reason;
    deployment.ended_at = Some(now);
}

fn lose(stage: &mut Stage, clean: bool, limit: u32, now: Timestamp) {
    let what = if clean { "stopped" } else { "died" };
    if stage.on_loss == OnLoss::Fail {
        let reason = format!("its host {what}, and its plugin says it must not run twice");
        return settle::end(stage, StageStatus::Lost, reason, now);
    }
    if !clean {
        stage.losses += 1;
        if stage.losses >= limit {
            let reason = format!("its host died under it {}", times(stage.losses));
            return settle::end(stage, StageStatus::Lost, reason, now);
        }
    }
    // The number goes up here rather than when the next attempt begins, so that
    // whatever the old one still writes is refused from now on.
    stage.attempt.number += 1;
    stage.attempt.turn = 0;
    stage.cause = Cause::Loss;
    stage.status = StageStatus::Waiting;
    stage.reason = format!("its host {what}; it runs again");
}

fn expect(deployment: &Deployment, status: DeploymentStatus) -> Result<(), Rejected> {
    if deployment.status == status {
        Ok(())
    } else {
        Err(reject(
            deployment,
            format!("the event fits only when it is {status}"),
        ))
    }
}

fn in_status<'a>(
    deployment: &'a mut Deployment,
    id: &StageId,
    status: StageStatus,
) -> Result<&'a mut Stage, Rejected> {
    let place = deployment
        .stages
        .iter()
        .position(|stage| &stage.id == id)
        .ok_or_else(|| reject(deployment, format!("it has no stage {id}")))?;
    let found = deployment.stages[place].status;
    if found != status {
        let what = format!("stage {id} is {found}, the event fits only when it is {status}");
        return Err(reject(deployment, what));
    }
    Ok(&mut deployment.stages[place])
}

fn reject(deployment: &Deployment, what: String) -> Rejected {
    Rejected {
        deployment: deployment.id.to_string(),
        status: deployment.status,
        what,
    }
}

/// Whether a deployment will be reported as a failure once it is over.
fn fails(ending: Ending) -> bool {
    matches!(ending, Ending::Failed | Ending::TimedOut)
}

fn times(count: u32) -> String {
    match count {
        1 => "once".to_owned(),
        count => format!("{count} times"),
    }
}
