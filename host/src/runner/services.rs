//! What a plugin's call may read and write, answered from the store.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use serde_json::{Value, json};

use crate::logs::LogWriter;
use crate::model::{
    Cancel, Command, CommandKind, Deployment, PluginKey, Refusal, Scope, Services, Severity,
    Timestamp,
};
use crate::store::{Fence, StateOwner, Store, StoreError};

/// How many characters of a status text are kept.
const STATUS_LENGTH: usize = 120;

/// The keys of the scope `shared`.
const SHARED_KEYS: [&str; 5] = [
    "approvals",
    "strategy",
    "summary",
    "trigger.commander",
    "versions",
];

/// Where the lines of a call go.
#[derive(Clone, Debug)]
pub(crate) enum CallLog {
    /// To the store.
    Stored(Arc<LogWriter>),
    /// Into memory: for a plan that nobody will run.
    Kept(Arc<Mutex<Vec<(Severity, String)>>>),
}

impl CallLog {
    pub(super) fn write(&self, severity: Severity, message: &str) {
        match self {
            Self::Stored(log) => log.write(severity, message),
            Self::Kept(lines) => lines
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push((severity, message.to_owned())),
        }
    }
}

/// The answers for one call.
#[derive(Debug)]
pub(super) struct CallServices {
    /// Where everything is kept.
    pub(super) store: Arc<dyn Store>,
    /// The log of the stage or of the plan.
    pub(super) log: CallLog,
    /// The deployment, as it was when the call began.
    pub(super) deployment: Arc<Deployment>,
    /// The plugin that is called.
    pub(super) plugin: PluginKey,
    /// The execution that the call is; none while planning.
    pub(super) fence: Option<Fence>,
    /// Whether the call should end.
    pub(super) cancel: Cancel,
    /// The clock.
    pub(super) now: fn() -> Timestamp,
}

impl CallServices {
    fn owner(&self, scope: Scope, call: &str) -> Result<StateOwner, Refusal> {
        let deployment = &self.deployment;
        if self.cancel.is_cancelled() {
            return Err(Refusal::Cancelled);
        }
        match (scope, &self.fence) {
            (Scope::Application, _) => Ok(StateOwner::Application(
                deployment.application.id.clone(),
                self.plugin.clone(),
            )),
            (Scope::Deployment, Some(_)) => Ok(StateOwner::Deployment(
                deployment.id.clone(),
                self.plugin.clone(),
            )),
            (
                Scope::Stage,
                Some(Fence {
                    stage: Some(stage), ..
                }),
            ) => Ok(StateOwner::Stage(stage.clone())),
            (Scope::Stage, Some(_)) | (_, None) => Err(Refusal::Denied(format!(
                "plugin `{}` called `{call}` in the scope `{}` while planning, where only the \
                 scope `application` can be read",
                self.plugin,
                scope_name(scope)
            ))),
            (Scope::Shared, Some(_)) => Err(Refusal::Denied(format!(
                "plugin `{}` called `{call}` in the scope `shared`, which only the host writes",
                self.plugin
            ))),
        }
    }

    /// The owner for a call that writes, and the execution that it comes from.
    fn writer(&self, scope: Scope, call: &str) -> Result<(StateOwner, &Fence), Refusal> {
        let owner = self.owner(scope, call)?;
        match &self.fence {
            Some(fence) => Ok((owner, fence)),
            None => Err(Refusal::Denied(format!(
                "plugin `{}` called `{call}` while planning, where state can only be read",
                self.plugin
            ))),
        }
    }

    async fn shared(&self, key: &str) -> Result<Option<Vec<u8>>, Refusal> {
        let deployment = &self.deployment;
        Ok(match key {
            "approvals" => {
                // As they are now: people act while the plugin is at work.
                let loaded = self.store.load(&deployment.id).await.map_err(refusal)?;
                let now = loaded.as_ref().unwrap_or(deployment);
                Some(approvals(now).to_string().into_bytes())
            }
            "trigger.commander" => deployment.trigger.commander.clone().map(String::into_bytes),
            "strategy" => deployment
                .strategy
                .map(|strategy| strategy.to_string().into_bytes()),
            "summary" => Some(deployment.summary.clone().into_bytes()),
            "versions" => Some(json!(deployment.versions).to_string().into_bytes()),
            _ => None,
        })
    }
}

