//! For everything that waits: for what, since when, and what would end it.

use crate::model::{
    CommandKind, Deployment, DeploymentStatus, Operation, Stage, StageId, StageStatus, Timestamp,
};

use super::clock::{deployment_deadline, rollback_deadline, stage_deadline};
use super::settle;

/// Something of a deployment that is not at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The stage; none for the whole deployment.
    pub stage: Option<StageId>,
    /// What it waits for. Any of these ends it.
    pub what: Vec<WaitsFor>,
    /// Since when.
    pub since: Timestamp,
    /// When its time is over, if that is known.
    pub limit: Option<Timestamp>,
}

/// What something may wait for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitsFor {
    /// The end of the earlier deployments of its application.
    Queue,
    /// A host that plans it.
    Planner,
    /// A host that begins its turn.
    Host,
    /// The end of its turn, which is under way.
    Turn,
    /// The same, after it was told to stop.
    Stop,
    /// A time.
    Time(Timestamp),
    /// A person, who may do this; one of those listed, or anyone.
    Person(CommandKind, Vec<String>),
    /// Other stages, which must end first.
    Stages(Vec<StageId>),
}

/// Everything in a deployment that waits or runs now, in the order of the plan.
/// A rollback stage is told of once the rollback has begun.
pub fn waiting(deployment: &Deployment, now: Timestamp) -> Vec<Waiting> {
    let whole = |what| {
        vec![Waiting {
            stage: None,
            what: vec![what],
            since: deployment.created_at,
            limit: None,
        }]
    };
    match deployment.status {
        status if status.is_final() => Vec::new(),
        DeploymentStatus::Queued => whole(WaitsFor::Queue),
        DeploymentStatus::Planning => whole(WaitsFor::Planner),
        status => {
            let ready: Vec<&StageId> = settle::ready(deployment, now)
                .map(|stage| &stage.id)
                .collect();
            let shown = |stage: &&Stage| !stage.rollback || status == DeploymentStatus::RollingBack;
            let open = |stage: &&Stage| !stage.status.is_final();
            let stages = deployment.stages.iter().filter(shown).filter(open);
            stages
                .map(|stage| of_stage(deployment, stage, ready.contains(&&stage.id)))
                .collect()
        }
    }
}

fn of_stage(deployment: &Deployment, stage: &Stage, ready: bool) -> Waiting {
    let mut since = stage.turn_started_at.unwrap_or(deployment.created_at);
    let what = match stage.status {
        _ if ready => vec![WaitsFor::Host],
        StageStatus::Running if super::is_cancelled(deployment, stage).is_some() => {
            vec![WaitsFor::Stop]
        }
        StageStatus::Running => vec![WaitsFor::Turn],
        StageStatus::Suspended => {
            let wait = stage.wait.as_ref();
            since = wait.map_or(since, |wait| wait.since);
            let until = wait.and_then(|wait| wait.until).map(WaitsFor::Time);
            let command = wait.and_then(|wait| wait.after_command).and_then(|_| {
                let kind = match stage.operation {
                    Operation::None => return None,
                    Operation::Approve => CommandKind::Approve,
                    Operation::Skip => CommandKind::Skip,
                };
                Some(WaitsFor::Person(kind, stage.authorized_operators.clone()))
            });
            command.into_iter().chain(until).collect()
        }
        _ => vec![WaitsFor::Stages(before(deployment, stage))],
    };
    let whole = if stage.rollback {
        rollback_deadline(deployment)
    } else {
        deployment_deadline(deployment)
    };
    let limit = match stage.started_at {
        Some(_) => [stage_deadline(stage), whole].into_iter().flatten().min(),
        None => None,
    };
    Waiting {
        stage: Some(stage.id.clone()),
        what,
        since,
        limit,
    }
}

/// The stages that keep another one from starting.
fn before(deployment: &Deployment, stage: &Stage) -> Vec<StageId> {
    if stage.rollback {
        // One by one, in descending order.
        let next = super::rollback::next(deployment);
        return next.map(|next| next.id.clone()).into_iter().collect();
    }
    let open = |id: &&StageId| {
        deployment
            .stage(id)
            .is_some_and(|before| !before.status.lets_others_start())
    };
    stage.requires.iter().filter(open).cloned().collect()
}
