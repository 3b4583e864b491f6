//! What everything speaks of: deployments, stages, plugins, log lines, events
//! and their ids.
//!
//! Plain data and one trait. Nothing here does IO, reads a clock or draws a
//! random number; everything above may import it, and it imports nothing.

mod deployment;
mod event;
mod id;
mod log;
mod person;
mod plugin;
mod reason;
mod shared;
mod stage;
mod time;

pub use deployment::{
    Application, Cancellation, Commit, Deployment, DeploymentStatus, Ending, PinnedPlugin,
    Revision, Rollback, RollbackStatus, Strategy, Trigger,
};
pub use event::{Event, EventKind};
pub use id::{ApplicationId, DeploymentId, Digest, PluginKey, StageId};
pub use log::{LogLine, Severity};
pub use person::{LONGEST_NAME, NoName, person};
pub use plugin::{
    Call, Cancel, Canceller, Capability, CapabilityRequest, Cause, Claim, ConfigKind, Decision,
    DeployTarget, Export, Manifest, OnLoss, Operation, Outcome, OutcomeStatus, PlanInput,
    PlannedStage, Plugin, PluginError, Refusal, RequestedStage, Scope, Services, Source,
    StageDefinition, StageRequest, Version, Wake,
};
pub use reason::{LONGEST_REASON, LongReason, reason};
pub use shared::Shared;
pub use stage::{
    Attempt, Command, CommandKind, Stage, StageStatus, TargetResult, TargetStatus, Wait,
};
pub use time::{Timestamp, format_duration};
pub(crate) use time::{millis, optional_millis};
