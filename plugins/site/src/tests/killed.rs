//! A plugin that is killed: at every step in turn, then run again, and killed again.
//! What visitors see is a whole site each time, and the end is that of a run that
//! nobody disturbed.

use serde_json::json;

use super::kill::{after, steps_of, watching};
use super::*;

/// Old releases enough that one is pruned, then a deployment that is to be killed.
fn prepared() -> World {
    let mut world = World::new();
    world.host.set_section(json!({ "keepReleases": 1 }));
    world.publish(FIRST, ONE);
    world.publish(SECOND, ONE);
    world.host.set_target_source(THIRD, TWO);
    world
}

/// Fails unless what is live is one of these sites, whole, and so is all that has
/// the name of a release. `never_down`: something is live.
fn whole(web: &Path, sites: &[Files<'_>], never_down: bool) {
    if current(web).is_none() {
        assert!(!never_down, "nothing is live");
        return;
    }
    let live = without_directories(live(web));
    assert!(
        sites.iter().any(|site| live == files_of(site)),
        "half a site: {live:?}"
    );
    for name in names(&web.join("releases")) {
        if crate::layout::is_release(&name) {
            let release = without_directories(content(&web.join("releases").join(&name)));
            assert!(
                sites.iter().any(|site| release == files_of(site)),
                "{name}: {release:?}"
            );
        }
    }
}

/// Runs stages, each killed after so many steps of the whole and then run again
/// from its start.
fn run_killed(world: &mut World, stages: &[&str], mut steps: usize) -> bool {
    let mut killed = false;
    for name in stages {
        let mut stage = world.host.stage(name, "{}");
        let mut taken = 0;
        let first = after(steps, || {
            let result = world.host.execute::<Site>(&mut stage);
            taken = kill::taken();
            result
        });
        // A failure while pruning does not fail the stage: it was killed if it came
        // to its last step.
        if taken >= steps {
            killed = true;
            stage.lose();
            let outcome = world
                .host
                .execute::<Site>(&mut stage)
                .expect("the second attempt");
            assert_eq!(
                outcome.status,
                Status::Succeeded,
                "{name} killed after {steps} steps"
            );
            steps = usize::MAX;
        } else {
            assert_eq!(first.expect("not killed").status, Status::Succeeded);
            steps -= taken;
        }
    }
    killed
}

/// Kills at each step, and compares with what happens if nobody does.
fn undisturbed_by_kills(make: fn() -> World, stages: &[&str], sites: &'static [Files<'static>]) {
    let mut world = make();
    for stage in stages {
        world.works(stage);
    }
    let expected = content(&world.web());
    let never_down = current(&make().web()).is_some() && expected.contains_key("current");
    let mut kills = 0;
    for steps in 0.. {
        let mut world = make();
        let web = world.web();
        let killed = watching(
            move || whole(&web, sites, never_down),
            || run_killed(&mut world, stages, steps),
        );
        if !killed {
            break;
        }
        kills += 1;
        assert_eq!(
            content(&world.web()),
            expected,
            "after a kill at step {steps}"
        );
    }
    assert!(kills > 5, "only {kills} steps");
}

#[test]
fn a_sync_that_is_killed_at_any_step_and_run_again_ends_as_if_it_was_not() {
    undisturbed_by_kills(prepared, &["SITE_SYNC"], &[ONE, TWO]);
}

#[test]
fn a_first_sync_that_is_killed_at_any_step_and_run_again_ends_as_if_it_was_not() {
    let make = || {
        let mut world = World::new();
        world.host.set_target_source(FIRST, ONE);
        world
    };
    undisturbed_by_kills(make, &["SITE_SYNC"], &[ONE]);
}

#[test]
fn a_pipeline_that_is_killed_at_any_step_and_run_again_ends_as_if_it_was_not() {
    undisturbed_by_kills(prepared, &["SITE_STAGE", "SITE_PROMOTE"], &[ONE, TWO]);
}

#[test]
fn a_rollback_that_is_killed_at_any_step_and_run_again_ends_as_if_it_was_not() {
    let make = || {
        let mut world = prepared();
        world.works("SITE_SYNC");
        world
    };
    undisturbed_by_kills(make, &["SITE_ROLLBACK"], &[ONE, TWO]);
}

#[test]
fn a_rollback_of_a_first_deployment_that_is_killed_at_any_step_ends_as_if_it_was_not() {
    let make = || {
        let mut world = World::new();
        world.host.set_target_source(FIRST, ONE);
        world.works("SITE_SYNC");
        world
    };
    undisturbed_by_kills(make, &["SITE_ROLLBACK"], &[ONE]);
}

