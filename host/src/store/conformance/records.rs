//! What is promised of state, logs, events, components, and of who is told.

use super::*;
use crate::model::PinnedPlugin;
use crate::store::{Keep, StateOwner, StoreError};

fn value(key: &str, text: &str) -> (String, Vec<u8>) {
    (key.to_owned(), text.as_bytes().to_vec())
}

pub(in crate::store) async fn values_are_kept_for_their_owner_alone(store: &dyn Store) {
    let owners = [
        StateOwner::Stage("x".into()),
        StateOwner::Stage("y".into()),
        StateOwner::Deployment("x".into(), "p".into()),
        StateOwner::Deployment("x".into(), "q".into()),
        StateOwner::Application("x".into(), "p".into()),
    ];
    for (place, owner) in owners.iter().enumerate() {
        let values = [value("key", &place.to_string())];
        store.state_put(owner, &values, None).await.unwrap();
    }
    for (place, owner) in owners.iter().enumerate() {
        let stored = store.state_get(owner, "key").await.unwrap();
        assert_eq!(stored, Some(place.to_string().into_bytes()));
    }
}

pub(in crate::store) async fn a_value_is_replaced_and_removed(store: &dyn Store) {
    let owner = StateOwner::Stage("s".into());
    let get = async |key| store.state_get(&owner, key).await.unwrap();
    let values = [value("a", "1"), value("b", ""), value("a", "2")];
    store.state_put(&owner, &values, None).await.unwrap();
    assert_eq!(get("a").await.as_deref(), Some(&b"2"[..]));
    assert_eq!(get("b").await.as_deref(), Some(&b""[..]));
    store.state_delete(&owner, "a", None).await.unwrap();
    store.state_delete(&owner, "a", None).await.unwrap();
    assert_eq!(get("a").await, None);
    assert!(get("b").await.is_some());
}

pub(in crate::store) async fn keys_are_listed_by_their_start_in_order(store: &dyn Store) {
    let owner = StateOwner::Application("a".into(), "p".into());
    let keys = ["b/2", "b/\u{10ffff}", "a", "b/1", "c", "b", "b%"];
    let values: Vec<_> = keys.iter().map(|key| value(key, "")).collect();
    store.state_put(&owner, &values, None).await.unwrap();
    let list = async |prefix| store.state_keys(&owner, prefix).await.unwrap();
    assert_eq!(list("b/").await, ["b/1", "b/2", "b/\u{10ffff}"]);
    assert_eq!(list("b%").await, ["b%"]);
    assert_eq!(list("").await.len(), keys.len());
    assert!(list("d").await.is_empty());
    let other = StateOwner::Application("a".into(), "q".into());
    assert!(store.state_keys(&other, "").await.unwrap().is_empty());
}

/// Tries each fenced write.
async fn fenced_writes(store: &dyn Store, fence: &Fence) -> [Result<(), StoreError>; 4] {
    let stage = fence.stage.clone().expect("a stage");
    let owner = StateOwner::Stage(stage);
    let key = LogKey {
        deployment: fence.deployment.clone(),
        stage: fence.stage.clone(),
    };
    let (values, lines) = ([value("k", "v")], [line(1, "line")]);
    [
        store.state_put(&owner, &values, Some(fence)).await,
        store.state_delete(&owner, "k", Some(fence)).await,
        store.log_append(&key, &lines, Some(fence)).await,
        store.note(fence, "note", Timestamp(1)).await,
    ]
}

pub(in crate::store) async fn every_write_of_another_execution_or_after_the_end_is_refused(
    store: &dyn Store,
) {
    let old = running(store, &["s1", "s2"]).await;
    let old = apply(
        store,
        &change(&old, |d| {
            d.stages[0].attempt = Attempt { number: 2, turn: 3 };
            d.stages[1].status = StageStatus::Succeeded;
        }),
    )
    .await;
    for (number, turn) in [(1, 1), (1, 3), (2, 2), (2, 4), (3, 1), (3, 3)] {
        for result in fenced_writes(store, &fence("s1", number, turn)).await {
            assert!(
                matches!(result, Err(StoreError::Stale)),
                "{number} {turn}: {result:?}"
            );
        }
    }
    let mut elsewhere = fence("s1", 2, 3);
    elsewhere.deployment = "e".into();
    for fence in [fence("s2", 1, 1), fence("unknown", 1, 1), elsewhere] {
        for result in fenced_writes(store, &fence).await {
            assert!(
                matches!(result, Err(StoreError::Stale)),
                "{fence:?}: {result:?}"
            );
        }
    }
    assert_eq!(store.log_end(&log(Some("s1"))).await.unwrap(), 0);
    assert_eq!(store.load(&old.id).await.unwrap(), Some(old));
    for result in fenced_writes(store, &fence("s1", 2, 3)).await {
        result.unwrap();
    }
}

