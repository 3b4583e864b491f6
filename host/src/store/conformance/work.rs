//! What is promised of work that is due and of leases.

use super::*;
use crate::model::{Cancellation, DeploymentId};
use crate::store::{Lease, Leased};

/// Stores a deployment that is due at a time.
async fn due_at(store: &dyn Store, id: &str, due: Option<u64>) -> Deployment {
    let new = deployment(id, "site");
    store.create(&new).await.unwrap();
    let mut change = change(&new, |d| d.status = DeploymentStatus::Running);
    change.due = due.map(Timestamp);
    apply(store, &change).await
}

/// Takes a lease on a stage, or on the plan.
async fn take(
    store: &dyn Store,
    old: &Deployment,
    what: Leased,
    owner: &str,
    until: u64,
) -> Deployment {
    let mut change = change(old, |_| {});
    change.taken = vec![what];
    store
        .apply(std::slice::from_ref(&change), &holder(owner, until))
        .await
        .unwrap();
    change.deployment
}

fn on_stage(stage: &str) -> Leased {
    Leased::Stage(stage.into())
}

async fn due(store: &dyn Store, now: u64, limit: usize) -> Vec<String> {
    let due = store.due(Timestamp(now), limit).await.unwrap();
    due.iter().map(|due| due.deployment.to_string()).collect()
}

pub(in crate::store) async fn what_is_due_comes_earliest_first_up_to_the_limit(store: &dyn Store) {
    for (id, time) in [
        ("d1", Some(30)),
        ("d2", Some(10)),
        ("d3", None),
        ("d4", Some(20)),
    ] {
        due_at(store, id, time).await;
    }
    assert!(due(store, 9, 10).await.is_empty());
    assert_eq!(due(store, 20, 10).await, ["d2", "d4"]);
    assert_eq!(due(store, u64::MAX, 10).await, ["d2", "d4", "d1"]);
    assert_eq!(due(store, 30, 1).await, ["d2"]);
}

pub(in crate::store) async fn a_change_says_anew_when_it_is_due(store: &dyn Store) {
    let old = due_at(store, "d", Some(10)).await;
    let mut later = change(&old, |_| {});
    later.due = Some(Timestamp(20));
    let old = apply(store, &later).await;
    assert!(due(store, 19, 10).await.is_empty());
    assert_eq!(due(store, 20, 10).await, ["d"]);
    let found = store.due(Timestamp(20), 10).await.unwrap();
    assert_eq!(
        found[0].version, old.version,
        "who knows it knows what is due"
    );
    apply(store, &change(&old, |_| {})).await;
    assert!(due(store, u64::MAX, 10).await.is_empty());
}

pub(in crate::store) async fn the_next_due_time_is_the_earliest_of_waits_and_lapses(
    store: &dyn Store,
) {
    assert_eq!(store.next_due().await.unwrap(), None);
    let old = due_at(store, "d1", None).await;
    assert_eq!(store.next_due().await.unwrap(), None);
    take(store, &old, Leased::Plan, "host", 50).await;
    assert_eq!(store.next_due().await.unwrap(), Some(Timestamp(50)));
    due_at(store, "d2", Some(60)).await;
    assert_eq!(store.next_due().await.unwrap(), Some(Timestamp(50)));
    due_at(store, "d3", Some(40)).await;
    assert_eq!(store.next_due().await.unwrap(), Some(Timestamp(40)));
}

pub(in crate::store) async fn a_lease_that_lapses_makes_its_deployment_due_once(store: &dyn Store) {
    let old = due_at(store, "d", None).await;
    let old = take(store, &old, on_stage("s1"), "host", 40).await;
    take(store, &old, on_stage("s2"), "host", 50).await;
    due_at(store, "e", Some(45)).await;
    assert!(due(store, 39, 10).await.is_empty());
    assert_eq!(due(store, 40, 10).await, ["d"]);
    assert_eq!(due(store, 60, 10).await, ["d", "e"]);
}

pub(in crate::store) async fn a_lease_is_renewed_for_its_owner_only_and_each_time_made_longer(
    store: &dyn Store,
) {
    let old = due_at(store, "d", None).await;
    let old = take(store, &old, on_stage("s1"), "one", 40).await;
    take(store, &old, on_stage("s2"), "two", 40).await;
    store.renew("one", Timestamp(60)).await.unwrap();
    store.renew("one", Timestamp(50)).await.unwrap();
    store.renew("nobody", Timestamp(90)).await.unwrap();
    let lease = |stage, owner: &str, until| Lease {
        deployment: old.id.clone(),
        what: on_stage(stage),
        owner: owner.to_owned(),
        until: Timestamp(until),
    };
    // Also when the clock was set back: whoever looks sees that it was renewed.
    let leases = store.leases(&old.id).await.unwrap();
    assert_eq!(leases, [lease("s1", "one", 61), lease("s2", "two", 40)]);
}

