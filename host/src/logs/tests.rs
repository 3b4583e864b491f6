//! Both ends of a log together, with a real store between them.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::Stream;
use tempfile::TempDir;

use super::*;
use crate::model::{
    Attempt, Deployment, DeploymentStatus, EventKind, LogLine, Severity, StageStatus, Timestamp,
};
use crate::store::conformance::{change, deployment, stage};
use crate::store::{Fence, Holder, LogKey, SqliteStore, Store, StoreError};

/// A store with a deployment `d` whose stages `s1` and `s2` run.
async fn running() -> (Arc<dyn Store>, Deployment, TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path().join("state.db")).unwrap();
    let store: Arc<dyn Store> = Arc::new(store);
    let new = deployment("d", "site");
    store.create(&new).await.unwrap();
    let running = apply(&store, &new, |d| {
        d.status = DeploymentStatus::Running;
        d.stages = vec![stage("s1"), stage("s2")];
    });
    let running = running.await;
    (store, running, directory)
}

async fn apply(
    store: &Arc<dyn Store>,
    old: &Deployment,
    edit: impl FnOnce(&mut Deployment),
) -> Deployment {
    let mut change = change(old, edit);
    // As every change of a status does, this one tells of it.
    change.events = vec![EventKind::Deployment {
        status: change.deployment.status,
        reason: String::new(),
    }];
    let holder = Holder {
        owner: "host".to_owned(),
        until: Timestamp(0),
    };
    store
        .apply(std::slice::from_ref(&change), &holder)
        .await
        .unwrap();
    change.deployment
}

fn log(stage: Option<&str>) -> LogKey {
    LogKey {
        deployment: "d".into(),
        stage: stage.map(Into::into),
    }
}

fn writer(store: &Arc<dyn Store>, attempt: u32) -> LogWriter {
    let fence = Fence {
        deployment: "d".into(),
        stage: Some("s1".into()),
        attempt: Attempt {
            number: attempt,
            turn: 1,
        },
    };
    let store = Arc::clone(store);
    let clock: Clock = Arc::new(|| Timestamp(5));
    LogWriter::new(store, log(Some("s1")), Some(fence), attempt, clock)
}

type Lines = Pin<Box<dyn Stream<Item = Result<LogLine, StoreError>>>>;

fn lines(store: &Arc<dyn Store>, stage: Option<&str>, from: u64) -> Lines {
    Box::pin(follow(Arc::clone(store), log(stage), from))
}

async fn next(lines: &mut Lines) -> Option<(u64, String)> {
    let line = poll_fn(|context| lines.as_mut().poll_next(context));
    // Rather a failure than a test that hangs.
    let line = tokio::time::timeout(Duration::from_secs(60), line)
        .await
        .expect("a line or the end comes")?;
    let line = line.unwrap();
    Some((line.number, line.text))
}

async fn rest(mut lines: Lines) -> Vec<u64> {
    let mut numbers = Vec::new();
    while let Some((number, _)) = next(&mut lines).await {
        numbers.push(number);
    }
    numbers
}

#[tokio::test]
async fn a_new_attempt_goes_on_with_the_numbers_and_the_old_one_is_cut_off() {
    let (store, old, _directory) = running().await;
    let first = writer(&store, 1);
    first.write(Severity::Info, "a\nb");
    first.finish().await.unwrap();
    let late = writer(&store, 1);
    apply(&store, &old, |d| d.stages[0].attempt.number = 2).await;
    let second = writer(&store, 2);
    second.write(Severity::Info, "c");
    late.write(Severity::Info, "too late");
    second.finish().await.unwrap();
    assert!(matches!(late.finish().await, Err(StoreError::Stale)));
    let lines = store.log_read(&log(Some("s1")), 0, 10).await.unwrap();
    let seen: Vec<_> = lines
        .iter()
        .map(|line| (line.number, line.attempt, line.text.as_str()))
        .collect();
    assert_eq!(seen, [(0, 1, "a"), (1, 1, "b"), (2, 2, "c")]);
}

#[tokio::test]
async fn a_follower_gets_what_is_stored_then_what_comes_and_ends_with_the_stage() {
    let (store, old, _directory) = running().await;
    let writer = writer(&store, 1);
    writer.write(Severity::Info, "one\ntwo");
    let mut lines = lines(&store, Some("s1"), 0);
    assert_eq!(next(&mut lines).await, Some((0, "one".to_owned())));
    assert_eq!(next(&mut lines).await, Some((1, "two".to_owned())));
    writer.write(Severity::Info, "three");
    assert_eq!(next(&mut lines).await, Some((2, "three".to_owned())));
    writer.write(Severity::Info, "four");
    writer.finish().await.unwrap();
    // The other stage's end is not this one's.
    let new = apply(&store, &old, |d| d.stages[1].status = StageStatus::Failed).await;
    apply(&store, &new, |d| {
        d.stages[0].status = StageStatus::Succeeded
    })
    .await;
    assert_eq!(next(&mut lines).await, Some((3, "four".to_owned())));
    assert_eq!(next(&mut lines).await, None);
}

#[tokio::test]
async fn a_follower_of_what_has_ended_gets_all_from_its_line_on_and_the_end() {
    let (store, old, _directory) = running().await;
    let writer = writer(&store, 1);
    for _ in 0..5_000 {
        writer.write(Severity::Info, "line");
    }
    writer.finish().await.unwrap();
    apply(&store, &old, |d| d.status = DeploymentStatus::Failed).await;
    let expected: Vec<u64> = (1_234..5_000).collect();
    assert_eq!(rest(lines(&store, Some("s1"), 1_234)).await, expected);
    assert!(rest(lines(&store, Some("s2"), 0)).await.is_empty());
    assert!(rest(lines(&store, Some("unknown"), 0)).await.is_empty());
}

#[tokio::test]
async fn the_log_of_a_plan_ends_with_the_planning() {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path().join("state.db")).unwrap();
    let store: Arc<dyn Store> = Arc::new(store);
    let new = deployment("d", "site");
    store.create(&new).await.unwrap();
    let clock: Clock = Arc::new(|| Timestamp(5));
    let writer = LogWriter::new(Arc::clone(&store), log(None), None, 0, clock);
    let mut lines = lines(&store, None, 0);
    writer.write(Severity::Info, "planning");
    assert_eq!(next(&mut lines).await, Some((0, "planning".to_owned())));
    writer.finish().await.unwrap();
    apply(&store, &new, |d| d.status = DeploymentStatus::Planned).await;
    assert_eq!(next(&mut lines).await, None);
}

#[tokio::test]
async fn a_reader_that_does_not_read_holds_up_no_writer_and_misses_nothing() {
    let (store, old, _directory) = running().await;
    let idle = lines(&store, Some("s1"), 0);
    let writer = writer(&store, 1);
    let text = "x".repeat(1_000);
    for _ in 0..20_000 {
        writer.write(Severity::Info, &text);
        writer.room().await;
    }
    writer.finish().await.unwrap();
    apply(&store, &old, |d| d.status = DeploymentStatus::Failed).await;
    assert_eq!(rest(idle).await, (0..20_000).collect::<Vec<u64>>());
}
