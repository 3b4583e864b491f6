//! How a deployment is planned.

use serde_json::json;
use stagewright_sdk::testing::requested;
use stagewright_sdk::{ConfigKind, Strategy};

use super::*;

fn decided(running: Files<'_>, target: Files<'_>) -> (Strategy, String) {
    let mut world = World::new();
    world.host.set_running_source(FIRST, running);
    world.host.set_target_source(SECOND, target);
    decision(&world)
}

fn decision(world: &World) -> (Strategy, String) {
    let decision = world
        .host
        .determine_strategy::<Site>()
        .expect("an answer")
        .expect("an opinion");
    (decision.strategy, decision.summary)
}

#[test]
fn a_small_change_without_removals_is_for_quick_sync() {
    let (strategy, summary) = decided(
        &[("a", "1"), ("b", "1")],
        &[("a", "2"), ("b", "1"), ("dir/c", "1")],
    );
    assert_eq!(strategy, Strategy::QuickSync);
    assert_eq!(
        summary,
        "2 files changed (1 added, 1 modified), none removed"
    );
}

#[test]
fn a_removed_file_is_for_the_pipeline() {
    let (strategy, summary) = decided(&[("a", "1"), ("index.html", "1")], &[("a", "2")]);
    assert_eq!(
        (strategy, summary.as_str()),
        (Strategy::Pipeline, "index.html was removed")
    );
}

#[test]
fn a_renamed_file_is_for_the_pipeline() {
    let (strategy, summary) = decided(&[("a", "1"), ("b", "2")], &[("a", "1"), ("c", "2")]);
    assert_eq!(
        (strategy, summary.as_str()),
        (Strategy::Pipeline, "b was renamed to c")
    );
}

#[test]
fn a_file_that_becomes_a_directory_counts_as_removed() {
    let (strategy, summary) = decided(&[("a", "1"), ("b", "2")], &[("a", "1"), ("b/index", "3")]);
    assert_eq!(
        (strategy, summary.as_str()),
        (Strategy::Pipeline, "b was removed")
    );
}

#[test]
fn as_many_changes_as_max_files_are_for_the_pipeline() {
    let mut world = World::new();
    world
        .host
        .set_section(json!({ "quickSync": { "maxFiles": 2 } }));
    world
        .host
        .set_running_source(FIRST, &[("a", "1"), ("b", "1")]);
    world
        .host
        .set_target_source(SECOND, &[("a", "2"), ("b", "1")]);
    assert_eq!(decision(&world).0, Strategy::QuickSync);
    world
        .host
        .set_target_source(SECOND, &[("a", "2"), ("b", "2")]);
    let (strategy, summary) = decision(&world);
    assert_eq!(strategy, Strategy::Pipeline);
    assert_eq!(
        summary,
        "2 files changed, none removed; quick sync is for fewer than 2"
    );
}

#[test]
fn content_counts_and_not_time_nor_size() {
    let (_, summary) = decided(&[("a", "one")], &[("a", "two")]);
    assert_eq!(summary, "1 file changed, none removed");
    let (strategy, summary) = decided(&[("a", "one")], &[("a", "one")]);
    assert_eq!(
        (strategy, summary.as_str()),
        (Strategy::QuickSync, "no file changed")
    );
}

#[test]
fn what_is_not_published_is_not_counted() {
    let mut world = World::new();
    world
        .host
        .set_section(json!({ "directory": "public", "exclude": ["**/*.map"] }));
    world.host.set_running_source(
        FIRST,
        &[("public/a", "1"), ("b", "1"), ("public/x.map", "1")],
    );
    world.host.set_target_source(SECOND, &[("public/a", "1")]);
    assert_eq!(decision(&world).1, "no file changed");
}

#[test]
fn a_directory_that_the_running_source_lacks_is_for_the_pipeline() {
    let mut world = World::new();
    world.host.set_section(json!({ "directory": "public" }));
    world.host.set_running_source(FIRST, &[("a", "1")]);
    world.host.set_target_source(SECOND, &[("public/a", "1")]);
    let (strategy, summary) = decision(&world);
    assert_eq!(strategy, Strategy::Pipeline);
    assert!(
        summary.contains("the source has no directory public"),
        "{summary}"
    );
}

