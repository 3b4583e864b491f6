//! Two deployments at work on one target: at each step of one, another may just
//! have published.

use super::kill::{before, steps_of};
use super::*;

/// What a run does to the disk when it is undisturbed.
fn steps(world: &mut World) -> usize {
    steps_of(|| world.works("SITE_SYNC"))
}

/// Puts a release there as another deployment does: whole, in one step.
fn published(web: &Path, commit: &str, files: Files<'_>) -> std::io::Result<()> {
    let releases = web.join("releases");
    fs::create_dir_all(&releases)?;
    let copy = releases.join(".copy.another.1");
    for (name, text) in files {
        let path = copy.join(name);
        fs::create_dir_all(path.parent().expect("it is in the copy"))?;
        fs::write(path, text)?;
    }
    fs::rename(copy, releases.join(commit))
}

#[test]
fn a_release_that_another_deployment_makes_at_any_step_is_taken_as_published() {
    let first = || {
        let mut world = World::new();
        world.host.set_target_source(FIRST, ONE);
        world
    };
    let mut taken = 0;
    for step in 0..steps(&mut first()) {
        let mut world = first();
        let web = world.web();
        let release = web.join("releases").join(FIRST);
        let another = move || {
            if !release.exists() {
                published(&web, FIRST, ONE).expect("the other publishes");
            }
        };
        before(step, another, || world.works("SITE_SYNC"));
        assert_eq!(
            current(&world.web()),
            Some(format!("releases/{FIRST}")),
            "before step {step}"
        );
        assert_eq!(without_directories(live(&world.web())), files_of(ONE));
        assert_eq!(world.releases(), [FIRST], "before step {step}");
        // What the other made is not this deployment's to remove.
        world.works("SITE_ROLLBACK");
        taken += usize::from(world.releases() == [FIRST]);
        assert_eq!(current(&world.web()), None);
    }
    assert!(taken > 0, "the other was never faster");
}

#[test]
fn a_release_of_other_content_that_takes_the_name_at_any_step_is_left_and_another_name_found() {
    let first = || {
        let mut world = World::new();
        world.host.set_target_source(FIRST, ONE);
        world
    };
    let mut renamed = 0;
    for step in 0..steps(&mut first()) {
        let mut world = first();
        let web = world.web();
        let release = web.join("releases").join(FIRST);
        let another = move || {
            if !release.exists() {
                published(&web, FIRST, TWO).expect("the other publishes");
            }
        };
        before(step, another, || world.works("SITE_SYNC"));
        assert_eq!(without_directories(live(&world.web())), files_of(ONE));
        let names = world.releases();
        if names == [FIRST.to_owned(), format!("{FIRST}-2")] {
            renamed += 1;
            let other = content(&world.web().join("releases").join(FIRST));
            assert_eq!(without_directories(other), files_of(TWO));
            world.works("SITE_ROLLBACK");
        } else {
            assert_eq!(names, [FIRST], "before step {step}");
            continue;
        }
        assert_eq!(world.releases(), [FIRST], "before step {step}");
    }
    assert!(renamed > 0, "the other was never faster");
}
