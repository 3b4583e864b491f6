//! Planning calls: what the plugin is told, what it answers, and what it may not.

use serde_json::json;
use stagewright::model::{ConfigKind, Plugin, PluginError, RequestedStage, Source, Strategy};
use stagewright_tests::Scene;

use crate::probe;

#[tokio::test]
async fn versions_strategy_and_quick_sync_come_back_as_the_plugin_gave_them() {
    let mut scene = Scene::new();
    scene.call.scratch = None;
    let plugin = probe().await;
    let mut input = scene.plan_input();
    let versions = plugin
        .determine_versions(&scene.call, &input)
        .await
        .expect("versions");
    assert_eq!(
        (versions[0].name.as_str(), versions[0].version.as_str()),
        ("shop", "c0ffee")
    );

    let none = plugin
        .determine_strategy(&scene.call, &input)
        .await
        .expect("an answer");
    assert_eq!(none, None);
    input.running = Some(Source {
        commit: "beef".to_owned(),
        ..input.target.clone()
    });
    let decision = plugin
        .determine_strategy(&scene.call, &input)
        .await
        .expect("an answer");
    let decision = decision.expect("an opinion");
    assert_eq!(decision.strategy, Strategy::Pipeline);
    assert_eq!(decision.summary, "from beef on");

    let stages = plugin
        .quick_sync_plan(&scene.call, &input, true)
        .await
        .expect("a plan");
    assert_eq!(stages.len(), 2);
    assert_eq!(stages[1].undoes, Some(vec![0]));
    assert_eq!(stages[0].metadata["made-by"], "probe");
}

#[tokio::test]
async fn a_wrong_requested_stage_is_named_by_its_index() {
    let scene = Scene::new();
    let requested = RequestedStage {
        index: 7,
        name: "OTHER".to_owned(),
        description: String::new(),
        timeout: None,
        options: json!({}),
    };
    let result = probe()
        .await
        .pipeline_sync_plan(&scene.call, &scene.plan_input(), false, &[requested])
        .await;
    assert!(
        matches!(
            &result,
            Err(PluginError::InvalidConfig {
                config: ConfigKind::Stage(Some(7)),
                ..
            })
        ),
        "{result:?}"
    );
}

#[tokio::test]
async fn a_planning_call_starts_no_programs() {
    let mut scene = Scene::new();
    scene.call.scratch = None;
    let mut config = crate::bare();
    config.grants.commands = vec!["/bin/true".to_owned()];
    let plugin = crate::probe_with(&config).await;
    let mut input = scene.plan_input();
    input.plugin_config = json!({ "do": [{ "spawn": { "program": "/bin/true" } }] });
    plugin
        .determine_versions(&scene.call, &input)
        .await
        .expect("versions");
    let line = &scene.recorder.lines()[0];
    assert!(
        line.contains("a planning call starts no programs"),
        "{line}"
    );
}
