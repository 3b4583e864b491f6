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
}

#[test]
fn a_planning_that_is_under_way_says_since_when_and_which_it_is() {
    let d = apply(&deployment_of_nothing(), begin_planning(), at(1));
    let d = d.unwrap().deployment;
    let said = waiting(&d, at(2));
    assert_eq!(said[0].what, [WaitsFor::Planning(1)]);
    assert_eq!(said[0].since, at(1));
    let d = apply(&d, begin_planning(), at(20)).unwrap().deployment;
    let said = waiting(&d, at(21));
    assert_eq!(said[0].what, [WaitsFor::Planning(2)]);
    assert_eq!(said[0].since, at(20));
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
    let ann = WaitsFor::People(people(Some(&["ann"]), &[], 1));
    assert_eq!(said[0].what, [ann, WaitsFor::Time(at(60))]);
    assert_eq!((said[0].since, said[0].limit), (at(5), Some(at(95))));
    let woken = &waiting(&d, at(70))[0];
    assert_eq!(woken.what, [WaitsFor::Host]);
    assert_eq!(woken.since, at(60));
}

fn people(who: Option<&[&str]>, given: &[&str], more: u32) -> People {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    People {
        kind: CommandKind::Approve,
        who: who.map(names),
        given: names(given),
        more,
    }
}

/// A stage for the approval of two, that waits since 5.
fn for_two(listed: &[&str]) -> Deployment {
    let mut d = deployment("A");
    d.stages[0].operation = Operation::Approve;
    d.stages[0].authorized_operators = listed.iter().map(|name| (*name).to_owned()).collect();
    d.stages[0].min_operators = 2;
    run(&d, "A", waits_for_a_person(), at(5))
}

fn approved(deployment: &Deployment, by: &str, time: Timestamp) -> Deployment {
    let event = Event::Commanded {
        stage: deployment.stages[0].id.clone(),
        kind: CommandKind::Approve,
        by: by.to_owned(),
    };
    apply(deployment, event, time).unwrap().deployment
}

#[test]
fn who_still_has_to_approve_is_said_and_how_many_of_them() {
    let all = ["ann", "bob", "cy"];
    let d = for_two(&all);
    let two = WaitsFor::People(people(Some(&all), &[], 2));
    assert_eq!(waiting(&d, at(6))[0].what, [two]);
    let d = approved(&d, "ann", at(6));
    let d = run(&d, "A", TurnEnd::Suspended(vec![Wake::Command(1)]), at(7));
    let one = WaitsFor::People(people(Some(&["bob", "cy"]), &["ann"], 1));
    assert_eq!(waiting(&d, at(8))[0].what, [one]);
    let anyone = WaitsFor::People(people(None, &[], 2));
    assert_eq!(waiting(&for_two(&[]), at(6))[0].what, [anyone]);
}

#[test]
fn what_was_approved_and_not_yet_resumed_waits_for_a_host_since_the_approval() {
    let mut d = for_two(&[]);
    d.stages[0].timeout = Some(30 * SECOND);
    let d = approved(&approved(&d, "ann", at(10)), "bob", at(12));
    for now in [at(13), at(100)] {
        let said = &waiting(&d, now)[0];
        assert_eq!(said.what, [WaitsFor::Host]);
        assert_eq!((said.since, said.limit), (at(10), None));
    }
}

#[test]
fn what_is_over_its_time_and_nobody_saw_waits_for_a_host_since_then() {
    let mut own = for_two(&[]);
    own.stages[0].timeout = Some(30 * SECOND);
    let mut whole = for_two(&[]);
    whole.timeout = Some(30 * SECOND);
    for d in [own, whole] {
        let in_time = &waiting(&d, at(34))[0];
        assert!(matches!(&in_time.what[..], [WaitsFor::People(_)]));
        let said = &waiting(&d, at(36))[0];
        assert_eq!(said.what, [WaitsFor::Overdue]);
        assert_eq!((said.since, said.limit), (at(35), Some(at(35))));
    }
}

#[test]
fn what_is_ready_waits_since_the_last_of_those_before_it_ended() {
    let d = deployment("ABab");
    assert_eq!(waiting(&d, at(1))[0].since, at(0));
    let d = end(&begin(&d, "A", at(1)), "A", TurnEnd::Succeeded, at(3));
    assert_eq!(waiting(&d, at(9))[0].since, at(3));
    let d = end(&begin(&d, "B", at(4)), "B", failed(), at(5));
    assert_eq!(of(&waiting(&d, at(9)), &d, "b").since, at(5));
    let d = end(&begin(&d, "b", at(6)), "b", TurnEnd::Succeeded, at(7));
    assert_eq!(of(&waiting(&d, at(9)), &d, "a").since, at(7));
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
