//! The stage `WAIT`: lets a while pass before the next stage.
//!
//! It never holds an instance while it waits: it says until when, and the host
//! calls it again then, or when someone skips it. The end is counted from the stage's first start, which the
//! host keeps, so neither a restart nor a lost attempt makes the wait longer.

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use stagewright_sdk::commands::{self, CommandKind};
use stagewright_sdk::{
    ANYONE, Duration, Executor, Manifest, NoConfig, Operation, Outcome, PlanInput, PlannedStage,
    Planner, Plugin, RequestedStage, Result, StageRequest, Timestamp, Wake, info, state, status,
    success,
};

/// The plugin.
pub struct Wait;

stagewright_sdk::export!(Wait: planner, executor);

/// The options of `WAIT`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Options {
    /// How long to wait, such as `30s`, `10m` or `1h30m`; more than zero.
    #[serde(deserialize_with = "more_than_zero")]
    duration: Duration,
}

fn more_than_zero<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let duration = Duration::deserialize(deserializer)?;
    if duration.is_zero() {
        return Err(D::Error::custom(
            "the stage would not wait at all; give a duration of more than zero, or leave the stage out",
        ));
    }
    Ok(duration)
}

impl Plugin for Wait {
    type Config = NoConfig;
    type Target = NoConfig;
    type Application = NoConfig;

    fn describe() -> Manifest {
        Manifest::new(
            "wait",
            env!("CARGO_PKG_VERSION"),
            "Lets a while pass between two stages.",
        )
        .stage::<Options>("WAIT", "Waits for a while")
    }
}

impl Planner for Wait {
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
                let planned = PlannedStage::of(stage).operated_by(Operation::Skip, ANYONE);
                Ok(if stage.description.is_empty() {
                    planned.describe(format!("Waits for {}", options.duration))
                } else {
                    planned
                })
            })
            .collect()
    }
}

/// The state of the stage: that the log has said what is waited for.
const ANNOUNCED: &str = "announced";

impl Executor for Wait {
    fn execute_stage(request: &StageRequest<Self>) -> Result<Outcome> {
        let options: Options = request.options()?;
        let commands = commands::after(0)?;
        // It counts though the time has come too: someone was told that it would.
        if let Some(skip) = commands.iter().find(|one| one.kind == CommandKind::Skip) {
            return Ok(Outcome::skipped(format!("skipped by {}", skip.by)));
        }
        let end = request.stage.first_started_at + options.duration;
        if Timestamp::now() >= end {
            success!("Waited for {}", options.duration);
            return Ok(Outcome::succeeded());
        }
        // Called too early, it waits for the same end again.
        if state::stage().get::<bool>(ANNOUNCED)? != Some(true) {
            info!("Waiting for {}, until {end}", options.duration);
            state::stage().put(ANNOUNCED, &true)?;
        }
        status!("until {end}");
        let seen = commands.last().map_or(0, |last| last.number);
        Ok(Outcome::suspend([Wake::At(end), Wake::Command(seen)]))
    }
}

#[cfg(test)]
mod tests;
