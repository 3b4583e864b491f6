//! What the host asks of a plugin, and what a plugin may ask of the host.
//!
//! The trait [`Plugin`] is the contract of `wit/` in Rust. A WebAssembly
//! component implements it through the sandbox; an embedder may implement it in
//! its own code. [`Services`] is the other direction: what a call may read and
//! write while it runs.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::watch;

use super::{
    Application, Attempt, Command, DeploymentId, Severity, Shared, StageId, Strategy, TargetResult,
    Timestamp, Trigger,
};

/// A platform provider: plans deployments and executes their stages.
///
/// Every call stands alone: nothing that an implementation keeps in memory may
/// matter to the next one. What must survive goes to [`Services`].
#[async_trait]
pub trait Plugin: Send + Sync + fmt::Debug {
    /// What the plugin says of itself.
    fn manifest(&self) -> &Manifest;

    /// Whether the plugin answers a group of calls at all.
    fn exports(&self, export: Export) -> bool;

    /// The versions that the target source would put live.
    async fn determine_versions(
        &self,
        call: &Call,
        input: &PlanInput,
    ) -> Result<Vec<Version>, PluginError>;

    /// The strategy that fits the change, or none for no opinion.
    async fn determine_strategy(
        &self,
        call: &Call,
        input: &PlanInput,
    ) -> Result<Option<Decision>, PluginError>;

    /// The stages that bring the target source live at once.
    async fn quick_sync_plan(
        &self,
        call: &Call,
        input: &PlanInput,
        rollback: bool,
    ) -> Result<Vec<PlannedStage>, PluginError>;

    /// The stages for the requested ones.
    async fn pipeline_sync_plan(
        &self,
        call: &Call,
        input: &PlanInput,
        rollback: bool,
        requested: &[RequestedStage],
    ) -> Result<Vec<PlannedStage>, PluginError>;

    /// Executes a stage.
    async fn execute_stage(
        &self,
        call: &Call,
        request: &StageRequest,
    ) -> Result<Outcome, PluginError>;
}

/// A group of calls that a plugin may answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Export {
    /// Planning.
    Planner,
    /// Executing stages.
    Executor,
}

/// Everything that belongs to one call beside its input.
#[derive(Clone, Debug)]
pub struct Call {
    /// What the call may read and write.
    pub services: Arc<dyn Services>,
    /// A directory of the host that belongs to this deployment and this plugin:
    /// `/scratch` in the sandbox. It is kept for all calls of the two, and made by
    /// the first that uses it. None in a planning call.
    pub scratch: Option<PathBuf>,
    /// Whether the call should end.
    pub cancel: Cancel,
    /// The longest that the call may take.
    pub timeout: Duration,
}

/// What a call may read and write while it runs. The host answers, and stores.
#[async_trait]
pub trait Services: Send + Sync + fmt::Debug {
    /// Writes to the log of the stage or of the plan. Each line of the message
    /// becomes a line of the log.
    fn log(&self, severity: Severity, message: &str);

    /// Waits while the log has more in memory than it should: called between
    /// writes, so that a flood slows its writer and nobody else.
    async fn log_room(&self);

    /// Shows a short text beside the stage.
    async fn status(&self, text: &str) -> Result<(), Refusal>;

    /// The value of a key.
    async fn get(&self, scope: Scope, key: &str) -> Result<Option<Vec<u8>>, Refusal>;

    /// Sets the values of some keys: all, or none. Durable when it returns.
    async fn put(&self, scope: Scope, values: Vec<(String, Vec<u8>)>) -> Result<(), Refusal>;

    /// Removes a key.
    async fn delete(&self, scope: Scope, key: &str) -> Result<(), Refusal>;

    /// The keys that start with a prefix, in order.
    async fn keys(&self, scope: Scope, prefix: &str) -> Result<Vec<String>, Refusal>;

    /// The commands to the stage with a greater number than `after`, in order.
    async fn commands(&self, after: u64) -> Result<Vec<Command>, Refusal>;
}

