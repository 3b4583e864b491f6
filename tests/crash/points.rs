//! Killed right before and right after each kind of transition is stored.
//!
//! Each test demands that the program died at each of its points; the last one
//! here demands that there is a test for every point.

use std::collections::BTreeSet;

use futures_util::StreamExt;
use stagewright::Cancel;
use stagewright::model::{DeploymentId, DeploymentStatus, EventKind, StageStatus};
use stagewright_tests::{Ended, Running};

use super::workload::{Kind, Workload};

const SIDES: [&str; 2] = ["before", "after"];

/// Starts the program so that it dies at a point.
fn start_to_die(load: &Workload, point: &str, arguments: &[&str]) -> Running {
    let variable = format!("STAGEWRIGHT_CRASH_AT={point}");
    load.project.start_by(&["env", &variable], arguments)
}

/// Demands that the program died where it was to.
#[track_caller]
fn died(ended: Ended, point: &str) {
    assert_eq!(ended.code, None, "{ended} should have died at {point}");
    let (place, _) = point.split_once('#').unwrap_or((point, ""));
    ended.complains(&format!("crash point {place}"));
    eprintln!("died {point}");
}

/// The points on both sides of a kind of transition.
fn around(transition: &str) -> [String; 2] {
    SIDES.map(|side| format!("{side} {transition}"))
}

/// Waits until something of a deployment has happened.
async fn until(load: &Workload, id: &DeploymentId, wanted: impl Fn(&EventKind) -> bool) {
    let mut events = Box::pin(load.host.events(Some(id.clone()), 0));
    while let Some(event) = events.next().await {
        if wanted(&event.expect("an event").kind) {
            return;
        }
    }
    panic!("{id} came to its end");
}

fn is_now(wanted: DeploymentStatus) -> impl Fn(&EventKind) -> bool {
    move |kind| matches!(kind, EventKind::Deployment { status, .. } if *status == wanted)
}

async fn cancel(load: &mut Workload, id: &DeploymentId) {
    let wish = Cancel {
        by: Some("ann".to_owned()),
        why: String::new(),
        rollback: true,
    };
    load.host.cancel(id, &wish).await.expect("it is cancelled");
    load.cancelled.push(id.clone());
}

#[tokio::test]
async fn a_death_on_the_way_of_a_deployment_is_survived_at_each_point_of_it() {
    let points = [
        around("plan-begun"),
        around("planned"),
        around("stage-begun"),
        around("stage-ended"),
    ];
    for point in points.as_flattened() {
        for time in 1..=2 {
            // A plan is made once.
            if time > 1 && point.contains("plan") {
                continue;
            }
            let point = format!("{point}#{time}");
            let mut load = Workload::new().await;
            load.submit(Kind::Succeeds).await;
            died(start_to_die(&load, &point, &["work"]).end(), &point);
            load.finish().await;
            load.check().await;
        }
    }
}

#[tokio::test]
async fn a_death_in_a_rollback_is_survived() {
    let points = [around("stage-begun"), around("stage-ended")];
    for point in points.as_flattened() {
        // Both stages before it have begun, and have ended.
        let point = format!("{point}#3");
        let mut load = Workload::new().await;
        load.submit(Kind::Fails).await;
        died(start_to_die(&load, &point, &["work"]).end(), &point);
        load.finish().await;
        load.check().await;
    }
}

#[tokio::test]
async fn a_death_while_a_deployment_is_stored_leaves_all_of_it_or_nothing() {
    for (point, stored) in around("submitted").into_iter().zip([0, 1]) {
        let load = Workload::new().await;
        let run = ["run", "succeeds/app.yaml", "--detach"];
        died(start_to_die(&load, &point, &run).end(), &point);
        let all = load.host.deployments(&Default::default()).await;
        assert_eq!(all.expect("a list").len(), stored, "{point}");
        load.project.run(&["work", "--until-idle"]);
    }
}

#[tokio::test]
async fn a_death_while_a_loss_is_noticed_loses_no_further_attempt() {
    for point in around("stage-lost") {
        let mut load = Workload::new().await;
        let id = load.submit(Kind::Succeeds).await;
        let begun = "after stage-begun";
        died(start_to_die(&load, begun, &["work"]).end(), begun);
        died(start_to_die(&load, &point, &["work"]).end(), &point);
        load.finish().await;
        load.check().await;
        let deployment = load.deployment(&id).await;
        assert_eq!(deployment.stages[0].attempt.number, 2, "{point}");
    }
}

