//! A fake host: runs a plugin's logic natively, under `cargo test`.
//!
//! Each [`FakeHost`] is a world of its own (clock, state, log, directories), so
//! tests run in parallel without disturbing each other. What a test gives as JSON
//! takes the same way into the plugin's types as in the sandbox, and what the
//! plugin calls is answered by the rules of the contract.
//!
//! ```
//! use stagewright_sdk::testing::{FakeHost, json};
//! use stagewright_sdk::{Executor, Manifest, NoConfig, Outcome, Plugin, Result, StageRequest};
//!
//! struct Greeter;
//!
//! impl Plugin for Greeter {
//!     type Config = NoConfig;
//!     type Target = NoConfig;
//!     type Application = NoConfig;
//!
//!     fn describe() -> Manifest {
//!         Manifest::new("greeter", "1.0.0", "Greets").stage::<NoConfig>("GREET", "Says hello")
//!     }
//! }
//!
//! impl Executor for Greeter {
//!     fn execute_stage(request: &StageRequest<Self>) -> Result<Outcome> {
//!         request.options::<NoConfig>()?;
//!         stagewright_sdk::info!("hello, {}", request.input.deployment.application.name);
//!         Ok(Outcome::succeeded())
//!     }
//! }
//!
//! let mut host = FakeHost::new();
//! let mut stage = host.stage("GREET", "{}");
//! assert_eq!(host.execute::<Greeter>(&mut stage), Ok(Outcome::succeeded()));
//! assert_eq!(host.log(), ["hello, shop"]);
//!
//! let mut misspelt = host.stage("GREET", json!({ "tone": "loud" }));
//! let error = host.execute::<Greeter>(&mut misspelt).expect_err("there is no such option");
//! assert!(error.to_string().starts_with("the stage's options at /tone: unknown field"));
//! ```

mod answer;
mod calls;
pub(crate) mod current;
mod host;
mod people;
mod process;
mod stage;

pub use crate::bindings::manifest::{PluginManifest, StageDefinition};
pub use answer::Answer;
pub use host::FakeHost;

pub use serde_json::json;
pub use stage::{StageRun, requested};

use crate::log::Severity;
use crate::process::CommandRecord;

/// A line of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// How it is shown.
    pub severity: Severity,
    /// The line.
    pub text: String,
}

/// A program that the plugin started, or was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// The program.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its environment, as the plugin gave it.
    pub environment: Vec<(String, String)>,
    /// Where it was to run.
    pub directory: Option<String>,
    /// What it was to read.
    pub stdin: Vec<u8>,
}

impl CommandLine {
    /// The value of a variable of its environment.
    pub fn env(&self, name: &str) -> Option<&str> {
        self.environment
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }
}

impl From<&CommandRecord> for CommandLine {
    fn from(command: &CommandRecord) -> Self {
        Self {
            program: command.program.clone(),
            arguments: command.arguments.clone(),
            environment: command
                .environment
                .iter()
                .map(|entry| (entry.key.clone(), entry.value.clone()))
                .collect(),
            directory: command.directory.clone(),
            stdin: command.stdin.clone(),
        }
    }
}
