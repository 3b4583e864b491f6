//! What a planning call and a stage's call are given, in the author's own types.

use serde::de::DeserializeOwned;

use crate::bindings::executor as contract;
pub use crate::bindings::executor::Cause;
use crate::bindings::types;
pub use crate::bindings::types::{Application, Commit, Deployment, Entry, Source, Trigger};
use crate::decode::decode;
use crate::error::{ConfigKind, Error, Result};
use crate::plugin::Plugin;
use crate::time::Timestamp;

/// What every planning call and every stage is given.
pub struct PlanInput<P: Plugin> {
    /// The deployment.
    pub deployment: Deployment,
    /// Where the source comes from: the URL of the repository's remote, or the
    /// path of the directory if it has none.
    pub source_remote_url: String,
    /// The hash of the commit that was last deployed with success, if any.
    pub last_successful_commit_hash: Option<String>,
    /// The application file's name at that commit.
    pub last_successful_config_file_name: Option<String>,
    /// The plugin's `config` of the host's configuration.
    pub config: P::Config,
    /// The application's `plugins.<this plugin>` section.
    pub section: P::Application,
    /// The deploy targets of this plugin that the application is meant for.
    pub deploy_targets: Vec<DeployTarget<P::Target>>,
    /// The source to deploy.
    pub target_source: Source,
    /// The source that runs now; none on a first deployment.
    pub running_source: Option<Source>,
}

/// One place that a plugin deploys to, as the operator configured it.
#[derive(Debug, Clone, PartialEq)]
pub struct DeployTarget<T> {
    /// The name in the host's configuration.
    pub name: String,
    /// The labels in the host's configuration.
    pub labels: Vec<Entry>,
    /// Its `config`.
    pub config: T,
}

impl<T> DeployTarget<T> {
    /// The error that its config is wrong at a JSON pointer such as `/directory`.
    pub fn invalid_config(&self, pointer: &str, message: impl std::fmt::Display) -> Error {
        Error::invalid_deploy_target(&self.name, pointer, message)
    }
}

/// What a stage's call is given.
pub struct StageRequest<P: Plugin> {
    /// The same as the plan was given, as of now.
    pub input: PlanInput<P>,
    /// The stage.
    pub stage: Stage,
    options: String,
}

/// The stage to execute.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    /// The host's id, unique for ever.
    pub id: String,
    /// The name.
    pub name: String,
    /// Its place in the plan.
    pub index: u32,
    /// Whether it is executed to undo others.
    pub rollback: bool,
    /// The metadata that it was planned with.
    pub metadata: Vec<Entry>,
    /// When it first started, over all attempts and turns.
    pub first_started_at: Timestamp,
    /// The attempt, from 1: a stage runs again when the host died under it.
    pub attempt: u32,
    /// The turn within the attempt, from 1: a stage that was suspended comes back
    /// in its next turn.
    pub turn: u32,
    /// Why it is called now.
    pub cause: Cause,
}

impl Stage {
    /// The value of an entry of the metadata that it was planned with.
    pub fn metadata(&self, key: &str) -> Option<&str> {
        self.metadata
            .iter()
            .find(|entry| entry.key == key)
            .map(|entry| entry.value.as_str())
    }
}

impl<P: Plugin> StageRequest<P> {
    /// The stage's options (`with`), as the author's own type. A rollback stage
    /// gets the options of the stage at its index.
    pub fn options<T: DeserializeOwned>(&self) -> Result<T> {
        decode(ConfigKind::Stage, "", &self.options)
    }
}

impl<P: Plugin> PlanInput<P> {
    pub(crate) fn read(input: types::PlanInput) -> Result<Self> {
        Ok(Self {
            config: decode(ConfigKind::Plugin, "", &input.plugin_config)?,
            section: decode(ConfigKind::Application, "", &input.application_section)?,
            deploy_targets: input
                .deploy_targets
                .into_iter()
                .map(|target| {
                    Ok(DeployTarget {
                        config: decode(ConfigKind::DeployTarget, &target.name, &target.config)?,
                        name: target.name,
                        labels: target.labels,
                    })
                })
                .collect::<Result<_>>()?,
            deployment: input.deployment,
            source_remote_url: input.source_remote_url,
            last_successful_commit_hash: input.last_successful_commit_hash,
            last_successful_config_file_name: input.last_successful_config_file_name,
            target_source: input.target_source,
            running_source: input.running_source,
        })
    }
}

impl<P: Plugin> StageRequest<P> {
    pub(crate) fn read(request: contract::StageRequest) -> Result<Self> {
        let stage = request.stage;
        Ok(Self {
            input: PlanInput::read(request.input)?,
            stage: Stage {
                id: stage.id,
                name: stage.name,
                index: stage.index,
                rollback: stage.rollback,
                metadata: stage.metadata,
                first_started_at: Timestamp::from_millis(stage.first_started_at),
                attempt: stage.attempt,
                turn: stage.turn,
                cause: stage.cause,
            },
            options: request.options,
        })
    }
}
