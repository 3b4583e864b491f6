//! What opening a file promises, whatever the file is.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;
use tempfile::TempDir;

use super::SqliteStore;
use super::open::Absent;
use super::schema::{APPLICATION_ID, VERSION, pragma};
use crate::lifecycle::{self, Event};
use crate::model::{DeploymentStatus, StageStatus, Timestamp};
use crate::store::{Filter, Holder, LogKey, Store, StoreError};

fn directory() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    (directory, path)
}

/// Why a file is refused; it must be as it was before.
fn refused(path: &Path) -> String {
    let before = fs::read(path).ok();
    let error = SqliteStore::open_with(path, Duration::ZERO, Absent::Made).unwrap_err();
    assert_eq!(fs::read(path).ok(), before);
    let StoreError::Open(message) = error else {
        panic!("{error:?}");
    };
    assert!(message.contains(&path.display().to_string()), "{message}");
    assert!(!message.contains('\n'), "{message}");
    message
}

#[test]
fn a_new_file_gets_its_directories_this_version_and_our_mark() {
    let (directory, _) = directory();
    let path = directory.path().join("a/b/state.db");
    drop(SqliteStore::open(&path).unwrap());
    let connection = Connection::open(&path).unwrap();
    let mark: i32 = pragma(&connection, "application_id").unwrap();
    let version: i64 = pragma(&connection, "user_version").unwrap();
    assert_eq!(mark, APPLICATION_ID);
    assert_eq!(usize::try_from(version).unwrap(), VERSION);
}

#[tokio::test]
async fn an_empty_file_becomes_a_store() {
    let (_directory, path) = directory();
    fs::write(&path, "").unwrap();
    let store = SqliteStore::open(&path).unwrap();
    assert!(store.find("", 1).await.unwrap().is_empty());
}

#[test]
fn stores_that_are_opened_at_the_same_time_on_a_new_file_make_it_once() {
    let (_directory, path) = directory();
    let open = || SqliteStore::open(&path).unwrap();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(open)).collect();
        let stores: Vec<_> = threads.into_iter().map(|t| t.join().unwrap()).collect();
        assert_eq!(stores.len(), 4);
    });
}

#[cfg(target_os = "linux")]
#[test]
fn a_second_store_in_a_process_takes_no_lock_from_the_first() {
    use std::os::unix::fs::MetadataExt;

    let (_directory, path) = directory();
    let _first = SqliteStore::open(&path).unwrap();
    let file = format!(":{} ", fs::metadata(&path).unwrap().ino());
    let locks = || {
        let locks = fs::read_to_string("/proc/locks").unwrap();
        let of_file = |line: &&str| line.contains("POSIX") && line.contains(&file);
        locks.lines().filter(of_file).count()
    };
    let before = locks();
    assert!(before > 0, "a file that is in use is locked");
    drop(SqliteStore::open(&path).unwrap());
    assert_eq!(locks(), before);
}

#[test]
fn a_directory_is_refused_and_a_file_in_it_is_proposed() {
    let (directory, _) = directory();
    let message = refused(directory.path());
    assert!(message.contains("is a directory"), "{message}");
    assert!(message.contains("state.db"), "{message}");
}

#[test]
fn a_file_in_place_of_a_directory_above_is_named() {
    let (_directory, path) = directory();
    fs::write(&path, "").unwrap();
    let error = SqliteStore::open(path.join("state.db")).unwrap_err();
    let message = error.to_string();
    assert!(message.contains("can't be made"), "{message}");
    assert!(message.contains(&path.display().to_string()), "{message}");
}

#[test]
fn a_read_only_file_is_refused_even_for_a_user_who_could_write_it() {
    let (_directory, path) = directory();
    drop(SqliteStore::open(&path).unwrap());
    let mut permissions = fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&path, permissions).unwrap();
    let message = refused(&path);
    assert!(message.contains("can't be written"), "{message}");
    assert!(message.contains("the right to write"), "{message}");
}

#[test]
fn a_file_that_is_not_sqlite_is_refused() {
    let (_directory, path) = directory();
    for content in [
        "x",
        "SQLite format",
        "apiVersion: pipecd.dev/v1beta1\nkind: Application\n",
    ] {
        fs::write(&path, content).unwrap();
        let message = refused(&path);
        assert!(message.contains("is not a SQLite file"), "{message}");
    }
}

#[test]
fn another_programs_sqlite_file_is_refused_marked_or_not() {
    for sql in [
        "CREATE TABLE t (x)",
        "PRAGMA application_id = 77",
        "PRAGMA user_version = 1",
    ] {
        let (_directory, path) = directory();
        Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        let message = refused(&path);
        assert!(message.contains("of another program"), "{message}");
    }
}