/// Whom a value of a plugin's state belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// The stage, over its attempts and turns.
    Stage,
    /// The deployment, for this plugin.
    Deployment,
    /// The application, for this plugin, over its deployments.
    Application,
    /// The deployment, written by the host alone.
    Shared,
}

/// Why the host refuses what a call asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Not granted. The text names the plugin, the call, what was wanted and the
    /// line that would grant it.
    #[error("{0}")]
    Denied(String),
    /// A limit was reached. The text names it, its value and what was wanted.
    #[error("{0}")]
    QuotaExceeded(String),
    /// The stage runs again elsewhere.
    #[error("the stage runs again elsewhere: this attempt's writes no longer count")]
    StaleAttempt,
    /// The stage was cancelled or has timed out.
    #[error("the stage was cancelled or has timed out")]
    Cancelled,
    /// The call can't be answered as it was made.
    #[error("{0}")]
    Invalid(String),
    /// The host itself could not do it.
    #[error("the host could not do it: {0}")]
    Host(String),
}

/// Whether a call should end: a fact that stays once it is true.
#[derive(Clone, Debug)]
pub struct Cancel(watch::Receiver<bool>);

/// Makes a [`Cancel`] true.
#[derive(Clone, Debug)]
pub struct Canceller(watch::Sender<bool>);

impl Cancel {
    /// A pair: what is cancelled, and who cancels.
    pub fn new() -> (Canceller, Self) {
        let (sender, receiver) = watch::channel(false);
        (Canceller(sender), Self(receiver))
    }

    /// Whether it is true.
    pub fn is_cancelled(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until it is true: for ever, if it never becomes so.
    pub async fn cancelled(&mut self) {
        if self.0.wait_for(|cancelled| *cancelled).await.is_err() {
            // Nobody is left who could cancel.
            std::future::pending::<()>().await;
        }
    }
}

impl Canceller {
    /// Makes it true, for good.
    pub fn cancel(&self) {
        self.0.send_replace(true);
    }

    /// Whether it is true.
    pub fn is_cancelled(&self) -> bool {
        *self.0.borrow()
    }
}

/// What a planning call and every stage is given.
#[derive(Clone, Debug)]
pub struct PlanInput {
    /// The deployment.
    pub deployment: DeploymentId,
    /// What is deployed.
    pub application: Shared<Application>,
    /// Why.
    pub trigger: Shared<Trigger>,
    /// The commit that was last deployed with success.
    pub last_successful_commit: Option<String>,
    /// The application file's name at that commit.
    pub last_successful_config_file: Option<String>,
    /// The plugin's `config`, an object.
    pub plugin_config: Value,
    /// The application's `plugins.<this plugin>` section, an object.
    pub application_section: Value,
    /// The deploy targets of this plugin that the application is meant for.
    pub deploy_targets: Vec<DeployTarget>,
    /// The source to deploy.
    pub target: Source,
    /// The source that runs now.
    pub running: Option<Source>,
}

/// The files of an application at one commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The root of the source in the host's file system. Never to be written.
    pub root: PathBuf,
    /// The commit's hash.
    pub commit: String,
    /// The application file's path within the source, with `/` between names.
    pub path: String,
    /// The text of the application file.
    pub config: String,
}

/// One place that a plugin deploys to, as the operator configured it.
#[derive(Clone, Debug, PartialEq)]
pub struct DeployTarget {
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its `config`, an object.
    pub config: Value,
}

/// A version of something that a deployment puts live.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Version {
    /// What it is the version of.
    pub name: String,
    /// The version.
    pub version: String,
    /// A page about it.
    pub url: Option<String>,
}

/// A plugin's opinion on the strategy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The strategy.
    pub strategy: Strategy,
    /// Why, in a sentence.
    pub summary: String,
}