#[test]
fn on_a_first_deployment_there_is_no_opinion() {
    let world = World::new();
    assert_eq!(
        world.host.determine_strategy::<Site>().expect("an answer"),
        None
    );
}

#[test]
fn the_version_is_the_applications_name_and_the_short_commit_with_its_page() {
    let mut world = World::new();
    world.host.set_target_source(FIRST, ONE);
    world.host.deployment.trigger.commit.url = Some("https://git.example/c".to_owned());
    let versions = world.host.determine_versions::<Site>().expect("versions");
    assert_eq!(versions.len(), 1);
    assert_eq!(
        (versions[0].name.as_str(), versions[0].version.as_str()),
        ("shop", "aaaa00000000")
    );
    assert_eq!(versions[0].url.as_deref(), Some("https://git.example/c"));
}

#[test]
fn a_quick_sync_is_one_stage_and_a_hidden_rollback_if_asked() {
    let mut world = World::new();
    world.host.set_target_source(FIRST, ONE);
    let plan = world.host.quick_sync_plan::<Site>(false).expect("a plan");
    assert_eq!(
        plan.iter()
            .map(|stage| stage.name.as_str())
            .collect::<Vec<_>>(),
        ["SITE_SYNC"]
    );
    let plan = world.host.quick_sync_plan::<Site>(true).expect("a plan");
    assert_eq!(plan[1].name, "SITE_ROLLBACK");
    assert!(plan[1].rollback && !plan[1].visible);
}

#[test]
fn a_pipeline_has_one_rollback_that_undoes_all_stages_of_this_plugin() {
    let mut world = World::new();
    world.host.set_target_source(FIRST, ONE);
    let stages = [
        requested(1, "SITE_STAGE", "{}"),
        requested(4, "SITE_PROMOTE", "{}"),
    ];
    let plan = world
        .host
        .pipeline_sync_plan::<Site>(true, &stages)
        .expect("a plan");
    let names: Vec<_> = plan
        .iter()
        .map(|stage| (stage.index, stage.name.as_str()))
        .collect();
    assert_eq!(
        names,
        [(1, "SITE_STAGE"), (4, "SITE_PROMOTE"), (1, "SITE_ROLLBACK")]
    );
    assert_eq!(plan[2].undoes, Some(vec![1, 4]));
    let plan = world
        .host
        .pipeline_sync_plan::<Site>(false, &stages)
        .expect("a plan");
    assert_eq!(plan.len(), 2);
    let sync = [requested(0, "SITE_SYNC", "{}")];
    assert_eq!(
        world
            .host
            .pipeline_sync_plan::<Site>(true, &sync)
            .expect("a plan")
            .len(),
        2
    );
}

#[test]
fn a_promote_without_a_stage_before_it_is_refused_and_pointed_at() {
    let mut world = World::new();
    world.host.set_target_source(FIRST, ONE);
    let stages = [
        requested(0, "SITE_PROMOTE", "{}"),
        requested(1, "SITE_STAGE", "{}"),
    ];
    let wrong = invalid(world.host.pipeline_sync_plan::<Site>(true, &stages));
    assert_eq!((wrong.kind, wrong.name.as_str()), (ConfigKind::Stage, "0"));
    assert!(
        wrong
            .message
            .contains("SITE_PROMOTE needs a SITE_STAGE before it"),
        "{wrong:?}"
    );
}

#[test]
fn an_option_of_a_stage_is_refused_when_planned_and_when_executed() {
    let mut world = World::new();
    world.host.set_target_source(FIRST, ONE);
    let stages = [requested(3, "SITE_SYNC", json!({ "force": true }))];
    let wrong = invalid(world.host.pipeline_sync_plan::<Site>(true, &stages));
    assert_eq!((wrong.name.as_str(), wrong.path.as_str()), ("3", "/force"));
    for name in ["SITE_STAGE", "SITE_PROMOTE", "SITE_SYNC", "SITE_ROLLBACK"] {
        let mut stage = world.host.stage(name, json!({ "force": true }));
        let wrong = invalid(world.host.execute::<Site>(&mut stage));
        assert_eq!(
            (wrong.kind, wrong.path.as_str()),
            (ConfigKind::Stage, "/force")
        );
    }
}

