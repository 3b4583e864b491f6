//! A deployment and its stages, as they are stored.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::plugin::{Cause, OnLoss, Operation, Version};
use super::{ApplicationId, DeploymentId, Digest, PluginKey, StageId, Timestamp};

/// What is deployed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Application {
    /// Made from `remote` and `path`.
    pub id: ApplicationId,
    /// The name in its file.
    pub name: String,
    /// The labels in its file.
    pub labels: BTreeMap<String, String>,
    /// Where its source comes from: the URL of the repository's remote, or the
    /// path of the directory if it has none.
    pub remote: String,
    /// The path of its file within the source, with `/` between names.
    pub path: String,
}

impl Application {
    /// The directory of its file within the source; empty for the root.
    pub fn directory(&self) -> &str {
        self.path
            .rsplit_once('/')
            .map_or("", |(directory, _)| directory)
    }

    /// The name of its file.
    pub fn file_name(&self) -> &str {
        self.path
            .rsplit_once('/')
            .map_or(&self.path, |(_, name)| name)
    }
}

/// A commit of the source. A plain directory is a commit too: its hash is the
/// digest of its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Commit {
    /// The full hash.
    pub hash: String,
    /// The whole message; empty for a plain directory.
    pub message: String,
    /// The author's name; empty for a plain directory.
    pub author: String,
    /// The branch it was taken from, where known.
    pub branch: Option<String>,
    /// When it was committed or, a plain directory, read.
    pub created_at: Timestamp,
    /// A page that shows it, where known.
    pub url: Option<String>,
    /// The pull request it came from, where known.
    pub pull_request: Option<u64>,
}

impl Commit {
    /// The first twelve digits of the hash, for people.
    pub fn short_hash(&self) -> &str {
        self.hash.get(..12).unwrap_or(&self.hash)
    }

    /// The first line of the message.
    pub fn subject(&self) -> &str {
        self.message.lines().next().unwrap_or_default()
    }
}

/// Why a deployment was started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Trigger {
    /// The commit to deploy.
    pub commit: Commit,
    /// The person who asked for it; none when something automatic did.
    pub commander: Option<String>,
    /// When it was asked for.
    pub at: Timestamp,
    /// The strategy that was asked for, which overrides all else.
    pub strategy: Option<Strategy>,
}

/// How the target source is brought live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// At once, by stages that the plugins give for it.
    QuickSync,
    /// By the pipeline of the application file.
    Pipeline,
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::QuickSync => "quick sync",
            Self::Pipeline => "pipeline",
        })
    }
}

/// A source as the store knows it: the commit and where the host keeps its files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Revision {
    /// The commit's hash.
    pub commit: String,
    /// The application file's path within the source.
    pub path: String,
    /// The text of the application file.
    pub config: String,
}

/// A plugin as it was when the deployment was planned: what was planned is what
/// runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PinnedPlugin {
    /// Its key.
    pub key: PluginKey,
    /// The digest of its component; none for a native plugin.
    pub digest: Option<Digest>,
}

/// Where a deployment stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeploymentStatus {
    /// Stored; its plugins are being asked for its stages.
    Planning,
    /// Its stages are known; none has started.
    Planned,
    /// Its stages run.
    Running,
    /// Something failed; its rollback stages run.
    RollingBack,
    /// All that had to run did, with success.
    Succeeded,
    /// Planning or a stage failed.
    Failed,
    /// Someone cancelled it.
    Cancelled,
    /// It did not end in its time.
    TimedOut,
}

impl DeploymentStatus {
    /// Whether nothing more will happen.
    pub fn is_final(self) -> bool {
        matches!(
            self,
            Self::Succeeded | Self::Failed | Self::Cancelled | Self::TimedOut
        )
    }

    /// The word for people and for the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Planning => "planning",
            Self::Planned => "planned",
            Self::Running => "running",
            Self::RollingBack => "rolling-back",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed-out",
        }
    }
}

impl fmt::Display for DeploymentStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

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

/// What has been stopping a deployment since it was not to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// A stage ended the pipeline, as a success.
    Exited,
    /// A stage failed.
    Failed,
    /// Its time is over.
    TimedOut,
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

/// What a suspended stage waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Wait {
    /// Since when.
    pub since: Timestamp,
    /// The time that ends it.
    pub until: Timestamp,
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

/// One run of an application's pipeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Deployment {
    /// Unique for ever.
    pub id: DeploymentId,
    /// What is deployed.
    pub application: Application,
    /// Why.
    pub trigger: Trigger,
    /// The source to deploy.
    pub target: Revision,
    /// The source that ran when it was planned; none on a first deployment.
    pub running: Option<Revision>,
    /// Where it stands.
    pub status: DeploymentStatus,
    /// Why it stands there; empty if there is nothing to say.
    pub reason: String,
    /// How it will end, from when that is known.
    pub ending: Option<Ending>,
    /// How the target is brought live, once planned.
    pub strategy: Option<Strategy>,
    /// Why that strategy, in a sentence.
    pub summary: String,
    /// The versions that it puts live.
    pub versions: Vec<Version>,
    /// Its plugins, as they were when it was planned.
    pub plugins: Vec<PinnedPlugin>,
    /// Its stages in the order of the plan, the rollback stages last.
    pub stages: Vec<Stage>,
    /// Whether a failure is rolled back.
    pub auto_rollback: bool,
    /// How long it may take, if the file says so; suspended time counts.
    #[serde(with = "super::time::optional_millis", rename = "timeoutMs")]
    pub timeout: Option<Duration>,
    /// How long stages were running, up to `active_since`: what the default
    /// time limit counts.
    #[serde(with = "super::time::millis", rename = "activeMs")]
    pub active: Duration,
    /// Since when some stage is running.
    pub active_since: Option<Timestamp>,
    /// How often its planning was begun.
    pub plan_attempt: u32,
    /// When it was stored.
    pub created_at: Timestamp,
    /// When its first stage started.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// Counts its transitions: a transition is made from the version that it was
    /// decided on, or refused.
    pub version: u64,
}

impl Deployment {
    /// A deployment that is to be planned.
    pub fn new(
        id: DeploymentId,
        application: Application,
        trigger: Trigger,
        target: Revision,
        at: Timestamp,
    ) -> Self {
        Self {
            id,
            application,
            trigger,
            target,
            running: None,
            status: DeploymentStatus::Planning,
            reason: String::new(),
            ending: None,
            strategy: None,
            summary: String::new(),
            versions: Vec::new(),
            plugins: Vec::new(),
            stages: Vec::new(),
            auto_rollback: true,
            timeout: None,
            active: Duration::ZERO,
            active_since: None,
            plan_attempt: 0,
            created_at: at,
            started_at: None,
            ended_at: None,
            version: 0,
        }
    }

    /// The stage with an id.
    pub fn stage(&self, id: &StageId) -> Option<&Stage> {
        self.stages.iter().find(|stage| &stage.id == id)
    }

    /// The stages that bring the target live, in the order of the plan.
    pub fn forward_stages(&self) -> impl Iterator<Item = &Stage> {
        self.stages.iter().filter(|stage| !stage.rollback)
    }

    /// The stages that undo others, in the order of the plan.
    pub fn rollback_stages(&self) -> impl Iterator<Item = &Stage> {
        self.stages.iter().filter(|stage| stage.rollback)
    }
}
