//! What is promised of deployments and their changes.

use super::*;
use crate::model::{DeploymentId, EventKind};
use crate::store::{Due, Filter, Leased, StoreError};

pub(in crate::store) async fn a_new_deployment_is_there_whole_with_an_event_and_due_at_once(
    store: &dyn Store,
) {
    let mut new = deployment("d", "site");
    new.stages = vec![stage("s1"), stage("s2")];
    new.reason = "because".to_owned();
    store.create(&new).await.unwrap();
    assert_eq!(store.load(&new.id).await.unwrap(), Some(new.clone()));
    let events = store.events(None, 0, 10).await.unwrap();
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].deployment, new.id);
    assert_eq!(events[0].application, new.application.id);
    let status = DeploymentStatus::Queued;
    let reason = new.reason.clone();
    assert_eq!(events[0].kind, EventKind::Deployment { status, reason });
    let due = store.due(Timestamp(0), 10).await.unwrap();
    let version = new.version;
    let deployment = new.id;
    assert_eq!(
        due,
        [Due {
            deployment,
            version
        }]
    );
}

pub(in crate::store) async fn an_id_is_taken_once(store: &dyn Store) {
    let first = deployment("d", "site");
    store.create(&first).await.unwrap();
    let second = store.create(&deployment("d", "other")).await;
    assert!(matches!(second, Err(StoreError::Conflict)), "{second:?}");
    assert_eq!(store.load(&first.id).await.unwrap(), Some(first));
    assert_eq!(store.events(None, 0, 10).await.unwrap().len(), 1);
}

pub(in crate::store) async fn what_is_not_there_is_none_or_empty(store: &dyn Store) {
    let id = DeploymentId::from("nothing");
    assert_eq!(store.load(&id).await.unwrap(), None);
    assert_eq!(store.last_success(&"app".into()).await.unwrap(), None);
    assert_eq!(store.component(&"digest".into()).await.unwrap(), None);
    assert_eq!(store.log_end(&log(None)).await.unwrap(), 0);
    assert!(store.leases(&id).await.unwrap().is_empty());
    assert!(store.events(Some(&id), 0, 10).await.unwrap().is_empty());
    let change = change(&deployment("d", "site"), |_| {});
    let result = store
        .apply(std::slice::from_ref(&change), &holder("host", 0))
        .await;
    assert!(matches!(result, Err(StoreError::Conflict)), "{result:?}");
}

pub(in crate::store) async fn a_change_is_stored_whole_with_its_events_in_order(store: &dyn Store) {
    let old = running(store, &["s1", "s2"]).await;
    let before = store.events(None, 0, 10).await.unwrap().len();
    let mut change = change(&old, |d| {
        d.reason = "s1 failed".to_owned();
        d.running = Some(revision("before").into());
        d.stages[0].status = StageStatus::Failed;
        d.stages[0].exit_code = Some(-3);
        d.ended_at = Some(Timestamp(u64::MAX));
    });
    let failed = EventKind::Stage {
        stage: "s1".into(),
        name: "WAIT".to_owned(),
        status: StageStatus::Failed,
        attempt: Attempt { number: 1, turn: 1 },
        reason: "no".to_owned(),
    };
    let rolling_back = EventKind::Deployment {
        status: DeploymentStatus::RollingBack,
        reason: String::new(),
    };
    change.events = vec![failed, rolling_back];
    let new = apply(store, &change).await;
    assert_eq!(store.load(&old.id).await.unwrap(), Some(new));
    let events = store.events(None, before as u64, 10).await.unwrap();
    let kinds: Vec<_> = events.iter().map(|event| event.kind.clone()).collect();
    assert_eq!(kinds, change.events);
    assert!(events.iter().all(|event| event.at == change.at));
}

pub(in crate::store) async fn a_change_that_was_decided_on_another_version_leaves_nothing_behind(
    store: &dyn Store,
) {
    let old = running(store, &["s1"]).await;
    let new = apply(store, &change(&old, |d| d.summary = "first".to_owned())).await;
    let events = store.events(None, 0, 10).await.unwrap();
    let mut late = change(&old, |d| {
        d.summary = "second".to_owned();
        d.stages[0].status = StageStatus::Succeeded;
        d.status = DeploymentStatus::Succeeded;
    });
    late.taken = vec![Leased::Stage("s1".into())];
    late.due = Some(Timestamp(0));
    late.events = vec![EventKind::Note {
        stage: "s1".into(),
        text: String::new(),
    }];
    let mut early = late.clone();
    early.deployment.version = new.version + 2;
    let mut none = late.clone();
    none.deployment.version = 0;
    for change in [late, early, none] {
        let result = store
            .apply(std::slice::from_ref(&change), &holder("host", 0))
            .await;
        assert!(matches!(result, Err(StoreError::Conflict)), "{result:?}");
    }
    assert_eq!(store.load(&old.id).await.unwrap().as_ref(), Some(&new));
    assert_eq!(store.events(None, 0, 10).await.unwrap(), events);
    assert!(store.leases(&old.id).await.unwrap().is_empty());
    assert!(store.due(Timestamp(5), 10).await.unwrap().is_empty());
    let success = store.last_success(&old.application.id).await.unwrap();
    assert_eq!(success, None);
}

