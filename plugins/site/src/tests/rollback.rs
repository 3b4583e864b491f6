//! Undoing a deployment.

use super::*;

#[test]
fn a_first_deployment_is_undone_by_removing_current_and_the_release() {
    let mut world = World::new();
    world.host.set_target_source(FIRST, ONE);
    world.works("SITE_SYNC");
    let outcome = world.outcome("SITE_ROLLBACK");
    assert_eq!(statuses(&outcome), [("web", TargetStatus::Succeeded)]);
    assert_eq!(names(&world.web()), ["releases"]);
    assert_eq!(world.releases(), Vec::<String>::new());
}

#[test]
fn a_later_deployment_is_undone_by_putting_back_what_was_live() {
    for stages in [&["SITE_SYNC"][..], &["SITE_STAGE", "SITE_PROMOTE"]] {
        let mut world = World::new();
        world.publish(FIRST, ONE);
        world.host.set_target_source(SECOND, TWO);
        for stage in stages {
            world.works(stage);
        }
        let outcome = world.outcome("SITE_ROLLBACK");
        assert_eq!(without_directories(live(&world.web())), files_of(ONE));
        assert_eq!(world.releases(), [FIRST]);
        assert!(
            outcome.targets[0]
                .message
                .ends_with(&format!("current led to releases/{FIRST}"))
        );
    }
}

#[test]
fn a_deployment_that_never_switched_only_loses_what_it_staged() {
    let mut world = World::new();
    world.publish(FIRST, ONE);
    world.host.set_target_source(SECOND, TWO);
    world.works("SITE_STAGE");
    let outcome = world.outcome("SITE_ROLLBACK");
    assert_eq!(statuses(&outcome), [("web", TargetStatus::Skipped)]);
    assert_eq!(current(&world.web()), Some(format!("releases/{FIRST}")));
    assert_eq!(world.releases(), [FIRST]);
}

#[test]
fn a_release_that_was_there_before_the_deployment_is_not_removed() {
    let mut world = World::new();
    world.publish(FIRST, ONE);
    world.publish(SECOND, TWO);
    world.host.set_target_source(FIRST, ONE);
    world.works("SITE_SYNC");
    world.works("SITE_ROLLBACK");
    assert_eq!(current(&world.web()), Some(format!("releases/{SECOND}")));
    assert_eq!(world.releases(), [FIRST, SECOND]);
}

#[test]
fn a_rollback_that_runs_twice_does_the_same_as_once() {
    let mut world = World::new();
    world.publish(FIRST, ONE);
    world.host.set_target_source(SECOND, TWO);
    world.works("SITE_SYNC");
    world.works("SITE_ROLLBACK");
    let once = content(&world.web());
    let outcome = world.outcome("SITE_ROLLBACK");
    assert_eq!(statuses(&outcome), [("web", TargetStatus::Skipped)]);
    assert_eq!(content(&world.web()), once);
}

#[test]
fn without_anything_written_down_the_rollback_changes_nothing_and_succeeds() {
    let mut world = World::new();
    world.host.set_target_source(FIRST, ONE);
    let outcome = world.outcome("SITE_ROLLBACK");
    assert_eq!(statuses(&outcome), [("web", TargetStatus::Skipped)]);
    assert!(!world.web().exists());
    world.publish(FIRST, ONE);
    let before = content(&world.web());
    world.works("SITE_ROLLBACK");
    assert_eq!(content(&world.web()), before);
}

#[test]
fn after_two_switches_in_one_deployment_the_first_memory_counts() {
    let mut world = World::new();
    world.publish(FIRST, ONE);
    world.host.set_target_source(SECOND, TWO);
    world.works("SITE_SYNC");
    fs::write(world.web().join("current/index.html"), "edited").expect("written");
    world.works("SITE_SYNC");
    assert_eq!(current(&world.web()), Some(format!("releases/{SECOND}-2")));
    world.works("SITE_ROLLBACK");
    assert_eq!(current(&world.web()), Some(format!("releases/{FIRST}")));
    assert_eq!(world.releases(), [FIRST]);
}

#[test]
fn a_current_that_someone_else_switched_is_left_alone_and_the_reason_says_both() {
    let mut world = World::new();
    world.publish(FIRST, ONE);
    world.host.set_target_source(SECOND, TWO);
    world.works("SITE_SYNC");
    let hotfix = world.web().join("releases/hotfix");
    fs::create_dir(&hotfix).expect("made");
    fs::remove_file(world.web().join("current")).expect("removed");
    std::os::unix::fs::symlink("releases/hotfix", world.web().join("current")).expect("linked");
    let why = world.fails("SITE_ROLLBACK");
    assert!(
        why.contains("releases/hotfix") && why.contains(FIRST),
        "{why}"
    );
    assert_eq!(current(&world.web()), Some("releases/hotfix".to_owned()));
}

