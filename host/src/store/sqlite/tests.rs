//! What only this store promises, beside what every store does.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use rusqlite::Connection;
use tempfile::TempDir;

use super::schema::pragma;
use super::*;
use crate::model::{Deployment, DeploymentStatus, Digest, EventKind, LogLine, Severity, Timestamp};
use crate::store::conformance::{deployment, every_promise};
use crate::store::{LogKey, Store};

every_promise!(store);

pub(super) fn store() -> (SqliteStore, TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path().join("state.db")).unwrap();
    (store, directory)
}

/// A store, and another connection to its file that has it locked for writing.
fn locked(patience: Duration) -> (SqliteStore, Connection, TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    let store = SqliteStore::open_with(&path, patience, Absent::Made).unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    (store, other, directory)
}

type Pending<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// Has a write queued: it is, once its future was first polled.
fn queue<T>(write: &mut Pending<'_, T>) {
    let poll = write.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(matches!(poll, Poll::Pending));
}

fn deployments(count: usize) -> Vec<Deployment> {
    (0..count)
        .map(|n| deployment(&format!("d{n:03}"), "site"))
        .collect()
}

fn message(error: &StoreError) -> String {
    let StoreError::Failed { .. } = error else {
        panic!("{error:?}");
    };
    error.to_string()
}

#[tokio::test]
async fn the_writing_connection_waits_for_the_disk_and_writes_ahead() {
    let (store, _directory) = store();
    let read = |c: &Connection| Ok((pragma(c, "synchronous")?, pragma(c, "journal_mode")?));
    let (synchronous, mode): (i64, String) = store.writer.write(String::new(), read).await.unwrap();
    assert_eq!(synchronous, 2, "FULL");
    assert_eq!(mode, "wal");
}

#[tokio::test]
async fn the_reading_connections_cannot_write() {
    let (store, _directory) = store();
    let result = store
        .readers
        .read("trying".to_owned(), |c| {
            Ok(c.execute("DELETE FROM deployments", [])?)
        })
        .await;
    let message = message(&result.unwrap_err());
    assert!(message.contains("read-only"), "{message}");
}

#[tokio::test]
async fn what_is_queued_together_is_committed_together_and_each_gets_its_own_answer() {
    let (store, other, _directory) = locked(PATIENCE);
    let mut deployments = deployments(16);
    // Two of them are bound to fail, in the middle of the group.
    deployments[5].id = deployments[4].id.clone();
    deployments[9].id = deployments[0].id.clone();
    let before = store.commits();
    let mut writes: Vec<Pending<'_, ()>> = deployments.iter().map(|d| store.create(d)).collect();
    writes.iter_mut().for_each(queue);
    other.execute_batch("COMMIT").unwrap();
    for (place, write) in writes.into_iter().enumerate() {
        match (place, write.await) {
            (5 | 9, Err(StoreError::Conflict)) => {}
            (_, Ok(())) if place != 5 && place != 9 => {}
            (_, result) => panic!("{place}: {result:?}"),
        }
    }
    assert_eq!(store.commits() - before, 1);
    assert_eq!(store.find("", 100).await.unwrap().len(), 14);
    assert_eq!(store.events(None, 0, 100).await.unwrap().len(), 14);
}