#[test]
fn every_mistake_in_the_section_is_pointed_at() {
    for (section, path, says) in [
        (
            json!({ "directory": "../up" }),
            "/directory",
            "has `..` in it",
        ),
        (
            json!({ "directory": "a/../../b" }),
            "/directory",
            "has `..` in it",
        ),
        (json!({ "directory": "/etc" }), "/directory", "is absolute"),
        (json!({ "directory": "" }), "/directory", "write `.`"),
        (
            json!({ "directory": "nowhere" }),
            "/directory",
            "no directory nowhere",
        ),
        (
            json!({ "directory": "index.html" }),
            "/directory",
            "is not a directory",
        ),
        (json!({ "keepReleases": 0 }), "/keepReleases", "at least 1"),
        (
            json!({ "keepReleases": "5" }),
            "/keepReleases",
            "invalid type",
        ),
        (
            json!({ "quickSync": { "max": 1 } }),
            "/quickSync/max",
            "unknown field",
        ),
        (
            json!({ "exclude": ["ok", "/abs"] }),
            "/exclude/1",
            "matches no path",
        ),
        (json!({ "dir": "." }), "/dir", "unknown field"),
        (
            json!({ "exclude": ["**"] }),
            "/directory",
            "no file to publish",
        ),
    ] {
        let mut world = World::new();
        world.host.set_target_source(FIRST, ONE);
        world.host.set_section(&section);
        let wrong = invalid(world.host.quick_sync_plan::<Site>(true));
        assert_eq!(
            (wrong.kind, wrong.path.as_str()),
            (ConfigKind::Application, path),
            "{wrong:?}"
        );
        assert!(wrong.message.contains(says), "{section}: {wrong:?}");
    }
}

#[test]
fn every_mistake_in_a_deploy_target_is_pointed_at() {
    for (config, path, says) in [
        (json!({}), "", "missing field `directory`"),
        (
            json!({ "directory": "srv" }),
            "/directory",
            "is not absolute",
        ),
        (
            json!({ "directory": "/srv/../etc" }),
            "/directory",
            "`.` or `..`",
        ),
        (
            json!({ "directory": "/" }),
            "/directory",
            "a directory below it",
        ),
        (
            json!({ "directory": "/scratch/site" }),
            "/directory",
            "the host's own",
        ),
        (
            json!({ "directory": "/srv", "mode": 1 }),
            "/mode",
            "unknown field",
        ),
    ] {
        let mut world = World::with_targets(&[]);
        world.host.set_target_source(FIRST, ONE);
        world.host.add_deploy_target("web", &config);
        let wrong = invalid(world.host.quick_sync_plan::<Site>(true));
        assert_eq!(
            (wrong.kind, wrong.name.as_str()),
            (ConfigKind::DeployTarget, "web")
        );
        assert_eq!(wrong.path, path, "{wrong:?}");
        assert!(wrong.message.contains(says), "{config}: {wrong:?}");
    }
}

#[test]
fn two_targets_in_one_directory_are_refused_naming_both() {
    let mut world = World::new();
    world.host.set_target_source(FIRST, ONE);
    let same = format!("{}//", world.web().display());
    world
        .host
        .add_deploy_target("again", json!({ "directory": same }));
    let wrong = invalid(world.host.quick_sync_plan::<Site>(true));
    assert_eq!(
        (wrong.name.as_str(), wrong.path.as_str()),
        ("again", "/directory")
    );
    assert!(wrong.message.contains("the target web"), "{wrong:?}");
}

#[test]
fn the_plugin_itself_takes_no_config() {
    let mut world = World::new();
    world.host.set_config(json!({ "directory": "/srv" }));
    let wrong = invalid(world.host.quick_sync_plan::<Site>(true));
    assert_eq!(
        (wrong.kind, wrong.path.as_str()),
        (ConfigKind::Plugin, "/directory")
    );
}

#[test]
fn without_a_deploy_target_the_error_says_where_to_give_one() {
    let mut world = World::with_targets(&[]);
    world.host.set_target_source(FIRST, ONE);
    let error = world.run("SITE_SYNC").expect_err("there is none");
    assert!(error.to_string().contains("`deployTargets`"), "{error}");
}
