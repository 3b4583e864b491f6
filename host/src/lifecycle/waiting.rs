//! For everything that waits: for what, since when, and what would end it.

use crate::model::{
    CommandKind, Deployment, DeploymentStatus, Operation, Stage, StageId, StageStatus, Timestamp,
};

use super::cancel::{cancelled_at, is_owed_a_turn, lacks, woken_at};
use super::clock::{deadline, turn_deadline};
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
    /// When its time is over, if that is known; it may be past.
    pub limit: Option<Timestamp>,
}

/// What something may wait for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitsFor {
    /// The end of the earlier deployments of its application.
    Queue,
    /// The end of its planning, which is under way for this many times.
    Planning(u32),
    /// A host that begins its turn.
    Host,
    /// A host that ends it: its time is over, and nobody has looked since.
    Overdue,
    /// The end of its turn, which is under way.
    Turn,
    /// The same, after it was told to stop.
    Stop,
    /// A time.
    Time(Timestamp),
    /// People.
    People(People),
    /// Other stages, which must end first.
    Stages(Vec<StageId>),
}

/// Whose command something waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct People {
    /// What they have to do.
    pub kind: CommandKind,
    /// Those who may and have not yet; none for anyone.
    pub who: Option<Vec<String>>,
    /// Those who have.
    pub given: Vec<String>,
    /// How many more must; at least one.
    pub more: u32,
}

/// Everything in a deployment that waits or runs now, in the order of the plan.
/// A rollback stage is told of once the rollback has begun.
pub fn waiting(deployment: &Deployment, now: Timestamp) -> Vec<Waiting> {
    let whole = |what, since| {
        vec![Waiting {
            stage: None,
            what: vec![what],
            since,
            limit: None,
        }]
    };
    let created = deployment.created_at;
    match deployment.status {
        status if status.is_final() => Vec::new(),
        DeploymentStatus::Queued => whole(WaitsFor::Queue, created),
        DeploymentStatus::Planning => whole(
            WaitsFor::Planning(deployment.plan_attempt),
            deployment.plan_started_at.unwrap_or(created),
        ),
        status => {
            let mut settled = deployment.clone();
            settle::settle(&mut settled, now);
            let look = Look {
                deployment,
                settled: &settled,
                ready: settle::ready(deployment, now).map(|s| &s.id).collect(),
                held: settle::is_held(deployment, now),
                now,
            };
            let shown = |stage: &&Stage| !stage.rollback || status == DeploymentStatus::RollingBack;
            let open = |stage: &&Stage| !stage.status.is_final();
            let stages = deployment.all_stages().filter(shown).filter(open);
            stages.map(|stage| look.at(stage)).collect()
        }
    }
}

/// A deployment as it is looked at.
struct Look<'a> {
    deployment: &'a Deployment,
    /// What it will be when some host looks at it.
    settled: &'a Deployment,
    /// The stages that may begin.
    ready: Vec<&'a StageId>,
    /// Whether it goes on only for the turns that are owed to people.
    held: bool,
    now: Timestamp,
}