pub(in crate::store) async fn what_a_planning_says_is_refused_when_another_one_has_begun(
    store: &dyn Store,
) {
    let new = deployment("d", "site");
    store.create(&new).await.unwrap();
    let planning = |attempt| {
        move |d: &mut Deployment| {
            d.status = DeploymentStatus::Planning;
            d.plan_attempt = attempt;
        }
    };
    let of = |number| Fence {
        deployment: "d".into(),
        stage: None,
        attempt: Attempt { number, turn: 0 },
    };
    let says = async |number, text: &str| {
        let (key, lines, fence) = (log(None), [line(0, text)], of(number));
        match store.log_append(&key, &lines, Some(&fence)).await {
            Ok(()) => true,
            Err(StoreError::Stale) => false,
            Err(error) => panic!("{error}"),
        }
    };
    assert!(!says(1, "too early").await);
    let first = apply(store, &change(&new, planning(1))).await;
    assert!(says(1, "first").await);
    let second = apply(store, &change(&first, planning(2))).await;
    assert!(!says(1, "taken over").await);
    assert!(says(2, "second").await);
    let note = store.note(&of(2), "note", Timestamp(1)).await;
    assert!(matches!(note, Err(StoreError::Stale)), "{note:?}");
    apply(
        store,
        &change(&second, |d| d.status = DeploymentStatus::Planned),
    )
    .await;
    assert!(!says(2, "there is a plan").await);
    assert_eq!(store.log_end(&log(None)).await.unwrap(), 2);
}

pub(in crate::store) async fn a_refused_write_of_several_values_writes_none(store: &dyn Store) {
    running(store, &["s1"]).await;
    let owner = StateOwner::Application("a".into(), "p".into());
    let values = [value("a", "1"), value("b", "2")];
    let stale = fence("s1", 1, 2);
    let result = store.state_put(&owner, &values, Some(&stale)).await;
    assert!(matches!(result, Err(StoreError::Stale)), "{result:?}");
    assert!(store.state_keys(&owner, "").await.unwrap().is_empty());
    let newest = fence("s1", 1, 1);
    store
        .state_put(&owner, &values, Some(&newest))
        .await
        .unwrap();
    assert_eq!(store.state_keys(&owner, "").await.unwrap(), ["a", "b"]);
}

pub(in crate::store) async fn log_lines_are_numbered_by_the_store_across_attempts_and_turns(
    store: &dyn Store,
) {
    let old = running(store, &["s1"]).await;
    let key = log(Some("s1"));
    let first = [line(1, "a"), line(1, "")];
    let fence_1 = fence("s1", 1, 1);
    store
        .log_append(&key, &first, Some(&fence_1))
        .await
        .unwrap();
    store.log_append(&key, &[], Some(&fence_1)).await.unwrap();
    let attempt = Attempt { number: 2, turn: 1 };
    apply(store, &change(&old, |d| d.stages[0].attempt = attempt)).await;
    let second = [line(2, "ä\tc")];
    let fence_2 = fence("s1", 2, 1);
    store
        .log_append(&key, &second, Some(&fence_2))
        .await
        .unwrap();
    let mut expected = [first.as_slice(), &second].concat();
    for (number, line) in (0..).zip(&mut expected) {
        line.number = number;
    }
    assert_eq!(store.log_read(&key, 0, 100).await.unwrap(), expected);
    assert_eq!(store.log_end(&key).await.unwrap(), 3);
}

pub(in crate::store) async fn logs_are_read_from_any_line_in_whole_chunks(store: &dyn Store) {
    running(store, &["s1"]).await;
    let key = log(Some("s1"));
    for _ in 0..4 {
        let chunk = [line(1, "x"), line(1, "y"), line(1, "z")];
        store.log_append(&key, &chunk, None).await.unwrap();
    }
    let numbers = async |from, limit| {
        let lines = store.log_read(&key, from, limit).await.unwrap();
        lines.iter().map(|line| line.number).collect::<Vec<u64>>()
    };
    assert_eq!(numbers(0, 100).await, (0..12).collect::<Vec<_>>());
    assert_eq!(numbers(4, 3).await, [4, 5, 6, 7, 8]);
    assert_eq!(numbers(6, 1).await, [6, 7, 8]);
    assert_eq!(numbers(11, 5).await, [11]);
    assert!(numbers(12, 5).await.is_empty());
    assert!(numbers(u64::MAX, 5).await.is_empty());
    assert!(numbers(0, 0).await.is_empty());
}