/// A stage of the pipeline that a plugin is to plan.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestedStage {
    /// Its place in the pipeline, from 0.
    pub index: u32,
    /// The name.
    pub name: String,
    /// The description in the file; may be empty.
    pub description: String,
    /// How long it may run, if the file says so.
    pub timeout: Option<Duration>,
    /// Its options, an object.
    pub options: Value,
}

/// What a person may do to a stage while it waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// Nothing.
    #[default]
    None,
    /// Approve it.
    Approve,
    /// Skip it.
    Skip,
}

/// A stage as a plugin plans it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedStage {
    /// The name.
    pub name: String,
    /// The index of the requested stage; in a quick sync, the plugin's own order.
    pub index: u32,
    /// What it does; empty to use the file's or the manifest's text.
    pub description: String,
    /// Whether it runs only to undo others.
    pub rollback: bool,
    /// The indexes of the stages it undoes; none for the default.
    pub undoes: Option<Vec<u32>>,
    /// Whether it is shown before it starts.
    pub visible: bool,
    /// Whether it comes from the plugin itself rather than from the file.
    pub predefined: bool,
    /// The metadata that it starts with.
    pub metadata: BTreeMap<String, String>,
    /// What a person may do while it waits.
    pub operation: Operation,
    /// Who may do so; empty for anyone.
    pub authorized_operators: Vec<String>,
    /// How many different people must; at least 1.
    pub min_operators: u32,
}

/// Why a stage is called now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cause {
    /// For the first time.
    #[default]
    First,
    /// The time it was waiting for has come.
    Time,
    /// The command it was waiting for has come.
    Command,
    /// The host died or stopped while it ran.
    Loss,
}

/// What the execution of a stage is given.
#[derive(Clone, Debug)]
pub struct StageRequest {
    /// The same as the plan was given, as of now.
    pub input: PlanInput,
    /// The stage.
    pub stage: StageId,
    /// Its name.
    pub name: String,
    /// Its place in the plan.
    pub index: u32,
    /// Whether it is executed to undo others.
    pub rollback: bool,
    /// The metadata that it was planned with.
    pub metadata: BTreeMap<String, String>,
    /// When it first started.
    pub first_started_at: Timestamp,
    /// Which execution this is.
    pub attempt: Attempt,
    /// Why it is called now.
    pub cause: Cause,
    /// Its options, an object.
    pub options: Value,
}

/// What ends a suspension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// A time.
    At(Timestamp),
    /// The first command to the stage with a greater number than this.
    Command(u64),
}

/// How a stage ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutcomeStatus {
    /// It did what it is for.
    Succeeded,
    /// It did not; why.
    Failed(String),
    /// There was nothing to do; why.
    Skipped(String),
    /// The pipeline ends here, as a success; why.
    Exited(String),
    /// It waits until one of these.
    Suspended(Vec<Wake>),
}

/// What the execution of a stage gives back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// How it ended.
    pub status: OutcomeStatus,
    /// How the deploy targets fared; may be empty.
    pub targets: Vec<TargetResult>,
    /// The exit code of the program that decided it.
    pub exit_code: Option<i32>,
}

/// Which configuration an error is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigKind {
    /// The plugin's `config`.
    Plugin,
    /// The `config` of the deploy target with this name.
    DeployTarget(String),
    /// The application's `plugins.<name>` section.
    Application,
    /// The options of the stage at this index of the pipeline; none for the
    /// stage that is executed.
    Stage(Option<u32>),
}

impl fmt::Display for ConfigKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plugin => f.write_str("the plugin's config"),
            Self::DeployTarget(name) => write!(f, "the config of deploy target `{name}`"),
            Self::Application => f.write_str("the application's section for the plugin"),
            // People count from one, here as everywhere else.
            Self::Stage(Some(index)) => {
                write!(f, "the options of stage {}", u64::from(*index) + 1)
            }
            Self::Stage(None) => f.write_str("the options of the stage"),
        }
    }
}

