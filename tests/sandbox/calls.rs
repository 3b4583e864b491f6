//! Calls that go wrong: the named error, and the next call as good as ever.

use std::time::Duration;

use serde_json::{Value, json};
use stagewright::model::{Outcome, OutcomeStatus, Plugin, PluginError, Timestamp, Wake};
use stagewright_tests::Scene;

use crate::{probe, probe_bytes, sandbox};

async fn run(scene: &Scene, steps: Value) -> Result<Outcome, PluginError> {
    probe()
        .await
        .execute_stage(&scene.call, &scene.stage(steps))
        .await
}

async fn breakdown(steps: Value) -> String {
    match run(&Scene::new(), steps).await {
        Err(PluginError::Trap(text)) => text,
        other => panic!("no trap but {other:?}"),
    }
}

#[tokio::test]
async fn a_panic_is_told_by_its_own_words_and_place() {
    let text = breakdown(json!([{ "panic": "boom" }])).await;
    assert!(text.starts_with("it panicked at "), "{text}");
    assert!(text.ends_with(": boom"), "{text}");
    assert!(text.contains("lib.rs:"), "{text}");
}

#[tokio::test]
async fn an_exit_is_named() {
    // The exits of WASI 0.2 are a success or a failure, without a number.
    let text = breakdown(json!([{ "exit": 3 }])).await;
    assert_eq!(text, "it exited as a failure instead of returning");
    let text = breakdown(json!([{ "exit": 0 }])).await;
    assert_eq!(text, "it exited as a success instead of returning");
}

#[tokio::test]
async fn an_endless_recursion_is_named() {
    let text = breakdown(json!(["recurse"])).await;
    assert!(text.contains("as by an endless recursion"), "{text}");
}

#[tokio::test]
async fn a_trap_leaves_nothing_and_the_next_call_works() {
    let plugin = probe().await;
    for _ in 0..3 {
        let scene = Scene::new();
        let trapped = plugin
            .execute_stage(&scene.call, &scene.stage(json!([{ "panic": "boom" }])))
            .await;
        assert!(matches!(trapped, Err(PluginError::Trap(_))), "{trapped:?}");
        let good = plugin
            .execute_stage(&scene.call, &scene.stage(json!([{ "log": "fine" }])))
            .await
            .expect("a good call");
        assert_eq!(good.status, OutcomeStatus::Succeeded);
    }
}

#[tokio::test]
async fn what_the_plugin_answers_comes_through() {
    let scene = Scene::new();
    let failed = run(&scene, json!([{ "fail": "no luck" }]))
        .await
        .expect("an outcome");
    assert_eq!(failed.status, OutcomeStatus::Failed("no luck".to_owned()));
    let waits = run(&scene, json!([{ "suspend": 1234 }]))
        .await
        .expect("an outcome");
    assert_eq!(
        waits.status,
        OutcomeStatus::Suspended(vec![Wake::At(Timestamp(1234))])
    );
    let wrong = run(&scene, json!([{ "invalid-config": "/do/0" }])).await;
    assert!(
        matches!(&wrong, Err(PluginError::InvalidConfig { path, .. }) if path == "/do/0"),
        "{wrong:?}"
    );
    let unknown = run(&scene, json!(["dance"])).await;
    assert_eq!(
        unknown,
        Err(PluginError::Unsupported("the step `dance`".to_owned()))
    );
}

#[tokio::test]
async fn a_suspension_that_nothing_would_end_is_an_error() {
    let error = run(&Scene::new(), json!(["suspend-for-nothing"])).await;
    assert!(matches!(error, Err(PluginError::Internal(_))), "{error:?}");
}

/// Runs on a runtime with nothing else to do, where only the guest's own yielding
/// lets a timer fire.
#[tokio::test]
async fn a_busy_loop_is_dropped_after_its_time_and_called_timed_out() {
    let mut scene = Scene::new();
    scene.call.timeout = Duration::from_millis(100);
    let result = run(&scene, json!(["spin"])).await;
    assert_eq!(
        result,
        Err(PluginError::TimedOut(Duration::from_millis(100)))
    );
}

#[tokio::test]
async fn a_sleep_in_the_host_is_dropped_after_its_time() {
    let mut scene = Scene::new();
    scene.call.timeout = Duration::from_millis(50);
    let result = run(&scene, json!([{ "sleep": 3_600_000 }])).await;
    assert_eq!(
        result,
        Err(PluginError::TimedOut(Duration::from_millis(50)))
    );
}

