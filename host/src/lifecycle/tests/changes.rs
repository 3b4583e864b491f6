//! What a change says beside the deployment: what differs, what is told, what is
//! leased, what is due.

use super::*;

#[test]
fn a_change_counts_one_version_names_what_differs_and_says_when_something_is_due() {
    let d = deployment("AB");
    let a = stage(&d, "A").id.clone();
    let change = apply(&d, Event::StageBegun(a.clone()), at(1)).unwrap();
    assert_eq!(change.deployment.version, d.version + 1);
    assert_eq!(change.stages, [0]);
    assert_eq!(change.taken, [Leased::Stage(a.clone())]);
    assert_eq!(change.due, None, "a stage is at work");
    let kinds: Vec<&str> = change
        .events
        .iter()
        .map(|event| match event {
            EventKind::Deployment { status, .. } => status.as_str(),
            EventKind::Stage { name, .. } => name.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(kinds, ["running", "A"]);
    let ended = Event::StageEnded {
        stage: a.clone(),
        end: TurnEnd::Suspended(vec![Wake::At(at(60))]),
        targets: Vec::new(),
        exit_code: None,
    };
    let change = apply(&change.deployment, ended, at(2)).unwrap();
    assert_eq!(change.released, [Leased::Stage(a)]);
    assert_eq!(change.due, Some(at(60)));
}

#[test]
fn what_failed_is_told_before_what_ends_because_of_it() {
    let d = run(&parallel("AB"), "A", until(600), at(1));
    let d = begin(&d, "B", at(1));
    let event = Event::StageEnded {
        stage: stage(&d, "B").id.clone(),
        end: failed(),
        targets: Vec::new(),
        exit_code: None,
    };
    let change = apply(&d, event, at(2)).unwrap();
    let told: Vec<String> = change
        .events
        .iter()
        .map(|event| match event {
            EventKind::Stage { name, status, .. } => format!("{name} {status}"),
            EventKind::Deployment { status, .. } => status.to_string(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(told, ["B failed", "A cancelled", "failed"]);
}

#[test]
fn who_cancelled_is_told_before_what_came_of_it_and_a_rollbacks_end_before_the_deployments() {
    let d = run(&deployment("Aa"), "A", failed(), at(1));
    let d = run(&d, "a", until(600), at(2));
    let change = apply(&d, cancel_event("ann", false), at(3)).unwrap();
    let told: Vec<&str> = change
        .events
        .iter()
        .map(|event| match event {
            EventKind::Cancel(_) => "cancel",
            EventKind::Stage { .. } => "stage",
            EventKind::Rollback { .. } => "rollback",
            EventKind::Deployment { .. } => "deployment",
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(told, ["cancel", "stage", "rollback", "deployment"]);
    assert_eq!(change.due, None);
}