/// Why a plugin's call gave no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PluginError {
    /// The plugin says that a configuration is wrong.
    #[error("{config} is wrong at `{path}`: {message}")]
    InvalidConfig {
        /// Which.
        config: ConfigKind,
        /// A JSON pointer into it; empty for the whole.
        path: String,
        /// What is wrong.
        message: String,
    },
    /// The plugin was refused something that it needs.
    #[error("{0}")]
    Denied(String),
    /// The plugin does not do what it was asked.
    #[error("not supported: {0}")]
    Unsupported(String),
    /// The plugin failed in another way.
    #[error("{0}")]
    Internal(String),
    /// The plugin broke down: it panicked, trapped or exited.
    #[error("the plugin broke down: {0}")]
    Trap(String),
    /// The plugin went over one of its limits.
    #[error(
        "{limit} is limited to {value}, and the plugin wanted {wanted}; raise `{key}` if it needs more"
    )]
    Limit {
        /// What is limited, such as `memory`.
        limit: String,
        /// The limit's value.
        value: String,
        /// What was wanted.
        wanted: String,
        /// The key in the host's configuration that sets it.
        key: String,
    },
    /// The call did not end in its time.
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
    /// The call was cancelled, and was dropped after its grace period.
    #[error("cancelled")]
    Cancelled,
    /// The host could not make the call.
    #[error("the host could not make the call: {0}")]
    Host(String),
}

/// A stage that a plugin defines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StageDefinition {
    /// The name in a pipeline.
    pub name: String,
    /// What it does.
    pub description: String,
    /// Whether it is a rollback stage.
    pub rollback: bool,
    /// The JSON schema of its options; none if it takes any.
    pub options_schema: Option<Value>,
}

/// A kind and type of document that a plugin runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Claim {
    /// The document's `kind:`.
    pub kind: String,
    /// The document's `type:`.
    pub type_name: String,
}

/// Something that a plugin may ask for and an operator may grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Capability {
    /// Outbound HTTP.
    Http,
    /// Starting programs.
    Commands,
    /// Environment variables of the host.
    Env,
    /// Directories of the host.
    Filesystem,
    /// Secrets.
    Secrets,
    /// Planning stages that another plugin defines.
    Stages,
}

impl Capability {
    /// Its key under `allow:` in the host's configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Commands => "commands",
            Self::Env => "env",
            Self::Filesystem => "filesystem",
            Self::Secrets => "secrets",
            Self::Stages => "stages",
        }
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A capability that a plugin asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CapabilityRequest {
    /// Which.
    pub capability: Capability,
    /// What for.
    pub reason: String,
}

/// What becomes of a stage whose host died while it ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnLoss {
    /// It is run again, as its next attempt.
    #[default]
    RunAgain,
    /// It is lost at once.
    Fail,
}

/// What a plugin says of itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// Its name: a label for people.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What it does.
    pub description: String,
    /// The stages that it defines.
    pub stages: Vec<StageDefinition>,
    /// The documents that it runs.
    pub claims: Vec<Claim>,
    /// The JSON schema of its `config`; none if it takes any.
    pub config_schema: Option<Value>,
    /// The JSON schema of its deploy targets' `config`; none if it takes any.
    pub deploy_target_schema: Option<Value>,
    /// The JSON schema of an application's section; none if it takes any.
    pub application_schema: Option<Value>,
    /// Whether it can't do without a deploy target.
    pub needs_deploy_target: bool,
    /// What becomes of its lost stages.
    pub on_loss: OnLoss,
    /// The capabilities that it asks for.
    pub requests: Vec<CapabilityRequest>,
}

impl Manifest {
    /// The definition of a stage.
    pub fn stage(&self, name: &str) -> Option<&StageDefinition> {
        self.stages.iter().find(|stage| stage.name == name)
    }

    /// Whether the plugin asks for a capability.
    pub fn asks_for(&self, capability: Capability) -> bool {
        self.requests
            .iter()
            .any(|request| request.capability == capability)
    }
}
