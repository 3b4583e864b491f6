use std::time::Duration;

use stagewright_sdk::testing::{FakeHost, StageRun, json, requested};
use stagewright_sdk::{ConfigKind, InvalidConfig};

use super::*;

fn wrong<T: std::fmt::Debug>(result: Result<T>) -> InvalidConfig {
    match result {
        Err(Error::InvalidConfig(wrong)) => wrong,
        other => panic!("expected invalid-config, got {other:?}"),
    }
}

fn plan(host: &FakeHost, options: &impl std::fmt::Display) -> PlannedStage {
    let asked = [requested(1, "WAIT_APPROVAL", options)];
    let planned = host.pipeline_sync_plan::<Approval>(true, &asked);
    let mut planned = planned.expect("a plan");
    assert_eq!(planned.len(), 1, "nothing is to be undone: {planned:?}");
    planned.remove(0)
}

/// The stage as it is planned, after its first turn.
fn waiting(host: &mut FakeHost, options: serde_json::Value) -> StageRun {
    let planned = plan(host, &options);
    let mut stage = host.stage("WAIT_APPROVAL", options).planned(&planned);
    assert_eq!(
        host.execute::<Approval>(&mut stage),
        Ok(Outcome::suspend_until_command(0))
    );
    stage
}

#[test]
fn it_is_planned_for_those_who_are_listed_and_for_anyone_if_nobody_is() {
    let host = FakeHost::new();
    let listed = plan(&host, &json!({ "approvers": ["ann", "bob"] }));
    assert_eq!(listed.operation, Operation::Approve);
    assert_eq!(listed.authorized_operators, ["ann", "bob"]);
    assert!(!listed.rollback && listed.visible);
    assert_eq!(listed.min_operators, 1);
    let both = plan(
        &host,
        &json!({ "approvers": ["ann", "bob"], "minApproverNum": 2 }),
    );
    assert_eq!(both.min_operators, 2);
    let blanks = plan(&host, &json!({ "approvers": [" ann ", "bob\n"] }));
    assert_eq!(blanks.authorized_operators, ["ann", "bob"]);
    let anyone = plan(&host, &json!({}));
    assert_eq!(anyone.operation, Operation::Approve);
    assert_eq!(anyone.authorized_operators, Vec::<String>::new());
}

#[test]
fn what_it_does_is_described_unless_the_file_does() {
    let host = FakeHost::new();
    for (options, whose) in [
        (json!({}), "anyone"),
        (json!({ "minApproverNum": 2 }), "2 people"),
        (json!({ "approvers": ["ann"] }), "ann"),
        (json!({ "approvers": ["ann", "bob"] }), "one of ann, bob"),
        (
            json!({ "approvers": ["ann", "bob"], "minApproverNum": 2 }),
            "ann, bob",
        ),
        (
            json!({ "approvers": ["ann", "bob", "cy"], "minApproverNum": 2 }),
            "2 of ann, bob, cy",
        ),
    ] {
        let planned = plan(&host, &options);
        assert_eq!(
            planned.description,
            format!("Waits for the approval of {whose}")
        );
    }
    let mut asked = requested(0, "WAIT_APPROVAL", "{}");
    asked.description = "Ask the team".to_owned();
    let planned = host.pipeline_sync_plan::<Approval>(false, &[asked]);
    assert_eq!(planned.expect("a plan")[0].description, "Ask the team");
}

#[test]
fn it_goes_on_when_enough_different_people_have_approved_and_says_who() {
    let mut host = FakeHost::new();
    let options = json!({ "approvers": ["ann", "bob", "cy"], "minApproverNum": 2 });
    let mut stage = waiting(&mut host, options);
    host.approve(&mut stage, "cy").expect("cy may");
    assert_eq!(
        host.wake::<Approval>(&mut stage),
        Ok(Outcome::suspend_until_command(1))
    );
    host.advance(Duration::from_secs(90));
    host.approve(&mut stage, "ann").expect("ann may");
    assert_eq!(host.wake::<Approval>(&mut stage), Ok(Outcome::succeeded()));
    assert_eq!(
        host.log(),
        [
            "Waiting for the approval of 2 of ann, bob, cy",
            "cy approved at 2026-01-01T00:00:00Z",
            "ann approved at 2026-01-01T00:01:30Z",
            "Approved by cy, ann"
        ]
    );
    assert_eq!(
        host.statuses(),
        ["0 of 2 approved", "1 of 2 approved", "2 of 2 approved"]
    );
}

#[test]
fn one_who_approves_twice_is_refused_and_one_whom_nobody_listed_too() {
    let mut host = FakeHost::new();
    let options = json!({ "approvers": ["ann", "bob"], "minApproverNum": 2 });
    let mut stage = waiting(&mut host, options);
    host.approve(&mut stage, "ann").expect("ann may");
    host.approve(&mut stage, "ann")
        .expect_err("she has already");
    host.approve(&mut stage, "eve").expect_err("eve may not");
    host.wake::<Approval>(&mut stage).expect("suspended");
    assert_eq!(
        host.statuses().last().map(String::as_str),
        Some("1 of 2 approved")
    );
}

