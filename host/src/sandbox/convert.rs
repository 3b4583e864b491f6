//! Between the model and the contract's types.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::bindings::executor::exports::stagewright::plugin::executor as execution;
use super::bindings::imports::stagewright::plugin::types as wit;
use super::bindings::planner::exports::stagewright::plugin::planner as planning;
use super::wasi::{RUNNING, TARGET};
use crate::model;

fn entries(map: &BTreeMap<String, String>) -> Vec<wit::Entry> {
    map.iter()
        .map(|(key, value)| wit::Entry {
            key: key.clone(),
            value: value.clone(),
        })
        .collect()
}

pub(super) fn plan_input(input: &model::PlanInput) -> wit::PlanInput {
    wit::PlanInput {
        deployment: deployment(input),
        source_remote_url: input.application.remote.clone(),
        last_successful_commit_hash: input.last_successful_commit.clone(),
        last_successful_config_file_name: input.last_successful_config_file.clone(),
        plugin_config: input.plugin_config.to_string(),
        application_section: input.application_section.to_string(),
        deploy_targets: input
            .deploy_targets
            .iter()
            .map(|target| wit::DeployTarget {
                name: target.name.clone(),
                labels: entries(&target.labels),
                config: target.config.to_string(),
            })
            .collect(),
        target_source: source(&input.target, TARGET),
        running_source: input
            .running
            .as_ref()
            .map(|running| source(running, RUNNING)),
    }
}

fn deployment(input: &model::PlanInput) -> wit::Deployment {
    let commit = &input.trigger.commit;
    wit::Deployment {
        id: input.deployment.to_string(),
        application: wit::Application {
            id: input.application.id.to_string(),
            name: input.application.name.clone(),
            labels: entries(&input.application.labels),
        },
        trigger: wit::Trigger {
            commit: wit::Commit {
                hash: commit.hash.clone(),
                message: commit.message.clone(),
                author: commit.author.clone(),
                branch: commit.branch.clone(),
                created_at: commit.created_at.0,
                url: commit.url.clone(),
                pull_request: commit.pull_request,
            },
            commander: input.trigger.commander.clone(),
            at: input.trigger.at.0,
        },
    }
}

/// A source as the guest sees it, which is not where the host has it.
fn source(source: &model::Source, root: &str) -> wit::Source {
    let (directory, file) = match source.path.rsplit_once('/') {
        Some((directory, file)) => (format!("{root}/{directory}"), file),
        None => (root.to_owned(), source.path.as_str()),
    };
    wit::Source {
        root: root.to_owned(),
        directory,
        commit_hash: source.commit.clone(),
        config_file_name: file.to_owned(),
        config_text: source.config.clone(),
        shared_directory: has_shared_directory(&source.root).then(|| format!("{root}/.pipe")),
    }
}

fn has_shared_directory(root: &Path) -> bool {
    root.join(".pipe").is_dir()
}

pub(super) fn requested(stages: &[model::RequestedStage]) -> Vec<planning::RequestedStage> {
    stages
        .iter()
        .map(|stage| planning::RequestedStage {
            index: stage.index,
            name: stage.name.clone(),
            description: stage.description.clone(),
            timeout: stage
                .timeout
                .map(|timeout| u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX)),
            options: stage.options.to_string(),
        })
        .collect()
}

pub(super) fn version(version: planning::Version) -> model::Version {
    model::Version {
        name: version.name,
        version: version.version,
        url: version.url,
    }
}

pub(super) fn decision(decision: planning::Decision) -> model::Decision {
    model::Decision {
        strategy: match decision.strategy {
            planning::Strategy::QuickSync => model::Strategy::QuickSync,
            planning::Strategy::Pipeline => model::Strategy::Pipeline,
        },
        summary: decision.summary,
    }
}

pub(super) fn planned(stage: planning::PlannedStage) -> model::PlannedStage {
    model::PlannedStage {
        name: stage.name,
        index: stage.index,
        description: stage.description,
        rollback: stage.rollback,
        undoes: stage.undoes,
        visible: stage.visible,
        predefined: stage.predefined,
        metadata: stage
            .metadata
            .into_iter()
            .map(|entry| (entry.key, entry.value))
            .collect(),
        operation: match stage.operation {
            planning::Operation::None => model::Operation::None,
            planning::Operation::Approve => model::Operation::Approve,
            planning::Operation::Skip => model::Operation::Skip,
        },
        authorized_operators: stage.authorized_operators,
        min_operators: stage.min_operators.max(1),
    }
}

pub(super) fn stage_request(request: &model::StageRequest) -> execution::StageRequest {
    execution::StageRequest {
        input: plan_input(&request.input),
        stage: execution::Stage {
            id: request.stage.to_string(),
            name: request.name.clone(),
            index: request.index,
            rollback: request.rollback,
            metadata: entries(&request.metadata),
            first_started_at: request.first_started_at.0,
            attempt: request.attempt.number,
            turn: request.attempt.turn,
            cause: match request.cause {
                model::Cause::First => execution::Cause::First,
                model::Cause::Time => execution::Cause::Time,
                model::Cause::Command => execution::Cause::Command,
                model::Cause::Loss => execution::Cause::Loss,
            },
        },
        options: request.options.to_string(),
    }
}