pub(in crate::store) async fn changes_that_follow_each_other_are_stored_together_or_not_at_all(
    store: &dyn Store,
) {
    let old = running(store, &["s1"]).await;
    let mut first = change(&old, |new| new.summary = "one".to_owned());
    first.taken = vec![Leased::Plan];
    let second = change(&first.deployment, |new| new.summary = "two".to_owned());
    let third = change(&second.deployment, |new| new.summary = "three".to_owned());
    let by = holder("host", 1_000);
    for wrong in [
        // The last one follows none of the others; the first one is no longer next.
        [first.clone(), third.clone()],
        [second.clone(), third.clone()],
    ] {
        let result = store.apply(&wrong, &by).await;
        assert!(matches!(result, Err(StoreError::Conflict)), "{result:?}");
        assert_eq!(store.load(&old.id).await.unwrap().as_ref(), Some(&old));
        assert!(store.leases(&old.id).await.unwrap().is_empty());
    }
    store.apply(&[first, second], &by).await.unwrap();
    let now = store.load(&old.id).await.unwrap().unwrap();
    assert_eq!(
        (now.version, now.summary.as_str()),
        (old.version + 2, "two")
    );
    assert_eq!(store.leases(&old.id).await.unwrap().len(), 1);
    store.apply(&[third], &by).await.unwrap();
    let none = store.apply(&[], &by).await;
    assert!(none.is_ok(), "nothing is stored well");
}

pub(in crate::store) async fn a_change_writes_the_stages_it_names_and_no_others(store: &dyn Store) {
    let old = running(store, &["s1", "s2", "s3"]).await;
    let mut change = change(&old, |d| {
        for stage in &mut d.stages {
            stage.reason = "new".to_owned();
        }
    });
    change.stages = vec![1];
    apply(store, &change).await;
    let stored = store.load(&old.id).await.unwrap().unwrap();
    let reasons: Vec<&str> = stored.stages.iter().map(|s| s.reason.as_str()).collect();
    assert_eq!(reasons, ["", "new", ""]);
}

pub(in crate::store) async fn a_change_that_does_not_name_a_new_stage_is_refused(
    store: &dyn Store,
) {
    let old = running(store, &["s1"]).await;
    let grown = change(&old, |d| {
        d.stages.push(stage("s2"));
        d.stages.push(stage("s3"));
    });
    let mut unnamed = grown.clone();
    unnamed.stages = vec![2];
    let mut beyond = grown.clone();
    beyond.stages.push(3);
    for change in [unnamed, beyond] {
        let result = store
            .apply(std::slice::from_ref(&change), &holder("host", 0))
            .await;
        assert!(
            matches!(result, Err(StoreError::Failed { .. })),
            "{result:?}"
        );
    }
    assert_eq!(store.load(&old.id).await.unwrap(), Some(old));
    apply(store, &grown).await;
}

pub(in crate::store) async fn a_plan_that_is_made_again_replaces_the_stages(store: &dyn Store) {
    let old = running(store, &["s1", "s2", "s3"]).await;
    let new = change(&old, |d| d.stages = vec![stage("t1"), stage("t2")]);
    let new = apply(store, &new).await;
    assert_eq!(store.load(&old.id).await.unwrap(), Some(new));
}

