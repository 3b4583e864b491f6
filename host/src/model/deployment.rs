//! A deployment, as it is stored.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::plugin::Version;
use super::{ApplicationId, DeploymentId, Digest, PluginKey, Shared, Stage, StageId, Timestamp};

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
    /// Stored; it is planned when no earlier deployment of its application is
    /// left.
    Queued,
    /// Its plugins are being asked for its stages.
    Planning,
    /// Its stages are known; none has started.
    Planned,
    /// Its stages run.
    Running,
    /// It is not to go on; its rollback stages run.
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
            Self::Queued => "queued",
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
    /// Someone cancelled it.
    Cancelled,
}

/// Someone's wish that a deployment, or its rollback, should not go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cancellation {
    /// Who wishes it; none when something automatic does.
    pub by: Option<String>,
    /// Why; may be empty.
    pub why: String,
    /// Whether what had started is to be undone.
    pub rollback: bool,
    /// When it was said.
    pub at: Timestamp,
    /// The weaker wish that it goes beyond: someone had cancelled already, so that
    /// what had started would be undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Box<Self>>,
}

impl Cancellation {
    /// Each wish by itself, in order.
    pub fn each(&self) -> impl Iterator<Item = &Self> {
        self.before.as_deref().into_iter().chain([self])
    }

    /// The wish by itself, as a reason.
    pub fn alone(&self) -> String {
        struct Alone<'a>(&'a Cancellation);
        impl fmt::Display for Alone<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("cancelled")?;
                self.0.write(f)
            }
        }
        Alone(self).to_string()
    }

    /// Who said it and why: ` by ann: wrong region`.
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(by) = &self.by {
            write!(f, " by {by}")?;
        }
        if self.before.is_some() {
            f.write_str(" without a rollback")?;
        }
        if !self.why.is_empty() {
            write!(f, ": {}", self.why)?;
        }
        Ok(())
    }
}

impl fmt::Display for Cancellation {
    /// As a reason: `cancelled by ann: wrong region`. If it goes beyond another one,
    /// it says who decided what: `cancelled by ann: wrong region; then by bob without
    /// a rollback`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cancelled")?;
        if let Some(before) = &self.before {
            before.write(f)?;
            f.write_str("; then")?;
        }
        self.write(f)
    }
}

/// How undoing what had started goes: it has a result of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rollback {
    /// Where it stands.
    pub status: RollbackStatus,
    /// Why it stands there; empty if there is nothing to say.
    pub reason: String,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// Someone's wish that it should not go on.
    pub cancel: Option<Cancellation>,
    /// The deployment's `active` when it began: its own default limit counts
    /// from there.
    #[serde(with = "super::time::millis", rename = "activeBeforeMs")]
    pub active_before: Duration,
}

/// Where a rollback stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RollbackStatus {
    /// Its stages run.
    Running,
    /// Its time is over, or it was cancelled: what runs is being stopped.
    Stopping,
    /// All of its stages ended well.
    Succeeded,
    /// Some stage did not.
    Failed,
    /// Someone cancelled it.
    Cancelled,
    /// It did not end in its time.
    TimedOut,
}

impl RollbackStatus {
    /// The word for people and for the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Stopping => "stopping",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed-out",
        }
    }
}

impl fmt::Display for RollbackStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// One run of an application's pipeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Deployment {
    /// Unique for ever.
    pub id: DeploymentId,
    /// What is deployed.
    pub application: Shared<Application>,
    /// Why.
    pub trigger: Shared<Trigger>,
    /// The source to deploy.
    pub target: Shared<Revision>,
    /// The source that ran when it was planned; none on a first deployment.
    pub running: Option<Shared<Revision>>,
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
    pub versions: Shared<Vec<Version>>,
    /// Its plugins, as they were when it was planned.
    pub plugins: Shared<Vec<PinnedPlugin>>,
    /// Its stages in the order of the plan, the rollback stages last.
    pub stages: Vec<Shared<Stage>>,
    /// Whether a failure is rolled back.
    pub auto_rollback: bool,
    /// How long it may take, if the file says so; suspended time counts. Its
    /// rollback may take as long again.
    #[serde(with = "super::time::optional_millis", rename = "timeoutMs")]
    pub timeout: Option<Duration>,
    /// Someone's wish that it should not go on.
    #[serde(default)]
    pub cancel: Option<Cancellation>,
    /// Its rollback, from when that begins.
    #[serde(default)]
    pub rollback: Option<Rollback>,
    /// How long stages were running, up to `active_since`: what the default
    /// time limit counts.
    #[serde(with = "super::time::millis", rename = "activeMs")]
    pub active: Duration,
    /// Since when some stage is running.
    pub active_since: Option<Timestamp>,
    /// How often its planning was begun.
    pub plan_attempt: u32,
    /// When the newest planning was begun.
    #[serde(default)]
    pub plan_started_at: Option<Timestamp>,
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
    /// A deployment that is to be planned when its turn comes.
    pub fn new(
        id: DeploymentId,
        application: Application,
        trigger: Trigger,
        target: Revision,
        at: Timestamp,
    ) -> Self {
        Self {
            id,
            application: application.into(),
            trigger: trigger.into(),
            target: target.into(),
            running: None,
            status: DeploymentStatus::Queued,
            reason: String::new(),
            ending: None,
            strategy: None,
            summary: String::new(),
            versions: Shared::default(),
            plugins: Shared::default(),
            stages: Vec::new(),
            auto_rollback: true,
            timeout: None,
            cancel: None,
            rollback: None,
            active: Duration::ZERO,
            active_since: None,
            plan_attempt: 0,
            plan_started_at: None,
            created_at: at,
            started_at: None,
            ended_at: None,
            version: 0,
        }
    }

    /// The stage with an id.
    pub fn stage(&self, id: &StageId) -> Option<&Stage> {
        self.all_stages().find(|stage| &stage.id == id)
    }

    /// What people call a stage, since names repeat: its place, from 1, and for one
    /// that undoes others `r` and the place that it was planned for. Where that is
    /// several stages', they are numbered: `r2.1`, `r2.2`.
    pub fn place(&self, stage: &Stage) -> String {
        let place = u64::from(stage.index) + 1;
        if !stage.rollback {
            return place.to_string();
        }
        let same = self.rollback_stages().filter(|s| s.index == stage.index);
        let same: Vec<&StageId> = same.map(|stage| &stage.id).collect();
        match same.iter().position(|id| *id == &stage.id) {
            Some(which) if same.len() > 1 => format!("r{place}.{}", which + 1),
            _ => format!("r{place}"),
        }
    }

    /// All of its stages, in the order of the plan, the rollback stages last.
    pub fn all_stages(&self) -> impl Iterator<Item = &Stage> {
        self.stages.iter().map(|stage| &**stage)
    }

    /// The stages that bring the target live, in the order of the plan.
    pub fn forward_stages(&self) -> impl Iterator<Item = &Stage> {
        self.all_stages().filter(|stage| !stage.rollback)
    }

    /// The stages that undo others, in the order of the plan.
    pub fn rollback_stages(&self) -> impl Iterator<Item = &Stage> {
        self.all_stages().filter(|stage| stage.rollback)
    }
}