pub(in crate::store) async fn a_released_lease_is_gone_and_one_taken_again_has_a_new_owner(
    store: &dyn Store,
) {
    let old = due_at(store, "d", None).await;
    let old = take(store, &old, Leased::Plan, "one", 40).await;
    let old = take(store, &old, on_stage("s1"), "one", 40).await;
    let old = take(store, &old, on_stage("s1"), "two", 70).await;
    let mut release = change(&old, |_| {});
    release.released = vec![Leased::Plan, on_stage("unknown")];
    apply(store, &release).await;
    let leases = store.leases(&old.id).await.unwrap();
    assert_eq!(leases.len(), 1);
    assert_eq!(leases[0].what, on_stage("s1"));
    assert_eq!(leases[0].owner, "two");
    assert_eq!(leases[0].until, Timestamp(70));
}

pub(in crate::store) async fn a_lease_has_lapsed_when_its_time_is_over(store: &dyn Store) {
    let lease = Lease {
        deployment: "d".into(),
        what: Leased::Plan,
        owner: "somebody far away".to_owned(),
        until: Timestamp(50),
    };
    assert!(!store.has_lapsed(&lease, Timestamp(49)).await.unwrap());
    assert!(store.has_lapsed(&lease, Timestamp(50)).await.unwrap());
}

pub(in crate::store) async fn the_end_of_a_deployment_ends_its_leases(store: &dyn Store) {
    let old = due_at(store, "d", None).await;
    let old = take(store, &old, on_stage("s1"), "host", 40).await;
    apply(
        store,
        &change(&old, |d| d.status = DeploymentStatus::Failed),
    )
    .await;
    assert!(store.leases(&old.id).await.unwrap().is_empty());
    assert!(due(store, u64::MAX, 10).await.is_empty());
}

pub(in crate::store) async fn deployments_of_an_application_queue_in_their_order(
    store: &dyn Store,
) {
    let queued = |id: &str, application: &str| deployment(id, application);
    let ahead = async |id: &str| {
        let ahead = store.ahead(&id.into()).await.unwrap();
        ahead.map(|id| id.to_string())
    };
    let mut old = Vec::new();
    for (id, application) in [
        ("d1", "site"),
        ("d2", "site"),
        ("d3", "site"),
        ("e1", "shop"),
    ] {
        let new = queued(id, application);
        store.create(&new).await.unwrap();
        old.push(new);
    }
    assert_eq!(due(store, 0, 10).await, ["d1", "e1"], "the first of each");
    assert_eq!(ahead("d1").await, None);
    assert_eq!(ahead("d2").await.as_deref(), Some("d1"));
    assert_eq!(ahead("d3").await.as_deref(), Some("d1"));
    assert_eq!(ahead("e1").await, None);
    // One that leaves the queue in the middle lets nobody pass.
    apply(
        store,
        &change(&old[1], |d| d.status = DeploymentStatus::Cancelled),
    )
    .await;
    assert_eq!(due(store, 0, 10).await, ["d1", "e1"]);
    apply(
        store,
        &change(&old[0], |d| d.status = DeploymentStatus::Failed),
    )
    .await;
    assert_eq!(due(store, 0, 10).await, ["d3", "e1"]);
    assert_eq!(ahead("d3").await, None);
}

pub(in crate::store) async fn cancelled_deployments_are_known_until_their_end(store: &dyn Store) {
    let cancelling = async || {
        let ids = store.cancelling().await.unwrap();
        ids.iter().map(DeploymentId::to_string).collect::<Vec<_>>()
    };
    let old = due_at(store, "d", None).await;
    due_at(store, "other", None).await;
    assert!(cancelling().await.is_empty());
    let wish = Cancellation {
        before: None,
        by: Some("ann".into()),
        why: "wrong region".into(),
        rollback: true,
        at: Timestamp(7),
    };
    let old = apply(store, &change(&old, |d| d.cancel = Some(wish.clone()))).await;
    assert_eq!(cancelling().await, ["d"]);
    let stored = store.load(&old.id).await.unwrap().unwrap();
    assert_eq!(stored.cancel, Some(wish));
    apply(
        store,
        &change(&old, |d| d.status = DeploymentStatus::Cancelled),
    )
    .await;
    assert!(cancelling().await.is_empty());
}
