//! What a planner does by default, and what a host would refuse of a plan.

mod probe;

use std::cell::RefCell;

use probe::Probe;
use stagewright_sdk::testing::{FakeHost, json, requested};
use stagewright_sdk::{
    Manifest, NoConfig, Operation, PlanInput, PlannedStage, Planner, Plugin, RequestedStage, Result,
};

#[test]
fn by_default_each_requested_stage_is_planned_as_it_is() {
    let mut asked = requested(4, "PROBE", "{}");
    asked.description = "Look around".to_owned();
    let planned = FakeHost::new()
        .pipeline_sync_plan::<Probe>(true, &[asked])
        .expect("a plan");
    let [stage] = planned.as_slice() else {
        panic!("one stage: {planned:?}")
    };
    assert_eq!(
        (stage.index, &*stage.name, &*stage.description),
        (4, "PROBE", "Look around")
    );
    assert!(stage.visible && !stage.predefined && !stage.rollback);
}

#[test]
fn by_default_there_are_no_versions_and_no_quick_sync() {
    let host = FakeHost::new();
    assert_eq!(host.determine_versions::<Probe>(), Ok(Vec::new()));
    assert_eq!(host.quick_sync_plan::<Probe>(true), Ok(Vec::new()));
}

#[test]
fn a_planned_stage_says_all_that_the_contract_knows() {
    let stage = PlannedStage::undoing("PROBE_ROLLBACK", &requested(2, "PROBE", json!({})))
        .undoing_all([0, 2])
        .describe("Puts it back")
        .with_metadata("from", "1")
        .operated_by(Operation::Skip, ["ada"]);
    assert_eq!((stage.index, stage.undoes), (2, Some(vec![0, 2])));
    assert!(stage.rollback && !stage.visible && stage.predefined);
    assert_eq!(
        (&*stage.description, &*stage.metadata[0].value),
        ("Puts it back", "1")
    );
    assert_eq!(
        (stage.operation, &*stage.authorized_operators[0]),
        (Operation::Skip, "ada")
    );
}

thread_local! {
    static PLAN: RefCell<Vec<PlannedStage>> = const { RefCell::new(Vec::new()) };
}

/// Plans what the test says.
struct Careless;

impl Plugin for Careless {
    type Config = NoConfig;
    type Target = NoConfig;
    type Application = NoConfig;

    fn describe() -> Manifest {
        Manifest::new("careless", "1.0.0", "Plans what a test says")
            .stage::<NoConfig>("RUN", "Runs")
            .rollback_stage::<NoConfig>("UNDO", "Undoes")
    }
}

impl Planner for Careless {
    fn pipeline_sync_plan(
        _: &PlanInput<Self>,
        _: bool,
        _: &[RequestedStage],
    ) -> Result<Vec<PlannedStage>> {
        Ok(PLAN.take())
    }
}

fn plan(rollback: bool, stages: impl IntoIterator<Item = PlannedStage>) {
    PLAN.set(stages.into_iter().collect());
    let asked = [requested(0, "RUN", "{}"), requested(1, "RUN", "{}")];
    FakeHost::new()
        .pipeline_sync_plan::<Careless>(rollback, &asked)
        .expect("a plan");
}

fn run(index: u32) -> PlannedStage {
    PlannedStage::new("RUN").at(index)
}

fn undo(index: u32) -> PlannedStage {
    PlannedStage::new("UNDO").at(index).as_rollback()
}

#[test]
fn a_plan_by_the_rules_passes() {
    plan(true, [run(1), run(0), undo(1).undoing_all([0, 1])]);
}

#[test]
#[should_panic(expected = "RUN is planned at 3, which was not requested")]
fn an_index_that_was_not_requested_is_refused() {
    plan(false, [run(0), run(1), run(3)]);
}

#[test]
#[should_panic(expected = "0 is planned twice")]
fn an_index_that_is_planned_twice_is_refused() {
    plan(false, [run(0), run(0), run(1)]);
}

#[test]
#[should_panic(expected = "each requested stage is planned")]
fn a_requested_stage_that_is_left_out_is_refused() {
    plan(false, [run(1)]);
}

#[test]
#[should_panic(expected = "UNDO is planned though no rollback was asked for")]
fn a_rollback_stage_that_nobody_asked_for_is_refused() {
    plan(false, [run(0), run(1), undo(0)]);
}

#[test]
#[should_panic(expected = "UNDO undoes 7, which was not requested")]
fn undoing_what_was_not_requested_is_refused() {
    plan(true, [run(0), run(1), undo(0).undoing_all([0, 7])]);
}

#[test]
#[should_panic(expected = "the manifest does not define WALK")]
fn a_stage_that_the_manifest_does_not_define_is_refused() {
    plan(false, [run(0), PlannedStage::new("WALK").at(1)]);
}
