//! What a stage learns of the people who approve or skip it, and what a host would
//! refuse of them.

mod probe;

use std::time::Duration;

use probe::{Probe, in_stage, next_body, while_planning};
use stagewright_sdk::commands::{self, CommandKind};
use stagewright_sdk::testing::{FakeHost, StageRun, requested};
use stagewright_sdk::{
    ANYONE, Cause, Error, Operation, Outcome, PlannedStage, Result, StageRequest, Wake,
};

/// A stage that ann and bob may approve.
fn for_approval(host: &mut FakeHost) -> StageRun {
    let asked = requested(2, "PROBE", "{}");
    let planned = PlannedStage::of(&asked).operated_by(Operation::Approve, ["ann", "bob"]);
    host.stage("PROBE", "{}").planned(&planned)
}

/// Executes a turn that ends with this.
fn turn(
    host: &mut FakeHost,
    stage: &mut StageRun,
    body: impl FnOnce(&StageRequest<Probe>) -> Result<Outcome> + 'static,
) -> Outcome {
    next_body(body);
    host.execute::<Probe>(stage).expect("an outcome")
}

fn waits(_: &StageRequest<Probe>) -> Result<Outcome> {
    Ok(Outcome::suspend_until_command(0))
}

#[test]
fn commands_come_in_order_with_who_and_when_and_only_those_after_the_cursor() {
    let mut host = FakeHost::new();
    let mut stage = for_approval(&mut host);
    turn(&mut host, &mut stage, waits);
    let first = host.now();
    host.approve(&mut stage, "bob").expect("bob may");
    host.advance(Duration::from_secs(60));
    let second = host.now();
    host.approve(&mut stage, "ann").expect("ann may");
    turn(&mut host, &mut stage, move |_| {
        let all = commands::after(0)?;
        let told: Vec<_> = all
            .iter()
            .map(|command| (command.number, command.kind, &*command.by, command.at))
            .collect();
        assert_eq!(
            told,
            [
                (1, CommandKind::Approve, "bob", first),
                (2, CommandKind::Approve, "ann", second)
            ]
        );
        assert_eq!(commands::after(1)?, all[1..]);
        assert_eq!(commands::after(2)?, []);
        Ok(Outcome::succeeded())
    });
}

#[test]
fn a_command_wakes_a_suspended_stage_at_once_and_is_the_cause() {
    let mut host = FakeHost::new();
    let mut stage = for_approval(&mut host);
    let end = host.now() + Duration::from_secs(3600);
    turn(&mut host, &mut stage, move |_| {
        Ok(Outcome::suspend([Wake::At(end), Wake::Command(0)]))
    });
    let now = host.now();
    host.approve(&mut stage, "ann").expect("ann may");
    next_body(move |request| {
        assert_eq!(
            (request.stage.cause, request.stage.turn),
            (Cause::Command, 2)
        );
        Ok(Outcome::suspend([Wake::At(end), Wake::Command(1)]))
    });
    host.wake::<Probe>(&mut stage).expect("suspended again");
    assert_eq!(host.now(), now, "it did not wait for the time");
    next_body(|request| {
        assert_eq!((request.stage.cause, request.stage.turn), (Cause::Time, 3));
        Ok(Outcome::succeeded())
    });
    host.wake::<Probe>(&mut stage).expect("the time came");
    assert_eq!(host.now(), end);
}

#[test]
fn a_time_that_has_come_is_the_cause_whatever_else_has_come() {
    let mut host = FakeHost::new();
    let mut stage = for_approval(&mut host);
    let end = host.now() + Duration::from_secs(3600);
    turn(&mut host, &mut stage, move |_| {
        Ok(Outcome::suspend([Wake::At(end), Wake::Command(0)]))
    });
    host.set_now(end);
    host.approve(&mut stage, "ann").expect("ann may");
    turn(&mut host, &mut stage, |request| {
        assert_eq!(request.stage.cause, Cause::Time);
        Ok(Outcome::succeeded())
    });
}

#[test]
fn an_approval_between_the_read_and_the_suspension_is_not_missed() {
    let mut host = FakeHost::new();
    let mut stage = for_approval(&mut host);
    host.approve_on_log("nobody so far", "bob");
    turn(&mut host, &mut stage, |_| {
        let seen = commands::after(0)?.last().map_or(0, |last| last.number);
        stagewright_sdk::info!("nobody so far");
        Ok(Outcome::suspend_until_command(seen))
    });
    next_body(|request| {
        assert_eq!(request.stage.cause, Cause::Command);
        assert_eq!(commands::after(0)?[0].by, "bob");
        Ok(Outcome::succeeded())
    });
    let ended = host.wake::<Probe>(&mut stage);
    assert_eq!(ended, Ok(Outcome::succeeded()));
}

