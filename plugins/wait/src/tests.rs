use std::time::Duration as Length;

use stagewright_sdk::testing::{FakeHost, StageRun, json, requested};
use stagewright_sdk::{ConfigKind, Error, InvalidConfig, Outcome, Status};

use super::*;

fn wrong<T: std::fmt::Debug>(result: Result<T>) -> InvalidConfig {
    match result {
        Err(Error::InvalidConfig(wrong)) => wrong,
        other => panic!("expected invalid-config, got {other:?}"),
    }
}

/// What it answers while it waits for the end, and for someone to skip it.
fn waits_until(end: Timestamp) -> Result<Outcome> {
    Ok(Outcome::suspend([Wake::At(end), Wake::Command(0)]))
}

#[test]
fn it_suspends_until_its_first_start_plus_the_duration_and_then_succeeds() {
    let mut host = FakeHost::new();
    let mut stage = host.stage("WAIT", json!({ "duration": "10m" }));
    let end = host.now() + Length::from_secs(600);
    assert_eq!(host.execute::<Wait>(&mut stage), waits_until(end));
    assert_eq!(host.wake::<Wait>(&mut stage), Ok(Outcome::succeeded()));
    assert_eq!(host.now(), end);
}

#[test]
fn a_wake_too_early_waits_for_the_same_end_again() {
    let mut host = FakeHost::new();
    let mut stage = host.stage("WAIT", json!({ "duration": "10m" }));
    let first = host.execute::<Wait>(&mut stage);
    host.advance(Length::from_secs(599));
    assert_eq!(host.execute::<Wait>(&mut stage), first);
    host.advance(Length::from_secs(1));
    assert_eq!(host.execute::<Wait>(&mut stage), Ok(Outcome::succeeded()));
}

#[test]
fn a_lost_attempt_does_not_make_the_wait_longer() {
    let mut host = FakeHost::new();
    let mut stage = host.stage("WAIT", json!({ "duration": "10m" }));
    let first = host.execute::<Wait>(&mut stage);
    host.advance(Length::from_secs(300));
    stage.lose();
    assert_eq!(host.execute::<Wait>(&mut stage), first);
    host.advance(Length::from_secs(300));
    stage.lose();
    assert_eq!(host.execute::<Wait>(&mut stage), Ok(Outcome::succeeded()));
}

#[test]
fn the_log_says_once_what_is_waited_for_and_the_status_shows_the_end() {
    let mut host = FakeHost::new();
    let mut stage = host.stage("WAIT", json!({ "duration": "1h30m" }));
    for _ in 0..3 {
        host.execute::<Wait>(&mut stage).expect("suspended");
    }
    stage.lose();
    host.execute::<Wait>(&mut stage).expect("suspended");
    assert_eq!(
        host.log(),
        ["Waiting for 1h30m, until 2026-01-01T01:30:00Z"]
    );
    assert_eq!(
        host.statuses().last().map(String::as_str),
        Some("until 2026-01-01T01:30:00Z")
    );
    host.wake::<Wait>(&mut stage).expect("succeeded");
    assert_eq!(
        host.log().last().map(String::as_str),
        Some("Waited for 1h30m")
    );
}

#[test]
fn a_wait_of_less_than_a_millisecond_ends() {
    let mut host = FakeHost::new();
    let mut stage = host.stage("WAIT", json!({ "duration": "1us" }));
    let outcome = host.execute::<Wait>(&mut stage).expect("suspended");
    assert!(matches!(outcome.status, Status::Suspended(_)));
    assert_eq!(host.wake::<Wait>(&mut stage), Ok(Outcome::succeeded()));
}

/// The stage as it is planned, after its first turn.
fn planned(host: &mut FakeHost, options: serde_json::Value) -> StageRun {
    let asked = [requested(0, "WAIT", &options)];
    let planned = host.pipeline_sync_plan::<Wait>(false, &asked);
    let planned = planned.expect("a plan").remove(0);
    let mut stage = host.stage("WAIT", options).planned(&planned);
    host.execute::<Wait>(&mut stage).expect("suspended");
    stage
}

#[test]
fn a_skip_by_anyone_ends_it_at_once_and_is_told_with_their_name() {
    let mut host = FakeHost::new();
    let mut stage = planned(&mut host, json!({ "duration": "1h" }));
    let now = host.now();
    host.skip(&mut stage, "ann").expect("anyone may");
    assert_eq!(
        host.wake::<Wait>(&mut stage),
        Ok(Outcome::skipped("skipped by ann"))
    );
    assert_eq!(host.now(), now);
}

