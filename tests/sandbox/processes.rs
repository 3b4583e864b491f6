//! Programs: as granted, in order, and with their output.

use std::fs;

use serde_json::{Value, json};
use stagewright::model::{Outcome, Plugin, PluginError, Severity};
use stagewright::sandbox::{GrantedDirectory, Grants, PluginConfig, PluginLimits, WasmPlugin};
use stagewright_tests::Scene;

use crate::{bare, probe_with};

fn granting(commands: &[&str]) -> PluginConfig {
    PluginConfig {
        grants: Grants {
            commands: commands.iter().map(|&name| name.to_owned()).collect(),
            ..Grants::default()
        },
        ..bare()
    }
}

pub(crate) async fn shell() -> WasmPlugin {
    probe_with(&granting(&["/bin/sh"])).await
}

pub(crate) fn sh(script: &str) -> Value {
    json!({ "program": "/bin/sh", "arguments": ["-c", script], "log": true })
}

fn captured(script: &str) -> Value {
    json!({ "program": "/bin/sh", "arguments": ["-c", script], "capture": true })
}

pub(crate) async fn run(
    scene: &Scene,
    plugin: &WasmPlugin,
    steps: Value,
) -> Result<Outcome, PluginError> {
    plugin.execute_stage(&scene.call, &scene.stage(steps)).await
}

pub(crate) async fn lines(scene: &Scene, steps: Value) -> Vec<String> {
    run(scene, &shell().await, steps).await.expect("an outcome");
    scene.recorder.lines()
}

#[tokio::test]
async fn a_granted_program_runs_and_how_it_ended_is_told() {
    let scene = Scene::new();
    let steps = json!([
        { "spawn": sh("exit 0") },
        { "spawn": sh("exit 7") },
        { "spawn": sh("kill -9 $$") },
    ]);
    assert_eq!(
        lines(&scene, steps).await,
        ["exit code 0", "exit code 7", "signal 9"]
    );
}

#[tokio::test]
async fn a_program_that_was_not_granted_is_refused_with_the_line_that_would_grant_it() {
    let scene = Scene::new();
    let steps = json!([{ "spawn": { "program": "/usr/bin/env" } }]);
    assert_eq!(
        lines(&scene, steps).await,
        [
            "denied: plugin `probe` may not start `/usr/bin/env` (process.spawn): add to \
          stagewright.yaml:12: plugins.probe.allow.commands: [/bin/sh, /usr/bin/env]"
        ]
    );
}

#[tokio::test]
async fn output_is_in_the_log_as_lines_in_order_while_the_program_runs() {
    let scene = Scene::new();
    let plugin = shell().await;
    // The program goes on only when its first line was seen: in the log.
    let script = format!(
        "echo one; until [ -e {} ]; do :; done; echo two; printf three",
        scene.path("go").display()
    );
    let stage = scene.stage(json!([{ "spawn": sh(&script) }]));
    let seen = async {
        scene.recorder.line_with("one").await;
        fs::write(scene.path("go"), "").expect("a file");
    };
    let (result, ()) = tokio::join!(plugin.execute_stage(&scene.call, &stage), seen);
    result.expect("an outcome");
    assert_eq!(
        scene.recorder.lines(),
        ["one", "two", "three", "exit code 0"]
    );
}

#[tokio::test]
async fn standard_error_is_what_went_wrong() {
    let scene = Scene::new();
    let steps = json!([{ "spawn": sh("echo bad >&2") }]);
    lines(&scene, steps).await;
    assert_eq!(scene.recorder.log()[0], (Severity::Error, "bad".to_owned()));
}

#[tokio::test]
async fn captured_output_is_kept_up_to_its_cap_and_the_program_is_never_held_up() {
    let scene = Scene::new();
    let config = PluginConfig {
        limits: PluginLimits {
            captured: 2000,
            ..PluginLimits::default()
        },
        ..granting(&["/bin/sh"])
    };
    let plugin = probe_with(&config).await;
    let steps = json!([
        { "spawn": captured("echo out; echo err >&2") },
        { "spawn": captured("head -c 300000 /dev/zero") },
        { "spawn": { "program": "/bin/sh", "arguments": ["-c", "head -c 300000 /dev/zero"] } },
    ]);
    run(&scene, &plugin, steps).await.expect("an outcome");
    assert_eq!(
        scene.recorder.lines(),
        [
            "exit code 0, out \"out\\n\", err \"err\\n\", truncated false",
            "exit code 0, 2000 bytes, err \"\", truncated true",
            "exit code 0",
        ]
    );
}

#[tokio::test]
async fn arguments_are_no_shells_and_stdin_is_what_was_given() {
    let scene = Scene::new();
    let steps = json!([{ "spawn": {
        "program": "/bin/sh", "arguments": ["-c", "cat; printf ' %s' \"$1\"", "sh", "$(id) *"],
        "stdin": "hello", "capture": true,
    } }]);
    let lines = lines(&scene, steps).await;
    assert!(lines[0].contains("out \"hello $(id) *\""), "{lines:?}");
}

#[tokio::test]
async fn a_program_that_does_not_read_its_input_is_no_error() {
    let scene = Scene::new();
    let steps = json!([{ "spawn": {
        "program": "/bin/sh", "arguments": ["-c", "exit 3"], "stdin": "x".repeat(1 << 20),
    } }]);
    assert_eq!(lines(&scene, steps).await, ["exit code 3"]);
}

