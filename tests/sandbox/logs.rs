//! What a plugin says and prints is in its log: in order, framed, and to its end.

use serde_json::json;
use stagewright::model::{Plugin, Severity};
use stagewright_tests::Scene;

use crate::probe;

#[tokio::test]
async fn messages_and_what_is_printed_are_one_log_in_order_with_their_severities() {
    let scene = Scene::new();
    let steps = json!([
        { "log": "one\ntwo" },
        { "print": "three\nfo" },
        { "print": "ur\n" },
        { "eprint": "five\n" },
        { "success": "six" },
        { "error": "seven" },
        { "log": "" },
    ]);
    let plugin = probe().await;
    plugin
        .execute_stage(&scene.call, &scene.stage(steps))
        .await
        .expect("an outcome");
    let said = |severity, text: &str| (severity, text.to_owned());
    assert_eq!(
        scene.recorder.log(),
        [
            said(Severity::Info, "one"),
            said(Severity::Info, "two"),
            said(Severity::Info, "three"),
            said(Severity::Info, "four"),
            said(Severity::Error, "five"),
            said(Severity::Success, "six"),
            said(Severity::Error, "seven"),
            said(Severity::Info, ""),
        ]
    );
}

#[tokio::test]
async fn a_last_line_without_an_end_is_in_the_log_when_the_call_has_returned() {
    let scene = Scene::new();
    let steps = json!([{ "eprint": "no line end" }]);
    let plugin = probe().await;
    plugin
        .execute_stage(&scene.call, &scene.stage(steps))
        .await
        .expect("an outcome");
    assert_eq!(scene.recorder.lines(), ["no line end"]);
}

#[tokio::test]
async fn the_last_words_of_a_call_that_was_dropped_are_in_the_log() {
    let scene = Scene::new();
    let stage = scene.stage(json!([{ "eprint": "last words" }, { "log": "printed" }, "spin"]));
    let plugin = probe().await;
    tokio::select! {
        result = plugin.execute_stage(&scene.call, &stage) => panic!("it never ends: {result:?}"),
        _ = scene.recorder.line_with("printed") => {}
    }
    assert_eq!(scene.recorder.lines(), ["printed", "last words"]);
}

#[tokio::test]
async fn bytes_that_are_no_text_are_replaced_and_the_line_stays() {
    let scene = Scene::new();
    let steps = json!([{ "print-bytes": [0x61, 0xff, 0x62, 0x0a] }]);
    let plugin = probe().await;
    plugin
        .execute_stage(&scene.call, &scene.stage(steps))
        .await
        .expect("an outcome");
    assert_eq!(scene.recorder.lines(), ["a\u{fffd}b"]);
}

#[tokio::test]
async fn a_panic_stands_in_the_log_too() {
    let scene = Scene::new();
    let plugin = probe().await;
    let steps = json!([{ "panic": "boom" }]);
    plugin
        .execute_stage(&scene.call, &scene.stage(steps))
        .await
        .expect_err("a trap");
    assert!(
        scene.recorder.lines().contains(&"boom".to_owned()),
        "{:?}",
        scene.recorder.lines()
    );
}
