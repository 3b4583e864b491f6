//! The stage `WAIT_APPROVAL`: goes on when enough people have approved.
//!
//! It holds no instance while it waits: it says which approvals it has seen, and
//! the host calls it again at the next one. Who has approved is asked of the host
//! each time, which keeps it and refuses whoever may not approve; so neither a
//! restart nor a lost attempt forgets an approval.

mod options;

use stagewright_sdk::commands::{self, Command, CommandKind};
use stagewright_sdk::{
    Error, Executor, Manifest, NoConfig, Operation, Outcome, PlanInput, PlannedStage, Planner,
    Plugin, RequestedStage, Result, StageRequest, info, state, status, success,
};

use options::Options;

/// The plugin.
pub struct Approval;

stagewright_sdk::export!(Approval: planner, executor);

impl Plugin for Approval {
    type Config = NoConfig;
    type Target = NoConfig;
    type Application = NoConfig;

    fn describe() -> Manifest {
        Manifest::new(
            "approval",
            env!("CARGO_PKG_VERSION"),
            "Waits until people have approved.",
        )
        .stage::<Options>("WAIT_APPROVAL", "Waits for an approval")
    }
}

impl Planner for Approval {
    fn pipeline_sync_plan(
        _: &PlanInput<Self>,
        _rollback: bool,
        requested: &[RequestedStage],
    ) -> Result<Vec<PlannedStage>> {
        requested
            .iter()
            .map(|stage| {
                // A mistake stops the deployment here, not after the stages before.
                let options: Options = stage.options()?;
                options
                    .check()
                    .map_err(|wrong| stage.invalid_options(&wrong.pointer, wrong.message))?;
                let planned = PlannedStage::of(stage)
                    .operated_by(Operation::Approve, options.approvers())
                    .by_at_least(options.min_approver_num);
                Ok(if stage.description.is_empty() {
                    planned.describe(format!("Waits for the approval of {options}"))
                } else {
                    planned
                })
            })
            .collect()
    }
}

/// The state of the stage: the number of the last command that the log has told
/// of; 0 when it has told whose approval is waited for.
const TOLD: &str = "told";

impl Executor for Approval {
    fn execute_stage(request: &StageRequest<Self>) -> Result<Outcome> {
        let options: Options = request.options()?;
        options
            .check()
            .map_err(|wrong| Error::invalid_options(&wrong.pointer, wrong.message))?;
        let commands = commands::after(0)?;
        let approvals = approvals(&commands);
        tell(&options, &commands, &approvals)?;
        let (given, needed) = (approvals.len(), options.min_approver_num as usize);
        status!("{given} of {needed} approved");
        if given >= needed {
            let names: Vec<&str> = approvals.iter().map(|one| one.by.as_str()).collect();
            success!("Approved by {}", names.join(", "));
            return Ok(Outcome::succeeded());
        }
        Ok(Outcome::suspend_until_command(last(&commands)))
    }
}

/// The first approval of each person, in order.
fn approvals(commands: &[Command]) -> Vec<&Command> {
    let mut first: Vec<&Command> = Vec::new();
    for command in commands {
        let is_new = first.iter().all(|before| before.by != command.by);
        if command.kind == CommandKind::Approve && is_new {
            first.push(command);
        }
    }
    first
}

fn last(commands: &[Command]) -> u64 {
    commands.last().map_or(0, |last| last.number)
}

/// Says in the log what it does not say yet. What it said is noted afterwards: a
/// host that dies between the two has it said twice rather than not at all.
fn tell(options: &Options, commands: &[Command], approvals: &[&Command]) -> Result<()> {
    let told: Option<u64> = state::stage().get(TOLD)?;
    if told.is_none() {
        info!("Waiting for the approval of {options}");
    }
    for approval in approvals {
        if approval.number > told.unwrap_or(0) {
            info!("{} approved at {}", approval.by, approval.at);
        }
    }
    if told != Some(last(commands)) {
        state::stage().put(TOLD, &last(commands))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