#[test]
fn a_lost_stage_finds_the_commands_of_its_earlier_attempt() {
    let mut host = FakeHost::new();
    let mut stage = for_approval(&mut host);
    turn(&mut host, &mut stage, waits);
    host.approve(&mut stage, "ann").expect("ann may");
    stage.lose();
    turn(&mut host, &mut stage, |request| {
        assert_eq!(request.stage.cause, Cause::Loss);
        assert_eq!(commands::after(0)?.len(), 1);
        Ok(Outcome::succeeded())
    });
}

#[test]
fn what_the_real_host_would_not_take_is_refused_in_its_words() {
    let mut host = FakeHost::new();
    let mut stage = for_approval(&mut host);
    let refused = |result: Result<(), String>, words: &str| {
        assert_eq!(result, Err(format!("stage 3 (PROBE) {words}")));
    };
    refused(
        host.approve(&mut stage, "ann"),
        "has not started, it is too early to approve it",
    );
    turn(&mut host, &mut stage, waits);
    assert_eq!(
        host.approve(&mut stage, "eve"),
        Err("eve may not approve stage 3 (PROBE); these may: ann, bob".to_owned())
    );
    refused(host.skip(&mut stage, "ann"), "is none that people skip");
    host.approve(&mut stage, "ann").expect("ann may");
    refused(
        host.approve(&mut stage, "ann"),
        "was approved by ann already",
    );
    assert_eq!(stage.commands.len(), 1, "{:?}", stage.commands);
    turn(&mut host, &mut stage, |_| Ok(Outcome::succeeded()));
    refused(
        host.approve(&mut stage, "bob"),
        "is succeeded, it is too late to approve it",
    );
}

#[test]
fn a_stage_that_is_being_cancelled_is_neither_approved_nor_skipped() {
    let mut host = FakeHost::new();
    let mut stage = for_approval(&mut host);
    turn(&mut host, &mut stage, waits);
    host.cancel();
    assert_eq!(
        host.approve(&mut stage, "ann"),
        Err("stage 3 (PROBE) is being cancelled, it is too late to approve it".to_owned())
    );
}

#[test]
fn without_a_list_anyone_may_skip_a_stage_that_can_be_skipped() {
    let mut host = FakeHost::new();
    let mut stage = host
        .stage("PROBE", "{}")
        .operated_by(Operation::Skip, ANYONE);
    turn(&mut host, &mut stage, waits);
    host.skip(&mut stage, "whoever").expect("anyone may");
    turn(&mut host, &mut stage, |_| {
        assert_eq!(commands::after(0)?[0].kind, CommandKind::Skip);
        Ok(Outcome::skipped("skipped"))
    });
}

#[test]
fn a_skip_while_the_plugin_is_at_work_is_seen_by_the_next_read() {
    let mut host = FakeHost::new();
    let mut stage = host
        .stage("PROBE", "{}")
        .operated_by(Operation::Skip, ANYONE);
    host.skip_on_log("at work", "ann");
    turn(&mut host, &mut stage, |_| {
        assert_eq!(commands::after(0)?, []);
        stagewright_sdk::info!("at work");
        assert_eq!(commands::after(0)?[0].by, "ann");
        Ok(Outcome::succeeded())
    });
}

#[test]
#[should_panic(expected = "PROBE is suspended until a command, but it is one that nobody approves")]
fn a_wait_for_a_command_that_nobody_may_give_is_refused() {
    let outcome = in_stage(&mut FakeHost::new(), waits);
    panic!("it was taken: {outcome:?}");
}

#[test]
#[should_panic(expected = "PROBE waits for a command that nobody has given")]
fn a_turn_that_no_host_would_begin_is_refused() {
    let mut host = FakeHost::new();
    let mut stage = for_approval(&mut host);
    turn(&mut host, &mut stage, waits);
    let outcome = host.wake::<Probe>(&mut stage);
    panic!("it was called: {outcome:?}");
}

#[test]
#[should_panic(expected = "eve may not approve stage 3 (PROBE); these may: ann, bob")]
fn someone_who_acts_on_a_line_of_the_log_and_may_not_is_refused() {
    let mut host = FakeHost::new();
    let mut stage = for_approval(&mut host);
    host.approve_on_log("at work", "eve");
    let outcome = turn(&mut host, &mut stage, |_| {
        stagewright_sdk::info!("at work");
        Ok(Outcome::succeeded())
    });
    panic!("it was taken: {outcome:?}");
}

#[test]
fn while_planning_there_are_no_commands() {
    let refused = while_planning(&FakeHost::new(), || commands::after(0).map(drop));
    let error = refused.expect_err("there is no stage yet");
    assert!(matches!(error, Error::Denied(_)), "{error:?}");
}

#[test]
#[should_panic(expected = "call the plugin through `testing::FakeHost`")]
fn outside_of_a_host_the_commands_say_what_is_missing() {
    let _ = commands::after(0);
}
