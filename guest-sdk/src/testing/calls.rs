//! The calls that a fake host makes, and what a real one would refuse of the
//! answers.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::time::Duration;

use super::current::{self, Call, Entered};
use super::{FakeHost, StageRun};
use crate::bindings::manifest::PluginManifest;
use crate::bindings::{executor, types};
use crate::error::{Error, Result};
use crate::export;
use crate::outcome::{Outcome, Status, Wake};
use crate::plan::{Decision, PlannedStage, RequestedStage, Version};
use crate::plugin::{Executor, Planner, Plugin};

impl FakeHost {
    /// Asks the plugin what it is.
    pub fn describe<P: Plugin>(&self) -> PluginManifest {
        let _entered = self.enter(Call::Describe);
        export::describe::<P>()
    }

    /// Asks the planner for the versions.
    pub fn determine_versions<P: Planner>(&self) -> Result<Vec<Version>> {
        let _entered = self.enter(Call::Plan);
        Ok(export::determine_versions::<P>(self.input())?)
    }

    /// Asks the planner for the strategy.
    pub fn determine_strategy<P: Planner>(&self) -> Result<Option<Decision>> {
        let _entered = self.enter(Call::Plan);
        Ok(export::determine_strategy::<P>(self.input())?)
    }

    /// Asks the planner for the stages of a quick sync.
    pub fn quick_sync_plan<P: Planner>(&self, rollback: bool) -> Result<Vec<PlannedStage>> {
        let _entered = self.enter(Call::Plan);
        let planned = export::quick_sync_plan::<P>(self.input(), rollback)?;
        check_names::<P>(&planned, rollback);
        Ok(planned)
    }

    /// Asks the planner for the stages of a pipeline. See
    /// [`requested`](super::requested).
    ///
    /// # Panics
    /// If the plan breaks a rule of the contract, so that a host would refuse it.
    pub fn pipeline_sync_plan<P: Planner>(
        &self,
        rollback: bool,
        requested: &[RequestedStage],
    ) -> Result<Vec<PlannedStage>> {
        let _entered = self.enter(Call::Plan);
        let planned = export::pipeline_sync_plan::<P>(self.input(), rollback, requested.to_vec())?;
        check_names::<P>(&planned, rollback);
        check_indexes(&planned, requested);
        Ok(planned)
    }

    /// A stage of this name with its options as JSON, to be executed.
    pub fn stage(&mut self, name: &str, options: impl Display) -> StageRun {
        self.stages += 1;
        StageRun::new(
            format!("{}-stage-{}", self.deployment.id, self.stages),
            name,
            &options,
        )
    }

    /// Executes a stage's next turn.
    ///
    /// # Panics
    /// If the plugin suspends the stage while a program still runs, or only until
    /// a command though nobody may give one, which a host would refuse; or if the
    /// stage waits for a command that nobody has given.
    pub fn execute<P: Executor>(&mut self, stage: &mut StageRun) -> Result<Outcome> {
        stage.come_back(self.now());
        let first_started_at = *stage.first_started_at.get_or_insert(self.now());
        self.last_stage = Some(stage.id.clone());
        let request = executor::StageRequest {
            input: self.input(),
            stage: executor::Stage {
                id: stage.id.clone(),
                name: stage.name.clone(),
                index: stage.index,
                rollback: stage.rollback,
                metadata: stage.metadata.clone(),
                first_started_at: first_started_at.as_millis(),
                attempt: stage.attempt,
                turn: stage.turn,
                cause: stage.cause,
            },
            options: stage.options.clone(),
        };
        let entered = self.enter(Call::Stage(stage.id.clone()));
        self.world.facts().stage = Some(stage.clone());
        let outcome = export::execute_stage::<P>(request).map_err(Error::from);
        drop(entered);
        let running = {
            let mut facts = self.world.facts();
            // A cancelled stage is not called again; the next one is another.
            facts.cancelled = false;
            facts.cancel_on_log = None;
            facts.reactions.clear();
            if let Some(executed) = facts.stage.take() {
                stage.commands = executed.commands;
            }
            facts.still_running()
        };
        let outcome = outcome.map(read_outcome);
        stage.ended = ended(&outcome);
        let outcome = outcome?;
        if let Status::Suspended(wakes) = &outcome.status {
            assert!(running.is_empty(), "suspended while {running:?} still run");
            stage.suspend(wakes);
        }
        Ok(outcome)
    }

