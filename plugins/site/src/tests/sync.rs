//! Copying a release and making it live.

use super::*;

#[test]
fn a_first_deployment_makes_the_release_and_a_relative_link_to_it() {
    let mut world = World::new();
    world.host.set_target_source(FIRST, ONE);
    let outcome = world.outcome("SITE_SYNC");
    assert_eq!(current(&world.web()), Some(format!("releases/{FIRST}")));
    assert_eq!(without_directories(live(&world.web())), files_of(ONE));
    assert_eq!(statuses(&outcome), [("web", TargetStatus::Succeeded)]);
    let message = &outcome.targets[0].message;
    assert_eq!(
        *message,
        format!("releases/{FIRST} is live; before, current did not exist")
    );
    assert_eq!(names(&world.web()), ["current", "releases"]);
}

#[test]
fn the_next_deployment_switches_to_its_release_and_keeps_the_old_one() {
    let mut world = World::new();
    world.publish(FIRST, ONE);
    world.host.set_target_source(SECOND, TWO);
    let outcome = world.outcome("SITE_SYNC");
    assert_eq!(without_directories(live(&world.web())), files_of(TWO));
    assert_eq!(world.releases(), [FIRST, SECOND]);
    let message = &outcome.targets[0].message;
    assert!(
        message.ends_with(&format!("current led to releases/{FIRST}")),
        "{message}"
    );
}

#[test]
fn a_staged_release_is_whole_but_not_live_until_it_is_promoted() {
    let mut world = World::new();
    world.publish(FIRST, ONE);
    world.host.set_target_source(SECOND, TWO);
    let outcome = world.outcome("SITE_STAGE");
    assert!(
        outcome.targets[0]
            .message
            .ends_with("is copied, not live yet")
    );
    assert_eq!(current(&world.web()), Some(format!("releases/{FIRST}")));
    let staged = content(&world.web().join("releases").join(SECOND));
    assert_eq!(without_directories(staged), files_of(TWO));
    world.works("SITE_PROMOTE");
    assert_eq!(current(&world.web()), Some(format!("releases/{SECOND}")));
}

#[test]
fn a_staged_release_that_was_removed_meanwhile_is_copied_again_when_promoted() {
    let mut world = World::new();
    world.host.set_target_source(FIRST, ONE);
    world.works("SITE_STAGE");
    fs::remove_dir_all(world.web().join("releases").join(FIRST)).expect("removed");
    world.works("SITE_PROMOTE");
    assert_eq!(without_directories(live(&world.web())), files_of(ONE));
}

#[test]
fn a_staged_release_that_was_edited_meanwhile_does_not_go_live() {
    let mut world = World::new();
    world.host.set_target_source(FIRST, ONE);
    world.works("SITE_STAGE");
    fs::write(
        world.web().join("releases").join(FIRST).join("index.html"),
        "0wn",
    )
    .expect("written");
    world.works("SITE_PROMOTE");
    assert_eq!(current(&world.web()), Some(format!("releases/{FIRST}-2")));
    assert_eq!(without_directories(live(&world.web())), files_of(ONE));
    assert!(
        world
            .host
            .log()
            .iter()
            .any(|line| line.contains("other content"))
    );
}

#[test]
fn a_release_with_the_same_content_is_used_again_and_not_copied() {
    let mut world = World::new();
    world.publish(FIRST, ONE);
    world.publish(SECOND, TWO);
    let release = world.web().join("releases").join(FIRST);
    let before = fs::metadata(release.join("index.html"))
        .expect("there")
        .modified()
        .expect("time");
    world.publish(FIRST, ONE);
    let after = fs::metadata(release.join("index.html"))
        .expect("there")
        .modified()
        .expect("time");
    assert_eq!(before, after);
    assert_eq!(world.releases(), [FIRST, SECOND]);
    assert_eq!(current(&world.web()), Some(format!("releases/{FIRST}")));
}

#[test]
fn what_is_live_already_is_left_alone_and_the_target_says_so() {
    let mut world = World::new();
    world.publish(FIRST, ONE);
    world.host.set_target_source(FIRST, ONE);
    let outcome = world.outcome("SITE_SYNC");
    assert_eq!(statuses(&outcome), [("web", TargetStatus::Skipped)]);
    assert_eq!(
        outcome.targets[0].message,
        format!("releases/{FIRST} was live already")
    );
}

