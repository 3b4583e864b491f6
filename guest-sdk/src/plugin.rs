//! What an author fills in: a trait per export of the contract.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};
use crate::input::{PlanInput, StageRequest};
use crate::manifest::Manifest;
use crate::outcome::Outcome;
use crate::plan::{Decision, PlannedStage, RequestedStage, Version};

/// A plugin: what it is, and the types of what it is configured with.
///
/// Each type is read from the file by serde; a mistake comes back to the user as
/// an error with the line. Derive [`JsonSchema`] for each too, and put
/// `#[serde(deny_unknown_fields)]` on it, so that a misspelled key is an error.
/// Where there is nothing to configure, use [`NoConfig`]. Each is a mapping in the
/// file: a list or a plain value is refused.
pub trait Plugin: Sized + 'static {
    /// The plugin's `config` in the host's configuration.
    type Config: DeserializeOwned + JsonSchema;

    /// The `config` of each of its deploy targets in the host's configuration.
    type Target: DeserializeOwned + JsonSchema;

    /// The section `plugins.<name>` of an application file.
    type Application: DeserializeOwned + JsonSchema;

    /// Says what the plugin is. Called when the plugin is loaded, without any
    /// capability; the answer must always be the same.
    fn describe() -> Manifest;
}

/// Plans deployments.
///
/// [`log`](mod@crate::log) writes to the plan's log; [`state`](crate::state) can be read
/// only, and only in the scope of the application. Any error fails the plan.
pub trait Planner: Plugin {
    /// The versions that the target source would put live; empty if the plugin
    /// can't tell, which is the default.
    fn determine_versions(input: &PlanInput<Self>) -> Result<Vec<Version>> {
        let _ = input;
        Ok(Vec::new())
    }

    /// The strategy that fits the change from the running to the target source, or
    /// none for no opinion, which is the default. Asked only when neither the user
    /// nor the application file has decided.
    fn determine_strategy(input: &PlanInput<Self>) -> Result<Option<Decision>> {
        let _ = input;
        Ok(None)
    }

    /// The stages that bring the target source live at once. With `rollback`,
    /// those that undo them too. By default there are none.
    fn quick_sync_plan(input: &PlanInput<Self>, rollback: bool) -> Result<Vec<PlannedStage>> {
        let _ = (input, rollback);
        Ok(Vec::new())
    }

    /// The stages for the requested ones: each requested index planned once, no
    /// other index. With `rollback`, those that undo them too, each index at most
    /// once among these. By default each requested stage is planned as it is.
    fn pipeline_sync_plan(
        input: &PlanInput<Self>,
        rollback: bool,
        requested: &[RequestedStage],
    ) -> Result<Vec<PlannedStage>> {
        let _ = (input, rollback);
        Ok(requested.iter().map(PlannedStage::of).collect())
    }
}

/// Executes stages.
pub trait Executor: Plugin {
    /// Executes a stage. An error fails it, with the error's text as the reason.
    ///
    /// It may run again as the next attempt when the host died while it ran
    /// (unless the manifest says otherwise), so each step must bear being done
    /// twice. By default no stage is supported.
    fn execute_stage(request: &StageRequest<Self>) -> Result<Outcome> {
        Err(Error::unsupported(format_args!(
            "the plugin does not execute the stage {}",
            request.stage.name
        )))
    }
}

/// Where there is nothing to configure: accepts `{}` only.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoConfig {}