    /// Moves the clock to when a suspended stage wakes, and executes its next turn.
    /// If a command has come that it waits for, the clock stays.
    ///
    /// # Panics
    /// If the stage is not suspended, or waits for a command that nobody has given.
    pub fn wake<P: Executor>(&mut self, stage: &mut StageRun) -> Result<Outcome> {
        assert!(stage.is_suspended(), "the stage is not suspended");
        if let (false, Some(at)) = (stage.has_command(), stage.wakes_at) {
            let soonest = self.now() + Duration::from_secs(1);
            self.set_now(at.max(soonest));
        }
        self.execute::<P>(stage)
    }

    fn enter(&self, call: Call) -> Entered {
        let mut facts = self.world.facts();
        facts.call = call;
        facts.deployment.clone_from(&self.deployment.id);
        drop(facts);
        current::enter(&self.world)
    }

    fn input(&self) -> types::PlanInput {
        types::PlanInput {
            deployment: self.deployment.clone(),
            source_remote_url: self.source_remote_url.clone(),
            last_successful_commit_hash: self.last_successful_commit_hash.clone(),
            last_successful_config_file_name: self
                .running_source
                .as_ref()
                .map(|source| source.config_file_name.clone()),
            plugin_config: self.config.clone(),
            application_section: self.section.clone(),
            deploy_targets: self.deploy_targets.clone(),
            target_source: self.target_source.clone(),
            running_source: self.running_source.clone(),
        }
    }
}

fn read_outcome(outcome: executor::Outcome) -> Outcome {
    Outcome {
        status: match outcome.status {
            executor::Status::Succeeded => Status::Succeeded,
            executor::Status::Failed(reason) => Status::Failed(reason),
            executor::Status::Skipped(reason) => Status::Skipped(reason),
            executor::Status::Exited(reason) => Status::Exited(reason),
            executor::Status::Suspended(wakes) => {
                assert!(!wakes.is_empty(), "a suspension has a wake");
                Status::Suspended(wakes.into_iter().map(Wake::from).collect())
            }
        },
        targets: outcome.targets,
        exit_code: outcome.exit_code,
    }
}

/// The status of a stage that has ended.
fn ended(outcome: &Result<Outcome>) -> Option<&'static str> {
    match outcome.as_ref().map(|outcome| &outcome.status) {
        Ok(Status::Succeeded) => Some("succeeded"),
        Ok(Status::Failed(_)) => Some("failed"),
        Ok(Status::Skipped(_)) => Some("skipped"),
        Ok(Status::Exited(_)) => Some("exited"),
        Ok(Status::Suspended(_)) => None,
        Err(Error::Cancelled) => Some("cancelled"),
        Err(_) => Some("failed"),
    }
}

/// A plan names only stages that the plugin defines, each as what it is, and none
/// to undo others unless asked.
fn check_names<P: Plugin>(planned: &[PlannedStage], rollback: bool) {
    let defined = export::describe::<P>().stages;
    for stage in planned {
        let definition = defined
            .iter()
            .find(|definition| definition.name == stage.name)
            .unwrap_or_else(|| panic!("the manifest does not define {}", stage.name));
        assert_eq!(
            definition.rollback, stage.rollback,
            "{} is planned as the wrong kind",
            stage.name
        );
        assert!(
            rollback || !stage.rollback,
            "{} is planned though no rollback was asked for",
            stage.name
        );
    }
}

/// Each requested index is planned once, no other index, and each at most once
/// among the rollback stages.
fn check_indexes(planned: &[PlannedStage], requested: &[RequestedStage]) {
    let asked: BTreeSet<u32> = requested.iter().map(|stage| stage.index).collect();
    let mut forward = BTreeSet::new();
    let mut back = BTreeSet::new();
    for stage in planned {
        let index = stage.index;
        assert!(
            asked.contains(&index),
            "{} is planned at {index}, which was not requested",
            stage.name
        );
        let seen = if stage.rollback {
            &mut back
        } else {
            &mut forward
        };
        assert!(seen.insert(index), "{index} is planned twice");
        for undone in stage.undoes.iter().flatten() {
            assert!(
                asked.contains(undone),
                "{} undoes {undone}, which was not requested",
                stage.name
            );
        }
    }
    assert_eq!(forward, asked, "each requested stage is planned");
}
