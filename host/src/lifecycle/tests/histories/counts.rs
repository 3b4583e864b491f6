//! What occurred in many histories, so that it shows if something never did.

use std::collections::BTreeMap;
use std::fmt;

use crate::lifecycle::{Change, Event, Rejected, TurnEnd};
use crate::model::{CommandKind, Deployment, DeploymentStatus, RollbackStatus, StageStatus};

/// How often what occurred.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) histories: u64,
    pub(super) steps: u64,
    occurred: BTreeMap<&'static str, u64>,
    /// The only invariant that is looked at, if not all are.
    pub(super) only: Option<&'static str>,
}

/// What must occur beside the statuses.
const KINDS: [&str; 37] = [
    "clock set back",
    "clock set forward",
    "host died",
    "decision on an older version",
    "end that came too late",
    "plan that came too late",
    "plan begun",
    "plan handed back",
    "planned",
    "not planned",
    "turn begun",
    "turn succeeded",
    "turn failed",
    "turn skipped",
    "turn exited",
    "turn suspended",
    "turn timed out",
    "turn cancelled",
    "host gone",
    "host stopped",
    "cancelled",
    "cancelled without rollback",
    "approved",
    "skipped",
    "tick",
    "refused: begin",
    "refused: cancel",
    "refused: cancel, as it was already",
    "refused: command",
    "refused: command, as it was already",
    "end: deployment without rollback",
    "end: rollback succeeded",
    "end: rollback failed",
    "end: rollback cancelled",
    "end: rollback timed out",
    "end: stage given up by its rollback",
    "end: deployment never planned",
];

impl Counts {
    /// Counts of histories in which only one invariant is looked at.
    pub(super) fn of(only: Option<&'static str>) -> Self {
        Self {
            only,
            ..Self::default()
        }
    }

    pub(super) fn count(&mut self, what: &'static str) {
        *self.occurred.entry(what).or_default() += 1;
    }

    /// Counts an event and whether it was taken.
    pub(super) fn event(&mut self, event: &Event, outcome: &Result<Change, Rejected>) {
        let already = outcome.as_ref().is_err_and(|rejected| rejected.already);
        let taken = outcome.is_ok();
        let what = match event {
            Event::StageBegun(_) if !taken => "refused: begin",
            Event::Cancelled { .. } if already => "refused: cancel, as it was already",
            Event::Cancelled { .. } if !taken => "refused: cancel",
            Event::Commanded { .. } if already => "refused: command, as it was already",
            Event::Commanded { .. } if !taken => "refused: command",
            _ if !taken => "refused: another",
            Event::PlanBegun { .. } => "plan begun",
            Event::PlanHandedBack => "plan handed back",
            Event::Planned(_) => "planned",
            Event::PlanFailed(_) => "not planned",
            Event::StageBegun(_) => "turn begun",
            Event::StageEnded { end, .. } => match end {
                TurnEnd::Succeeded => "turn succeeded",
                TurnEnd::Failed(_) => "turn failed",
                TurnEnd::Skipped(_) => "turn skipped",
                TurnEnd::Exited(_) => "turn exited",
                TurnEnd::Suspended(_) => "turn suspended",
                TurnEnd::TimedOut => "turn timed out",
                TurnEnd::Cancelled => "turn cancelled",
            },
            Event::StageLost { clean: false, .. } => "host gone",
            Event::StageLost { clean: true, .. } => "host stopped",
            Event::Cancelled { rollback: true, .. } => "cancelled",
            Event::Cancelled { .. } => "cancelled without rollback",
            Event::Commanded { kind, .. } => match kind {
                CommandKind::Approve => "approved",
                CommandKind::Skip => "skipped",
            },
            Event::Tick => "tick",
        };
        self.count(what);
    }

    /// Counts how a deployment and its stages ended.
    pub(super) fn end(&mut self, deployment: &Deployment) {
        self.histories += 1;
        self.count(deployment.status.as_str());
        if deployment.stages.is_empty() {
            self.count("end: deployment never planned");
        }
        for stage in &deployment.stages {
            self.count(of_stage(stage.status));
            if stage.rollback && stage.started_at.is_none() && deployment.rollback.is_some() {
                self.count("end: stage given up by its rollback");
            }
        }
        let rollback = deployment.rollback.as_ref().map(|rollback| rollback.status);
        self.count(match rollback {
            None => "end: deployment without rollback",
            Some(RollbackStatus::Succeeded) => "end: rollback succeeded",
            Some(RollbackStatus::Failed) => "end: rollback failed",
            Some(RollbackStatus::Cancelled) => "end: rollback cancelled",
            Some(RollbackStatus::TimedOut) => "end: rollback timed out",
            Some(RollbackStatus::Running | RollbackStatus::Stopping) => "end: rollback goes on",
        });
    }

    pub(super) fn add(&mut self, other: Self) {
        self.histories += other.histories;
        self.steps += other.steps;
        for (what, count) in other.occurred {
            *self.occurred.entry(what).or_default() += count;
        }
    }

    /// What should have occurred and did not.
    pub(super) fn missing(&self) -> Vec<&'static str> {
        let deployment = [
            DeploymentStatus::Succeeded,
            DeploymentStatus::Failed,
            DeploymentStatus::Cancelled,
            DeploymentStatus::TimedOut,
        ];
        let stage = [
            StageStatus::Succeeded,
            StageStatus::Failed,
            StageStatus::Skipped,
            StageStatus::Exited,
            StageStatus::Cancelled,
            StageStatus::TimedOut,
            StageStatus::Lost,
            StageStatus::NotRun,
        ];
        let wanted = KINDS
            .into_iter()
            .chain(deployment.map(DeploymentStatus::as_str))
            .chain(stage.map(of_stage));
        wanted
            .filter(|what| !self.occurred.contains_key(what))
            .collect()
    }
}

fn of_stage(status: StageStatus) -> &'static str {
    match status {
        StageStatus::Waiting => "stage waiting",
        StageStatus::Running => "stage running",
        StageStatus::Suspended => "stage suspended",
        StageStatus::Succeeded => "stage succeeded",
        StageStatus::Failed => "stage failed",
        StageStatus::Skipped => "stage skipped",
        StageStatus::Exited => "stage exited",
        StageStatus::Cancelled => "stage cancelled",
        StageStatus::TimedOut => "stage timed-out",
        StageStatus::Lost => "stage lost",
        StageStatus::NotRun => "stage not-run",
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} histories, {} steps", self.histories, self.steps)?;
        for (what, count) in &self.occurred {
            writeln!(f, "{count:>12}  {what}")?;
        }
        Ok(())
    }
}
