//! What is said of everything that waits.

use super::*;
use crate::model::CommandKind;

/// What is said of a stage.
fn of<'a>(waiting: &'a [Waiting], deployment: &Deployment, name: &str) -> &'a Waiting {
    let id = Some(&stage(deployment, name).id);
    let mut all = waiting.iter();
    all.find(|one| one.stage.as_ref() == id).unwrap()
}

#[test]
fn before_it_is_planned_the_whole_deployment_waits() {
    let d = deployment_of_nothing();
    let only = Waiting {
        stage: None,
        what: vec![WaitsFor::Queue],
        since: at(0),
        limit: None,
    };
    assert_eq!(waiting(&d, at(1)), [only]);
    let d = apply(&d, begin_planning(), at(1)).unwrap().deployment;
    assert_eq!(waiting(&d, at(1))[0].what, [WaitsFor::Planner]);
}

#[test]
fn a_stage_waits_for_those_before_it_then_for_a_host_then_for_its_turn() {
    let d = deployment("ABab");
    let said = waiting(&d, at(1));
    assert_eq!(said.len(), 2, "rollback stages are not told of yet");
    assert_eq!(of(&said, &d, "A").what, [WaitsFor::Host]);
    let first = stage(&d, "A").id.clone();
    assert_eq!(of(&said, &d, "B").what, [WaitsFor::Stages(vec![first])]);
    let d = begin(&d, "A", at(1));
    assert_eq!(of(&waiting(&d, at(1)), &d, "A").what, [WaitsFor::Turn]);
    let d = cancel(&d, true, at(2));
    assert_eq!(of(&waiting(&d, at(2)), &d, "A").what, [WaitsFor::Stop]);
}

#[test]
fn a_suspended_stage_waits_for_whom_it_names_or_a_time_and_has_a_limit() {
    let mut d = deployment("A");
    d.stages[0].operation = Operation::Approve;
    d.stages[0].authorized_operators = vec!["ann".into()];
    d.stages[0].timeout = Some(90 * SECOND);
    let d = run(&d, "A", until(60), at(5));
    let said = waiting(&d, at(6));
    let person = WaitsFor::Person(CommandKind::Approve, vec!["ann".into()]);
    assert_eq!(said[0].what, [person, WaitsFor::Time(at(60))]);
    assert_eq!((said[0].since, said[0].limit), (at(5), Some(at(95))));
    assert_eq!(waiting(&d, at(60))[0].what, [WaitsFor::Host], "it is woken");
}

#[test]
fn rollback_stages_wait_for_the_one_whose_turn_it_is() {
    let d = run(&deployment("ABab"), "A", TurnEnd::Succeeded, at(1));
    let d = run(&d, "B", failed(), at(2));
    let said = waiting(&d, at(3));
    assert_eq!(of(&said, &d, "b").what, [WaitsFor::Host]);
    let turn = stage(&d, "b").id.clone();
    assert_eq!(of(&said, &d, "a").what, [WaitsFor::Stages(vec![turn])]);
}

#[test]
fn a_stage_whose_host_is_gone_waits_for_another() {
    let d = lose(&begin(&deployment("A"), "A", at(1)), "A", false);
    assert_eq!(waiting(&d, at(9))[0].what, [WaitsFor::Host]);
}

#[test]
fn nothing_waits_after_the_end() {
    let d = run(&deployment("A"), "A", TurnEnd::Succeeded, at(1));
    assert_eq!(waiting(&d, at(2)), []);
}
