//! From the contract's calls to the author's traits, and the macro that exports
//! them.
//!
//! The functions here are what the macro's output and the fake host both call, so
//! that a test takes the same way as the sandbox.

use crate::bindings::{executor, manifest, planner, types};
use crate::input::{PlanInput, StageRequest};
use crate::plugin::{Executor, Planner, Plugin};

/// Exports a plugin: its manifest always, and the traits that are named.
///
/// ```
/// # use stagewright_sdk::{Executor, Manifest, NoConfig, Planner, Plugin};
/// # struct MyPlugin;
/// # impl Plugin for MyPlugin {
/// #     type Config = NoConfig;
/// #     type Target = NoConfig;
/// #     type Application = NoConfig;
/// #     fn describe() -> Manifest {
/// #         Manifest::new("mine", "1.0.0", "")
/// #     }
/// # }
/// # impl Planner for MyPlugin {}
/// # impl Executor for MyPlugin {}
/// stagewright_sdk::export!(MyPlugin: planner, executor);
/// ```
///
/// The names are `planner` and `executor`; without any, only the manifest is
/// exported. Use it once, in the crate that is built as a component
/// (`crate-type = ["cdylib", "rlib"]`). For other targets than WebAssembly it only
/// checks that the traits are there:
///
/// ```compile_fail
/// # use stagewright_sdk::{Manifest, NoConfig, Plugin};
/// # struct MyPlugin;
/// # impl Plugin for MyPlugin {
/// #     type Config = NoConfig;
/// #     type Target = NoConfig;
/// #     type Application = NoConfig;
/// #     fn describe() -> Manifest {
/// #         Manifest::new("mine", "1.0.0", "")
/// #     }
/// # }
/// // `MyPlugin` is no `Planner`.
/// stagewright_sdk::export!(MyPlugin: planner);
/// ```
#[macro_export]
macro_rules! export {
    ($plugin:ty $(: $($export:ident),+ $(,)?)?) => {
        const _: () = {
            const fn manifest<P: $crate::Plugin>() {}
            manifest::<$plugin>();
            $($($crate::__export_check!($export, $plugin);)+)?
        };

        #[cfg(target_family = "wasm")]
        const _: () = {
            struct Component;

            impl $crate::bindings::manifest::Guest for Component {
                fn describe() -> $crate::bindings::manifest::PluginManifest {
                    $crate::__private::describe::<$plugin>()
                }
            }
            $crate::bindings::manifest::export_manifest!(
                Component with_types_in $crate::bindings::manifest
            );
            $($($crate::__export_one!($export, $plugin, Component);)+)?
        };
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __export_check {
    (planner, $plugin:ty) => {
        const fn planner<P: $crate::Planner>() {}
        planner::<$plugin>();
    };
    (executor, $plugin:ty) => {
        const fn executor<P: $crate::Executor>() {}
        executor::<$plugin>();
    };
    (manifest, $plugin:ty) => {
        compile_error!("the manifest is always exported: leave it out of the list");
    };
    ($other:ident, $plugin:ty) => {
        compile_error!(concat!(
            "`",
            stringify!($other),
            "` is no export; there are `planner` and `executor`"
        ));
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __export_one {
    (planner, $plugin:ty, $component:ident) => {
        impl $crate::bindings::planner::Guest for $component {
            fn determine_versions(
                input: $crate::bindings::types::PlanInput,
            ) -> Result<
                Vec<$crate::bindings::planner::Version>,
                $crate::bindings::types::Error,
            > {
                $crate::__private::determine_versions::<$plugin>(input)
            }

            fn determine_strategy(
                input: $crate::bindings::types::PlanInput,
            ) -> Result<
                Option<$crate::bindings::planner::Decision>,
                $crate::bindings::types::Error,
            > {
                $crate::__private::determine_strategy::<$plugin>(input)
            }

            fn quick_sync_plan(
                input: $crate::bindings::types::PlanInput,
                rollback: bool,
            ) -> Result<
                Vec<$crate::bindings::planner::PlannedStage>,
                $crate::bindings::types::Error,
            > {
                $crate::__private::quick_sync_plan::<$plugin>(input, rollback)
            }

            fn pipeline_sync_plan(
                input: $crate::bindings::types::PlanInput,
                rollback: bool,
                requested: Vec<$crate::bindings::planner::RequestedStage>,
            ) -> Result<
                Vec<$crate::bindings::planner::PlannedStage>,
                $crate::bindings::types::Error,
            > {
                $crate::__private::pipeline_sync_plan::<$plugin>(input, rollback, requested)
            }
        }
        $crate::bindings::planner::export_planner!(
            $component with_types_in $crate::bindings::planner
        );
    };
    (executor, $plugin:ty, $component:ident) => {
        impl $crate::bindings::executor::Guest for $component {
            fn execute_stage(
                request: $crate::bindings::executor::StageRequest,
            ) -> Result<
                $crate::bindings::executor::Outcome,
                $crate::bindings::types::Error,
            > {
                $crate::__private::execute_stage::<$plugin>(request)
            }
        }
        $crate::bindings::executor::export_executor!(
            $component with_types_in $crate::bindings::executor
        );
    };
    ($other:ident, $plugin:ty, $component:ident) => {};
}

/// A panic's message goes to the standard error stream, which is the log: one
/// line that says where, without advice that makes no sense in a sandbox.
#[cfg(target_family = "wasm")]
fn report_panics() {
    std::panic::set_hook(Box::new(|panic| eprintln!("{panic}")));
}

#[cfg(not(target_family = "wasm"))]
fn report_panics() {}

/// The export `manifest.describe`.
pub fn describe<P: Plugin>() -> manifest::PluginManifest {
    report_panics();
    P::describe().finish::<P>()
}

/// The export `planner.determine-versions`.
pub fn determine_versions<P: Planner>(
    input: types::PlanInput,
) -> Result<Vec<planner::Version>, types::Error> {
    report_panics();
    Ok(P::determine_versions(&PlanInput::read(input)?)?)
}

/// The export `planner.determine-strategy`.
pub fn determine_strategy<P: Planner>(
    input: types::PlanInput,
) -> Result<Option<planner::Decision>, types::Error> {
    report_panics();
    Ok(P::determine_strategy(&PlanInput::read(input)?)?)
}

/// The export `planner.quick-sync-plan`.
pub fn quick_sync_plan<P: Planner>(
    input: types::PlanInput,
    rollback: bool,
) -> Result<Vec<planner::PlannedStage>, types::Error> {
    report_panics();
    Ok(P::quick_sync_plan(&PlanInput::read(input)?, rollback)?)
}

/// The export `planner.pipeline-sync-plan`.
pub fn pipeline_sync_plan<P: Planner>(
    input: types::PlanInput,
    rollback: bool,
    requested: Vec<planner::RequestedStage>,
) -> Result<Vec<planner::PlannedStage>, types::Error> {
    report_panics();
    Ok(P::pipeline_sync_plan(
        &PlanInput::read(input)?,
        rollback,
        &requested,
    )?)
}

/// The export `executor.execute-stage`.
pub fn execute_stage<P: Executor>(
    request: executor::StageRequest,
) -> Result<executor::Outcome, types::Error> {
    report_panics();
    Ok(P::execute_stage(&StageRequest::read(request)?)?.into())
}
