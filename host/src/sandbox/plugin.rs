//! A WebAssembly component as a [`Plugin`].

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use super::access::Access;
use super::bindings::executor::ExecutorExport;
use super::bindings::manifest::ManifestExport;
use super::bindings::planner::PlannerExport;
use super::component::Loaded;
use super::convert;
use super::instance::{Session, Setting, guard};
use super::limits::PluginLimits;
use super::process::Processes;
use super::wasi::Mounts;
use super::{LoadError, PluginConfig, Sandbox, contract};
use crate::model::{
    Call, Cancel, Command, Decision, Export, Manifest, Outcome, OutcomeStatus, PlanInput,
    PlannedStage, Plugin, PluginError, PluginKey, Refusal, RequestedStage, Scope, Services,
    Severity, StageRequest, Version,
};

/// A plugin that runs in a sandbox. Every call gets an instance of its own.
pub struct WasmPlugin {
    sandbox: Sandbox,
    loaded: Arc<Loaded>,
    manifest: Manifest,
    access: Arc<Access>,
    limits: Arc<PluginLimits>,
}

impl fmt::Debug for WasmPlugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WasmPlugin")
            .field("key", &self.access.key)
            .field("name", &self.manifest.name)
            .field("version", &self.manifest.version)
            .finish_non_exhaustive()
    }
}

impl WasmPlugin {
    /// Asks a component what it is.
    pub(super) async fn describe(
        sandbox: Sandbox,
        loaded: Arc<Loaded>,
        config: &PluginConfig,
    ) -> Result<Self, LoadError> {
        let (_canceller, cancel) = Cancel::new();
        let call = Call {
            services: Arc::new(NoServices(config.key.clone())),
            scratch: None,
            cancel,
            timeout: sandbox.settings().describe_timeout,
        };
        let none = Arc::new(Access::none(config.key.clone(), config.origin.clone()));
        let mut plugin = Self {
            sandbox,
            loaded,
            manifest: Manifest::default(),
            access: none,
            limits: Arc::new(config.limits.clone()),
        };
        let processes = Arc::new(Processes::default());
        let work = async {
            let mut session = plugin.open(&call, Mounts::default(), &processes).await?;
            let export = match plugin.check_exports(&mut session) {
                Ok(export) => export,
                Err(error) => return Ok(Err(error)),
            };
            let result = export
                .stagewright_plugin_manifest()
                .call_describe(&mut session.store)
                .await;
            session.close(result).map(Ok)
        };
        let described = guard(&call, plugin.grace(), processes.clone(), work)
            .await
            .map_err(|error| {
                LoadError::Describe(format!(
                    "could not be asked what it is (`describe`): {error}"
                ))
            })??;
        plugin.manifest = convert::manifest(described).map_err(|problems| {
            LoadError::Manifest(format!(
                "has a manifest that can't be: {}",
                problems.join("; ")
            ))
        })?;
        plugin.access = Arc::new(Access::new(
            config.key.clone(),
            config.origin.clone(),
            &plugin.manifest,
            &config.grants,
            std::env::var_os("PATH").as_deref(),
        ));
        Ok(plugin)
    }

    /// The export that describes; and the types of those that are called later are
    /// checked now, rather than at the first call.
    fn check_exports(&self, session: &mut Session<'_>) -> Result<ManifestExport, LoadError> {
        let wrong = |interface| move |error| contract::wrong_export(interface, &error);
        let Session {
            store, instance, ..
        } = session;
        if let Some(planner) = &self.loaded.planner {
            planner
                .load(&mut *store, instance)
                .map_err(wrong("planner"))?;
        }
        if let Some(executor) = &self.loaded.executor {
            executor
                .load(&mut *store, instance)
                .map_err(wrong("executor"))?;
        }
        self.loaded
            .manifest
            .load(store, instance)
            .map_err(wrong("manifest"))
    }

    fn grace(&self) -> std::time::Duration {
        self.sandbox.settings().grace
    }

