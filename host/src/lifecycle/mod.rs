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
//! - when a stage fails or exits, no new stage starts, running ones finish (also
//!   when their host is gone meanwhile), suspended ones end; then the rollback;
//! - a rollback stage runs if one of the stages that it undoes had started; in
//!   descending order, one by one, a failing one stopping none; also on a first
//!   deployment; after a failure, a time-out or a cancel, unless it was not wanted;
//! - who cancels wants the state from before, unless they say otherwise; so a
//!   second cancel stops no rollback, one without a rollback does;
//! - what did its work before it could be stopped has done it;
//! - a stage whose host died runs again as its next attempt, with its state kept,
//!   until it was lost too often;
//! - a time limit that someone wrote includes suspended time, the default one
//!   does not; timed out is never reported as anything else;
//! - what people did to a stage before its time was over counts, even if no host was
//!   there to see it in time: the stage has its turn before the limit ends anything.

mod cancel;
mod change;
mod clock;
mod event;
pub mod plan;
mod rollback;
mod settle;
mod turn;
mod waiting;

#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::model::{Cancellation, Deployment, DeploymentStatus, Shared, StageId, Timestamp};

pub use cancel::{is_cancelled, takes};
pub use change::{Change, Leased};
pub use clock::{
    COMMANDED_TURN, DEFAULT_DEPLOYMENT_TIMEOUT, DEFAULT_STAGE_TIMEOUT, limit_at, time_left,
};
pub use event::{Event, Rejected, TurnEnd};
pub use plan::Plan;
pub use turn::judge;
pub use waiting::{People, Waiting, WaitsFor, waiting};

/// How soon after its turn a stage that asked for a time already past is called
/// again.
pub const SHORTEST_PAUSE: Duration = Duration::from_secs(1);

/// What there is to do for a deployment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Plan it, if no earlier deployment of its application is left.
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
///
/// # Errors
/// [`Rejected`] when the event does not fit where the deployment stands: it came
/// late, twice or out of order, or a person asked for what may not be. Nothing
/// changes then.
pub fn apply(deployment: &Deployment, event: Event, now: Timestamp) -> Result<Change, Rejected> {
    let mut new = deployment.clone();
    match event {
        Event::PlanBegun { limit, running } => {
            if new.status == DeploymentStatus::Queued {
                new.status = DeploymentStatus::Planning;
                new.running = running.map(Shared::from);
            }
            expect_planning(&new)?;
            if new.plan_attempt < limit {
                new.plan_attempt += 1;
                new.plan_started_at = Some(now);
            } else {
                let times = times(limit);
                let reason = format!("its host died {times} while planning it");
                fail_plan(&mut new, reason, now);
            }
        }
        Event::PlanHandedBack => {
            expect_planning(&new)?;
            new.plan_attempt = new.plan_attempt.saturating_sub(1);
            new.status = DeploymentStatus::Queued;
        }
        Event::Planned(plan) => {
            expect_planning(&new)?;
            new.strategy = Some(plan.strategy);
            new.summary = plan.summary;
            new.versions = plan.versions.into();
            new.plugins = plan.plugins.into();
            new.stages = plan.stages.into_iter().map(Shared::from).collect();
            new.status = DeploymentStatus::Planned;
        }
        Event::PlanFailed(reason) => {
            expect_planning(&new)?;
            fail_plan(&mut new, reason, now);
        }
        Event::StageBegun(id) => {
            // A time limit may have passed since it was found to be ready; what
            // comes of that comes first, and may be that something else begins.
            settle::settle(&mut new, now);
            if new != *deployment {
                let what = format!("a time limit has passed, so stage {id} may not begin");
                return Err(reject(deployment, what));
            }
            turn::begin(&mut new, &id, now)?;
        }
        Event::StageEnded {
            stage: id,
            end,
            targets,
            exit_code,
        } => {
            let place = turn::running(&new, &id)?;
            new.stages[place].targets = targets;
            new.stages[place].exit_code = exit_code;
            turn::end(&mut new, &id, end, now)?;
        }
        Event::StageLost {
            stage,
            clean,
            limit,
        } => turn::lose(&mut new, &stage, clean, limit, now)?,
        Event::Cancelled { by, why, rollback } => {
            let at = now;
            let wish = Cancellation {
                by,
                why,
                rollback,
                at,
                before: None,
            };
            // A time limit that has passed unnoticed came first.
            settle::settle(&mut new, now);
            cancel::cancel(&mut new, wish)?;
        }
        Event::Commanded { stage, kind, by } => {
            settle::settle(&mut new, now);
            cancel::command(&mut new, &stage, kind, &by, now)?;
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
    if is_to_be_planned(deployment) {
        return Next::Plan;
    }
    let mut settled = deployment.clone();
    settle::settle(&mut settled, now);
    if settled != *deployment {
        return Next::Tick;
    }
    next_of_settled(deployment, now)
}

/// The same for a deployment of which every consequence is drawn at this time.
fn next_of_settled(deployment: &Deployment, now: Timestamp) -> Next {
    if deployment.status.is_final() {
        return Next::Done;
    }
    if is_to_be_planned(deployment) {
        return Next::Plan;
    }
    let ready: Vec<StageId> = settle::ready(deployment, now)
        .map(|stage| stage.id.clone())
        .collect();
    if !ready.is_empty() {
        return Next::Begin(ready);
    }
    if settle::is_held(deployment, now) {
        return Next::Busy;
    }
    match clock::wakes_at(deployment) {
        Some(time) => Next::At(time),
        None => Next::Busy,
    }
}

fn is_to_be_planned(deployment: &Deployment) -> bool {
    matches!(
        deployment.status,
        DeploymentStatus::Queued | DeploymentStatus::Planning
    )
}

fn fail_plan(deployment: &mut Deployment, reason: String, now: Timestamp) {
    deployment.status = DeploymentStatus::Failed;
    deployment.reason = reason;
    deployment.ended_at = Some(now);
}

fn expect_planning(deployment: &Deployment) -> Result<(), Rejected> {
    if deployment.status == DeploymentStatus::Planning {
        Ok(())
    } else {
        let what = "the event fits only while it is planned".to_owned();
        Err(reject(deployment, what))
    }
}

fn reject(deployment: &Deployment, what: String) -> Rejected {
    Rejected {
        deployment: deployment.id.to_string(),
        status: deployment.status,
        what,
        already: false,
    }
}

/// Rejects what holds already.
fn reject_twice(deployment: &Deployment, what: String) -> Rejected {
    Rejected {
        already: true,
        ..reject(deployment, what)
    }
}

fn times(count: u32) -> String {
    match count {
        1 => "once".to_owned(),
        count => format!("{count} times"),
    }
}