pub(in crate::store) async fn the_log_of_a_plan_and_those_of_stages_are_apart(store: &dyn Store) {
    running(store, &["s1", "s2"]).await;
    for stage in [None, Some("s1")] {
        let lines = [line(0, stage.unwrap_or("plan"))];
        store.log_append(&log(stage), &lines, None).await.unwrap();
    }
    for (stage, expected) in [
        (None, Some("plan")),
        (Some("s1"), Some("s1")),
        (Some("s2"), None),
    ] {
        let lines = store.log_read(&log(stage), 0, 10).await.unwrap();
        let text = lines.first().map(|line| line.text.as_str());
        assert_eq!(text, expected);
        assert!(lines.iter().all(|line| line.number == 0));
    }
}

pub(in crate::store) async fn lines_of_a_deployment_that_is_not_there_are_refused(
    store: &dyn Store,
) {
    let result = store.log_append(&log(None), &[line(0, "x")], None).await;
    assert!(matches!(result, Err(StoreError::Conflict)), "{result:?}");
}

pub(in crate::store) async fn events_are_numbered_over_all_deployments_and_read_after_a_number(
    store: &dyn Store,
) {
    for id in ["d1", "d2", "d3"] {
        let new = deployment(id, "site");
        store.create(&new).await.unwrap();
    }
    store.create(&deployment("d1", "site")).await.unwrap_err();
    store.create(&deployment("d4", "site")).await.unwrap();
    let all = store.events(None, 0, 10).await.unwrap();
    let numbers: Vec<u64> = all.iter().map(|event| event.number).collect();
    assert_eq!(numbers.len(), 4);
    assert!(
        numbers[0] >= 1 && numbers.is_sorted_by(|a, b| a < b),
        "{numbers:?}"
    );
    assert_eq!(store.events(None, numbers[1], 1).await.unwrap(), all[2..3]);
    let one = store.events(Some(&"d2".into()), 0, 10).await.unwrap();
    assert_eq!(one, all[1..2]);
    let none = store
        .events(Some(&"d2".into()), numbers[1], 10)
        .await
        .unwrap();
    assert!(none.is_empty());
}

pub(in crate::store) async fn components_are_kept_once_and_come_back(store: &dyn Store) {
    let digest = "0123456789abcdef".into();
    store.component_put(&digest, b"bytes").await.unwrap();
    store.component_put(&digest, b"bytes").await.unwrap();
    let bytes = store.component(&digest).await.unwrap();
    assert_eq!(bytes.as_deref(), Some(&b"bytes"[..]));
}

/// Stores a deployment that pins a component.
async fn pinning(store: &dyn Store, id: &str, digest: &str) -> Deployment {
    let new = deployment(id, "site");
    store.create(&new).await.unwrap();
    store.component_put(&digest.into(), b"bytes").await.unwrap();
    let change = change(&new, |d| {
        d.status = DeploymentStatus::Planned;
        let native = PinnedPlugin {
            key: "native".into(),
            digest: None,
        };
        let component = PinnedPlugin {
            key: "component".into(),
            digest: Some(digest.into()),
        };
        let again = component.clone();
        d.plugins = vec![native, component, again].into();
    });
    apply(store, &change).await
}

pub(in crate::store) async fn components_that_no_unfinished_deployment_pins_are_removed(
    store: &dyn Store,
) {
    let first = pinning(store, "d1", "one").await;
    let second = pinning(store, "d2", "one").await;
    pinning(store, "d3", "two").await;
    store
        .component_put(&"three".into(), b"bytes")
        .await
        .unwrap();
    let kept = async || {
        store.components_prune().await.unwrap();
        let mut kept = Vec::new();
        for digest in ["one", "two", "three"] {
            if store.component(&digest.into()).await.unwrap().is_some() {
                kept.push(digest);
            }
        }
        kept
    };
    assert_eq!(kept().await, ["one", "two"]);
    let end = |d: &mut Deployment| d.status = DeploymentStatus::Succeeded;
    apply(store, &change(&first, end)).await;
    assert_eq!(kept().await, ["one", "two"]);
    apply(store, &change(&second, end)).await;
    assert_eq!(kept().await, ["two"]);
}