    async fn open<'a>(
        &'a self,
        call: &Call,
        mounts: Mounts,
        processes: &Arc<Processes>,
    ) -> Result<Session<'a>, PluginError> {
        let setting = Setting {
            runtime: &self.sandbox.0.runtime,
            grace: self.grace(),
            pre: &self.loaded.pre,
            access: &self.access,
            limits: &self.limits,
        };
        Session::open(&setting, call, mounts, processes).await
    }

    /// A session with the planner's exports.
    async fn planner<'a>(
        &'a self,
        call: &Call,
        input: &PlanInput,
        processes: &Arc<Processes>,
    ) -> Result<(Session<'a>, PlannerExport), PluginError> {
        let Some(indices) = &self.loaded.planner else {
            return Err(self.lacks("planner"));
        };
        let mounts = Mounts::new(input, call.scratch.as_ref());
        let mut session = self.open(call, mounts, processes).await?;
        match indices.load(&mut session.store, &session.instance) {
            Ok(planner) => Ok((session, planner)),
            Err(error) => session.close(Err(error)),
        }
    }

    async fn executor<'a>(
        &'a self,
        call: &Call,
        input: &PlanInput,
        processes: &Arc<Processes>,
    ) -> Result<(Session<'a>, ExecutorExport), PluginError> {
        let Some(indices) = &self.loaded.executor else {
            return Err(self.lacks("executor"));
        };
        let mounts = Mounts::new(input, call.scratch.as_ref());
        let mut session = self.open(call, mounts, processes).await?;
        match indices.load(&mut session.store, &session.instance) {
            Ok(executor) => Ok((session, executor)),
            Err(error) => session.close(Err(error)),
        }
    }

    fn lacks(&self, export: &str) -> PluginError {
        PluginError::Unsupported(format!(
            "plugin `{}` does not export `{export}`",
            self.access.key
        ))
    }
}

#[async_trait]
impl Plugin for WasmPlugin {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn exports(&self, export: Export) -> bool {
        match export {
            Export::Planner => self.loaded.planner.is_some(),
            Export::Executor => self.loaded.executor.is_some(),
        }
    }

    async fn determine_versions(
        &self,
        call: &Call,
        input: &PlanInput,
    ) -> Result<Vec<Version>, PluginError> {
        let processes = Arc::new(Processes::default());
        let work = async {
            let (mut session, planner) = self.planner(call, input, &processes).await?;
            let result = planner
                .stagewright_plugin_planner()
                .call_determine_versions(&mut session.store, &convert::plan_input(input))
                .await;
            let versions = session.close(result)?.map_err(convert::error)?;
            Ok(versions.into_iter().map(convert::version).collect())
        };
        guard(call, self.grace(), processes.clone(), work).await
    }

    async fn determine_strategy(
        &self,
        call: &Call,
        input: &PlanInput,
    ) -> Result<Option<Decision>, PluginError> {
        let processes = Arc::new(Processes::default());
        let work = async {
            let (mut session, planner) = self.planner(call, input, &processes).await?;
            let result = planner
                .stagewright_plugin_planner()
                .call_determine_strategy(&mut session.store, &convert::plan_input(input))
                .await;
            let decision = session.close(result)?.map_err(convert::error)?;
            Ok(decision.map(convert::decision))
        };
        guard(call, self.grace(), processes.clone(), work).await
    }

    async fn quick_sync_plan(
        &self,
        call: &Call,
        input: &PlanInput,
        rollback: bool,
    ) -> Result<Vec<PlannedStage>, PluginError> {
        let processes = Arc::new(Processes::default());
        let work = async {
            let (mut session, planner) = self.planner(call, input, &processes).await?;
            let result = planner
                .stagewright_plugin_planner()
                .call_quick_sync_plan(&mut session.store, &convert::plan_input(input), rollback)
                .await;
            let stages = session.close(result)?.map_err(convert::error)?;
            Ok(stages.into_iter().map(convert::planned).collect())
        };
        guard(call, self.grace(), processes.clone(), work).await
    }

    async fn pipeline_sync_plan(
        &self,
        call: &Call,
        input: &PlanInput,
        rollback: bool,
        requested: &[RequestedStage],
    ) -> Result<Vec<PlannedStage>, PluginError> {
        let processes = Arc::new(Processes::default());
        let work = async {
            let (mut session, planner) = self.planner(call, input, &processes).await?;
            let result = planner
                .stagewright_plugin_planner()
                .call_pipeline_sync_plan(
                    &mut session.store,
                    &convert::plan_input(input),
                    rollback,
                    &convert::requested(requested),
                )
                .await;
            let stages = session.close(result)?.map_err(convert::error)?;
            Ok(stages.into_iter().map(convert::planned).collect())
        };
        guard(call, self.grace(), processes.clone(), work).await
    }

    async fn execute_stage(
        &self,
        call: &Call,
        request: &StageRequest,
    ) -> Result<Outcome, PluginError> {
        let processes = Arc::new(Processes::default());
        let work = async {
            let (mut session, executor) = self.executor(call, &request.input, &processes).await?;
            let result = executor
                .stagewright_plugin_executor()
                .call_execute_stage(&mut session.store, &convert::stage_request(request))
                .await;
            let left = processes.left_running();
            let outcome = session.close(result)?.map_err(convert::error)?;
            let outcome = convert::outcome(outcome)?;
            if matches!(outcome.status, OutcomeStatus::Suspended(_)) && !left.is_empty() {
                return Err(PluginError::Internal(format!(
                    "the plugin suspended the stage while programs that it started still ran \
                     ({}): wait for them or end them first",
                    left.join(", ")
                )));
            }
            Ok(outcome)
        };
        guard(call, self.grace(), processes.clone(), work).await
    }
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