#[test]
fn a_current_that_can_not_be_read_and_was_not_switched_leaves_the_rollback_nothing_to_do() {
    // Found before anything was copied.
    let mut world = World::new();
    fs::create_dir_all(world.web().join("current")).expect("made");
    world.host.set_target_source(FIRST, ONE);
    let why = world.fails("SITE_SYNC");
    assert!(why.contains("is not a link"), "{why}");
    let before = content(&world.web());
    let outcome = world.outcome("SITE_ROLLBACK");
    assert_eq!(statuses(&outcome), [("web", TargetStatus::Skipped)]);
    let message = &outcome.targets[0].message;
    for words in ["nothing to put back", "not switched", "is not a link"] {
        assert!(message.contains(words), "{message}");
    }
    assert_eq!(content(&world.web()), before);

    // Put there after a release was staged: it may lead to just that one.
    let mut world = World::new();
    world.host.set_target_source(FIRST, ONE);
    world.works("SITE_STAGE");
    let absolute = world.web().join("releases").join(FIRST);
    std::os::unix::fs::symlink(&absolute, world.web().join("current")).expect("linked");
    world.fails("SITE_PROMOTE");
    let outcome = world.outcome("SITE_ROLLBACK");
    assert_eq!(statuses(&outcome), [("web", TargetStatus::Skipped)]);
    let message = &outcome.targets[0].message;
    assert!(
        message.contains(&format!("stays: releases/{FIRST}")),
        "{message}"
    );
    assert_eq!(without_directories(live(&world.web())), files_of(ONE));
}

#[test]
fn a_current_that_can_not_be_read_after_it_was_switched_fails_the_rollback() {
    let mut world = World::new();
    world.publish(FIRST, ONE);
    world.host.set_target_source(SECOND, TWO);
    world.works("SITE_SYNC");
    fs::remove_file(world.web().join("current")).expect("removed");
    fs::create_dir(world.web().join("current")).expect("made");
    let why = world.fails("SITE_ROLLBACK");
    assert!(why.contains("is not a link"), "{why}");
}

#[test]
fn a_staged_release_that_someone_made_live_by_hand_is_not_removed() {
    let mut world = World::new();
    world.publish(FIRST, ONE);
    world.host.set_target_source(SECOND, TWO);
    world.works("SITE_STAGE");
    fs::remove_file(world.web().join("current")).expect("removed");
    let link = format!("./releases/{SECOND}/");
    std::os::unix::fs::symlink(&link, world.web().join("current")).expect("linked");
    world.works("SITE_ROLLBACK");
    assert_eq!(current(&world.web()), Some(link));
    assert_eq!(without_directories(live(&world.web())), files_of(TWO));
}

#[test]
fn a_release_that_is_gone_is_not_linked_to() {
    let mut world = World::new();
    world.publish(FIRST, ONE);
    world.host.set_target_source(SECOND, TWO);
    world.works("SITE_SYNC");
    fs::remove_dir_all(world.web().join("releases").join(FIRST)).expect("removed");
    let why = world.fails("SITE_ROLLBACK");
    assert!(why.contains("is gone"), "{why}");
    assert_eq!(without_directories(live(&world.web())), files_of(TWO));
}

#[test]
fn a_link_that_was_not_this_plugins_is_put_back_as_it_was() {
    let mut world = World::new();
    fs::create_dir_all(world.web().join("legacy")).expect("made");
    std::os::unix::fs::symlink("./legacy/", world.web().join("current")).expect("linked");
    world.host.set_target_source(FIRST, ONE);
    world.works("SITE_SYNC");
    world.works("SITE_ROLLBACK");
    assert_eq!(current(&world.web()), Some("./legacy/".to_owned()));
}

#[test]
fn every_target_is_rolled_back_even_if_one_fails_and_one_is_no_more_configured() {
    let mut world = World::with_targets(&["one", "two", "three"]);
    world.publish(FIRST, ONE);
    world.host.set_target_source(SECOND, TWO);
    world.works("SITE_SYNC");
    fs::remove_dir_all(world.target("one").join("releases").join(FIRST)).expect("removed");
    world.host.clear_deploy_targets();
    for name in ["one", "two"] {
        let directory = world.target(name);
        world
            .host
            .add_deploy_target(name, serde_json::json!({ "directory": directory }));
    }
    let outcome = world.run("SITE_ROLLBACK").expect("an outcome");
    assert!(matches!(&outcome.status, Status::Failed(why) if why.starts_with("one: ")));
    let expected = [
        ("one", TargetStatus::Failed),
        ("two", TargetStatus::Succeeded),
        ("three", TargetStatus::Succeeded),
    ];
    assert_eq!(statuses(&outcome), expected);
    for name in ["two", "three"] {
        assert_eq!(
            current(&world.target(name)),
            Some(format!("releases/{FIRST}"))
        );
    }
}

#[test]
fn a_deployment_after_a_rollback_goes_on_from_what_was_put_back() {
    let mut world = World::new();
    world.publish(FIRST, ONE);
    world.host.set_target_source(SECOND, TWO);
    world.works("SITE_SYNC");
    world.works("SITE_ROLLBACK");
    world.host.retry_deployment();
    world.host.set_target_source(THIRD, TWO);
    world.works("SITE_SYNC");
    world.works("SITE_ROLLBACK");
    assert_eq!(current(&world.web()), Some(format!("releases/{FIRST}")));
    assert_eq!(world.releases(), [FIRST]);
}
