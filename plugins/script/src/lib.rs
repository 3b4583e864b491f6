//! The stages `SCRIPT_RUN` and `SCRIPT_RUN_ROLLBACK`: run a shell script in the
//! application's directory.
//!
//! The script is one argument of `/bin/sh -ec`, exactly as the file has it. Nothing
//! is put into its text: what it needs to know is in its environment.

mod environment;
mod options;

use stagewright_sdk::process::{Command, Exit};
use stagewright_sdk::{
    Capability, Executor, Manifest, NoConfig, Outcome, PlanInput, PlannedStage, Planner, Plugin,
    RequestedStage, Result, StageRequest, success,
};

use options::Options;

/// The plugin.
pub struct Script;

stagewright_sdk::export!(Script: planner, executor);

const RUN: &str = "SCRIPT_RUN";
const ROLLBACK: &str = "SCRIPT_RUN_ROLLBACK";

/// The program, by the name that the operator grants.
const SHELL: &str = "/bin/sh";

impl Plugin for Script {
    type Config = NoConfig;
    type Target = NoConfig;
    type Application = NoConfig;

    fn describe() -> Manifest {
        Manifest::new(
            "script",
            env!("CARGO_PKG_VERSION"),
            "Runs shell scripts in the application's directory.",
        )
        .stage::<Options>(RUN, "Runs a script")
        .rollback_stage::<Options>(ROLLBACK, "Runs the script that undoes another")
        .asks(
            Capability::Commands,
            "runs the scripts that application files give, with /bin/sh",
        )
    }
}

impl Planner for Script {
    fn pipeline_sync_plan(
        input: &PlanInput<Self>,
        rollback: bool,
        requested: &[RequestedStage],
    ) -> Result<Vec<PlannedStage>> {
        // A mistake stops the deployment here, not after the stages before.
        environment::labels(input)?;
        let mut planned = Vec::new();
        for stage in requested {
            let options: Options = stage.options()?;
            planned.push(PlannedStage::of(stage));
            if rollback && options.on_rollback.is_some() {
                planned.push(PlannedStage::undoing(ROLLBACK, stage));
            }
        }
        Ok(planned)
    }
}

impl Executor for Script {
    fn execute_stage(request: &StageRequest<Self>) -> Result<Outcome> {
        let options: Options = request.options()?;
        let is_rollback = request.stage.name == ROLLBACK;
        let script = match (is_rollback, &options.on_rollback) {
            (false, _) => &options.run,
            (true, Some(script)) => script,
            (true, None) => return Ok(Outcome::skipped("there is no onRollback")),
        };
        let exit = Command::new(SHELL)
            .args(["-ec", script.as_str()])
            .envs(environment::of(&request.input, is_rollback)?)
            .envs(
                options
                    .env
                    .iter()
                    .map(|(name, value)| (name.as_str(), value.0.as_str())),
            )
            .current_dir(&request.input.target_source.directory)
            .run()?;
        Ok(match exit {
            Exit::Code(0) => {
                success!("The script exited with code 0");
                Outcome::succeeded().exit_code(0)
            }
            Exit::Code(code) => Outcome::failed(format!("the script {exit}")).exit_code(code),
            Exit::Signal(_) => Outcome::failed(format!("the script {exit}")),
        })
    }
}

#[cfg(test)]
mod tests;
