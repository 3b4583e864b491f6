//! A plugin in one's own code: its stage greets whom its options name.

use async_trait::async_trait;
use serde_json::json;
use stagewright::model::{
    Call, Decision, Export, Manifest, Outcome, OutcomeStatus, PlanInput, PlannedStage, Plugin,
    PluginError, RequestedStage, Severity, StageDefinition, StageRequest, Version,
};

/// Greets.
#[derive(Debug)]
pub(crate) struct Greet(Manifest);

impl Default for Greet {
    fn default() -> Self {
        let options = json!({
            "type": "object",
            "properties": { "whom": { "type": "string" } },
            "required": ["whom"],
            "additionalProperties": false,
        });
        Self(Manifest {
            name: "greet".to_owned(),
            version: "1.0.0".to_owned(),
            stages: vec![StageDefinition {
                name: "GREET".to_owned(),
                description: "Greets someone".to_owned(),
                rollback: false,
                options_schema: Some(options),
            }],
            ..Manifest::default()
        })
    }
}

#[async_trait]
impl Plugin for Greet {
    fn manifest(&self) -> &Manifest {
        &self.0
    }

    // Without a planner, each of its stages is planned as the pipeline has it.
    fn exports(&self, export: Export) -> bool {
        export == Export::Executor
    }

    async fn execute_stage(
        &self,
        call: &Call,
        request: &StageRequest,
    ) -> Result<Outcome, PluginError> {
        let whom = request.options["whom"].as_str().unwrap_or_default();
        call.services.log(Severity::Info, &format!("hello, {whom}"));
        Ok(Outcome {
            status: OutcomeStatus::Succeeded,
            targets: Vec::new(),
            exit_code: None,
        })
    }

    // Never called, since `exports` says so.

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
