//! Stagewright runs deployment pipelines in which every platform provider is a
//! WebAssembly component.
//!
//! The host plans with plugins, schedules, streams their logs and keeps all
//! state; a plugin runs in a fresh sandbox, may do only what was granted, and
//! forgets everything. This crate is the host as a library; the program
//! `stagewright` is a thin face over it.
//!
//! ```no_run
//! use futures_util::StreamExt;
//! use stagewright::{Host, Request};
//!
//! # async fn example() -> Result<(), stagewright::Error> {
//! let host = Host::builder()
//!     .plugins_directory("plugins")
//!     .state_file("state.db")
//!     .build()
//!     .await?;
//! let run = host.deploy(&Request::new("app/app.pipecd.yaml")).await?;
//! let mut events = Box::pin(run.events());
//! while let Some(event) = events.next().await {
//!     println!("{:?}", event?.kind);
//! }
//! println!("{}", run.finished().await?.status);
//! # Ok(())
//! # }
//! ```
//!
//! The way of one deployment, from the file to the last event, and what always
//! holds on it, is told in `docs/architecture.md`.
#![deny(missing_docs)]

// The examples say `stagewright`, also where this crate's own tests try them.
#[cfg(test)]
extern crate self as stagewright;

mod backup;
mod clock;
pub mod definition;
mod error;
mod events;
mod fleet;
mod host;
pub mod lifecycle;
pub mod logs;
pub mod model;
pub mod plugins;
mod runner;
pub mod sandbox;
mod silence;
pub mod source;
pub mod store;

#[cfg(feature = "cli")]
pub mod cli;

pub use error::Error;
pub use fleet::{Fleet, KeptOut, Serving};
pub use host::{Cancel, Host, HostBuilder, Preview, Request, Run};
pub use runner::PlanFailure;
pub use silence::Silent;