/// Who approved which stage of a deployment, and when, in the order of the plan.
fn approvals(deployment: &Deployment) -> Value {
    let all = deployment.stages.iter().flat_map(|stage| {
        let commands = stage.commands.iter();
        let approvals = commands.filter(|command| command.kind == CommandKind::Approve);
        approvals.map(move |approval| {
            json!({
                "stage": stage.id,
                "name": stage.name,
                "index": stage.index,
                "by": approval.by,
                "at": approval.at,
            })
        })
    });
    all.collect()
}

#[async_trait]
impl Services for CallServices {
    fn log(&self, severity: Severity, message: &str) {
        self.log.write(severity, message);
    }

    async fn log_room(&self) {
        if let CallLog::Stored(log) = &self.log {
            log.room().await;
        }
    }

    async fn status(&self, text: &str) -> Result<(), Refusal> {
        let Some(fence) = &self.fence else {
            return Ok(());
        };
        let text: String = text
            .chars()
            .filter(|character| !character.is_control())
            .take(STATUS_LENGTH)
            .collect();
        let now = (self.now)();
        self.store.note(fence, &text, now).await.map_err(refusal)
    }

    async fn get(&self, scope: Scope, key: &str) -> Result<Option<Vec<u8>>, Refusal> {
        if scope == Scope::Shared && self.fence.is_some() {
            return self.shared(key).await;
        }
        let owner = self.owner(scope, "state.get")?;
        self.store.state_get(&owner, key).await.map_err(refusal)
    }

    async fn put(&self, scope: Scope, values: Vec<(String, Vec<u8>)>) -> Result<(), Refusal> {
        let (owner, fence) = self.writer(scope, "state.put")?;
        self.store
            .state_put(&owner, &values, Some(fence))
            .await
            .map_err(refusal)
    }

    async fn delete(&self, scope: Scope, key: &str) -> Result<(), Refusal> {
        let (owner, fence) = self.writer(scope, "state.delete")?;
        self.store
            .state_delete(&owner, key, Some(fence))
            .await
            .map_err(refusal)
    }

    async fn keys(&self, scope: Scope, prefix: &str) -> Result<Vec<String>, Refusal> {
        if scope == Scope::Shared && self.fence.is_some() {
            let mut keys = Vec::new();
            for key in SHARED_KEYS.iter().filter(|key| key.starts_with(prefix)) {
                if self.shared(key).await?.is_some() {
                    keys.push((*key).to_owned());
                }
            }
            return Ok(keys);
        }
        let owner = self.owner(scope, "state.keys")?;
        self.store.state_keys(&owner, prefix).await.map_err(refusal)
    }

    async fn commands(&self, after: u64) -> Result<Vec<Command>, Refusal> {
        let stage = self.fence.as_ref().and_then(|fence| fence.stage.as_ref());
        let Some(stage) = stage else {
            return Err(Refusal::Denied(format!(
                "plugin `{}` called `commands.after` while planning, where there is no stage yet",
                self.plugin
            )));
        };
        // As it is now, not as it was when the call began.
        let loaded = self.store.load(&self.deployment.id).await;
        let loaded = loaded.map_err(refusal)?;
        let stage = loaded.as_ref().and_then(|d| d.stage(stage));
        let commands = stage.map(|stage| stage.commands.iter());
        Ok(commands
            .into_iter()
            .flatten()
            .filter(|command| command.number > after)
            .cloned()
            .collect())
    }
}

fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::Stage => "stage",
        Scope::Deployment => "deployment",
        Scope::Application => "application",
        Scope::Shared => "shared",
    }
}

fn refusal(error: StoreError) -> Refusal {
    match error {
        StoreError::Stale | StoreError::Conflict => Refusal::StaleAttempt,
        error => Refusal::Host(error.to_string()),
    }
}
