//! What can happen to a deployment, and the answer that it does not fit.

use crate::model::{CommandKind, DeploymentStatus, Revision, StageId, TargetResult, Wake};

use super::Plan;

/// Something that happens to a deployment.
#[derive(Clone, Debug)]
pub enum Event {
    /// A host begins to plan it.
    PlanBegun {
        /// How often its planning may be begun before it counts as failed.
        limit: u32,
        /// What runs now: the application's last success.
        running: Option<Revision>,
    },
    /// The host that plans it stops, and leaves it to another: nobody's failure.
    PlanHandedBack,
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
    /// Someone wishes that it should not go on.
    Cancelled {
        /// Who; none when something automatic does.
        by: Option<String>,
        /// Why; may be empty.
        why: String,
        /// Whether what had started is to be undone. Without, a rollback that
        /// runs already is stopped too.
        rollback: bool,
    },
    /// Someone approves or skips a stage.
    Commanded {
        /// The stage.
        stage: StageId,
        /// What is done.
        kind: CommandKind,
        /// Who does it.
        by: String,
    },
    /// Time has passed.
    Tick,
}

impl Event {
    /// What it is called where events are counted or traced.
    pub fn name(&self) -> &'static str {
        match self {
            Self::PlanBegun { .. } => "plan-begun",
            Self::PlanHandedBack => "plan-handed-back",
            Self::Planned(_) => "planned",
            Self::PlanFailed(_) => "plan-failed",
            Self::StageBegun(_) => "stage-begun",
            Self::StageEnded { .. } => "stage-ended",
            Self::StageLost { .. } => "stage-lost",
            Self::Cancelled { .. } => "cancelled",
            Self::Commanded { .. } => "commanded",
            Self::Tick => "tick",
        }
    }
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
    /// It waits until one of these comes true; at least one.
    Suspended(Vec<Wake>),
    /// Its time was over.
    TimedOut,
    /// It was stopped because it was cancelled.
    Cancelled,
}

/// Why an event changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("deployment {deployment} is {status}: {what}")]
pub struct Rejected {
    /// The deployment.
    pub deployment: String,
    /// Where it stands.
    pub status: DeploymentStatus,
    /// Why the event does not fit.
    pub what: String,
    /// Whether what the event would bring about holds already: it came twice.
    pub already: bool,
}
