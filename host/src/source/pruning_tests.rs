//! Which trees go and which stay.

use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use super::tests::Place;
use super::*;

/// Prunes the application of a fetched tree, with some commits in use.
async fn prune(place: &Place, of: &Fetched, in_use: &[&Fetched]) {
    let hashes = in_use.iter().map(|fetched| fetched.commit.hash.clone());
    let hashes: Vec<String> = hashes.collect();
    let in_use = Box::pin(async { Ok(hashes) });
    let sources = place.sources();
    sources.prune(&of.application, in_use).await.unwrap();
}

async fn fetched(place: &Place, text: &str) -> Fetched {
    place.write("files/site/page", text);
    place.fetch(None).await.unwrap()
}

#[tokio::test]
async fn what_is_in_use_and_what_someone_holds_stays_and_all_else_goes() {
    let place = Place::new();
    let mut used = fetched(&place, "one").await;
    let mut idle = fetched(&place, "two").await;
    let held = fetched(&place, "three").await;
    used.hold = Hold::default();
    idle.hold = Hold::default();
    prune(&place, &used, &[&used]).await;
    let there = [&used, &idle, &held].map(|fetched| fetched.tree.exists());
    assert_eq!(there, [true, false, true]);
    let gone = place.sources();
    let gone = gone.tree(&idle.application, &idle.commit.hash).await;
    assert!(gone.unwrap_err().to_string().contains("are gone"));
    // Nothing half removed stays either.
    let left = fs::read_dir(used.tree.parent().unwrap()).unwrap();
    assert_eq!(left.count(), 2);
}

#[tokio::test]
async fn a_tree_that_is_fetched_again_is_held_again() {
    let place = Place::new();
    drop(fetched(&place, "one").await.hold);
    let again = fetched(&place, "one").await;
    prune(&place, &again, &[]).await;
    assert!(again.tree.exists());
    let (tree, application) = (again.tree.clone(), again.application.clone());
    drop(again);
    let in_use = Box::pin(async { Ok(Vec::new()) });
    place.sources().prune(&application, in_use).await.unwrap();
    assert!(!tree.exists());
}

#[tokio::test]
async fn what_is_in_use_is_asked_when_nobody_can_begin_to_use_a_tree_unseen() {
    let place = Place::new();
    let mut of = fetched(&place, "one").await;
    of.hold = Hold::default();
    let tree = of.tree.clone();
    let asked = Box::pin(async {
        let lock = File::open(&tree).unwrap();
        assert!(lock.try_lock_shared().is_err(), "it could be held");
        Ok(vec![of.commit.hash.clone()])
    });
    let sources = place.sources();
    sources.prune(&of.application, asked).await.unwrap();
    assert!(of.tree.exists());
}

#[tokio::test]
async fn a_copy_that_is_being_made_stays_and_one_that_was_left_long_ago_goes() {
    let place = Place::new();
    let of = fetched(&place, "one").await;
    let home = of.tree.parent().unwrap();
    let [new, old] = ["new", "old"].map(|name| {
        let copy = home.join(format!(".unfinished-{name}"));
        fs::create_dir(&copy).unwrap();
        copy
    });
    let long_ago = SystemTime::now() - Duration::from_secs(24 * 60 * 60);
    File::open(&old).unwrap().set_modified(long_ago).unwrap();
    prune(&place, &of, &[]).await;
    assert!(new.exists() && !old.exists() && of.tree.exists());
}

#[tokio::test]
async fn nothing_is_removed_while_a_copy_of_the_state_is_made() {
    let place = Place::new();
    let mut of = fetched(&place, "one").await;
    of.hold = Hold::default();
    let paused = pause_pruning(&place.path("kept")).unwrap();
    assert!(paused.is_some());
    prune(&place, &of, &[]).await;
    assert!(of.tree.exists());
    drop(paused);
    prune(&place, &of, &[]).await;
    assert!(!of.tree.exists());
}