#[tokio::test]
async fn a_piece_of_work_that_fails_half_way_takes_back_its_own_writes_and_no_others() {
    let (store, other, _directory) = locked(PATIENCE);
    let (first, last) = (deployment("d1", "site"), deployment("d3", "site"));
    let fails = |fault: fault::Fault| {
        store.writer.write("half".to_owned(), move |c| {
            let rows = changes::Rows::whole(&deployment("d2", "site"))?;
            let event = EventKind::Deployment {
                status: DeploymentStatus::Planning,
                reason: String::new(),
            };
            changes::create(c, &rows, &event)?;
            Err(fault.clone())
        })
    };
    let mut writes: Vec<Pending<'_, ()>> = vec![
        store.create(&first),
        Box::pin(fails(fault::Fault::Stale)),
        Box::pin(fails(rusqlite::Error::InvalidQuery.into())),
        store.create(&last),
    ];
    writes.iter_mut().for_each(queue);
    other.execute_batch("COMMIT").unwrap();
    let mut results = Vec::new();
    for write in writes {
        results.push(write.await);
    }
    assert!(matches!(
        results.as_slice(),
        [
            Ok(()),
            Err(StoreError::Stale),
            Err(StoreError::Failed { .. }),
            Ok(())
        ]
    ));
    let ids = store.find("", 10).await.unwrap();
    assert_eq!(ids, [first.id, last.id]);
    assert_eq!(store.events(None, 0, 10).await.unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixteen_tasks_that_write_at_once_are_all_answered_and_share_their_commits() {
    let (store, _directory) = store();
    let store = Arc::new(store);
    let before = store.commits();
    let tasks: Vec<_> = (0..16)
        .map(|task| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                for n in 0..20 {
                    let new = deployment(&format!("{task}-{n}"), "site");
                    store.create(&new).await.unwrap();
                    assert_eq!(store.load(&new.id).await.unwrap(), Some(new));
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(store.find("", 1000).await.unwrap().len(), 320);
    assert!(store.commits() - before < 320);
}

#[tokio::test]
async fn a_write_whose_asker_is_gone_is_still_done() {
    let (store, other, _directory) = locked(PATIENCE);
    let new = deployment("d", "site");
    let mut write = store.create(&new);
    queue(&mut write);
    drop(write);
    other.execute_batch("COMMIT").unwrap();
    store.renew("nobody", Timestamp(0)).await.unwrap();
    assert_eq!(store.load(&new.id).await.unwrap(), Some(new));
}

#[tokio::test]
async fn a_write_that_changes_nothing_costs_no_commit_and_wakes_nobody() {
    let (store, _directory) = store();
    let mut changes = store.changes();
    // The first look of the writing thread, which tells once.
    changes.changed().await.unwrap();
    let before = store.commits();
    store.renew("nobody", Timestamp(0)).await.unwrap();
    store.components_prune().await.unwrap();
    assert_eq!(store.commits(), before);
    assert!(!changes.has_changed().unwrap());
}

#[tokio::test]
async fn on_a_full_disk_what_fits_is_stored_and_what_does_not_is_refused() {
    let (store, _directory) = store();
    let pages = |pages: &'static str| {
        move |c: &Connection| {
            let bound = pragma::<i64>(c, "page_count")? + 100;
            let bound = if pages == "few" { bound } else { 1 << 30 };
            Ok(c.pragma_update_and_check(None, "max_page_count", bound, |_| Ok(()))?)
        }
    };
    store
        .writer
        .write(String::new(), pages("few"))
        .await
        .unwrap();
    let path = store.path().to_owned();
    let other = Connection::open(path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let deployments = deployments(4);
    let large = vec![0; 10 << 20];
    let digest = Digest::from("digest");
    let id = digest.clone();
    let large_one = store
        .writer
        .write("storing the component".to_owned(), move |c| {
            components::put(c, &id, &large)
        });
    let mut writes: Vec<Pending<'_, ()>> = vec![store.create(&deployments[0])];
    writes.push(Box::pin(large_one));
    writes.extend(deployments[1..].iter().map(|d| store.create(d)));
    writes.iter_mut().for_each(queue);
    other.execute_batch("COMMIT").unwrap();
    for (place, write) in writes.into_iter().enumerate() {
        let result = write.await;
        if place != 1 {
            result.unwrap();
            continue;
        }
        let message = message(&result.unwrap_err());
        assert!(message.contains("storing the component in "), "{message}");
        assert!(message.contains("the disk is full"), "{message}");
    }
    assert_eq!(store.find("", 10).await.unwrap().len(), 4);
    store
        .writer
        .write(String::new(), pages("many"))
        .await
        .unwrap();
    store.component_put(&digest, &[0; 10 << 20]).await.unwrap();
}

#[tokio::test]
async fn reading_does_not_wait_for_a_writer() {
    let (store, other, _directory) = locked(PATIENCE);
    other
        .execute_batch("DELETE FROM deployments; UPDATE deployments SET status = ''")
        .unwrap();
    assert_eq!(store.load(&"d".into()).await.unwrap(), None);
    assert!(store.cancelling().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_file_that_stays_locked_is_an_error_that_says_so_and_nothing_is_stored() {
    let (store, other, _directory) = locked(Duration::ZERO);
    let new = deployment("d", "site");
    let message = message(&store.create(&new).await.unwrap_err());
    assert!(message.contains("state.db"), "{message}");
    assert!(
        message.contains("storing the new deployment d"),
        "{message}"
    );
    assert!(
        message.contains("another process has kept the file locked"),
        "{message}"
    );
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(store.load(&new.id).await.unwrap(), None);
    store.create(&new).await.unwrap();
}

#[tokio::test]
async fn a_store_that_is_opened_again_has_kept_everything_and_has_a_new_owner() {
    let (store, _directory) = store();
    let path = store.path().to_owned();
    let owner = store.owner().to_owned();
    let mut new = deployment("d", "site");
    new.status = DeploymentStatus::Succeeded;
    store.create(&new).await.unwrap();
    let key = LogKey {
        deployment: new.id.clone(),
        stage: None,
    };
    let line = LogLine {
        number: 0,
        attempt: 0,
        at: Timestamp(1),
        severity: Severity::Info,
        text: "planning".to_owned(),
    };
    let lines = [line];
    store.log_append(&key, &lines, None).await.unwrap();
    store.component_put(&"c".into(), b"bytes").await.unwrap();
    let events = store.events(None, 0, 10).await.unwrap();
    drop(store);
    let store = SqliteStore::open(&path).unwrap();
    assert_ne!(store.owner(), owner);
    assert_eq!(store.load(&new.id).await.unwrap().as_ref(), Some(&new));
    let last = store.last_success(&new.application.id).await.unwrap();
    assert_eq!(last.as_ref(), Some(&*new.target));
    assert_eq!(store.log_read(&key, 0, 10).await.unwrap(), lines);
    assert_eq!(store.events(None, 0, 10).await.unwrap(), events);
    assert!(store.component(&"c".into()).await.unwrap().is_some());
}

#[tokio::test]
async fn a_damaged_log_is_told_with_its_place_and_the_rest_is_served() {
    let (store, _directory) = store();
    let new = deployment("d", "site");
    store.create(&new).await.unwrap();
    let other = Connection::open(store.path()).unwrap();
    other
        .execute_batch(
            "INSERT INTO logs (deployment, stage, first, lines, attempt, chunk)
             VALUES (1, '', 0, 2, 0, x'01'), (1, 's', 0, 1, 0, x'ff')",
        )
        .unwrap();
    for stage in [None, Some("s".into())] {
        let key = LogKey {
            deployment: new.id.clone(),
            stage,
        };
        let message = message(&store.log_read(&key, 0, 10).await.unwrap_err());
        assert!(message.contains("damaged at line 0"), "{message}");
    }
    assert!(store.load(&new.id).await.unwrap().is_some());
}