#[tokio::test]
async fn a_death_while_a_time_limit_is_noticed_leaves_it_noticed() {
    for point in around("tick") {
        let mut load = Workload::new().await;
        load.project.write(
            "succeeds/app.yaml",
            "apiVersion: stagewright.dev/v1\nkind: Application\nspec:\n  name: waits\n  \
             planner: { alwaysUsePipeline: true }\n  pipeline:\n    stages:\n      - name: PROBE\n        timeout: 1s\n        \
             with: { do: [{ suspend: 99999999999999 }] }\n",
        );
        let id = load.submit(Kind::Succeeds).await;
        died(start_to_die(&load, &point, &["work"]).end(), &point);
        load.finish().await;
        let deployment = load.deployment(&id).await;
        assert_eq!(deployment.status, DeploymentStatus::Failed, "{point}");
        assert_eq!(
            deployment.stages[0].status,
            StageStatus::TimedOut,
            "{point}"
        );
    }
}

#[tokio::test]
async fn a_death_while_a_plan_fails_leaves_the_reason() {
    for point in around("plan-failed") {
        let mut load = Workload::with_config("config: { do: [{ panic: out of order }] }").await;
        let id = load.submit(Kind::Succeeds).await;
        died(start_to_die(&load, &point, &["work"]).end(), &point);
        load.finish().await;
        let deployment = load.deployment(&id).await;
        assert_eq!(deployment.status, DeploymentStatus::Failed, "{point}");
        assert!(
            deployment.reason.contains("out of order"),
            "{}",
            deployment.reason
        );
    }
}

#[tokio::test]
async fn a_death_while_a_plan_is_handed_back_leaves_it_to_the_next_host() {
    for point in around("plan-handed-back") {
        let mut load = Workload::with_config("config: { do: [spin-until-cancelled] }").await;
        let id = load.submit(Kind::Succeeds).await;
        let program = start_to_die(&load, &point, &["work"]);
        until(&load, &id, is_now(DeploymentStatus::Planning)).await;
        program.terminate();
        died(program.end(), &point);
        // It is planned again, which would not end either.
        cancel(&mut load, &id).await;
        load.finish().await;
        let deployment = load.deployment(&id).await;
        assert_eq!(deployment.status, DeploymentStatus::Cancelled, "{point}");
    }
}

#[tokio::test]
async fn a_death_while_a_cancel_is_stored_leaves_all_of_it_or_nothing() {
    let expected = [DeploymentStatus::Succeeded, DeploymentStatus::Cancelled];
    for (point, expected) in around("cancelled").into_iter().zip(expected) {
        let mut load = Workload::new().await;
        let id = load.submit(Kind::Succeeds).await;
        let cancel = ["cancel", id.as_str(), "--by", "ann"];
        died(start_to_die(&load, &point, &cancel).end(), &point);
        load.finish().await;
        assert_eq!(load.deployment(&id).await.status, expected, "{point}");
    }
}

#[tokio::test]
async fn a_death_while_an_approval_or_a_skip_is_stored_leaves_all_of_it_or_nothing() {
    for (verb, done) in [("approve", "approved"), ("skip", "skipped")] {
        for (point, stored) in around("commanded").into_iter().zip([0, 1]) {
            let mut load = Workload::new().await;
            load.project.write(
                "succeeds/app.yaml",
                format!(
                    "apiVersion: stagewright.dev/v1\nkind: Application\nspec:\n  name: waits\n  \
                     planner: {{ alwaysUsePipeline: true }}\n  pipeline:\n    stages:\n      \
                     - name: PROBE\n        with:\n          operation: {verb}\n          \
                     operators: [ann]\n          do: [{{ suspend-until-command: 0 }}]\n          \
                     woken: [{{ commands: 0 }}]\n"
                ),
            );
            let id = load.submit(Kind::Succeeds).await;
            load.project.run(&["work", "--until-idle"]).exits(5);
            let command = [verb, id.as_str(), "--by", "ann"];
            died(start_to_die(&load, &point, &command).end(), &point);
            let stage = &load.deployment(&id).await.stages[0];
            assert_eq!(stage.commands.len(), stored, "{point}");
            // Whoever saw it die does it again, and is told which it was.
            let again = load.project.run(&command).exits(0);
            let already = again.stdout.contains("already");
            assert_eq!(already, stored == 1, "{again} at {point}");
            again.says(&format!("was {done} by ann"));
            load.finish().await;
            let deployment = load.deployment(&id).await;
            assert_eq!(deployment.status, DeploymentStatus::Succeeded, "{point}");
            assert_eq!(deployment.stages[0].commands.len(), 1, "{point}");
        }
    }
}

#[test]
fn every_kind_of_transition_has_a_test_that_dies_before_and_after_it() {
    let (_, names) = include_str!("../../host/src/lifecycle/event.rs")
        .split_once("pub fn name(")
        .expect("the names of the transitions");
    let (names, _) = names.split_once("\n    }\n").expect("the end of them");
    let mut all: BTreeSet<&str> = names.split('"').skip(1).step_by(2).collect();
    assert!(all.contains("commanded"), "{all:?}");
    // The first of all is no transition of something that is there.
    all.insert("submitted");
    let tests = include_str!("points.rs");
    for name in all {
        let dies = tests.contains(&format!("around(\"{name}\")"));
        assert!(dies, "no test dies around {name}");
    }
}
