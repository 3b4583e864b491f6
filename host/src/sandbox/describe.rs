//! Asking a component what it is: the one call that is made before anything is
//! known of it, without any capability.

use std::sync::Arc;

use async_trait::async_trait;

use super::access::Access;
use super::bindings::manifest::ManifestExport;
use super::component::Loaded;
use super::convert;
use super::instance::{Session, Setting, guard};
use super::process::Processes;
use super::wasi::Mounts;
use super::{LoadError, PluginConfig, Sandbox, contract};
use crate::model::{
    Call, Cancel, Command, Manifest, PluginKey, Refusal, Scope, Services, Severity,
};

/// Asks a component for its manifest.
pub(super) async fn describe(
    sandbox: &Sandbox,
    loaded: &Arc<Loaded>,
    config: &PluginConfig,
) -> Result<Manifest, LoadError> {
    let (_canceller, cancel) = Cancel::new();
    let call = Call {
        services: Arc::new(NoServices(config.key.clone())),
        scratch: None,
        cancel,
        timeout: sandbox.settings().describe_timeout,
    };
    let setting = Arc::new(Setting {
        runtime: sandbox.0.runtime.clone(),
        grace: sandbox.settings().grace,
        loaded: loaded.clone(),
        access: Arc::new(Access::none(config.key.clone(), config.origin.clone())),
        limits: Arc::new(config.limits.clone()),
    });
    let processes = Arc::new(Processes::default());
    let work = {
        let (setting, call, processes) = (setting.clone(), call.clone(), processes.clone());
        async move {
            let mut session = Session::open(&setting, &call, Mounts::default(), &processes).await?;
            let export = match check_exports(&setting.loaded, &mut session) {
                Ok(export) => export,
                Err(error) => return Ok(Err(error)),
            };
            let manifest = export.stagewright_plugin_manifest();
            let result = manifest.call_describe(&mut session.store).await;
            session.close(result).map(Ok)
        }
    };
    let described = guard(&setting, &call, processes, work)
        .await
        .map_err(|error| {
            LoadError::Describe(format!(
                "could not be asked what it is (`describe`): {error}"
            ))
        })??;
    convert::manifest(described).map_err(|problems| {
        LoadError::Manifest(format!(
            "has a manifest that can't be: {}",
            problems.join("; ")
        ))
    })
}

/// The export that describes; and the types of those that are called later are
/// checked now, rather than at the first call.
fn check_exports(loaded: &Loaded, session: &mut Session) -> Result<ManifestExport, LoadError> {
    let wrong = |interface| move |error| contract::wrong_export(interface, &error);
    let Session {
        store, instance, ..
    } = session;
    if let Some(planner) = &loaded.planner {
        planner
            .load(&mut *store, instance)
            .map_err(wrong("planner"))?;
    }
    if let Some(executor) = &loaded.executor {
        executor
            .load(&mut *store, instance)
            .map_err(wrong("executor"))?;
    }
    loaded
        .manifest
        .load(store, instance)
        .map_err(wrong("manifest"))
}

/// What a plugin that describes itself may read and write: nothing.
#[derive(Debug)]
struct NoServices(PluginKey);

impl NoServices {
    fn refuse<T>(&self) -> Result<T, Refusal> {
        Err(Refusal::Denied(format!(
            "plugin `{}`: `describe` has no state: what a plugin says of itself must not depend \
             on anything but the plugin",
            self.0
        )))
    }
}

#[async_trait]
impl Services for NoServices {
    fn log(&self, severity: Severity, message: &str) {
        tracing::debug!(plugin = self.0.as_str(), ?severity, message, "describe");
    }

    async fn log_room(&self) {}

    async fn status(&self, _text: &str) -> Result<(), Refusal> {
        Ok(())
    }

    async fn get(&self, _scope: Scope, _key: &str) -> Result<Option<Vec<u8>>, Refusal> {
        self.refuse()
    }

    async fn put(&self, _scope: Scope, _values: Vec<(String, Vec<u8>)>) -> Result<(), Refusal> {
        self.refuse()
    }

    async fn delete(&self, _scope: Scope, _key: &str) -> Result<(), Refusal> {
        self.refuse()
    }

    async fn keys(&self, _scope: Scope, _prefix: &str) -> Result<Vec<String>, Refusal> {
        self.refuse()
    }

    async fn commands(&self, _after: u64) -> Result<Vec<Command>, Refusal> {
        self.refuse()
    }
}
