//! From a file's bytes to a component that can be called: every error of linking
//! shows here, at load, and never at the first call.

use std::sync::Arc;

use wasmtime::component::{Component, InstancePre, Linker};

use super::LoadError;
use super::bindings::executor::ExecutorExportIndices;
use super::bindings::manifest::ManifestExportIndices;
use super::bindings::planner::PlannerExportIndices;
use super::contract;
use super::engine::Runtime;
use super::identify::{identify, truncated};
use super::instance::CallState;

/// A component that was checked, compiled and linked.
pub(super) struct Loaded {
    pub(super) pre: InstancePre<CallState>,
    pub(super) manifest: ManifestExportIndices,
    pub(super) planner: Option<PlannerExportIndices>,
    pub(super) executor: Option<ExecutorExportIndices>,
}

/// Checks, compiles and links. Compiling keeps a thread busy for as long as it
/// takes, so it gets one of those that may block.
pub(super) async fn load(
    runtime: &Arc<Runtime>,
    linker: &Linker<CallState>,
    bytes: Arc<[u8]>,
) -> Result<Loaded, LoadError> {
    identify(&bytes)?;
    let component = {
        let runtime = runtime.clone();
        tokio::task::spawn_blocking(move || compile(&runtime, &bytes))
            .await
            .map_err(|error| LoadError::Invalid(format!("broke the compiler: {error}")))??
    };
    let engine = &runtime.engine;
    let component_type = component.component_type();
    let exports = contract::exports(component_type.exports(engine).map(|(name, _)| name))?;
    contract::imports(component_type.imports(engine).map(|(name, _)| name))?;
    let pre = linker
        .instantiate_pre(&component)
        .map_err(|error| contract::unknown_import(&error))?;
    let wrong = |interface| move |error| contract::wrong_export(interface, &error);
    Ok(Loaded {
        manifest: ManifestExportIndices::new(&pre).map_err(wrong("manifest"))?,
        planner: exports
            .planner
            .then(|| PlannerExportIndices::new(&pre).map_err(wrong("planner")))
            .transpose()?,
        executor: exports
            .executor
            .then(|| ExecutorExportIndices::new(&pre).map_err(wrong("executor")))
            .transpose()?,
        pre,
    })
}

/// The only place that compiles.
fn compile(runtime: &Runtime, bytes: &[u8]) -> Result<Component, LoadError> {
    Component::from_binary(&runtime.engine, bytes).map_err(|error| {
        let text = format!("{error:#}");
        if text.contains("unexpected end-of-file") || text.contains("is out of bounds") {
            return truncated(bytes.len());
        }
        let text = text.lines().map(str::trim).collect::<Vec<_>>().join(" ");
        LoadError::Invalid(format!("is not a valid component: {text}"))
    })
}