#[test]
fn a_sync_that_is_killed_at_any_step_is_undone_by_a_rollback_that_is_killed_too() {
    let mut world = prepared();
    let before = content(&world.web());
    let steps = steps_of(|| world.works("SITE_SYNC"));
    for first in 0..=steps {
        // Each kill of the rollback with some kill of the sync, all in all.
        let second = first * 7 % 11;
        let mut world = prepared();
        let web = world.web();
        watching(
            move || whole(&web, &[ONE, TWO], true),
            || {
                drop(after(first, || world.run("SITE_SYNC")));
                let mut rollback = world.host.stage("SITE_ROLLBACK", "{}").as_rollback();
                drop(after(second, || world.host.execute::<Site>(&mut rollback)));
                rollback.lose();
                let outcome = world
                    .host
                    .execute::<Site>(&mut rollback)
                    .expect("the second attempt");
                assert_eq!(outcome.status, Status::Succeeded, "{first} {second}");
            },
        );
        // A release that was pruned before the kill does not come back.
        let mut after = content(&world.web());
        let mut before = before.clone();
        for all in [&mut after, &mut before] {
            all.retain(|path, _| !path.contains(FIRST));
        }
        assert_eq!(
            after, before,
            "sync killed at {first}, rollback at {second}"
        );
    }
}

#[test]
fn a_sync_whose_attempts_are_killed_twice_ends_as_if_they_were_not() {
    let mut world = prepared();
    let steps = steps_of(|| world.works("SITE_SYNC"));
    let expected = content(&world.web());
    for first in 0..=steps {
        // Not each pair, which would be thousands: a stride that meets all.
        let second = (first * 7 + 3) % steps;
        let mut world = prepared();
        let web = world.web();
        let see = move || whole(&web, &[ONE, TWO], true);
        let mut stage = world.host.stage("SITE_SYNC", "{}");
        watching(see, || {
            for steps in [first, second] {
                drop(after(steps, || world.host.execute::<Site>(&mut stage)));
                stage.lose();
            }
            let outcome = world
                .host
                .execute::<Site>(&mut stage)
                .expect("the third attempt");
            assert_eq!(outcome.status, Status::Succeeded, "{first} {second}");
        });
        assert_eq!(
            content(&world.web()),
            expected,
            "killed at {first}, then at {second}"
        );
    }
}

#[test]
fn a_copy_that_is_killed_again_and_again_leaves_one_copy_at_most() {
    let mut world = prepared();
    let mut stage = world.host.stage("SITE_SYNC", "{}");
    for steps in 5..12 {
        drop(after(steps, || world.host.execute::<Site>(&mut stage)));
        stage.lose();
        let copies = world
            .releases()
            .iter()
            .filter(|name| name.starts_with(".copy."))
            .count();
        assert!(copies <= 1, "{:?}", world.releases());
    }
    let outcome = world
        .host
        .execute::<Site>(&mut stage)
        .expect("the last attempt");
    assert_eq!(outcome.status, Status::Succeeded);
    assert_eq!(world.releases(), [SECOND, THIRD]);
}

#[test]
fn an_attempt_that_was_given_up_can_not_make_the_copy_of_a_newer_one_a_release() {
    use crate::layout::{Layout, Work};
    let world = World::new();
    let directory = world.web().display().to_string();
    let work = |attempt| Work {
        deployment: "deployment-1".to_owned(),
        attempt,
    };
    let (old, new) = (
        Layout::new(&directory, &work(1)),
        Layout::new(&directory, &work(2)),
    );
    old.prepare().expect("prepared");
    fs::create_dir(old.copy()).expect("the old attempt copies");
    new.clean_own().expect("the new attempt cleans");
    fs::create_dir(new.copy()).expect("and copies");
    old.settle(FIRST)
        .expect_err("there is nothing of its own to name");
    assert!(new.copy().is_dir());
}

#[test]
fn what_was_live_before_is_written_down_before_the_switch() {
    let mut world = prepared();
    let web = world.web();
    let link = format!("releases/{SECOND}");
    for steps in 0.. {
        let mut world = prepared();
        let mut stage = world.host.stage("SITE_SYNC", "{}");
        drop(after(steps, || world.host.execute::<Site>(&mut stage)));
        let record = world
            .host
            .state::<serde_json::Value>(stagewright_sdk::state::Scope::Deployment, "target/web");
        if current(&world.web()) != Some(link.clone()) {
            let record = record.expect("it was written down");
            assert_eq!(record["before"], json!({ "link": link }));
            break;
        }
    }
    world.works("SITE_SYNC");
    assert_eq!(current(&web), Some(format!("releases/{THIRD}")));
}
