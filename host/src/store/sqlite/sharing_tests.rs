//! What is promised when several stores are open on one file.

use std::fs;

use super::files_directory;
use super::tests::store;
use super::{PATIENCE, SqliteStore};
use crate::model::Timestamp;
use crate::store::conformance::{change, deployment};
use crate::store::{Holder, Lease, Leased, Store, StoreError};

#[tokio::test]
async fn what_one_store_writes_another_on_the_same_file_sees_and_is_told() {
    let (one, _directory) = store();
    let two = SqliteStore::open(one.path()).unwrap();
    for round in 0..2 {
        // In the second round, nobody has looked for a while.
        let mut changes = two.changes();
        for n in 0..3 {
            changes.borrow_and_update();
            let new = deployment(&format!("{round}-{n}"), "site");
            one.create(&new).await.unwrap();
            tokio::time::timeout(PATIENCE, changes.changed())
                .await
                .expect("it is told")
                .unwrap();
            assert_eq!(two.load(&new.id).await.unwrap(), Some(new));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_stores_that_change_the_same_deployment_one_wins_each_version() {
    let (one, _directory) = store();
    let two = SqliteStore::open(one.path()).unwrap();
    one.create(&deployment("d", "site")).await.unwrap();
    let count = async |store: &SqliteStore| {
        let mut wins = 0;
        for _ in 0..50 {
            let old = store.load(&"d".into()).await.unwrap().unwrap();
            let change = change(&old, |_| {});
            let holder = Holder {
                owner: store.owner().to_owned(),
                until: Timestamp(0),
            };
            match store.apply(std::slice::from_ref(&change), &holder).await {
                Ok(()) => wins += 1,
                Err(StoreError::Conflict) => {}
                Err(error) => panic!("{error}"),
            }
        }
        wins
    };
    let (first, second) = tokio::join!(count(&one), count(&two));
    let stored = one.load(&"d".into()).await.unwrap().unwrap();
    assert_eq!(stored.version, 1 + first + second);
}

#[tokio::test]
async fn a_lease_of_a_store_that_is_gone_has_lapsed_at_once() {
    let (one, _directory) = store();
    let two = SqliteStore::open(one.path()).unwrap();
    one.create(&deployment("d", "site")).await.unwrap();
    let old = one.load(&"d".into()).await.unwrap().unwrap();
    let mut change = change(&old, |_| {});
    change.taken = vec![Leased::Plan];
    let holder = Holder {
        owner: one.owner().to_owned(),
        until: Timestamp(1_000),
    };
    one.apply(std::slice::from_ref(&change), &holder)
        .await
        .unwrap();
    let lease: Lease = two.leases(&"d".into()).await.unwrap().remove(0);
    let now = Timestamp(10);
    assert!(!two.has_lapsed(&lease, now).await.unwrap());
    assert!(two.due(now, 10).await.unwrap().is_empty());
    assert_eq!(two.next_due().await.unwrap(), Some(lease.until));
    drop(one);
    // A third one, which tidies up, must not tidy that away.
    let three = SqliteStore::open(two.path()).unwrap();
    for store in [&two, &three] {
        assert!(store.has_lapsed(&lease, now).await.unwrap());
        let due = store.due(now, 10).await.unwrap();
        assert_eq!(due.len(), 1);
        assert_eq!(due[0].deployment, "d".into());
        assert_eq!(store.next_due().await.unwrap(), Some(Timestamp(0)));
    }
}

#[tokio::test]
async fn a_lease_of_a_clock_that_was_ahead_is_shortened_by_whoever_renews_its_own() {
    let (one, _directory) = store();
    let two = SqliteStore::open(one.path()).unwrap();
    one.create(&deployment("d", "site")).await.unwrap();
    let old = one.load(&"d".into()).await.unwrap().unwrap();
    let mut change = change(&old, |_| {});
    change.taken = vec![Leased::Plan];
    let holder = Holder {
        owner: one.owner().to_owned(),
        until: Timestamp(3_600_000),
    };
    one.apply(std::slice::from_ref(&change), &holder)
        .await
        .unwrap();
    let until = async || two.leases(&"d".into()).await.unwrap()[0].until;
    // The clocks of two processes may be a little apart.
    let nearly = Timestamp(3_590_000);
    two.renew(two.owner(), nearly).await.unwrap();
    assert_eq!(until().await, holder.until);
    two.renew(two.owner(), Timestamp(20_000)).await.unwrap();
    assert_eq!(until().await, Timestamp(20_000));
    // Whose it is shows that it lives, all the same.
    one.renew(one.owner(), Timestamp(20_000)).await.unwrap();
    assert_eq!(until().await, Timestamp(20_001));
}

#[tokio::test]
async fn the_files_beside_the_database_are_where_they_are_said_to_be_and_tidied() {
    let (store, _directory) = store();
    let hosts = files_directory(store.path()).join("hosts");
    assert!(files_directory(store.path()).ends_with("state.db-files"));
    let lock = |store: &SqliteStore| hosts.join(format!("{}.lock", store.owner()));
    let first = lock(&store);
    assert!(first.exists());
    let path = store.path().to_owned();
    drop(store);
    let store = SqliteStore::open(path).unwrap();
    assert!(!first.exists());
    assert!(lock(&store).exists());
    assert_eq!(fs::read_dir(&hosts).unwrap().count(), 1);
}