#[tokio::test]
async fn no_time_at_all_is_timed_out_and_no_panic() {
    let mut scene = Scene::new();
    scene.call.timeout = Duration::ZERO;
    let result = run(&scene, json!(["spin"])).await;
    assert_eq!(result, Err(PluginError::TimedOut(Duration::ZERO)));
}

#[tokio::test]
async fn all_the_time_there_is_is_no_panic() {
    let mut scene = Scene::new();
    scene.call.timeout = Duration::MAX;
    run(&scene, json!([])).await.expect("an outcome");
}

#[tokio::test]
async fn a_busy_loop_that_is_cancelled_is_dropped_after_its_grace_period() {
    let scene = Scene::new();
    let steps = json!([{ "log": "started" }, "spin"]);
    let (plugin, stage) = (probe().await, scene.stage(steps));
    let cancel = async {
        scene.recorder.line_with("started").await;
        scene.canceller.cancel();
    };
    let (result, ()) = tokio::join!(plugin.execute_stage(&scene.call, &stage), cancel);
    assert_eq!(result, Err(PluginError::Cancelled));
}

#[tokio::test]
async fn a_plugin_that_looks_sees_a_cancel_at_once_and_may_still_answer() {
    for look in ["spin-until-cancelled", "wait-for-cancel"] {
        let scene = Scene::new();
        let steps = json!([{ "log": "started" }, look, { "fail": "stopped in time" }]);
        let (plugin, stage) = (probe().await, scene.stage(steps));
        let cancel = async {
            scene.recorder.line_with("started").await;
            scene.canceller.cancel();
        };
        let (result, ()) = tokio::join!(plugin.execute_stage(&scene.call, &stage), cancel);
        assert_eq!(
            result.expect("an outcome").status,
            OutcomeStatus::Failed("stopped in time".to_owned())
        );
    }
}

#[tokio::test]
async fn a_call_that_was_cancelled_before_it_began_sees_it() {
    let scene = Scene::new();
    scene.canceller.cancel();
    run(&scene, json!(["wait-for-cancel"]))
        .await
        .expect("an outcome");
}

#[tokio::test]
async fn a_busy_plugin_keeps_no_other_from_its_work() {
    let sandbox = sandbox();
    let busy = sandbox
        .load(probe_bytes(), &crate::bare())
        .await
        .expect("a plugin");
    let other = sandbox
        .load(probe_bytes(), &crate::bare())
        .await
        .expect("a plugin");
    let scene = Scene::new();
    let (spinning, working) = (
        scene.stage(json!(["spin"])),
        scene.stage(json!([{ "log": "done" }])),
    );
    tokio::select! {
        biased;
        result = busy.execute_stage(&scene.call, &spinning) => panic!("it never ends: {result:?}"),
        result = other.execute_stage(&scene.call, &working) => drop(result.expect("an outcome")),
    }
    assert_eq!(scene.recorder.lines(), ["done"]);
}

#[tokio::test]
async fn more_calls_than_places_wait_and_all_are_served() {
    let plugin = std::sync::Arc::new(probe().await);
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..32 {
        let plugin = plugin.clone();
        calls.spawn(async move {
            let scene = Scene::new();
            let stage = scene.stage(json!([{ "sleep": 1 }]));
            plugin.execute_stage(&scene.call, &stage).await
        });
    }
    while let Some(result) = calls.join_next().await {
        result.expect("no panic").expect("an outcome");
    }
}

#[tokio::test]
async fn state_is_the_hosts_and_its_refusals_reach_the_plugin() {
    let scene = Scene::new();
    let steps = json!([
        { "put": ["stage", "count", "1"] },
        { "get": ["stage", "count"] },
        { "get": ["deployment", "count"] },
        { "keys": ["stage", "co"] },
        { "put": ["stage", "refuse-me", ""] },
        { "put": ["shared", "strategy", "mine"] },
        { "status": "3 of 5" },
    ]);
    run(&scene, steps).await.expect("an outcome");
    let lines = scene.recorder.lines();
    assert_eq!(
        lines[..5],
        ["done", "Some(\"1\")", "None", "count", "stale attempt"]
    );
    assert!(
        lines[5].starts_with("denied: state.put: the scope `shared`"),
        "{lines:?}"
    );
    assert_eq!(scene.recorder.shown_status(), "3 of 5");
}

#[tokio::test]
async fn a_failure_of_the_host_itself_is_told_as_the_hosts() {
    let result = run(&Scene::new(), json!([{ "put": ["stage", "break", ""] }])).await;
    assert_eq!(
        result,
        Err(PluginError::Host("the disk is full".to_owned()))
    );
}