#[tokio::test]
async fn the_environment_is_path_what_was_granted_and_what_the_plugin_gives() {
    let scene = Scene::new();
    let mut config = granting(&["/usr/bin/env"]);
    config.grants.env = vec!["CARGO_PKG_NAME".to_owned()];
    let plugin = probe_with(&config).await;
    let steps = json!([{ "spawn": {
        "program": "/usr/bin/env", "environment": { "MINE": "1" }, "log": true,
    } }]);
    run(&scene, &plugin, steps).await.expect("an outcome");
    let mut names: Vec<String> = scene
        .recorder
        .lines()
        .iter()
        .filter_map(|line| line.split_once('=').map(|(name, _)| name.to_owned()))
        .collect();
    names.sort();
    assert_eq!(names, ["CARGO_PKG_NAME", "MINE", "PATH"]);
}

#[tokio::test]
async fn a_source_is_a_private_writable_copy_that_the_next_stage_finds_again() {
    let scene = Scene::new();
    let write = json!({ "program": "/bin/sh", "arguments": ["-c", "echo built > built; pwd"],
        "directory": "/target/site", "log": true });
    let read = json!({ "program": "/bin/sh", "arguments": ["-c", "cat built app.pipecd.yaml"],
        "directory": "/target/site", "log": true });
    lines(&scene, json!([{ "spawn": write }])).await;
    assert!(
        !scene.path("target/site/built").exists(),
        "the source is untouched"
    );
    let lines = lines(&scene, json!([{ "spawn": read }])).await;
    assert_eq!(lines[2..], ["built", "kind: Application", "exit code 0"]);
}

#[tokio::test]
async fn a_granted_writable_directory_is_itself_and_others_are_invalid() {
    let scene = Scene::new();
    for name in ["rw", "ro"] {
        fs::create_dir(scene.path(name)).expect("a directory");
    }
    let mut config = granting(&["/bin/sh"]);
    config.grants.filesystem = ["rw", "ro"]
        .map(|name| GrantedDirectory {
            host: scene.path(name),
            guest: format!("/srv/{name}"),
            writable: name == "rw",
        })
        .to_vec();
    let plugin = probe_with(&config).await;
    let within = |directory: &str| {
        json!({ "spawn": { "program": "/bin/sh", "arguments": ["-c", "echo x > here"],
            "directory": directory } })
    };
    let steps = json!([
        within("/srv/rw"),
        within("/srv/ro"),
        within("/etc"),
        within("/scratch/..")
    ]);
    run(&scene, &plugin, steps).await.expect("an outcome");
    let lines = scene.recorder.lines();
    assert!(scene.path("rw/here").exists());
    assert!(
        lines[1..]
            .iter()
            .all(|line| line.starts_with("invalid: process.spawn")),
        "{lines:?}"
    );
}

#[tokio::test]
async fn a_program_that_can_not_be_started_is_named() {
    let scene = Scene::new();
    let plugin = probe_with(&granting(&["/no/such/program"])).await;
    let steps = json!([{ "spawn": { "program": "/no/such/program" } }]);
    run(&scene, &plugin, steps).await.expect("an outcome");
    let line = &scene.recorder.lines()[0];
    assert!(
        line.starts_with("invalid: could not start `/no/such/program`"),
        "{line}"
    );
}

#[tokio::test]
async fn several_run_at_once_and_are_waited_for_at_once() {
    let scene = Scene::new();
    let steps = json!([
        { "start": sh("sleep 300") },
        { "start": sh("exit 0") },
        "wait-for-any",
        "kill",
    ]);
    let lines = lines(&scene, steps).await;
    assert_eq!(lines, ["ready: [1]", "signal 9", "exit code 0"]);
}

#[tokio::test]
async fn a_handle_may_go_before_its_pollable() {
    let scene = Scene::new();
    let steps = json!([{ "start": sh("sleep 300") }, "drop-children-before-pollables"]);
    assert_eq!(lines(&scene, steps).await, ["all ended"]);
}

#[tokio::test]
async fn programs_at_a_time_are_limited() {
    let scene = Scene::new();
    let config = PluginConfig {
        limits: PluginLimits {
            processes: 1,
            ..PluginLimits::default()
        },
        ..granting(&["/bin/sh"])
    };
    let plugin = probe_with(&config).await;
    let steps = json!([{ "start": sh("sleep 300") }, { "spawn": sh("true") }]);
    run(&scene, &plugin, steps).await.expect("an outcome");
    let line = &scene.recorder.lines()[0];
    assert!(
        line.starts_with("quota exceeded") && line.contains("limits.processes"),
        "{line}"
    );
}

#[tokio::test]
async fn a_granted_name_is_looked_up_in_path() {
    let scene = Scene::new();
    let plugin = probe_with(&granting(&["sh"])).await;
    let steps = json!([{ "spawn": { "program": "sh", "arguments": ["-c", "exit 4"] } }]);
    run(&scene, &plugin, steps).await.expect("an outcome");
    assert_eq!(scene.recorder.lines(), ["exit code 4"]);
}
