//! Programs end: with their call however it ends, and with all that they started.

use std::fs;

use rustix::process::{Pid, test_kill_process};
use serde_json::{Value, json};
use stagewright::model::{Plugin, PluginError};
use stagewright::sandbox::WasmPlugin;
use stagewright_tests::Scene;

use crate::processes::{lines, run, sh, shell};

/// Waits until a process is gone. Once its group was killed it can't stay, so
/// this ends; a process that was not killed would make it hang.
async fn gone(pid: i32) {
    let pid = Pid::from_raw(pid).expect("a process id");
    while is_alive(pid) {
        tokio::task::yield_now().await;
    }
}

/// Whether a process runs; one that is dead and waits for its parent does not.
fn is_alive(pid: Pid) -> bool {
    if test_kill_process(pid).is_err() {
        return false;
    }
    match fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())) {
        Ok(stat) => !stat
            .rsplit(')')
            .next()
            .is_some_and(|rest| rest.trim_start().starts_with('Z')),
        Err(_) => false,
    }
}

fn number_after(line: &str, words: &str) -> i32 {
    let rest = line.split(words).nth(1).expect("the words");
    rest.trim().parse().expect("a number")
}

#[tokio::test]
async fn a_grandchild_that_keeps_the_output_open_is_ended_and_holds_nobody_up() {
    let scene = Scene::new();
    let lines = lines(&scene, json!([{ "spawn": sh("sleep 300 & echo pid $!") }])).await;
    assert_eq!(lines[1], "exit code 0");
    gone(number_after(&lines[0], "pid ")).await;
}

/// Starts a program with a grandchild, and ends the call in some way meanwhile.
async fn ends_with_its_call(end: impl AsyncFnOnce(&Scene, &WasmPlugin, Value)) {
    let scene = Scene::new();
    let plugin = shell().await;
    let script = "sleep 300 & echo a child $!; echo program and its child $$; wait";
    end(
        &scene,
        &plugin,
        json!([{ "start": sh(script) }, { "log": "started" }]),
    )
    .await;
    let pids: Vec<i32> = scene
        .recorder
        .lines()
        .iter()
        .filter_map(|line| Some(line.split_once("child ")?.1.parse().expect("a number")))
        .collect();
    assert_eq!(pids.len(), 2, "the program and what it started");
    for pid in pids {
        gone(pid).await;
    }
}

fn and(mut steps: Value, more: Value) -> Value {
    let list = steps.as_array_mut().expect("a list");
    list.push(more);
    steps
}

#[tokio::test]
async fn programs_are_gone_when_the_call_returns() {
    // The call returns only when its lines were seen, so that there is a program.
    ends_with_its_call(async |scene, plugin, steps| {
        let stage = scene.stage(and(steps, json!("wait-for-cancel")));
        let seen = async {
            scene.recorder.line_with("program and its child ").await;
            scene.canceller.cancel();
        };
        let (result, ()) = tokio::join!(plugin.execute_stage(&scene.call, &stage), seen);
        result.expect("an outcome");
    })
    .await;
}

#[tokio::test]
async fn programs_are_gone_when_the_call_traps() {
    ends_with_its_call(async |scene, plugin, steps| {
        let steps = and(
            and(steps, json!("wait-for-cancel")),
            json!({ "panic": "boom" }),
        );
        let stage = scene.stage(steps);
        let seen = async {
            scene.recorder.line_with("program and its child ").await;
            scene.canceller.cancel();
        };
        let (result, ()) = tokio::join!(plugin.execute_stage(&scene.call, &stage), seen);
        assert!(matches!(result, Err(PluginError::Trap(_))), "{result:?}");
    })
    .await;
}

#[tokio::test]
async fn programs_are_gone_when_the_calls_future_is_dropped() {
    ends_with_its_call(async |scene, plugin, steps| {
        let stage = scene.stage(and(steps, json!("spin")));
        tokio::select! {
            result = plugin.execute_stage(&scene.call, &stage) => panic!("it never ends: {result:?}"),
            _ = scene.recorder.line_with("program and its child ") => {}
        }
    })
    .await;
}

#[tokio::test]
async fn programs_are_gone_when_the_call_was_cancelled_and_its_grace_period_is_over() {
    ends_with_its_call(async |scene, plugin, steps| {
        let stage = scene.stage(and(steps, json!("spin")));
        let seen = async {
            scene.recorder.line_with("program and its child ").await;
            scene.canceller.cancel();
        };
        let (result, ()) = tokio::join!(plugin.execute_stage(&scene.call, &stage), seen);
        assert_eq!(result, Err(PluginError::Cancelled));
    })
    .await;
}

#[tokio::test]
async fn a_wait_that_is_cancelled_ends_the_program_and_says_so() {
    let scene = Scene::new();
    let plugin = shell().await;
    // Deaf to a polite request: it has to be killed.
    let stage = scene
        .stage(json!([{ "spawn": sh("trap '' TERM; echo pid $$; while :; do sleep 1; done") }]));
    let seen = async {
        scene.recorder.line_with("pid").await;
        scene.canceller.cancel();
    };
    let (result, ()) = tokio::join!(plugin.execute_stage(&scene.call, &stage), seen);
    result.expect("an outcome");
    let lines = scene.recorder.lines();
    assert_eq!(lines[1], "cancelled");
    gone(number_after(&lines[0], "pid ")).await;
}

#[tokio::test]
async fn a_stage_that_is_suspended_with_a_program_running_is_an_error() {
    let scene = Scene::new();
    let steps = json!([{ "start": sh("sleep 300") }, "leak-children", { "suspend": 1 }]);
    let error = run(&scene, &shell().await, steps).await;
    assert!(
        matches!(&error, Err(PluginError::Internal(text)) if text.contains("(/bin/sh)")),
        "{error:?}"
    );
    let steps = json!([{ "start": sh("sleep 300") }, { "suspend": 1 }]);
    let ended = run(&scene, &shell().await, steps).await;
    assert!(
        ended.is_ok(),
        "its handle was dropped, which ended it: {ended:?}"
    );
}
