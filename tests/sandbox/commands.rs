//! What people do to a stage, as its plugin sees it: the import `commands`, the wake
//! by a command, and the cause of the call that follows.

use serde_json::{Value, json};
use stagewright::model::{
    Cause, Command, CommandKind, Operation, Outcome, OutcomeStatus, Plugin, PluginError,
    RequestedStage, Timestamp, Wake,
};
use stagewright_tests::Scene;

use crate::probe;

/// A stage that ann approved at 7 and bob skipped at 9.
fn commanded() -> Scene {
    let scene = Scene::new();
    let given = |number, kind, by: &str, at| Command {
        number,
        kind,
        by: by.to_owned(),
        at: Timestamp(at),
    };
    *scene.recorder.commands.lock().expect("no panic") = vec![
        given(1, CommandKind::Approve, "ann", 7),
        given(2, CommandKind::Skip, "bob", 9),
    ];
    scene
}

async fn run(scene: &Scene, steps: Value) -> Result<Outcome, PluginError> {
    probe()
        .await
        .execute_stage(&scene.call, &scene.stage(steps))
        .await
}

#[tokio::test]
async fn a_plugin_reads_who_did_what_and_when_and_only_what_is_after_its_cursor() {
    for (after, told) in [
        (
            0,
            &[
                "command 1: approve by ann at 7",
                "command 2: skip by bob at 9",
            ][..],
        ),
        (1, &["command 2: skip by bob at 9"]),
        (2, &[]),
    ] {
        let scene = commanded();
        let outcome = run(&scene, json!([{ "commands": after }])).await;
        assert_eq!(
            outcome.expect("an outcome").status,
            OutcomeStatus::Succeeded
        );
        assert_eq!(scene.recorder.lines(), told, "after {after}");
    }
}

#[tokio::test]
async fn a_read_that_the_host_refuses_is_refused_to_the_plugin_and_its_call_goes_on() {
    let scene = commanded();
    let steps = json!([{ "commands": u64::MAX }, { "log": "still here" }]);
    run(&scene, steps).await.expect("an outcome");
    assert_eq!(scene.recorder.lines(), ["stale attempt", "still here"]);
}

#[tokio::test]
async fn a_suspension_may_wait_for_a_command_alone_or_beside_a_time() {
    let alone = run(&Scene::new(), json!([{ "suspend-until-command": 2 }])).await;
    assert_eq!(
        alone.expect("an outcome").status,
        OutcomeStatus::Suspended(vec![Wake::Command(2)])
    );
    let steps = json!([{ "suspend": 1234 }, { "suspend-until-command": 0 }]);
    let beside = run(&Scene::new(), steps).await;
    assert_eq!(
        beside.expect("an outcome").status,
        OutcomeStatus::Suspended(vec![Wake::At(Timestamp(1234)), Wake::Command(0)])
    );
}

#[tokio::test]
async fn a_call_that_a_command_caused_is_told_so() {
    let scene = commanded();
    let mut request = scene.stage(json!([{ "log": "not woken" }]));
    request.options["woken"] = json!([{ "commands": 1 }]);
    request.cause = Cause::Command;
    let outcome = probe().await.execute_stage(&scene.call, &request).await;
    assert_eq!(
        outcome.expect("an outcome").status,
        OutcomeStatus::Succeeded
    );
    assert_eq!(scene.recorder.lines(), ["command 2: skip by bob at 9"]);
}

#[tokio::test]
async fn what_people_may_do_and_who_comes_back_as_the_plugin_planned_it() {
    let scene = Scene::new();
    let requested: Vec<RequestedStage> = [
        json!({ "operation": "approve", "operators": ["ann", "bob"] }),
        json!({ "operation": "skip" }),
        json!({}),
    ]
    .into_iter()
    .zip(0..)
    .map(|(options, index)| RequestedStage {
        index,
        name: "PROBE".to_owned(),
        description: String::new(),
        timeout: None,
        options,
    })
    .collect();
    let planned = probe()
        .await
        .pipeline_sync_plan(&scene.call, &scene.plan_input(), false, &requested)
        .await
        .expect("a plan");
    let told: Vec<(Operation, usize)> = planned
        .iter()
        .map(|stage| (stage.operation, stage.authorized_operators.len()))
        .collect();
    assert_eq!(
        told,
        [
            (Operation::Approve, 2),
            (Operation::Skip, 0),
            (Operation::None, 0)
        ]
    );
    assert_eq!(planned[0].authorized_operators, ["ann", "bob"]);
}