pub(in crate::store) async fn ids_are_found_by_their_start_in_order_up_to_the_limit(
    store: &dyn Store,
) {
    for id in ["ab2", "b", "ab1", "ab", "a%", "ab3"] {
        store.create(&deployment(id, "site")).await.unwrap();
    }
    let found = async |prefix, limit| {
        let ids = store.find(prefix, limit).await.unwrap();
        ids.iter().map(|id| id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(found("ab", 10).await, ["ab", "ab1", "ab2", "ab3"]);
    assert_eq!(found("ab", 2).await, ["ab", "ab1"]);
    assert_eq!(found("a%", 10).await, ["a%"]);
    assert_eq!(found("", 10).await.len(), 6);
    assert!(found("c", 10).await.is_empty());
}

pub(in crate::store) async fn deployments_are_listed_the_last_first_by_application_and_status(
    store: &dyn Store,
) {
    use DeploymentStatus::{Failed, Planning, Running, Succeeded, TimedOut};
    for (id, application, status) in [
        ("d1", "site", Succeeded),
        ("d2", "docs", Failed),
        ("d3", "site", Failed),
        ("d4", "docs", Running),
        ("d5", "site", Planning),
    ] {
        let mut deployment = deployment(id, application);
        deployment.status = status;
        deployment.stages = vec![stage(&format!("stage-of-{id}"))];
        store.create(&deployment).await.unwrap();
    }
    let list = async |application: Option<&str>, statuses: &[DeploymentStatus], limit| {
        let filter = Filter {
            application: application.map(str::to_owned),
            statuses: statuses.to_vec(),
            limit,
            ..Filter::default()
        };
        let found = store.list(&filter).await.unwrap();
        assert!(found.iter().all(|deployment| deployment.stages.len() == 1));
        found.iter().map(|d| d.id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(list(None, &[], 9).await, ["d5", "d4", "d3", "d2", "d1"]);
    assert_eq!(list(None, &[], 2).await, ["d5", "d4"]);
    assert_eq!(list(Some("site"), &[], 9).await, ["d5", "d3", "d1"]);
    assert_eq!(list(Some("app-site"), &[], 2).await, ["d5", "d3"]);
    assert_eq!(list(None, &[Failed, Running], 9).await, ["d4", "d3", "d2"]);
    assert_eq!(list(None, &[Failed, Failed], 9).await, ["d3", "d2"]);
    assert_eq!(list(None, &[Failed, Running], 1).await, ["d4"]);
    assert_eq!(list(Some("docs"), &[Failed], 9).await, ["d2"]);
    assert!(list(Some("docs"), &[TimedOut], 9).await.is_empty());
    assert!(list(Some("other"), &[], 9).await.is_empty());
}

pub(in crate::store) async fn a_success_is_the_applications_last_one_and_a_failure_is_not(
    store: &dyn Store,
) {
    let last = async || {
        let last = store.last_success(&"app-site".into()).await.unwrap();
        last.map(|revision| revision.commit)
    };
    for (id, status, expected) in [
        ("d1", DeploymentStatus::Failed, None),
        ("d2", DeploymentStatus::Succeeded, Some("commit-of-d2")),
        ("d3", DeploymentStatus::Cancelled, Some("commit-of-d2")),
        ("d4", DeploymentStatus::Succeeded, Some("commit-of-d4")),
    ] {
        let new = deployment(id, "site");
        store.create(&new).await.unwrap();
        apply(store, &change(&new, |d| d.status = status)).await;
        assert_eq!(last().await.as_deref(), expected);
    }
    let other = store.last_success(&"app-docs".into()).await.unwrap();
    assert_eq!(other, None);
}

pub(in crate::store) async fn the_revisions_in_use_are_those_of_the_unfinished_and_of_the_last_success(
    store: &dyn Store,
) {
    for (id, application, status) in [
        ("d1", "site", DeploymentStatus::Succeeded),
        ("d2", "site", DeploymentStatus::Failed),
        ("d3", "site", DeploymentStatus::Running),
        ("d4", "site", DeploymentStatus::Planning),
        ("d5", "docs", DeploymentStatus::Running),
    ] {
        let new = deployment(id, application);
        store.create(&new).await.unwrap();
        let change = change(&new, |d| {
            d.status = status;
            d.running = (id == "d3").then(|| revision("before").into());
        });
        apply(store, &change).await;
    }
    let mut commits = store.revisions_in_use(&"app-site".into()).await.unwrap();
    commits.sort();
    let expected = ["before", "commit-of-d1", "commit-of-d3", "commit-of-d4"];
    assert_eq!(commits, expected);
}

pub(in crate::store) async fn a_note_is_shown_with_an_event_and_without_a_new_version(
    store: &dyn Store,
) {
    let old = running(store, &["s1", "s2"]).await;
    let before = store.events(None, 0, 10).await.unwrap().len() as u64;
    let now = Timestamp(30);
    store.note(&fence("s2", 1, 1), "3 of 5", now).await.unwrap();
    let stored = store.load(&old.id).await.unwrap().unwrap();
    assert_eq!(stored.version, old.version);
    assert_eq!(stored.stages[0].note, "");
    assert_eq!(stored.stages[1].note, "3 of 5");
    let events = store.events(None, before, 10).await.unwrap();
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].at, now);
    let (stage, text) = ("s2".into(), "3 of 5".to_owned());
    assert_eq!(events[0].kind, EventKind::Note { stage, text });
}

pub(in crate::store) async fn a_note_outlives_changes_and_ends_with_the_attempt(store: &dyn Store) {
    let old = running(store, &["s1"]).await;
    let fence = fence("s1", 1, 1);
    store.note(&fence, "3 of 5", Timestamp(30)).await.unwrap();
    let note = async || {
        store.load(&old.id).await.unwrap().unwrap().stages[0]
            .note
            .clone()
    };
    // Decided on what was loaded before the note was shown.
    let old = apply(store, &change(&old, |d| d.stages[0].attempt.turn = 2)).await;
    assert_eq!(note().await, "3 of 5");
    apply(store, &change(&old, |d| d.stages[0].attempt.number = 2)).await;
    assert_eq!(note().await, "");
}