#[test]
fn a_file_of_a_newer_version_is_refused_with_both_versions() {
    for newer in [VERSION as i64 + 1, i64::from(i32::MAX)] {
        let (_directory, path) = directory();
        drop(SqliteStore::open(&path).unwrap());
        let connection = Connection::open(&path).unwrap();
        connection
            .pragma_update(None, "user_version", newer)
            .unwrap();
        drop(connection);
        let message = refused(&path);
        assert!(message.contains("newer stagewright"), "{message}");
        assert!(message.contains(&format!("up to {VERSION}")), "{message}");
    }
}

#[test]
fn a_file_that_was_cut_short_or_overwritten_is_refused_as_damaged() {
    let (_directory, path) = directory();
    drop(SqliteStore::open(&path).unwrap());
    let whole = fs::read(&path).unwrap();
    let mut scratched = whole.clone();
    scratched[16..4096].fill(0xa5);
    for damaged in [&whole[..whole.len() / 2], &whole[..100], &scratched] {
        fs::write(&path, damaged).unwrap();
        let message = refused(&path);
        assert!(message.contains("the file is damaged"), "{message}");
        assert!(message.contains("from a backup"), "{message}");
    }
}

#[test]
fn a_file_that_another_process_has_locked_is_refused_after_a_while() {
    let (_directory, path) = directory();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let message = SqliteStore::open_with(&path, Duration::from_millis(1), Absent::Made)
        .unwrap_err()
        .to_string();
    assert!(message.contains("locked for too long"), "{message}");
}

/// The state files that earlier versions wrote, each as a dump, in their order.
const EARLIER: &[&str] = &[
    include_str!("earlier/version_1.sql"),
    include_str!("earlier/version_2.sql"),
];

#[tokio::test]
async fn a_file_of_each_earlier_version_becomes_one_of_this_with_all_that_it_had() {
    assert_eq!(
        EARLIER.len() + 1,
        VERSION,
        "a dump for each earlier version"
    );
    for dump in EARLIER {
        let (_directory, path) = directory();
        Connection::open(&path)
            .unwrap()
            .execute_batch(dump)
            .unwrap();
        let store = SqliteStore::open(&path).unwrap();
        let version: i64 = pragma(&Connection::open(&path).unwrap(), "user_version").unwrap();
        assert_eq!(usize::try_from(version).unwrap(), VERSION);

        let all = store.list(&Filter::default()).await.unwrap();
        let [waits, _, first] = all.as_slice() else {
            panic!("{all:?}");
        };
        assert_eq!(first.status, DeploymentStatus::Succeeded);
        assert_eq!(first.application.remote, "/srv/shop");
        assert_eq!((first.plan_attempt, first.version), (1, 4));
        assert_eq!(
            first.summary,
            "quick sync, since this is the first deployment"
        );
        assert_eq!(waits.status, DeploymentStatus::Running);
        let suspended = waits.forward_stages().nth(2).unwrap();
        assert_eq!(suspended.status, StageStatus::Suspended);
        let wait = suspended.wait.as_ref().unwrap();
        let until = wait.until.unwrap();
        assert_eq!(until.since(wait.since).as_secs_f64().round(), 600.0);
        // It goes on: it is due at its time, and takes what later versions know.
        let due = store.due(until, 10).await.unwrap();
        assert_eq!(due.len(), 1);
        assert_eq!(due[0].deployment, waits.id);
        let cancel = Event::Cancelled {
            by: Some("ann".to_owned()),
            why: String::new(),
            rollback: true,
        };
        let change = lifecycle::apply(waits, cancel, wait.since).unwrap();
        let holder = Holder {
            owner: store.owner().to_owned(),
            until: Timestamp(u64::MAX),
        };
        store
            .apply(std::slice::from_ref(&change), &holder)
            .await
            .unwrap();
        let cancelling = store.cancelling().await.unwrap();
        assert_eq!(cancelling, std::slice::from_ref(&waits.id));
        // And with its logs, its events and what it has pinned.
        let log = LogKey {
            deployment: first.id.clone(),
            stage: Some(first.stages[0].id.clone()),
        };
        let lines = store.log_read(&log, 0, 10).await.unwrap();
        assert!(lines[0].text.contains("local"), "{lines:?}");
        assert!(store.newest_event().await.unwrap() >= 25);
        for pinned in &waits.plugins {
            let digest = pinned.digest.as_ref().unwrap();
            assert!(store.component(digest).await.unwrap().is_some());
        }
    }
}
