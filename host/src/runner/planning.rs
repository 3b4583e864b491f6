//! How a deployment is planned: the strategy, the plugins' stages, the versions.
//!
//! The strategy is the first that matches of:
//!
//! 1. the one that the user forced;
//! 2. no pipeline in the file: quick sync;
//! 3. `planner.alwaysUsePipeline`: pipeline;
//! 4. `commitMatcher.pipeline`, then `commitMatcher.quickSync`, unless a person
//!    started the deployment;
//! 5. no earlier success: quick sync, unless no plugin of the application has
//!    stages for it, then pipeline;
//! 6. the plugins in the order of the pipeline: the first that answers pipeline
//!    ends it, else the last answer counts;
//! 7. nobody has an opinion: pipeline.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::definition::{Application, Diagnostics, Node, StageSpec};
use crate::lifecycle::Plan;
use crate::lifecycle::plan::{self, Answer, PlanError, Requested};
use crate::model::{
    Call, Cancel, ConfigKind, Deployment, Export, PinnedPlugin, PlanInput, PlannedStage,
    PluginError, RequestedStage, Revision, Source, StageId, Strategy, Timestamp, Version,
};
use crate::store::Store;

use super::providers::{Provider, Providers, object};
use super::services::{CallLog, CallServices};
use super::wiring::{Wiring, targets};

/// Everything that planning a deployment needs.
pub(super) struct Planning<'a> {
    pub(super) deployment: Arc<Deployment>,
    pub(super) application: &'a Application,
    pub(super) wiring: &'a Wiring,
    pub(super) providers: &'a dyn Providers,
    pub(super) target: Source,
    pub(super) running: Option<Source>,
    /// What differs between the two; none without a running source.
    pub(super) changed: Option<BTreeSet<String>>,
    pub(super) store: Arc<dyn Store>,
    pub(super) log: CallLog,
    pub(super) timeout: Duration,
    pub(super) now: fn() -> Timestamp,
    pub(super) new_id: fn() -> StageId,
}

/// Why a deployment could not be planned.
#[derive(Clone, Debug)]
pub enum PlanFailure {
    /// Its definition is wrong, here.
    Definition(Diagnostics),
    /// A plugin gave no answer.
    Call {
        /// The plugin.
        plugin: String,
        /// The call.
        call: &'static str,
        /// Why.
        error: Box<PluginError>,
    },
    /// What the plugins planned can't be used.
    Plan(PlanError),
    /// The host could not do it.
    Host(String),
}