#[test]
fn a_skip_while_it_is_at_work_is_not_missed() {
    let mut host = FakeHost::new();
    let asked = [requested(0, "WAIT", json!({ "duration": "1h" }))];
    let planned = host.pipeline_sync_plan::<Wait>(false, &asked);
    let planned = planned.expect("a plan").remove(0);
    let mut stage = host
        .stage("WAIT", json!({ "duration": "1h" }))
        .planned(&planned);
    host.skip_on_log("Waiting for 1h", "ann");
    let end = host.now() + Length::from_secs(3600);
    assert_eq!(host.execute::<Wait>(&mut stage), waits_until(end));
    assert_eq!(
        host.wake::<Wait>(&mut stage),
        Ok(Outcome::skipped("skipped by ann"))
    );
}

#[test]
fn a_skip_that_was_taken_counts_though_the_time_has_come_before_it_was_called() {
    let mut host = FakeHost::new();
    let mut stage = planned(&mut host, json!({ "duration": "10m" }));
    host.skip(&mut stage, "ann").expect("anyone may");
    host.advance(Length::from_secs(3600));
    assert_eq!(
        host.execute::<Wait>(&mut stage),
        Ok(Outcome::skipped("skipped by ann"))
    );
}

#[test]
fn it_can_be_skipped_and_not_approved() {
    let mut host = FakeHost::new();
    let mut stage = planned(&mut host, json!({ "duration": "10m" }));
    assert_eq!(
        host.approve(&mut stage, "ann"),
        Err("stage 1 (WAIT) is none that people approve".to_owned())
    );
}

#[test]
fn a_bare_number_is_refused_while_planning_and_the_message_names_the_missing_unit() {
    let host = FakeHost::new();
    let asked = [
        requested(0, "WAIT", json!({ "duration": "1m" })),
        requested(3, "WAIT", json!({ "duration": 300 })),
    ];
    let wrong = wrong(host.pipeline_sync_plan::<Wait>(false, &asked));
    assert_eq!(
        (wrong.kind, &*wrong.name, &*wrong.path),
        (ConfigKind::Stage, "3", "/duration")
    );
    assert!(
        wrong.message.contains("`300` has no unit"),
        "{}",
        wrong.message
    );
}

#[test]
fn a_duration_of_zero_none_at_all_and_unknown_options_are_refused() {
    let mut host = FakeHost::new();
    for (options, path, message) in [
        (json!({ "duration": "0s" }), "/duration", "more than zero"),
        (json!({}), "", "missing field `duration`"),
        (
            json!({ "duration": "1m", "durration": "1m" }),
            "/durration",
            "unknown field",
        ),
        (json!({ "duration": "-1m" }), "/duration", "negative"),
    ] {
        let asked = [requested(1, "WAIT", &options)];
        let planning = wrong(host.pipeline_sync_plan::<Wait>(false, &asked));
        let mut stage = host.stage("WAIT", &options);
        let executing = wrong(host.execute::<Wait>(&mut stage));
        for wrong in [planning, executing] {
            assert_eq!(wrong.path, path, "{options}");
            assert!(
                wrong.message.contains(message),
                "{options}: {}",
                wrong.message
            );
        }
    }
}

#[test]
fn a_pipeline_is_planned_as_it_was_asked_and_nothing_is_undone() {
    let host = FakeHost::new();
    let mut described = requested(2, "WAIT", json!({ "duration": "5m" }));
    described.description = "Let the caches fill".to_owned();
    let asked = [
        requested(0, "WAIT", json!({ "duration": "90s" })),
        described,
    ];
    let planned = host
        .pipeline_sync_plan::<Wait>(true, &asked)
        .expect("a plan");
    let described: Vec<_> = planned
        .iter()
        .map(|stage| {
            (
                stage.index,
                stage.description.as_str(),
                stage.rollback,
                stage.predefined,
            )
        })
        .collect();
    assert_eq!(
        described,
        [
            (0, "Waits for 1m30s", false, false),
            (2, "Let the caches fill", false, false),
        ]
    );
}

#[test]
fn there_is_nothing_to_wait_for_in_a_quick_sync() {
    assert_eq!(
        FakeHost::new().quick_sync_plan::<Wait>(true),
        Ok(Vec::new())
    );
}

#[test]
fn the_schema_of_the_options_knows_one_key_and_needs_it() {
    let manifest = FakeHost::new().describe::<Wait>();
    let schema = manifest.stages[0]
        .options_schema
        .as_deref()
        .expect("a schema");
    let schema: serde_json::Value = serde_json::from_str(schema).expect("JSON");
    assert_eq!(schema["additionalProperties"], json!(false));
    assert_eq!(schema["required"], json!(["duration"]));
    assert_eq!(schema["properties"]["duration"]["type"], json!("string"));
    assert!(manifest.requests.is_empty());
}

#[test]
fn a_section_for_the_plugin_in_the_application_file_is_refused() {
    let mut host = FakeHost::new();
    host.set_section(json!({ "duration": "5m" }));
    let wrong = wrong(host.quick_sync_plan::<Wait>(false));
    assert_eq!(
        (wrong.kind, &*wrong.path),
        (ConfigKind::Application, "/duration")
    );
}
