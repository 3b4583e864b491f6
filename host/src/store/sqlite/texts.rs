//! A deployment as texts: its brief, which is what it has to do and how, and its
//! head, which is where it stands.
//!
//! The brief is long and the head short. A brief is written when the deployment is
//! stored and when it has been planned, a head by each transition: so what a
//! transition costs does not depend on how long an application file is.

use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value};

use super::fault::Fault;
use crate::model::{
    Application, Cancellation, Deployment, DeploymentId, DeploymentStatus, Ending, PinnedPlugin,
    Revision, Rollback, Shared, Strategy, Timestamp, Trigger, Version,
};

/// What a deployment is from its beginning, and what its planning finds.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Brief<'a> {
    id: &'a DeploymentId,
    application: &'a Application,
    trigger: &'a Trigger,
    target: &'a Revision,
    running: &'a Option<Shared<Revision>>,
    strategy: Option<Strategy>,
    summary: &'a str,
    versions: &'a [Version],
    plugins: &'a [PinnedPlugin],
    auto_rollback: bool,
    #[serde(with = "crate::model::optional_millis", rename = "timeoutMs")]
    timeout: Option<Duration>,
    created_at: Timestamp,
}

/// What each transition may change, but for the stages.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Head<'a> {
    status: DeploymentStatus,
    reason: &'a str,
    ending: Option<Ending>,
    cancel: &'a Option<Cancellation>,
    rollback: &'a Option<Rollback>,
    #[serde(with = "crate::model::millis", rename = "activeMs")]
    active: Duration,
    active_since: Option<Timestamp>,
    plan_attempt: u32,
    plan_started_at: Option<Timestamp>,
    started_at: Option<Timestamp>,
    ended_at: Option<Timestamp>,
    version: u64,
}

/// Both of a deployment, each to be written or not. Its stages have texts of their
/// own.
fn both(deployment: &Deployment) -> (Brief<'_>, Head<'_>) {
    // Each field is named, so that none that comes is forgotten.
    let Deployment {
        id,
        application,
        trigger,
        target,
        running,
        status,
        reason,
        ending,
        strategy,
        summary,
        versions,
        plugins,
        stages: _,
        auto_rollback,
        timeout,
        cancel,
        rollback,
        active,
        active_since,
        plan_attempt,
        plan_started_at,
        created_at,
        started_at,
        ended_at,
        version,
    } = deployment;
    let brief = Brief {
        id,
        application,
        trigger,
        target,
        running,
        strategy: *strategy,
        summary,
        versions,
        plugins,
        auto_rollback: *auto_rollback,
        timeout: *timeout,
        created_at: *created_at,
    };
    let head = Head {
        status: *status,
        reason,
        ending: *ending,
        cancel,
        rollback,
        active: *active,
        active_since: *active_since,
        plan_attempt: *plan_attempt,
        plan_started_at: *plan_started_at,
        started_at: *started_at,
        ended_at: *ended_at,
        version: *version,
    };
    (brief, head)
}

/// The text of a deployment's brief.
pub(super) fn brief(deployment: &Deployment) -> Result<String, Fault> {
    json(&both(deployment).0)
}

/// The text of a deployment's head.
pub(super) fn head(deployment: &Deployment) -> Result<String, Fault> {
    json(&both(deployment).1)
}

/// The deployment that has these texts, without its stages.
pub(super) fn deployment(brief: &str, head: &str) -> Result<Deployment, Fault> {
    let read = || {
        let mut all: Map<String, Value> = serde_json::from_str(brief)?;
        all.extend(serde_json::from_str::<Map<String, Value>>(head)?);
        all.insert("stages".to_owned(), Value::Array(Vec::new()));
        serde_json::from_value(Value::Object(all))
    };
    read().map_err(|error| Fault::unreadable("deployment", &error))
}

/// A value as the text that is stored.
pub(super) fn json<T: Serialize>(value: &T) -> Result<String, Fault> {
    serde_json::to_string(value)
        .map_err(|error| Fault::Other(format!("it can't be written as JSON: {error}")))
}
