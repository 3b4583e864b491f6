//! A plugin of a test's own code: what its one stage, `NATIVE`, does is a function.

use std::fmt;

use async_trait::async_trait;
use stagewright::model::{
    Call, Decision, Export, Manifest, Outcome, OutcomeStatus, PlanInput, PlannedStage, Plugin,
    PluginError, RequestedStage, StageDefinition, StageRequest, Version,
};

/// What the stage does.
type Act = dyn Fn(&Call, &StageRequest) -> OutcomeStatus + Send + Sync;

/// The plugin.
pub struct Native {
    manifest: Manifest,
    act: Box<Act>,
}

impl Native {
    /// A plugin whose stage does this.
    pub fn new(
        act: impl Fn(&Call, &StageRequest) -> OutcomeStatus + Send + Sync + 'static,
    ) -> Self {
        let stage = StageDefinition {
            name: "NATIVE".to_owned(),
            description: "Does what a test says".to_owned(),
            rollback: false,
            options_schema: None,
        };
        Self {
            manifest: Manifest {
                name: "native".to_owned(),
                version: "1.0.0".to_owned(),
                stages: vec![stage],
                ..Manifest::default()
            },
            act: Box::new(act),
        }
    }
}

impl fmt::Debug for Native {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Native").finish_non_exhaustive()
    }
}

#[async_trait]
impl Plugin for Native {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn exports(&self, export: Export) -> bool {
        export == Export::Executor
    }

    async fn execute_stage(
        &self,
        call: &Call,
        request: &StageRequest,
    ) -> Result<Outcome, PluginError> {
        Ok(Outcome {
            status: (self.act)(call, request),
            targets: Vec::new(),
            exit_code: None,
        })
    }

    // Never called, since it is no planner.

    async fn determine_versions(
        &self,
        _: &Call,
        _: &PlanInput,
    ) -> Result<Vec<Version>, PluginError> {
        Ok(Vec::new())
    }

    async fn determine_strategy(
        &self,
        _: &Call,
        _: &PlanInput,
    ) -> Result<Option<Decision>, PluginError> {
        Ok(None)
    }

    async fn quick_sync_plan(
        &self,
        _: &Call,
        _: &PlanInput,
        _: bool,
    ) -> Result<Vec<PlannedStage>, PluginError> {
        Ok(Vec::new())
    }

    async fn pipeline_sync_plan(
        &self,
        _: &Call,
        _: &PlanInput,
        _: bool,
        _: &[RequestedStage],
    ) -> Result<Vec<PlannedStage>, PluginError> {
        Ok(Vec::new())
    }
}