#[test]
fn several_approvals_of_one_person_count_once_whatever_host_took_them() {
    let by = |number, by: &str| Command {
        number,
        kind: CommandKind::Approve,
        by: by.to_owned(),
        at: stagewright_sdk::Timestamp::from_millis(number),
    };
    let skip = Command {
        kind: CommandKind::Skip,
        ..by(3, "cy")
    };
    let commands = [by(1, "ann"), by(2, "ann"), skip, by(4, "bob")];
    let counted: Vec<u64> = approvals(&commands).iter().map(|one| one.number).collect();
    assert_eq!(counted, [1, 4]);
}

#[test]
fn an_approval_while_it_is_being_told_who_has_approved_is_not_missed() {
    let mut host = FakeHost::new();
    let planned = plan(&host, &json!({}));
    let mut stage = host.stage("WAIT_APPROVAL", "{}").planned(&planned);
    host.approve_on_log("Waiting for the approval", "ann");
    assert_eq!(
        host.execute::<Approval>(&mut stage),
        Ok(Outcome::suspend_until_command(0))
    );
    assert_eq!(host.wake::<Approval>(&mut stage), Ok(Outcome::succeeded()));
}

#[test]
fn an_approval_before_the_host_died_counts_in_the_next_attempt_and_is_told_once() {
    let mut host = FakeHost::new();
    let mut stage = waiting(&mut host, json!({ "minApproverNum": 2 }));
    host.approve(&mut stage, "ann").expect("anyone may");
    host.wake::<Approval>(&mut stage).expect("suspended");
    stage.lose();
    assert_eq!(
        host.execute::<Approval>(&mut stage),
        Ok(Outcome::suspend_until_command(1))
    );
    host.approve(&mut stage, "bob").expect("anyone may");
    stage.lose();
    assert_eq!(
        host.execute::<Approval>(&mut stage),
        Ok(Outcome::succeeded())
    );
    assert_eq!(
        host.log(),
        [
            "Waiting for the approval of 2 people",
            "ann approved at 2026-01-01T00:00:00Z",
            "bob approved at 2026-01-01T00:00:00Z",
            "Approved by ann, bob"
        ]
    );
}

#[test]
fn what_could_never_be_approved_is_refused_and_pointed_at_while_planning_and_in_the_stage() {
    let mut host = FakeHost::new();
    for (options, path, message) in [
        (
            json!({ "minApproverNum": 0 }),
            "/minApproverNum",
            "1 or more",
        ),
        (json!({ "minApproverNum": -1 }), "/minApproverNum", "u32"),
        (
            json!({ "approvers": ["ann", "bob"], "minApproverNum": 3 }),
            "/minApproverNum",
            "3 people must approve, but `approvers` lists 2",
        ),
        (
            json!({ "approvers": [] }),
            "/approvers",
            "leave `approvers` out",
        ),
        (
            json!({ "approvers": null }),
            "/approvers",
            "expected a sequence",
        ),
        (
            json!({ "approvers": "ann" }),
            "/approvers",
            "expected a sequence",
        ),
        (
            json!({ "approvers": ["ann", " "] }),
            "/approvers/1",
            "empty",
        ),
        (
            json!({ "approvers": ["ann", "bob", "ann"] }),
            "/approvers/2",
            "`ann` is listed twice",
        ),
        (
            json!({ "approvers": ["ann", "bob", " ann "] }),
            "/approvers/2",
            "`ann` is listed twice",
        ),
        (
            json!({ "approvers": ["ann\nbob"] }),
            "/approvers/0",
            "on one line",
        ),
        (
            json!({ "approvers": ["x".repeat(201)] }),
            "/approvers/0",
            "at most 200 characters",
        ),
        (json!({ "approver": ["ann"] }), "/approver", "unknown field"),
    ] {
        let asked = [requested(3, "WAIT_APPROVAL", &options)];
        let planning = wrong(host.pipeline_sync_plan::<Approval>(false, &asked));
        assert_eq!((planning.kind, &*planning.name), (ConfigKind::Stage, "3"));
        let mut stage = host.stage("WAIT_APPROVAL", &options);
        let executing = wrong(host.execute::<Approval>(&mut stage));
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
fn the_schema_of_the_options_takes_nothing_that_could_not_be_fulfilled() {
    let manifest = FakeHost::new().describe::<Approval>();
    let schema = manifest.stages[0]
        .options_schema
        .as_deref()
        .expect("a schema");
    let schema: serde_json::Value = serde_json::from_str(schema).expect("JSON");
    assert_eq!(schema["additionalProperties"], json!(false));
    assert!(schema.get("required").is_none(), "{schema}");
    let properties = &schema["properties"];
    assert_eq!(properties["approvers"]["type"], json!("array"));
    assert_eq!(properties["approvers"]["minItems"], json!(1));
    assert_eq!(properties["minApproverNum"]["type"], json!("integer"));
    assert_eq!(properties["minApproverNum"]["minimum"], json!(1));
    assert!(manifest.requests.is_empty());
}

#[test]
fn there_is_nothing_to_approve_in_a_quick_sync() {
    assert_eq!(
        FakeHost::new().quick_sync_plan::<Approval>(true),
        Ok(Vec::new())
    );
}
