//! Each limit is hit with an error that names it, its value and what was wanted.

use serde_json::{Value, json};
use stagewright::model::{Plugin, PluginError};
use stagewright::sandbox::{PluginConfig, PluginLimits};
use stagewright_tests::Scene;

use crate::{bare, probe_with};

async fn hit(limits: PluginLimits, steps: Value) -> String {
    let scene = Scene::new();
    let plugin = probe_with(&PluginConfig { limits, ..bare() }).await;
    match plugin.execute_stage(&scene.call, &scene.stage(steps)).await {
        Err(error @ PluginError::Limit { .. }) => error.to_string(),
        other => panic!("no limit but {other:?}: {:?}", scene.recorder.lines()),
    }
}

#[tokio::test]
async fn memory_is_named_with_its_limit_what_was_wanted_and_the_key_that_raises_it() {
    let error = hit(PluginLimits::default(), json!([{ "alloc": 200 }])).await;
    assert!(
        error.starts_with("memory is limited to 128 MiB, and the plugin wanted 20"),
        "{error}"
    );
    assert!(
        error.contains("raise `plugins.probe.limits.memory`"),
        "{error}"
    );
}

#[tokio::test]
async fn memory_within_the_limit_is_given() {
    let scene = Scene::new();
    let plugin = probe_with(&bare()).await;
    let steps = json!([{ "alloc": 100 }]);
    plugin
        .execute_stage(&scene.call, &scene.stage(steps))
        .await
        .expect("an outcome");
    assert_eq!(scene.recorder.lines(), ["allocated 104857600"]);
}

#[tokio::test]
async fn what_one_call_hands_over_is_limited() {
    let limits = PluginLimits {
        output: 1 << 20,
        ..PluginLimits::default()
    };
    let error = hit(limits, json!([{ "hand-over": 2 }])).await;
    assert!(error.contains("is limited to 1 MiB"), "{error}");
    assert!(error.contains("`plugins.probe.limits.output`"), "{error}");
}

#[tokio::test]
async fn handles_are_limited() {
    let limits = PluginLimits {
        handles: 200,
        ..PluginLimits::default()
    };
    let error = hit(limits, json!([{ "keep-pollables": 500 }])).await;
    assert!(
        error.contains("the number of handles is limited to 200"),
        "{error}"
    );
    assert!(error.contains("`plugins.probe.limits.handles`"), "{error}");
}

#[tokio::test]
async fn a_component_that_starts_with_more_memory_than_it_may_have_is_refused_by_the_same_name() {
    let config = PluginConfig {
        limits: PluginLimits {
            memory: 64 << 10,
            ..PluginLimits::default()
        },
        ..bare()
    };
    let error = crate::sandbox()
        .load(crate::probe_bytes(), &config)
        .await
        .expect_err("a refusal")
        .to_string();
    assert!(error.contains("memory is limited to 64 KiB"), "{error}");
}