#[test]
fn a_live_release_that_someone_edited_is_replaced_by_a_new_name_in_one_step() {
    let edits: [fn(&Path); 4] = [
        |release| fs::write(release.join("index.html"), "0wn").expect("written"),
        |release| fs::write(release.join("more.html"), "more").expect("written"),
        |release| fs::remove_file(release.join("old.html")).expect("removed"),
        |release| std::os::unix::fs::symlink("/etc", release.join("out")).expect("linked"),
    ];
    for edit in edits {
        let mut world = World::new();
        world.publish(FIRST, ONE);
        edit(&world.web().join("releases").join(FIRST));
        world.host.set_target_source(FIRST, ONE);
        let web = world.web();
        let eye = move || assert!(web.join("current/css/site.css").exists(), "never half");
        kill::watching(eye, || world.works("SITE_SYNC"));
        assert_eq!(current(&world.web()), Some(format!("releases/{FIRST}-2")));
        assert_eq!(without_directories(live(&world.web())), files_of(ONE));
        world.next();
        world.host.set_target_source(FIRST, ONE);
        let outcome = world.outcome("SITE_SYNC");
        assert_eq!(
            statuses(&outcome),
            [("web", TargetStatus::Skipped)],
            "found by its content"
        );
    }
}

#[test]
fn one_commit_published_from_two_directories_makes_two_releases() {
    let mut world = World::new();
    let files: Files<'_> = &[("a/index.html", "a"), ("b/index.html", "b")];
    world
        .host
        .set_section(serde_json::json!({ "directory": "a" }));
    world.publish(FIRST, files);
    world
        .host
        .set_section(serde_json::json!({ "directory": "b" }));
    world.publish(FIRST, files);
    assert_eq!(current(&world.web()), Some(format!("releases/{FIRST}-2")));
    assert_eq!(
        without_directories(live(&world.web())),
        files_of(&[("index.html", "b")])
    );
}

#[test]
fn the_status_shows_progress_and_the_log_one_line_a_target() {
    let mut world = World::new();
    let source = world.host.set_target_source(FIRST, &[]);
    for number in 0..800 {
        fs::write(source.join(format!("{number}.html")), "x").expect("written");
    }
    world.works("SITE_SYNC");
    let statuses = world.host.statuses();
    assert!(
        statuses.contains(&"web: 120 of 800 files".to_owned()),
        "{statuses:?}"
    );
    assert_eq!(
        statuses.last().map(String::as_str),
        Some("web: 800 of 800 files")
    );
    assert!(statuses.len() <= 101, "{}", statuses.len());
    let log = world.host.log();
    assert_eq!(log.len(), 2, "{log:?}");
    assert_eq!(
        log[0],
        format!("web: copied 800 files, 800 bytes, to releases/{FIRST}")
    );
}

#[test]
fn each_of_several_targets_gets_the_release_and_has_its_result() {
    let mut world = World::with_targets(&["one", "two"]);
    world.host.set_target_source(FIRST, ONE);
    let outcome = world.outcome("SITE_SYNC");
    let expected = [
        ("one", TargetStatus::Succeeded),
        ("two", TargetStatus::Succeeded),
    ];
    assert_eq!(statuses(&outcome), expected);
    for name in ["one", "two"] {
        assert_eq!(
            without_directories(live(&world.target(name))),
            files_of(ONE)
        );
    }
}

#[test]
fn one_target_that_fails_keeps_the_others_from_going_live_and_all_are_reported() {
    let mut world = World::with_targets(&["one", "bad", "two"]);
    world.host.set_target_source(FIRST, ONE);
    fs::create_dir_all(world.target("bad").join("current")).expect("made");
    let outcome = world.run("SITE_SYNC").expect("an outcome");
    let Status::Failed(why) = &outcome.status else {
        panic!("{outcome:?}")
    };
    assert!(
        why.starts_with("bad: ") && why.contains("is not a link"),
        "{why}"
    );
    let expected = [
        ("one", TargetStatus::Skipped),
        ("bad", TargetStatus::Failed),
        ("two", TargetStatus::Skipped),
    ];
    assert_eq!(statuses(&outcome), expected);
    assert!(
        outcome.targets[0]
            .message
            .ends_with("is copied, but not live, as bad failed")
    );
    assert_eq!(current(&world.target("one")), None);
    assert_eq!(current(&world.target("two")), None);
}

