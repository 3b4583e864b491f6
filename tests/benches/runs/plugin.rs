//! The benchmark's plugin: `NOOP` does nothing, `APPROVE` waits for an approval,
//! `SLEEP` is suspended for a day. It tells when each of its turns begins.

use std::time::Instant;

use async_trait::async_trait;
use stagewright::model::{
    Call, Decision, DeploymentId, Export, Manifest, Operation, Outcome, OutcomeStatus, PlanInput,
    PlannedStage, Plugin, PluginError, RequestedStage, StageDefinition, StageRequest, Timestamp,
    Version, Wake,
};
use tokio::sync::mpsc;

/// A day, in milliseconds.
pub(crate) const DAY: u64 = 86_400_000;

/// A turn that began.
#[derive(Debug)]
pub(crate) struct Begun {
    pub(crate) deployment: DeploymentId,
    pub(crate) turn: u32,
    pub(crate) at: Instant,
}

/// Does nothing, and tells when.
#[derive(Debug)]
pub(crate) struct Bench {
    manifest: Manifest,
    begun: mpsc::UnboundedSender<Begun>,
}

impl Bench {
    /// The plugin, and where it tells of its turns.
    pub(crate) fn new() -> (Self, mpsc::UnboundedReceiver<Begun>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let stage = |name: &str| StageDefinition {
            name: name.to_owned(),
            description: String::new(),
            rollback: false,
            options_schema: None,
        };
        let manifest = Manifest {
            name: "bench".to_owned(),
            version: "1.0.0".to_owned(),
            stages: ["NOOP", "APPROVE", "SLEEP"].map(stage).into(),
            ..Manifest::default()
        };
        let plugin = Self {
            manifest,
            begun: sender,
        };
        (plugin, receiver)
    }
}

#[async_trait]
impl Plugin for Bench {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn exports(&self, _: Export) -> bool {
        true
    }

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
        requested: &[RequestedStage],
    ) -> Result<Vec<PlannedStage>, PluginError> {
        let planned = requested.iter().map(|stage| PlannedStage {
            name: stage.name.clone(),
            index: stage.index,
            description: String::new(),
            rollback: false,
            undoes: None,
            visible: true,
            predefined: false,
            metadata: Default::default(),
            operation: if stage.name == "APPROVE" {
                Operation::Approve
            } else {
                Operation::None
            },
            authorized_operators: Vec::new(),
            min_operators: 1,
        });
        Ok(planned.collect())
    }

    async fn execute_stage(
        &self,
        call: &Call,
        request: &StageRequest,
    ) -> Result<Outcome, PluginError> {
        let at = Instant::now();
        // Whoever no longer listens has seen enough.
        let _ = self.begun.send(Begun {
            deployment: request.input.deployment.clone(),
            turn: request.attempt.turn,
            at,
        });
        let status = match request.name.as_str() {
            "APPROVE" => {
                let given = call.services.commands(0).await;
                let given = given.map_err(|error| PluginError::Internal(error.to_string()))?;
                if given.is_empty() {
                    OutcomeStatus::Suspended(vec![Wake::Command(0)])
                } else {
                    OutcomeStatus::Succeeded
                }
            }
            "SLEEP" if request.attempt.turn == 1 => {
                let until = request.first_started_at.0 + DAY;
                OutcomeStatus::Suspended(vec![Wake::At(Timestamp(until))])
            }
            _ => OutcomeStatus::Succeeded,
        };
        Ok(Outcome {
            status,
            targets: Vec::new(),
            exit_code: None,
        })
    }
}
