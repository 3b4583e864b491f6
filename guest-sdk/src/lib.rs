//! What a Stagewright plugin is written with: traits to fill in, one macro that
//! exports them, and a fake host to test against.
//!
//! A plugin says what it is ([`Plugin`]), may plan deployments ([`Planner`]) and
//! may execute stages ([`Executor`]). It is called afresh each time: nothing stays
//! in memory between two calls, and what it may touch is what the operator
//! granted. The host reads the configuration; the plugin gets its own types, and a
//! mistake in the file comes back to the user with the line.
//!
//! # A plugin, whole
//!
//! It defines a stage `CHECK_URL` that asks a granted program whether a page is
//! there, and asks again every ten seconds for as long as the options say. While
//! it waits it holds nothing: it is dropped and called again.
//!
//! ```
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//! use stagewright_sdk::process::Command;
//! use stagewright_sdk::{
//!     Capability, Duration, Executor, Manifest, NoConfig, Outcome, Planner, Plugin, Result,
//!     StageRequest, Timestamp, info, success,
//! };
//!
//! struct Check;
//!
//! stagewright_sdk::export!(Check: planner, executor);
//!
//! #[derive(Deserialize, JsonSchema)]
//! #[serde(deny_unknown_fields)]
//! struct CheckOptions {
//!     /// The page that must be there.
//!     url: String,
//!     /// How long to try, such as `5m`.
//!     within: Duration,
//! }
//!
//! impl Plugin for Check {
//!     type Config = NoConfig;
//!     type Target = NoConfig;
//!     type Application = NoConfig;
//!
//!     fn describe() -> Manifest {
//!         Manifest::new("check", "1.0.0", "Checks that a page is there.")
//!             .stage::<CheckOptions>("CHECK_URL", "Waits until a page is there")
//!             .asks(Capability::Commands, "asks for the page with curl")
//!     }
//! }
//!
//! /// Plans each requested stage as it is.
//! impl Planner for Check {}
//!
//! impl Executor for Check {
//!     fn execute_stage(request: &StageRequest<Self>) -> Result<Outcome> {
//!         let options: CheckOptions = request.options()?;
//!         let asked = Command::new("curl").args(["-fsS", &options.url]).output()?;
//!         if asked.exit.success() {
//!             success!("{} is there", options.url);
//!             return Ok(Outcome::succeeded());
//!         }
//!         if Timestamp::now() >= request.stage.first_started_at + options.within {
//!             return Ok(Outcome::failed(format!("{} is not there", options.url)));
//!         }
//!         info!("curl {}: trying again", asked.exit);
//!         Ok(Outcome::suspend_for(std::time::Duration::from_secs(10)))
//!     }
//! }
//!
//! // What would stand in its tests:
//! use stagewright_sdk::testing::{Answer, FakeHost, json};
//!
//! let mut host = FakeHost::new();
//! let mut stage = host.stage("CHECK_URL", json!({ "url": "http://shop", "within": "1m" }));
//! host.answer("curl", Answer::exits(7));
//! host.execute::<Check>(&mut stage)?;
//! host.answer("curl", Answer::exits(0));
//! assert_eq!(host.wake::<Check>(&mut stage)?, Outcome::succeeded());
//! assert_eq!(host.log(), ["curl exited with code 7: trying again", "http://shop is there"]);
//! # Ok::<(), stagewright_sdk::Error>(())
//! ```
//!
//! # Building it
//!
//! The crate is a library of two types, so that tests can use it too, and depends
//! on `serde` and `schemars` for the derives:
//!
//! ```toml
//! [lib]
//! crate-type = ["cdylib", "rlib"]
//! ```
//!
//! `cargo build --release --target wasm32-wasip2` makes the component; `cargo
//! test` runs its logic natively against [`testing`].
//!
//! # Where to find what
//!
//! | for | look at |
//! |---|---|
//! | what a call is given | [`PlanInput`], [`StageRequest`] |
//! | what it answers | [`PlannedStage`], [`Decision`], [`Outcome`], [`Error`] |
//! | the log and the status | [`info!`], [`success!`], [`error!`], [`status!`] |
//! | what survives a call | [`state`] |
//! | programs of the host | [`process`] |
//! | being approved or skipped by people | [`commands`] |
//! | being cancelled | [`control`] |
//! | files | `std::fs`, and [`fs`] for symbolic links |
//! | durations and scalars in options | [`Duration`], [`Scalar`] |
#![deny(missing_docs)]

#[doc(hidden)]
pub mod bindings;
pub mod commands;
pub mod control;
mod decode;
mod duration;
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

pub use duration::{Duration, InvalidDuration};
pub use error::{ConfigKind, Context, Error, InvalidConfig, Refusal, Result};
pub use input::{
    Application, Cause, Commit, DeployTarget, Deployment, Entry, PlanInput, Source, Stage,
    StageRequest, Trigger,
};
pub use manifest::{Capability, Loss, Manifest};
pub use outcome::{Outcome, Status, TargetResult, TargetStatus, Wake};
pub use plan::{ANYONE, Decision, Operation, PlannedStage, RequestedStage, Strategy, Version};
pub use plugin::{Executor, NoConfig, Planner, Plugin};
pub use scalar::Scalar;
pub use schemars::{self, JsonSchema};
pub use serde::{self, Deserialize, Serialize};
pub use time::Timestamp;

/// What the macros of this crate and the fake host call.
#[doc(hidden)]
pub mod __private {
    pub use crate::export::*;
}
