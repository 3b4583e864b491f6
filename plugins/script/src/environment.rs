//! What a script is told of its deployment, in variables named `SR_…` as PipeCD
//! names them, so that a script written for it finds what it knows.

use std::collections::BTreeMap;

use serde::Serialize;
use stagewright_sdk::{Context, Entry, Error, PlanInput, Result, state};

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
    let labels = labels(input)?.into_iter();
    variables.extend(labels.map(|(name, label)| (name, label.value.clone())));
    let raw = serde_json::to_string(&context).context("writing SR_CONTEXT_RAW")?;
    variables.push(("SR_CONTEXT_RAW".to_owned(), raw));
    Ok(variables)
}

/// The labels by the names of their variables. Of two that would have one name,
/// the script could see but one: that is refused.
pub(crate) fn labels(input: &PlanInput<Script>) -> Result<BTreeMap<String, &Entry>> {
    let mut named: BTreeMap<String, &Entry> = BTreeMap::new();
    for label in &input.deployment.application.labels {
        let name = label_name(&label.key);
        if let Some(other) = named.get(&name) {
            return Err(Error::unsupported(format_args!(
                "the labels `{}` and `{}` of the application would both be the variable {name} of \
                 its scripts: rename one of them",
                other.key, label.key
            )));
        }
        named.insert(name, label);
    }
    Ok(named)
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