#[test]
fn staging_reports_a_failed_target_and_copies_to_the_others() {
    let mut world = World::with_targets(&["bad", "two"]);
    world.host.set_target_source(FIRST, ONE);
    fs::create_dir_all(world.target("bad")).expect("made");
    fs::write(world.target("bad").join("releases"), "a file").expect("written");
    let outcome = world.run("SITE_STAGE").expect("an outcome");
    assert!(matches!(&outcome.status, Status::Failed(why) if why.contains("is not a directory")));
    let expected = [
        ("bad", TargetStatus::Failed),
        ("two", TargetStatus::Succeeded),
    ];
    assert_eq!(statuses(&outcome), expected);
}

#[test]
fn several_failed_targets_are_counted_in_the_reason() {
    let mut world = World::with_targets(&["one", "two", "three"]);
    world.host.set_target_source(FIRST, ONE);
    for name in ["one", "three"] {
        fs::create_dir_all(world.target(name).join("current")).expect("made");
    }
    let why = world.fails("SITE_STAGE");
    assert!(
        why.starts_with("2 of 3 deploy targets failed, first one: "),
        "{why}"
    );
}

#[test]
fn a_current_that_is_an_absolute_link_is_left_and_the_message_says_what_to_do() {
    let mut world = World::new();
    fs::create_dir_all(world.web()).expect("made");
    std::os::unix::fs::symlink("/srv/old", world.web().join("current")).expect("linked");
    world.host.set_target_source(FIRST, ONE);
    let why = world.fails("SITE_SYNC");
    assert!(
        why.contains("is an absolute link") && why.contains("relative one"),
        "{why}"
    );
    assert_eq!(current(&world.web()), Some("/srv/old".to_owned()));
}

#[test]
fn a_directory_that_can_not_be_made_names_the_grant_that_is_missing() {
    let mut world = World::with_targets(&[]);
    world.host.set_target_source(FIRST, ONE);
    // As the sandbox answers for what is not granted, procfs has no such name.
    world.host.add_deploy_target(
        "web",
        serde_json::json!({ "directory": "/proc/nowhere/site" }),
    );
    let why = world.fails("SITE_SYNC");
    assert!(
        why.contains("/proc/nowhere/site") && why.contains("`allow.filesystem`"),
        "{why}"
    );
}

#[test]
fn a_cancelled_stage_stops_between_files_and_nothing_goes_live() {
    let mut world = World::with_targets(&["one", "two"]);
    world.publish(FIRST, ONE);
    world.host.set_target_source(SECOND, TWO);
    world.host.cancel_on_log("one: copied");
    let error = world.run("SITE_SYNC").expect_err("cancelled").to_string();
    assert!(error.contains("cancelled"), "{error}");
    for name in ["one", "two"] {
        assert_eq!(
            current(&world.target(name)),
            Some(format!("releases/{FIRST}"))
        );
    }
    assert_eq!(names(&world.target("two").join("releases")), [FIRST]);
}

#[test]
fn a_copy_that_is_cancelled_stops_before_the_next_file_and_the_rollback_removes_it() {
    let mut world = World::new();
    world.publish(FIRST, ONE);
    fs::write(world.web().join("current/index.html"), "edited").expect("written");
    world.host.set_target_source(FIRST, ONE);
    world.host.cancel_on_log("is not used again");
    world.run("SITE_SYNC").expect_err("cancelled");
    let copy = world.web().join("releases/.copy.deployment-2.1");
    assert_eq!(names(&copy), Vec::<String>::new());
    assert!(copy.is_dir());
    // The rollback is a stage of its own, which nobody has cancelled.
    let deployment = world.host.deployment.id.clone();
    world.host.retry_deployment();
    world.host.deployment.id = deployment;
    world.works("SITE_ROLLBACK");
    assert_eq!(world.releases(), [FIRST]);
    assert_eq!(current(&world.web()), Some(format!("releases/{FIRST}")));
}

#[test]
fn a_target_whose_directory_changes_during_a_deployment_fails_and_says_so() {
    let mut world = World::new();
    world.host.set_target_source(FIRST, ONE);
    world.works("SITE_STAGE");
    world.host.clear_deploy_targets();
    let elsewhere = world.target("elsewhere");
    world
        .host
        .add_deploy_target("web", serde_json::json!({ "directory": elsewhere }));
    let why = world.fails("SITE_PROMOTE");
    assert!(why.contains("start a new deployment"), "{why}");
    assert!(!elsewhere.exists());
}
