//! What a script is told of its deployment, in variables named `SR_…` as PipeCD
//! names them, so that a script written for it finds what it knows.

use std::collections::BTreeMap;

use serde::Serialize;
use stagewright_sdk::{Context, PlanInput, Result, state};

use crate::Script;

/// `SR_CONTEXT_RAW`: all of it as one JSON text. The keys are PipeCD's.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ContextRaw<'a> {
    #[serde(rename = "deploymentID")]
    deployment_id: &'a str,
    #[serde(rename = "applicationID")]
    application_id: &'a str,
    application_name: &'a str,
    triggered_at: u64,
    triggered_commit_hash: &'a str,
    triggered_commander: &'a str,
    #[serde(rename = "repositoryURL")]
    repository_url: &'a str,
    summary: &'a str,
    labels: BTreeMap<&'a str, &'a str>,
    is_rollback: bool,
}

/// The variables for a script of this deployment.
pub(crate) fn of(input: &PlanInput<Script>, is_rollback: bool) -> Result<Vec<(String, String)>> {
    let deployment = &input.deployment;
    // The summary is the host's; there is none when the strategy needed no reason.
    let summary = state::shared().get_text("summary")?.unwrap_or_default();
    let context = ContextRaw {
        deployment_id: &deployment.id,
        application_id: &deployment.application.id,
        application_name: &deployment.application.name,
        triggered_at: deployment.trigger.at / 1000,
        triggered_commit_hash: &deployment.trigger.commit.hash,
        triggered_commander: deployment.trigger.commander.as_deref().unwrap_or_default(),
        repository_url: &input.source_remote_url,
        summary: &summary,
        labels: deployment
            .application
            .labels
            .iter()
            .map(|label| (label.key.as_str(), label.value.as_str()))
            .collect(),
        is_rollback,
    };
    let mut variables: Vec<(String, String)> = [
        ("SR_DEPLOYMENT_ID", context.deployment_id),
        ("SR_APPLICATION_ID", context.application_id),
        ("SR_APPLICATION_NAME", context.application_name),
        ("SR_TRIGGERED_AT", &context.triggered_at.to_string()),
        ("SR_TRIGGERED_COMMIT_HASH", context.triggered_commit_hash),
        ("SR_TRIGGERED_COMMANDER", context.triggered_commander),
        ("SR_REPOSITORY_URL", context.repository_url),
        ("SR_SUMMARY", context.summary),
        ("SR_IS_ROLLBACK", if is_rollback { "true" } else { "false" }),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into();
    variables.extend(
        context
            .labels
            .iter()
            .map(|(key, value)| (label_name(key), (*value).to_owned())),
    );
    let raw = serde_json::to_string(&context).context("writing SR_CONTEXT_RAW")?;
    variables.push(("SR_CONTEXT_RAW".to_owned(), raw));
    Ok(variables)
}

/// `SR_LABELS_<KEY>`: in upper case, with `_` for what no shell could name.
fn label_name(key: &str) -> String {
    let key: String = key
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_uppercase()
            } else {
                '_'
            }
        })
        .collect();
    format!("SR_LABELS_{key}")
}