pub(super) fn outcome(outcome: execution::Outcome) -> Result<model::Outcome, model::PluginError> {
    let status = match outcome.status {
        execution::Status::Succeeded => model::OutcomeStatus::Succeeded,
        execution::Status::Failed(why) => model::OutcomeStatus::Failed(why),
        execution::Status::Skipped(why) => model::OutcomeStatus::Skipped(why),
        execution::Status::Exited(why) => model::OutcomeStatus::Exited(why),
        execution::Status::Suspended(wakes) if wakes.is_empty() => {
            return Err(model::PluginError::Internal(
                "the plugin suspended the stage with nothing that would wake it".to_owned(),
            ));
        }
        execution::Status::Suspended(wakes) => model::OutcomeStatus::Suspended(
            wakes
                .into_iter()
                .map(|wake| match wake {
                    execution::Wake::At(at) => model::Wake::At(model::Timestamp(at)),
                    execution::Wake::Command(after) => model::Wake::Command(after),
                })
                .collect(),
        ),
    };
    Ok(model::Outcome {
        status,
        targets: outcome
            .targets
            .into_iter()
            .map(|target| model::TargetResult {
                name: target.name,
                status: match target.status {
                    execution::TargetStatus::Succeeded => model::TargetStatus::Succeeded,
                    execution::TargetStatus::Failed => model::TargetStatus::Failed,
                    execution::TargetStatus::Skipped => model::TargetStatus::Skipped,
                },
                message: target.message,
            })
            .collect(),
        exit_code: outcome.exit_code,
    })
}

pub(super) fn error(error: wit::Error) -> model::PluginError {
    use model::PluginError;
    match error {
        wit::Error::InvalidConfig(invalid) => {
            let config = match invalid.kind {
                wit::ConfigKind::Plugin => model::ConfigKind::Plugin,
                wit::ConfigKind::DeployTarget => model::ConfigKind::DeployTarget(invalid.name),
                wit::ConfigKind::Application => model::ConfigKind::Application,
                wit::ConfigKind::Stage if invalid.name.is_empty() => model::ConfigKind::Stage(None),
                wit::ConfigKind::Stage => match invalid.name.parse() {
                    Ok(index) => model::ConfigKind::Stage(Some(index)),
                    Err(_) => {
                        return PluginError::Internal(format!(
                            "the plugin says that the options of stage {:?} are wrong, which is \
                             no stage's index: {}",
                            invalid.name, invalid.message
                        ));
                    }
                },
            };
            PluginError::InvalidConfig {
                config,
                path: invalid.path,
                message: invalid.message,
            }
        }
        wit::Error::Denied(text) => PluginError::Denied(text),
        wit::Error::Unsupported(text) => PluginError::Unsupported(text),
        wit::Error::Internal(text) => PluginError::Internal(text),
    }
}

/// JSON text of the plugin's, or what is wrong with it.
fn json(text: Option<String>, what: &str, problems: &mut Vec<String>) -> Option<Value> {
    match serde_json::from_str(&text?) {
        Ok(value) => Some(value),
        Err(error) => {
            problems.push(format!("{what} is not JSON: {error}"));
            None
        }
    }
}

/// The manifest, or everything that is no JSON in it.
pub(super) fn manifest(
    manifest: super::bindings::manifest::exports::stagewright::plugin::manifest::PluginManifest,
) -> Result<model::Manifest, Vec<String>> {
    use super::bindings::manifest::exports::stagewright::plugin::manifest as description;
    let mut problems = Vec::new();
    let stages = manifest
        .stages
        .into_iter()
        .map(|stage| model::StageDefinition {
            options_schema: json(
                stage.options_schema,
                &format!("the schema of the options of stage `{}`", stage.name),
                &mut problems,
            ),
            name: stage.name,
            description: stage.description,
            rollback: stage.rollback,
        })
        .collect();
    let converted = model::Manifest {
        name: manifest.name,
        version: manifest.version,
        description: manifest.description,
        stages,
        claims: manifest
            .claims
            .into_iter()
            .map(|claim| model::Claim {
                kind: claim.kind,
                type_name: claim.type_name,
            })
            .collect(),
        config_schema: json(manifest.config_schema, "`config-schema`", &mut problems),
        deploy_target_schema: json(
            manifest.deploy_target_schema,
            "`deploy-target-schema`",
            &mut problems,
        ),
        application_schema: json(
            manifest.application_schema,
            "`application-schema`",
            &mut problems,
        ),
        needs_deploy_target: manifest.needs_deploy_target,
        on_loss: match manifest.on_loss {
            description::Loss::RunAgain => model::OnLoss::RunAgain,
            description::Loss::Fail => model::OnLoss::Fail,
        },
        requests: manifest
            .requests
            .into_iter()
            .map(|request| model::CapabilityRequest {
                capability: match request.capability {
                    description::Capability::Http => model::Capability::Http,
                    description::Capability::Commands => model::Capability::Commands,
                    description::Capability::Env => model::Capability::Env,
                    description::Capability::Filesystem => model::Capability::Filesystem,
                    description::Capability::Secrets => model::Capability::Secrets,
                    description::Capability::Stages => model::Capability::Stages,
                },
                reason: request.reason,
            })
            .collect(),
    };
    if problems.is_empty() {
        Ok(converted)
    } else {
        Err(problems)
    }
}