impl Look<'_> {
    fn at(&self, stage: &Stage) -> Waiting {
        let what = self.what(stage);
        let limit = match stage.started_at {
            Some(_) if stage.status == StageStatus::Running => {
                turn_deadline(self.deployment, stage)
            }
            // No limit keeps it from the turn that it is owed.
            Some(_) if is_owed_a_turn(stage) => None,
            Some(_) => deadline(self.deployment, stage),
            None => None,
        };
        Waiting {
            stage: Some(stage.id.clone()),
            since: self.since(stage, &what),
            what,
            limit: limit.filter(|limit| *limit > Timestamp(0)),
        }
    }

    fn what(&self, stage: &Stage) -> Vec<WaitsFor> {
        let ends = self
            .settled
            .stage(&stage.id)
            .is_some_and(|settled| settled.status.is_final());
        if ends {
            // What ends because another one is over its time waits for that one.
            let over =
                |stage: &Stage| deadline(self.deployment, stage).is_some_and(|d| d <= self.now);
            let open = |other: &&Stage| !other.status.is_final() && over(other);
            let overdue: Vec<StageId> = self
                .deployment
                .all_stages()
                .filter(open)
                .map(|other| other.id.clone())
                .collect();
            if over(stage) || overdue.is_empty() {
                return vec![WaitsFor::Overdue];
            }
            return vec![WaitsFor::Stages(overdue)];
        }
        if self.ready.contains(&&stage.id) {
            // A host has to see what people did; that may not be all it needs.
            let people = lacks(stage, CommandKind::Approve);
            let given = u32::try_from(people.given.len()).unwrap_or(u32::MAX);
            let is_short = stage.operation == Operation::Approve && given < stage.min_operators;
            let limit = deadline(self.deployment, stage);
            // Beyond it they would be refused.
            let in_time = limit.is_none_or(|limit| limit > self.now);
            let more = (given > 0 && is_short && in_time).then_some(WaitsFor::People(people));
            return [WaitsFor::Host].into_iter().chain(more).collect();
        }
        match stage.status {
            StageStatus::Running if super::is_cancelled(self.deployment, stage).is_some() => {
                vec![WaitsFor::Stop]
            }
            StageStatus::Running => vec![WaitsFor::Turn],
            _ if self.held => {
                let owed = |other: &&Stage| is_owed_a_turn(other);
                let owed = self.deployment.all_stages().filter(owed);
                vec![WaitsFor::Stages(owed.map(|one| one.id.clone()).collect())]
            }
            StageStatus::Suspended => suspended(stage),
            _ => vec![WaitsFor::Stages(before(self.deployment, stage))],
        }
    }

    /// Since when a stage waits for that.
    fn since(&self, stage: &Stage, what: &[WaitsFor]) -> Timestamp {
        let deployment = self.deployment;
        let created = deployment.created_at;
        if what == [WaitsFor::Overdue] {
            let over = deadline(deployment, stage).filter(|over| *over > Timestamp(0));
            return over.or(stage.turn_started_at).unwrap_or(created);
        }
        let cancelled = cancelled_at(deployment, stage);
        match (stage.status, &stage.wait) {
            (StageStatus::Running, _) if what == [WaitsFor::Stop] => {
                let began = stage.turn_started_at;
                cancelled.max(began).unwrap_or(created)
            }
            (StageStatus::Suspended, Some(wait)) if what.first() == Some(&WaitsFor::Host) => {
                let woken = [wait.until, woken_at(stage)].into_iter().flatten().min();
                woken.unwrap_or(wait.since)
            }
            (StageStatus::Suspended, Some(wait)) => wait.since,
            (_, _) if stage.turn_started_at.is_some() => stage.turn_started_at.unwrap_or(created),
            _ => turn_came(deployment, stage),
        }
    }
}

/// What a suspended stage waits for.
fn suspended(stage: &Stage) -> Vec<WaitsFor> {
    let wait = stage.wait.as_ref();
    let until = wait.and_then(|wait| wait.until).map(WaitsFor::Time);
    let people = wait.and_then(|wait| wait.after_command).and_then(|_| {
        let kind = match stage.operation {
            Operation::None => return None,
            Operation::Approve => CommandKind::Approve,
            Operation::Skip => CommandKind::Skip,
        };
        Some(WaitsFor::People(lacks(stage, kind)))
    });
    people.into_iter().chain(until).collect()
}

/// When the last of those ended that a stage had to wait for.
fn turn_came(deployment: &Deployment, stage: &Stage) -> Timestamp {
    let began = if stage.rollback {
        let rollback = deployment.rollback.as_ref();
        rollback.map(|rollback| rollback.started_at)
    } else {
        None
    };
    let before = deployment.stages.iter().filter(|other| {
        if stage.rollback {
            other.rollback
        } else {
            stage.requires.contains(&other.id)
        }
    });
    let ended = before.filter_map(|other| other.ended_at);
    let came = ended.chain(began).max();
    came.unwrap_or(deployment.created_at)
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
