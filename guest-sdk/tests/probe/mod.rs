//! A plugin whose stage does what the test says, so that a test can look at the
//! SDK from inside a call.
#![allow(dead_code, unreachable_pub, reason = "each test uses some of it")]

use std::cell::RefCell;

use schemars::JsonSchema;
use serde::Deserialize;
use stagewright_sdk::testing::FakeHost;
use stagewright_sdk::{
    Decision, Executor, Manifest, NoConfig, Outcome, PlanInput, Planner, Plugin, Result,
    StageRequest,
};

pub struct Probe;

stagewright_sdk::export!(Probe: planner, executor);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Target {
    pub directory: String,
}

type Body = Box<dyn FnOnce(&StageRequest<Probe>) -> Result<Outcome>>;

thread_local! {
    static BODY: RefCell<Option<Body>> = const { RefCell::new(None) };
    static PLANNING: RefCell<Option<Box<dyn FnOnce() -> Result<()>>>> = const { RefCell::new(None) };
}

impl Plugin for Probe {
    type Config = NoConfig;
    type Target = Target;
    type Application = NoConfig;

    fn describe() -> Manifest {
        Manifest::new("probe", "1.0.0", "Does what a test says")
            .stage::<NoConfig>("PROBE", "Does it")
            .rollback_stage::<NoConfig>("PROBE_ROLLBACK", "Undoes it")
    }
}

impl Planner for Probe {
    fn determine_strategy(_: &PlanInput<Self>) -> Result<Option<Decision>> {
        PLANNING.take().expect("the test says what to do")()?;
        Ok(None)
    }
}

impl Executor for Probe {
    fn execute_stage(request: &StageRequest<Self>) -> Result<Outcome> {
        BODY.take().expect("the test says what to do")(request)
    }
}

/// Does this in a stage.
pub fn in_stage(
    host: &mut FakeHost,
    body: impl FnOnce(&StageRequest<Probe>) -> Result<Outcome> + 'static,
) -> Result<Outcome> {
    BODY.set(Some(Box::new(body)));
    let mut stage = host.stage("PROBE", "{}");
    host.execute::<Probe>(&mut stage)
}

/// Does this in a planning call.
pub fn while_planning(host: &FakeHost, body: impl FnOnce() -> Result<()> + 'static) -> Result<()> {
    PLANNING.set(Some(Box::new(body)));
    host.determine_strategy::<Probe>().map(drop)
}

/// What the next call of a stage does.
pub fn next_body(body: impl FnOnce(&StageRequest<Probe>) -> Result<Outcome> + 'static) {
    BODY.set(Some(Box::new(body)));
}
