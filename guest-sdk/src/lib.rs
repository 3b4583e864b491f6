//! What a Stagewright plugin is written with.
#![deny(missing_docs)]

#[doc(hidden)]
pub mod bindings;
pub mod control;
mod decode;
mod error;
mod export;
pub mod fs;
mod input;
pub mod log;
mod manifest;
mod outcome;
mod plan;
mod plugin;
pub mod process;
mod scalar;
pub mod state;
mod sys;
#[cfg(not(target_family = "wasm"))]
pub mod testing;
mod time;

pub use error::{ConfigKind, Context, Error, InvalidConfig, Refusal, Result};
pub use input::{
    Application, Cause, Commit, DeployTarget, Deployment, Entry, PlanInput, Source, Stage,
    StageRequest, Trigger,
};
pub use manifest::{Capability, Loss, Manifest};
pub use outcome::{Outcome, Status, TargetResult, TargetStatus};
pub use plan::{Decision, Operation, PlannedStage, RequestedStage, Strategy, Version};
pub use plugin::{Executor, NoConfig, Planner, Plugin};
pub use scalar::Scalar;
pub use schemars::{self, JsonSchema};
pub use serde::{self, Deserialize, Serialize};
pub use time::{Duration, InvalidDuration, Timestamp};

/// What the macros of this crate and the fake host call.
#[doc(hidden)]
pub mod __private {
    pub use crate::export::*;
}