impl fmt::Display for PlanFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Definition(problems) => write!(f, "{}", problems.to_string().trim_end()),
            Self::Call {
                plugin,
                call,
                error,
            } => write!(f, "plugin `{plugin}`, call `{call}`: {error}"),
            Self::Plan(error) => error.fmt(f),
            Self::Host(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for PlanFailure {}

impl Planning<'_> {
    /// Plans the deployment.
    pub(super) async fn run(&self) -> Result<Plan, PlanFailure> {
        let versions = self.versions().await?;
        let rollback = self.deployment.auto_rollback;
        let Choice {
            strategy,
            summary,
            quick_sync,
        } = self.choose().await?;
        let mut new_id = self.new_id;
        let catalogue = &self.wiring.catalogue;
        let stages = match strategy {
            Strategy::QuickSync => {
                let answers = match quick_sync {
                    Some(answers) => answers,
                    None => self.quick_sync(rollback).await?,
                };
                plan::quick_sync(catalogue, answers, rollback, &mut new_id)
            }
            Strategy::Pipeline => {
                let (requested, answers) = self.pipeline(rollback).await?;
                plan::pipeline(catalogue, &requested, answers, rollback, &mut new_id)
            }
        }
        .map_err(PlanFailure::Plan)?;
        let plugins = self.pins(&stages)?;
        Ok(Plan {
            strategy,
            summary,
            versions,
            plugins,
            stages,
        })
    }

    /// The plugins that the stages need, as they are now.
    fn pins(&self, stages: &[crate::model::Stage]) -> Result<Vec<PinnedPlugin>, PlanFailure> {
        let all = self.providers.all();
        let keys: BTreeSet<_> = stages.iter().map(|stage| &stage.plugin).collect();
        keys.into_iter()
            .map(|key| {
                let provider = all.iter().find(|provider| provider.key() == key);
                provider
                    .map(|provider| provider.registered.pinned())
                    .ok_or_else(|| {
                        PlanFailure::Host(format!("plugin `{key}` was removed during the planning"))
                    })
            })
            .collect()
    }

    async fn versions(&self) -> Result<Vec<Version>, PlanFailure> {
        let mut versions = Vec::new();
        for provider in self.planners() {
            let (call, input) = self.call(provider);
            let answer = provider.plugin().determine_versions(&call, &input).await;
            versions.extend(answer.map_err(|e| self.failed(provider, "determine-versions", e))?);
        }
        Ok(versions)
    }

    async fn choose(&self) -> Result<Choice, PlanFailure> {
        let application = self.application;
        let trigger = &self.deployment.trigger;
        if let Some(strategy) = trigger.strategy {
            return Ok(Choice::of(
                strategy,
                format!("{strategy}, as was asked for"),
            ));
        }
        if application.stages.is_empty() {
            let summary = "quick sync, since the application has no pipeline";
            return Ok(Choice::of(Strategy::QuickSync, summary));
        }
        if application.planner.always_use_pipeline {
            let summary = "pipeline, since `planner.alwaysUsePipeline` is set";
            return Ok(Choice::of(Strategy::Pipeline, summary));
        }
        let matcher = &application.commit_matcher;
        if trigger.commander.is_none() {
            let message = &trigger.commit.message;
            let matchers = [
                (&matcher.pipeline, Strategy::Pipeline, "pipeline"),
                (&matcher.quick_sync, Strategy::QuickSync, "quickSync"),
            ];
            for (pattern, strategy, key) in matchers {
                if pattern.as_ref().is_some_and(|p| p.value.is_match(message)) {
                    return Ok(Choice::of(
                        strategy,
                        format!(
                            "{strategy}, since the commit message matches `commitMatcher.{key}`"
                        ),
                    ));
                }
            }
        }
        if self.running.is_none() {
            let answers = self.quick_sync(self.deployment.auto_rollback).await?;
            let has_stages = answers
                .iter()
                .any(|answer| answer.stages.iter().any(|stage| !stage.rollback));
            return Ok(if has_stages {
                Choice {
                    strategy: Strategy::QuickSync,
                    summary: "quick sync, since this is the first deployment".to_owned(),
                    quick_sync: Some(answers),
                }
            } else {
                let summary = "pipeline, since this is the first deployment and no plugin of \
                               the application has stages for a quick sync";
                Choice::of(Strategy::Pipeline, summary)
            });
        }
        self.ask().await
    }

    async fn ask(&self) -> Result<Choice, PlanFailure> {
        let mut last = None;
        for provider in self.planners() {
            let (call, input) = self.call(provider);
            let answer = provider.plugin().determine_strategy(&call, &input).await;
            let answer = answer.map_err(|e| self.failed(provider, "determine-strategy", e))?;
            let Some(decision) = answer else { continue };
            let ends = decision.strategy == Strategy::Pipeline;
            let why = if decision.summary.is_empty() {
                format!("plugin `{}` says so", provider.key())
            } else {
                decision.summary
            };
            let summary = format!("{}: {why}", decision.strategy);
            last = Some(Choice::of(decision.strategy, summary));
            if ends {
                break;
            }
        }
        Ok(last.unwrap_or_else(|| {
            let summary = "pipeline, since no plugin has an opinion";
            Choice::of(Strategy::Pipeline, summary)
        }))
    }

    async fn quick_sync(&self, rollback: bool) -> Result<Vec<Answer>, PlanFailure> {
        let mut answers = Vec::new();
        for provider in self.planners() {
            let (call, input) = self.call(provider);
            let stages = provider
                .plugin()
                .quick_sync_plan(&call, &input, rollback)
                .await;
            answers.push(Answer {
                plugin: provider.key().clone(),
                stages: stages.map_err(|e| self.failed(provider, "quick-sync-plan", e))?,
            });
        }
        Ok(answers)
    }

    async fn pipeline(&self, rollback: bool) -> Result<(Vec<Requested>, Vec<Answer>), PlanFailure> {
        let mut requested = Vec::new();
        let mut answers = Vec::new();
        for (place, provider) in self.wiring.planners.iter().enumerate() {
            let own: Vec<(u32, &StageSpec)> = (0..)
                .zip(&self.application.stages)
                .zip(&self.wiring.owners)
                .filter(|(_, owner)| **owner == place)
                .map(|(stage, _)| stage)
                .collect();
            requested.extend(own.iter().map(|&(index, stage)| Requested {
                index,
                key: stage.id.as_ref().map(|id| id.value.clone()),
                needs: needs(stage),
                description: stage.desc.clone().unwrap_or_default(),
                timeout: stage.timeout.as_ref().map(|timeout| timeout.value),
                skip: self.skip(stage),
                options: object(&stage.with),
                plugin: provider.key().clone(),
            }));
            if own.is_empty() {
                continue;
            }
            let stages = if provider.plugin().exports(Export::Planner) {
                let wanted: Vec<RequestedStage> = own.iter().map(|&stage| wanted(stage)).collect();
                let (call, input) = self.call(provider);
                let answer = provider
                    .plugin()
                    .pipeline_sync_plan(&call, &input, rollback, &wanted)
                    .await;
                answer.map_err(|e| self.failed(provider, "pipeline-sync-plan", e))?
            } else {
                own.iter()
                    .map(|&(index, stage)| as_written(index, stage))
                    .collect()
            };
            answers.push(Answer {
                plugin: provider.key().clone(),
                stages,
            });
        }
        Ok((requested, answers))
    }

    /// Why a stage is to be skipped, if it is: some prefix of the commit message,
    /// or all changed files, at least one, match. Without a running commit paths
    /// never match.
    fn skip(&self, stage: &StageSpec) -> Option<String> {
        let message = &self.deployment.trigger.commit.message;
        let prefixes = &stage.skip_on.commit_message_prefixes;
        if let Some(prefix) = prefixes.iter().find(|p| message.starts_with(&p.value)) {
            let prefix = &prefix.value;
            return Some(format!(
                "the commit message begins with `{prefix}` (skipOn)"
            ));
        }
        let paths = &stage.skip_on.paths;
        let changed = self.changed.as_ref()?;
        let all_match = !paths.is_empty()
            && !changed.is_empty()
            && changed.iter().all(|path| paths.matches(path));
        all_match.then(|| {
            let files = match changed.len() {
                1 => "the only changed file matches".to_owned(),
                count => format!("all {count} changed files match"),
            };
            format!("{files} `skipOn.paths`")
        })
    }

    fn planners(&self) -> impl Iterator<Item = &Provider> {
        let all = self.wiring.planners.iter();
        all.filter(|provider| provider.plugin().exports(Export::Planner))
    }

    fn call(&self, provider: &Provider) -> (Call, PlanInput) {
        // Nothing cancels a planning call but its time limit.
        let (_, cancel) = Cancel::new();
        let services = CallServices {
            store: self.store.clone(),
            log: self.log.clone(),
            deployment: self.deployment.clone(),
            plugin: provider.key().clone(),
            fence: None,
            cancel: cancel.clone(),
            now: self.now,
        };
        let call = Call {
            services: Arc::new(services),
            scratch: None,
            cancel,
            timeout: self.timeout,
        };
        let input = plan_input(
            &self.deployment,
            self.application,
            provider,
            self.target.clone(),
            self.running.clone(),
        );
        (call, input)
    }

    fn failed(&self, provider: &Provider, call: &'static str, error: PluginError) -> PlanFailure {
        match locate(self.application, self.providers, provider, None, &error) {
            Some(problems) => PlanFailure::Definition(problems),
            None => PlanFailure::Call {
                plugin: provider.key().to_string(),
                call,
                error: Box::new(error),
            },
        }
    }
}

