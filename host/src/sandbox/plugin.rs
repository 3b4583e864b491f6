//! A WebAssembly component as a [`Plugin`].

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use wasmtime::Store;

use super::access::Access;
use super::bindings::imports::stagewright::plugin::types;
use super::bindings::planner::PlannerExport;
use super::component::Loaded;
use super::convert;
use super::describe::describe;
use super::instance::{CallState, Session, Setting, guard};
use super::process::Processes;
use super::wasi::Mounts;
use super::{LoadError, PluginConfig, Sandbox};
use crate::model::{
    Call, Decision, Export, Manifest, Outcome, OutcomeStatus, PlanInput, PlannedStage, Plugin,
    PluginError, RequestedStage, StageRequest, Version,
};

/// A plugin that runs in a sandbox. Every call gets an instance of its own.
pub struct WasmPlugin {
    manifest: Manifest,
    setting: Arc<Setting>,
}

/// What a plugin answers, unless the call breaks down.
type Answer<T> = wasmtime::Result<Result<T, types::Error>>;

impl fmt::Debug for WasmPlugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WasmPlugin")
            .field("key", &self.setting.access.key)
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
        let manifest = describe(&sandbox, &loaded, config).await?;
        let access = Access::new(
            config.key.clone(),
            config.origin.clone(),
            &manifest,
            &config.grants,
            std::env::var_os("PATH").as_deref(),
        );
        let setting = Setting {
            runtime: sandbox.0.runtime.clone(),
            grace: sandbox.settings().grace,
            loaded,
            access: Arc::new(access),
            limits: Arc::new(config.limits.clone()),
        };
        Ok(Self {
            manifest,
            setting: Arc::new(setting),
        })
    }

    /// Asks one question of a planner.
    async fn ask<T: Send + 'static>(
        &self,
        call: &Call,
        input: &PlanInput,
        question: impl for<'a> FnOnce(
            &'a PlannerExport,
            &'a mut Store<CallState>,
            &'a types::PlanInput,
        ) -> BoxFuture<'a, Answer<T>>
        + Send
        + 'static,
    ) -> Result<T, PluginError> {
        let processes = Arc::new(Processes::default());
        let mounts = Mounts::new(input, call.scratch.as_ref());
        let input = convert::plan_input(input);
        let work = {
            let (setting, call, processes) =
                (self.setting.clone(), call.clone(), processes.clone());
            async move {
                let Some(indices) = &setting.loaded.planner else {
                    return Err(lacks(&setting, "planner"));
                };
                let mut session = Session::open(&setting, &call, mounts, &processes).await?;
                let planner = match indices.load(&mut session.store, &session.instance) {
                    Ok(planner) => planner,
                    Err(error) => return session.close(Err(error)),
                };
                let result = question(&planner, &mut session.store, &input).await;
                session.close(result)?.map_err(convert::error)
            }
        };
        guard(&self.setting, call, processes, work).await
    }
}

fn lacks(setting: &Setting, export: &str) -> PluginError {
    PluginError::Unsupported(format!(
        "plugin `{}` does not export `{export}`",
        setting.access.key
    ))
}

#[async_trait]
impl Plugin for WasmPlugin {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn exports(&self, export: Export) -> bool {
        match export {
            Export::Planner => self.setting.loaded.planner.is_some(),
            Export::Executor => self.setting.loaded.executor.is_some(),
        }
    }

    async fn determine_versions(
        &self,
        call: &Call,
        input: &PlanInput,
    ) -> Result<Vec<Version>, PluginError> {
        let versions = self.ask(call, input, |planner, store, input| {
            let planner = planner.stagewright_plugin_planner();
            Box::pin(planner.call_determine_versions(store, input))
        });
        Ok(versions.await?.into_iter().map(convert::version).collect())
    }

    async fn determine_strategy(
        &self,
        call: &Call,
        input: &PlanInput,
    ) -> Result<Option<Decision>, PluginError> {
        let decision = self.ask(call, input, |planner, store, input| {
            let planner = planner.stagewright_plugin_planner();
            Box::pin(planner.call_determine_strategy(store, input))
        });
        Ok(decision.await?.map(convert::decision))
    }

    async fn quick_sync_plan(
        &self,
        call: &Call,
        input: &PlanInput,
        rollback: bool,
    ) -> Result<Vec<PlannedStage>, PluginError> {
        let stages = self.ask(call, input, move |planner, store, input| {
            let planner = planner.stagewright_plugin_planner();
            Box::pin(planner.call_quick_sync_plan(store, input, rollback))
        });
        Ok(stages.await?.into_iter().map(convert::planned).collect())
    }

    async fn pipeline_sync_plan(
        &self,
        call: &Call,
        input: &PlanInput,
        rollback: bool,
        requested: &[RequestedStage],
    ) -> Result<Vec<PlannedStage>, PluginError> {
        let requested = convert::requested(requested);
        let stages = self.ask(call, input, move |planner, store, input| {
            Box::pin(async move {
                let planner = planner.stagewright_plugin_planner();
                let requested = requested;
                let plan = planner.call_pipeline_sync_plan(store, input, rollback, &requested);
                plan.await
            })
        });
        Ok(stages.await?.into_iter().map(convert::planned).collect())
    }

    async fn execute_stage(
        &self,
        call: &Call,
        request: &StageRequest,
    ) -> Result<Outcome, PluginError> {
        let processes = Arc::new(Processes::default());
        let mounts = Mounts::new(&request.input, call.scratch.as_ref());
        let request = convert::stage_request(request);
        let work = {
            let (setting, call, processes) =
                (self.setting.clone(), call.clone(), processes.clone());
            async move {
                let Some(indices) = &setting.loaded.executor else {
                    return Err(lacks(&setting, "executor"));
                };
                let mut session = Session::open(&setting, &call, mounts, &processes).await?;
                let executor = match indices.load(&mut session.store, &session.instance) {
                    Ok(executor) => executor,
                    Err(error) => return session.close(Err(error)),
                };
                let result = executor
                    .stagewright_plugin_executor()
                    .call_execute_stage(&mut session.store, &request)
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
            }
        };
        guard(&self.setting, call, processes, work).await
    }
}