pub(in crate::store) async fn nothing_is_removed_while_a_deployment_is_planned(store: &dyn Store) {
    let mut planning = deployment("d", "site");
    planning.status = DeploymentStatus::Planning;
    store.create(&planning).await.unwrap();
    let digest = "one".into();
    store.component_put(&digest, b"bytes").await.unwrap();
    store.components_prune().await.unwrap();
    assert!(store.component(&digest).await.unwrap().is_some());
}

pub(in crate::store) async fn every_kind_of_write_is_told_as_a_change(store: &dyn Store) {
    let mut changes = store.changes();
    let mut told = async |what: &str| {
        let told = changes.has_changed().unwrap();
        changes.mark_unchanged();
        assert!(told, "{what}");
    };
    let old = running(store, &["s1"]).await;
    told("create and apply").await;
    let fence = fence("s1", 1, 1);
    store.note(&fence, "note", Timestamp(1)).await.unwrap();
    told("note").await;
    let owner = StateOwner::Stage("s1".into());
    store
        .state_put(&owner, &[value("k", "v")], None)
        .await
        .unwrap();
    told("state").await;
    store
        .log_append(&log(Some("s1")), &[line(1, "x")], None)
        .await
        .unwrap();
    told("log").await;
    apply(
        store,
        &change(&old, |d| d.status = DeploymentStatus::Failed),
    )
    .await;
    told("apply").await;
}

pub(in crate::store) async fn old_deployments_and_logs_are_removed_and_nothing_that_is_unfinished(
    store: &dyn Store,
) {
    let line = LogLine {
        number: 0,
        attempt: 0,
        at: Timestamp(5),
        severity: Severity::Info,
        text: "planned".to_owned(),
    };
    let key = |id: &str| LogKey {
        deployment: id.into(),
        stage: None,
    };
    for (id, application, over) in [
        ("d1", "site", true),
        ("d2", "site", false),
        ("d3", "site", true),
        ("d4", "site", true),
        ("d5", "site", true),
        ("e1", "shop", true),
    ] {
        let new = deployment(id, application);
        store.create(&new).await.unwrap();
        // In several pieces, as logs grow.
        for number in 0..3 {
            let line = LogLine {
                number,
                ..line.clone()
            };
            let added = store.log_append(&key(id), &[line], None).await;
            added.unwrap();
        }
        let owner = StateOwner::Deployment(id.into(), "p".into());
        let value = [("key".to_owned(), b"value".to_vec())];
        store.state_put(&owner, &value, None).await.unwrap();
        if over {
            apply(
                store,
                &change(&new, |d| d.status = DeploymentStatus::Failed),
            )
            .await;
        }
    }
    let keep = Keep {
        deployments: Some(3),
        logs: Some(1),
    };
    store.prune(&"app-site".into(), &keep).await.unwrap();
    let mut left = Vec::new();
    let mut logged = Vec::new();
    for id in ["d1", "d2", "d3", "d4", "d5", "e1"] {
        let is_there = store.load(&id.into()).await.unwrap().is_some();
        let events = store.events(Some(&id.into()), 0, 10).await.unwrap();
        let owner = StateOwner::Deployment(id.into(), "p".into());
        let value = store.state_get(&owner, "key").await.unwrap();
        assert_eq!(
            (is_there, is_there),
            (!events.is_empty(), value.is_some()),
            "{id}"
        );
        if is_there {
            left.push(id);
        }
        if store.log_end(&key(id)).await.unwrap() > 0 {
            logged.push(id);
        }
    }
    assert_eq!(left, ["d2", "d3", "d4", "d5", "e1"]);
    assert_eq!(
        logged,
        ["d2", "d5", "e1"],
        "the unfinished, and the newest finished"
    );
    store
        .prune(&"app-site".into(), &Keep::default())
        .await
        .unwrap();
    assert!(
        store.load(&"d3".into()).await.unwrap().is_some(),
        "all is kept"
    );
}

pub(in crate::store) async fn the_newest_event_is_known(store: &dyn Store) {
    assert_eq!(store.newest_event().await.unwrap(), 0);
    let new = deployment("d", "site");
    store.create(&new).await.unwrap();
    apply(store, &change(&new, |_| {})).await;
    let events = store.events(None, 0, 10).await.unwrap();
    let newest = events.last().map(|event| event.number);
    assert_eq!(Some(store.newest_event().await.unwrap()), newest);
}
