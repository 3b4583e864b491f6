//! What happened, for whoever watches.

use serde::{Deserialize, Serialize};

use super::{
    ApplicationId, Attempt, Cancellation, CommandKind, DeploymentId, DeploymentStatus,
    RollbackStatus, StageId, StageStatus, Timestamp,
};

/// Something that happened to a deployment. It is durable before anyone sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// Its place among all events of the store, from 1, without reuse.
    pub number: u64,
    /// When it happened.
    pub at: Timestamp,
    /// The deployment.
    pub deployment: DeploymentId,
    /// The deployment's application.
    pub application: ApplicationId,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What an event says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase"
)]
pub enum EventKind {
    /// The deployment has a new status.
    Deployment {
        /// The status.
        status: DeploymentStatus,
        /// Why; may be empty.
        reason: String,
    },
    /// A stage has a new status.
    Stage {
        /// Which.
        stage: StageId,
        /// Its name.
        name: String,
        /// The status.
        status: StageStatus,
        /// The execution it came from.
        attempt: Attempt,
        /// Why; may be empty.
        reason: String,
    },
    /// Someone wishes that the deployment, or its rollback, should not go on.
    Cancel(Cancellation),
    /// The rollback has a new status.
    Rollback {
        /// The status.
        status: RollbackStatus,
        /// Why; may be empty.
        reason: String,
    },
    /// Someone approved or skipped a stage.
    Command {
        /// Which.
        stage: StageId,
        /// Its name.
        name: String,
        /// What was done.
        command: CommandKind,
        /// Who did it.
        by: String,
    },
    /// A stage shows a new short text.
    Note {
        /// Which stage.
        stage: StageId,
        /// The text.
        text: String,
    },
}

impl EventKind {
    /// Whether nothing more will happen to the deployment.
    pub fn ends_the_deployment(&self) -> bool {
        matches!(self, Self::Deployment { status, .. } if status.is_final())
    }
}
