//! A decided transition: what to store, what to tell, what is due next.

use crate::model::{
    Cancellation, Deployment, DeploymentStatus, EventKind, RollbackStatus, Shared, Stage, StageId,
    StageStatus, Timestamp,
};

use super::{Next, next_of_settled};

/// A decided transition of a deployment.
#[derive(Clone, Debug)]
pub struct Change {
    /// The deployment as it is now to be; its `version` is one more than that of
    /// the one it was decided on.
    pub deployment: Deployment,
    /// Whether what its planning finds differs: `running`, `strategy`, `summary`,
    /// `versions` or `plugins`. What it was stored with never does: `id`,
    /// `application`, `trigger`, `target`, `auto_rollback`, `timeout` and
    /// `created_at`.
    pub planned: bool,
    /// The stages that differ, as places in `deployment.stages`, in no order.
    pub stages: Vec<usize>,
    /// What to tell whoever watches, in order.
    pub events: Vec<EventKind>,
    /// When there is something to do next without anybody's help: at once
    /// (`Timestamp(0)`), at a time, or never.
    pub due: Option<Timestamp>,
    /// What the host that made the change now holds a lease for.
    pub taken: Vec<Leased>,
    /// What is no longer leased.
    pub released: Vec<Leased>,
    /// When it was decided.
    pub at: Timestamp,
}

/// What a lease is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Leased {
    /// The planning of the deployment.
    Plan,
    /// The execution of a stage.
    Stage(StageId),
}

impl Change {
    /// What there is to do next, at the time when the change was decided.
    pub fn next(&self) -> Next {
        next_of_settled(&self.deployment, self.at)
    }

    /// The transition from one state of a deployment to another, of which every
    /// consequence is drawn.
    pub(super) fn between(old: &Deployment, mut new: Deployment, at: Timestamp) -> Self {
        new.version = old.version + 1;
        let mut stages = Vec::new();
        let mut events = Vec::new();
        let mut taken = Vec::new();
        let mut released = Vec::new();
        // A deployment that has a plan or starts to run says so before its stages
        // do; whatever else becomes of it follows from what became of them.
        let status = (old.status != new.status).then(|| EventKind::Deployment {
            status: new.status,
            reason: new.reason.clone(),
        });
        let starts = matches!(
            new.status,
            DeploymentStatus::Planning | DeploymentStatus::Planned | DeploymentStatus::Running
        );
        // What someone did comes before what became of it.
        events.extend(cancellations(old, &new).map(EventKind::Cancel));
        if starts {
            events.extend(status.clone());
        }
        for (place, stage) in in_order(old, &new) {
            let before = old.stages.get(place);
            if before == Some(stage) {
                continue;
            }
            let before = before.map(|stage| &**stage);
            stages.push(place);
            events.extend(commands(before, stage));
            let was = before.map(|stage| (stage.status, stage.attempt));
            if was == Some((stage.status, stage.attempt)) {
                continue;
            }
            // That a new stage waits is no news; that it is skipped already is.
            if before.is_some() || stage.status != StageStatus::Waiting {
                events.push(EventKind::Stage {
                    stage: stage.id.clone(),
                    name: stage.name.clone(),
                    status: stage.status,
                    attempt: stage.attempt,
                    reason: stage.reason.clone(),
                });
            }
            let ran = before.is_some_and(|stage| stage.status == StageStatus::Running);
            let runs = stage.status == StageStatus::Running;
            if runs && !ran {
                taken.push(Leased::Stage(stage.id.clone()));
            } else if ran && !runs {
                released.push(Leased::Stage(stage.id.clone()));
            }
        }
        events.extend(rollback(old, &new));
        if !starts {
            events.extend(status);
        }
        if new.plan_attempt > old.plan_attempt {
            taken.push(Leased::Plan);
        } else if old.status == DeploymentStatus::Planning
            && new.status != DeploymentStatus::Planning
        {
            released.push(Leased::Plan);
        }
        let due = match next_of_settled(&new, at) {
            // Who takes the lease on the plan is at work on it.
            Next::Plan if taken.contains(&Leased::Plan) => None,
            Next::Plan | Next::Begin(_) | Next::Tick => Some(Timestamp(0)),
            Next::At(time) => Some(time),
            Next::Busy | Next::Done => None,
        };
        Self {
            planned: !is_planned_alike(old, &new),
            deployment: new,
            stages,
            events,
            due,
            taken,
            released,
            at,
        }
    }
}

fn is_planned_alike(old: &Deployment, new: &Deployment) -> bool {
    old.running == new.running
        && old.strategy == new.strategy
        && old.summary == new.summary
        && old.versions == new.versions
        && old.plugins == new.plugins
}

/// The stages with their places: those first that ran, since what becomes of the
/// others follows from them; then what went wrong by itself, for the same reason.
fn in_order<'a>(old: &Deployment, new: &'a Deployment) -> Vec<(usize, &'a Shared<Stage>)> {
    let mut stages: Vec<(usize, &Shared<Stage>)> = new.stages.iter().enumerate().collect();
    stages.sort_by_key(|(place, stage)| {
        let before = old.stages.get(*place).map(|stage| stage.status);
        let ran = before == Some(StageStatus::Running);
        (!ran, !stage.status.is_failure())
    });
    stages
}

/// The cancellations that are new.
fn cancellations(old: &Deployment, new: &Deployment) -> impl Iterator<Item = Cancellation> {
    let of_rollback = |d: &Deployment| d.rollback.as_ref().and_then(|r| r.cancel.clone());
    let pairs = [
        (old.cancel.clone(), new.cancel.clone()),
        (of_rollback(old), of_rollback(new)),
    ];
    pairs
        .into_iter()
        .filter_map(|(old, new)| new.filter(|new| old.as_ref() != Some(new)))
}

/// The commands to a stage that are new.
fn commands<'a>(
    old: Option<&'a Stage>,
    new: &'a Stage,
) -> impl Iterator<Item = EventKind> + use<'a> {
    let known = old.map_or(0, |stage| stage.commands.len());
    new.commands
        .iter()
        .skip(known)
        .map(|command| EventKind::Command {
            stage: new.id.clone(),
            name: new.name.clone(),
            command: command.kind,
            by: command.by.clone(),
        })
}

/// What is new about the rollback: that it runs, the deployment's status says.
fn rollback(old: &Deployment, new: &Deployment) -> Option<EventKind> {
    let rollback = new.rollback.as_ref()?;
    let before = old.rollback.as_ref().map(|rollback| rollback.status);
    let news = before != Some(rollback.status) && rollback.status != RollbackStatus::Running;
    news.then(|| EventKind::Rollback {
        status: rollback.status,
        reason: rollback.reason.clone(),
    })
}