/// A strategy, why, and the plugins' quick-sync stages if they were asked for
/// them already.
struct Choice {
    strategy: Strategy,
    summary: String,
    quick_sync: Option<Vec<Answer>>,
}

impl Choice {
    fn of(strategy: Strategy, summary: impl Into<String>) -> Self {
        Self {
            strategy,
            summary: summary.into(),
            quick_sync: None,
        }
    }
}

/// What a plugin is given in every call of a deployment.
pub(super) fn plan_input(
    deployment: &Deployment,
    application: &Application,
    provider: &Provider,
    target: Source,
    running: Option<Source>,
) -> PlanInput {
    let last = deployment.running.as_ref();
    PlanInput {
        deployment: deployment.id.clone(),
        application: deployment.application.clone(),
        trigger: deployment.trigger.clone(),
        last_successful_commit: last.map(|revision| revision.commit.clone()),
        last_successful_config_file: last.map(|revision| file_name(revision).to_owned()),
        plugin_config: provider.config(),
        application_section: application.section(provider.key().as_str()).map_or_else(
            || object(&Node::default()),
            |section| object(&section.config),
        ),
        deploy_targets: targets(application, provider),
        target,
        running,
    }
}

/// The place in a file that a plugin complains of, if it complains of one.
pub(super) fn locate(
    application: &Application,
    providers: &dyn Providers,
    provider: &Provider,
    stage: Option<u32>,
    error: &PluginError,
) -> Option<Diagnostics> {
    let PluginError::InvalidConfig {
        config,
        path,
        message,
    } = error
    else {
        return None;
    };
    let key = provider.key();
    let message = format!("plugin `{key}`, {config}: {message}");
    let host = |node: &Node| {
        let source = providers.source()?;
        Some(source.error(node.locate(path), message.clone(), ""))
    };
    let diagnostic = match config {
        ConfigKind::Plugin => host(&provider.settings.config)?,
        ConfigKind::DeployTarget(name) => {
            let targets = &provider.settings.deploy_targets;
            let target = targets.iter().find(|target| &target.name.value == name)?;
            host(&target.config)?
        }
        ConfigKind::Application => {
            let section = application.section(key.as_str())?;
            let at = section.config.locate(path).or(section.plugin.span);
            application.error(at, message, "")
        }
        ConfigKind::Stage(index) => {
            let index = usize::try_from((*index).or(stage)?).ok()?;
            let stage = application.stages.get(index)?;
            let at = stage.with.locate(path).or(stage.name.span);
            application.error(at, message, "")
        }
    };
    Some(diagnostic.into())
}

fn file_name(revision: &Revision) -> &str {
    let path = &revision.path;
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

fn wanted((index, stage): (u32, &StageSpec)) -> RequestedStage {
    RequestedStage {
        index,
        name: stage.name.value.clone(),
        description: stage.desc.clone().unwrap_or_default(),
        timeout: stage.timeout.as_ref().map(|timeout| timeout.value),
        options: object(&stage.with),
    }
}

/// The stage of a plugin that only executes: planned as it is written.
fn as_written(index: u32, stage: &StageSpec) -> PlannedStage {
    PlannedStage {
        name: stage.name.value.clone(),
        index,
        description: String::new(),
        rollback: false,
        undoes: None,
        visible: true,
        predefined: false,
        metadata: std::collections::BTreeMap::new(),
        operation: crate::model::Operation::None,
        authorized_operators: Vec::new(),
        min_operators: 1,
    }
}

/// The ids of the stages that must have ended well before, if the file names them.
fn needs(stage: &StageSpec) -> Option<Vec<String>> {
    let needs = stage.needs.as_ref()?;
    Some(needs.iter().map(|need| need.value.clone()).collect())
}
