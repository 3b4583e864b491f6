//! A stage of a deployment, as it is stored.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::plugin::{Cause, OnLoss, Operation};
use super::{PluginKey, StageId, Timestamp};

/// Where a stage stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StageStatus {
    /// Not yet its turn.
    Waiting,
    /// Its plugin is at work.
    Running,
    /// It waits for something; its plugin is gone until then.
    Suspended,
    /// It did what it is for.
    Succeeded,
    /// It did not.
    Failed,
    /// There was nothing to do.
    Skipped,
    /// It ended the pipeline, as a success.
    Exited,
    /// It was cancelled.
    Cancelled,
    /// It did not end in its time.
    TimedOut,
    /// The host died under it too often.
    Lost,
    /// It never started, and never will.
    NotRun,
}

impl StageStatus {
    /// Whether nothing more will happen to it.
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Waiting | Self::Running | Self::Suspended)
    }

    /// Whether the stages after it may start.
    pub fn lets_others_start(self) -> bool {
        matches!(self, Self::Succeeded | Self::Skipped)
    }

    /// Whether it makes the deployment fail.
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Failed | Self::TimedOut | Self::Lost)
    }

    /// The word for people and for the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Suspended => "suspended",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Exited => "exited",
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed-out",
            Self::Lost => "lost",
            Self::NotRun => "not-run",
        }
    }
}

impl fmt::Display for StageStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// How one deploy target fared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TargetStatus {
    /// Well.
    Succeeded,
    /// Not well.
    Failed,
    /// There was nothing to do.
    Skipped,
}

/// The result of one deploy target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TargetResult {
    /// The deploy target's name.
    pub name: String,
    /// How it fared.
    pub status: TargetStatus,
    /// More on that; may be empty.
    pub message: String,
}

/// Which execution of a stage a write belongs to. A write that carries an older
/// one is refused.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    /// The attempt, from 1; 0 if it never started.
    pub number: u32,
    /// The turn within the attempt, from 1.
    pub turn: u32,
}

/// What a suspended stage waits for. Any of it ends the suspension.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Wait {
    /// Since when.
    pub since: Timestamp,
    /// The time that ends it.
    pub until: Option<Timestamp>,
    /// The command that ends it: the first with a greater number than this.
    #[serde(default)]
    pub after_command: Option<u64>,
}

/// What a person did to a stage while it was at work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Command {
    /// Its place among the stage's commands, from 1.
    pub number: u64,
    /// What was done.
    pub kind: CommandKind,
    /// Who did it.
    pub by: String,
    /// When.
    pub at: Timestamp,
}

/// What a person may do to a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CommandKind {
    /// Approve it.
    Approve,
    /// Skip it.
    Skip,
}

impl CommandKind {
    /// The word for people and for the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Skip => "skip",
        }
    }

    /// The word for what was done.
    pub fn done(self) -> &'static str {
        match self {
            Self::Approve => "approved",
            Self::Skip => "skipped",
        }
    }

    /// Whether a stage that was planned with an operation takes this command.
    pub fn fits(self, operation: Operation) -> bool {
        match self {
            Self::Approve => operation == Operation::Approve,
            Self::Skip => operation == Operation::Skip,
        }
    }
}

fn one() -> u32 {
    1
}

/// A stage of a deployment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stage {
    /// Unique for ever.
    pub id: StageId,
    /// The `id:` that the file gives it.
    pub key: Option<String>,
    /// The name, which may repeat.
    pub name: String,
    /// What it does.
    pub description: String,
    /// Its place: in a pipeline the file's, in a quick sync the order of the plan.
    pub index: u32,
    /// The stages that must have ended well before.
    pub requires: Vec<StageId>,
    /// Whether it runs only to undo others.
    pub rollback: bool,
    /// For a rollback stage: the stages that it undoes. It runs if one of them
    /// had started.
    pub undoes: Vec<StageId>,
    /// Whether it is shown; a rollback stage from when it starts.
    pub visible: bool,
    /// Whether it comes from the plugin rather than from the file.
    pub predefined: bool,
    /// The metadata that it was planned with.
    pub metadata: BTreeMap<String, String>,
    /// What a person may do while it waits.
    pub operation: Operation,
    /// Who may do so; empty for anyone.
    pub authorized_operators: Vec<String>,
    /// How many different people must.
    #[serde(default = "one")]
    pub min_operators: u32,
    /// The plugin that executes it.
    pub plugin: PluginKey,
    /// Its options, an object.
    pub options: Value,
    /// Why it is to be skipped when its turn comes (`skipOn`), if it is.
    pub skip: Option<String>,
    /// How long it may take, suspended time included, if the file says so.
    #[serde(with = "super::time::optional_millis", rename = "timeoutMs")]
    pub timeout: Option<Duration>,
    /// What becomes of it when the host dies under it.
    pub on_loss: OnLoss,
    /// Where it stands.
    pub status: StageStatus,
    /// Why it stands there; empty if there is nothing to say.
    pub reason: String,
    /// The short text that its plugin shows beside it.
    pub note: String,
    /// Its newest execution.
    pub attempt: Attempt,
    /// How often a host died under it.
    pub losses: u32,
    /// Why that was called.
    pub cause: Cause,
    /// What it waits for, while it is suspended.
    pub wait: Option<Wait>,
    /// What people did to it, in order.
    #[serde(default)]
    pub commands: Vec<Command>,
    /// The number of the last of them that its plugin has answered: what came after
    /// that has a turn to come.
    #[serde(default)]
    pub answered: u64,
    /// When it first started.
    pub started_at: Option<Timestamp>,
    /// When its newest turn started.
    pub turn_started_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// The exit code of the program that decided it.
    pub exit_code: Option<i32>,
    /// How its deploy targets fared.
    pub targets: Vec<TargetResult>,
}
