//! Removing old releases, and what was left behind.

use std::time::{Duration, UNIX_EPOCH};

use serde_json::json;

use super::*;

fn commit(number: usize) -> String {
    format!("{number:040x}")
}

#[test]
fn the_newest_releases_are_kept_besides_the_live_one() {
    let mut world = World::new();
    world.host.set_section(json!({ "keepReleases": 2 }));
    for number in 1..=5 {
        world.publish(&commit(number), ONE);
    }
    assert_eq!(world.releases(), [commit(3), commit(4), commit(5)]);
    assert_eq!(
        current(&world.web()),
        Some(format!("releases/{}", commit(5)))
    );
}

#[test]
fn five_old_releases_are_kept_by_default() {
    let mut world = World::new();
    for number in 1..=8 {
        world.publish(&commit(number), ONE);
    }
    assert_eq!(world.releases().len(), 6);
}

#[test]
fn old_is_what_was_live_longest_ago_not_what_was_copied_first() {
    let mut world = World::new();
    for number in [1, 2, 3, 1, 4] {
        world.publish(&commit(number), ONE);
    }
    world.host.set_section(json!({ "keepReleases": 2 }));
    world.publish(&commit(5), ONE);
    assert_eq!(world.releases(), [commit(1), commit(4), commit(5)]);
}

#[test]
fn the_one_before_is_kept_for_the_rollback_whatever_its_age() {
    let mut world = World::new();
    world.publish(&commit(1), ONE);
    world.host.set_section(json!({ "keepReleases": 1 }));
    // Others that look newer than anything.
    for number in [7, 8] {
        world.host.put_state(
            stagewright_sdk::state::Scope::Application,
            &format!("live/web/{}", commit(number)),
            &u64::MAX,
        );
        fs::create_dir(world.web().join("releases").join(commit(number))).expect("made");
    }
    world.host.set_target_source(&commit(2), TWO);
    world.works("SITE_SYNC");
    assert_eq!(world.releases(), [commit(1), commit(2)]);
    world.works("SITE_ROLLBACK");
    assert_eq!(without_directories(live(&world.web())), files_of(ONE));
}

#[test]
fn releases_that_were_never_noted_as_live_go_by_their_own_time() {
    let mut world = World::new();
    world.publish(&commit(1), ONE);
    for (number, age) in [(7, 3000), (8, 1000), (9, 2000)] {
        let release = world.web().join("releases").join(commit(number));
        fs::create_dir(&release).expect("made");
        let time = UNIX_EPOCH + Duration::from_millis(world.host.now().as_millis() - age * 1000);
        fs::File::open(&release)
            .expect("open")
            .set_modified(time)
            .expect("set");
    }
    world.host.set_section(json!({ "keepReleases": 3 }));
    world.publish(&commit(2), TWO);
    assert_eq!(
        world.releases(),
        [commit(1), commit(2), commit(8), commit(9)]
    );
}

#[test]
fn what_this_plugin_did_not_name_is_never_removed() {
    let mut world = World::new();
    world.host.set_section(json!({ "keepReleases": 1 }));
    let releases = world.web().join("releases");
    fs::create_dir_all(releases.join("hotfix")).expect("made");
    fs::write(releases.join("notes.txt"), "x").expect("written");
    fs::write(releases.join("abcdef"), "a file").expect("written");
    std::os::unix::fs::symlink("/etc", releases.join("fedcba")).expect("linked");
    fs::write(world.web().join("robots.txt"), "x").expect("written");
    for number in 1..=4 {
        world.publish(&commit(number), ONE);
    }
    let expected = [
        commit(3),
        commit(4),
        "abcdef".into(),
        "fedcba".into(),
        "hotfix".into(),
        "notes.txt".into(),
    ];
    assert_eq!(world.releases(), expected);
    assert_eq!(names(&world.web()), ["current", "releases", "robots.txt"]);
}

#[test]
fn a_link_in_a_release_is_removed_and_never_what_it_leads_to() {
    let mut world = World::new();
    world.host.set_section(json!({ "keepReleases": 1 }));
    world.publish(&commit(1), ONE);
    let outside = tempfile::tempdir().expect("a directory");
    fs::write(outside.path().join("precious"), "x").expect("written");
    let link = world.web().join("current/out");
    std::os::unix::fs::symlink(outside.path(), link).expect("linked");
    world.publish(&commit(2), ONE);
    world.publish(&commit(3), ONE);
    assert_eq!(world.releases(), [commit(2), commit(3)]);
    assert_eq!(names(outside.path()), ["precious"]);
}

#[test]
fn a_copy_that_another_deployment_is_making_is_left_alone_for_a_day() {
    let mut world = World::new();
    world.publish(&commit(1), ONE);
    let releases = world.web().join("releases");
    fs::create_dir_all(releases.join(".copy.other.1/deep")).expect("made");
    fs::write(releases.join(".copy.other.1/deep/half"), "ha").expect("written");
    std::os::unix::fs::symlink("x", world.web().join(".current.other")).expect("linked");
    world.publish(&commit(2), ONE);
    assert_eq!(
        names(&releases),
        [".copy.other.1".to_owned(), commit(1), commit(2)]
    );
    world.host.advance(Duration::from_secs(24 * 60 * 60 + 1));
    world.publish(&commit(3), ONE);
    assert_eq!(world.releases(), [commit(1), commit(2), commit(3)]);
    assert_eq!(names(&world.web()), ["current", "releases"]);
}

#[test]
fn what_another_deployment_was_removing_is_removed() {
    let mut world = World::new();
    world.publish(&commit(1), ONE);
    let releases = world.web().join("releases");
    fs::create_dir_all(releases.join(".gone.other.abc/deep")).expect("made");
    world.publish(&commit(2), ONE);
    assert_eq!(world.releases(), [commit(1), commit(2)]);
}

#[test]
fn what_a_release_is_remembered_by_goes_with_it() {
    use stagewright_sdk::state::Scope;
    let mut world = World::new();
    world.host.set_section(json!({ "keepReleases": 1 }));
    for number in 1..=3 {
        world.publish(&commit(number), ONE);
    }
    let since = |number| {
        world
            .host
            .state::<u64>(Scope::Application, &format!("live/web/{}", commit(number)))
    };
    assert_eq!(since(1), None);
    assert!(since(2).is_some() && since(2) < since(3));
}
