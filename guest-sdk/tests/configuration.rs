//! What a plugin is configured with reaches it in its own types, and a mistake
//! comes back with its place.

mod probe;

use probe::{Probe, in_stage};
use stagewright_sdk::testing::{FakeHost, json, requested};
use stagewright_sdk::{ConfigKind, Error, InvalidConfig, NoConfig, Outcome, Result};

fn wrong<T: std::fmt::Debug>(result: Result<T>) -> InvalidConfig {
    match result {
        Err(Error::InvalidConfig(wrong)) => wrong,
        other => panic!("expected invalid-config, got {other:?}"),
    }
}

#[test]
fn each_deploy_target_is_read_into_the_authors_type() {
    let mut host = FakeHost::new();
    host.add_deploy_target("web", json!({ "directory": "/srv/web" }));
    let outcome = in_stage(&mut host, |request| {
        let target = &request.input.deploy_targets[0];
        assert_eq!(
            (&*target.name, &*target.config.directory),
            ("web", "/srv/web")
        );
        Ok(Outcome::succeeded())
    });
    assert_eq!(outcome, Ok(Outcome::succeeded()));
}

#[test]
fn a_mistake_in_a_deploy_target_names_the_target_and_the_place() {
    let mut host = FakeHost::new();
    host.add_deploy_target("web", json!({ "directory": "/srv/web" }));
    host.add_deploy_target("docs", json!({ "directory": 1 }));
    let wrong = wrong(in_stage(&mut host, |_| unreachable!("the config is wrong")));
    assert_eq!(wrong.kind, ConfigKind::DeployTarget);
    assert_eq!((&*wrong.name, &*wrong.path), ("docs", "/directory"));
}

#[test]
fn mistakes_in_the_config_and_in_the_section_are_told_apart() {
    let mut host = FakeHost::new();
    host.set_config(json!({ "retries": 3 }));
    let config = wrong(host.quick_sync_plan::<Probe>(false));
    assert_eq!(
        (config.kind, &*config.path),
        (ConfigKind::Plugin, "/retries")
    );
    host.set_config("{}");
    host.set_section(json!({ "input": {} }));
    let section = wrong(host.quick_sync_plan::<Probe>(false));
    assert_eq!(
        (section.kind, &*section.path),
        (ConfigKind::Application, "/input")
    );
}

#[test]
fn where_there_is_nothing_to_configure_only_an_empty_object_is_accepted() {
    let mut host = FakeHost::new();
    for config in ["[]", "null", "\"x\"", "1"] {
        host.set_config(config);
        let wrong = wrong(host.quick_sync_plan::<Probe>(false));
        assert_eq!(
            (wrong.kind, &*wrong.path),
            (ConfigKind::Plugin, ""),
            "{config}"
        );
    }
}

#[test]
fn a_requested_stages_mistake_names_its_index_and_an_executed_ones_does_not() {
    let asked = requested(7, "PROBE", json!({ "a": 1 }));
    let planning = wrong(asked.options::<NoConfig>());
    assert_eq!(
        (planning.kind, &*planning.name, &*planning.path),
        (ConfigKind::Stage, "7", "/a")
    );
    let own = asked.invalid_options("/a", "too small");
    assert_eq!(
        own.to_string(),
        "the options of stage 7 of the pipeline at /a: too small"
    );
    assert_eq!(
        Error::invalid_options("/a", "too small").to_string(),
        "the stage's options at /a: too small"
    );
}

#[test]
fn a_manifest_carries_the_schemas_of_the_plugins_types_and_is_always_the_same() {
    let host = FakeHost::new();
    let manifest = host.describe::<Probe>();
    let schema = manifest.deploy_target_schema.as_deref().expect("a schema");
    let schema: serde_json::Value = serde_json::from_str(schema).expect("JSON");
    assert_eq!(schema["required"], json!(["directory"]));
    for schema in [&manifest.config_schema, &manifest.application_schema] {
        let schema: serde_json::Value =
            serde_json::from_str(schema.as_deref().expect("a schema")).expect("JSON");
        assert_eq!(schema["additionalProperties"], json!(false));
    }
    assert_eq!(manifest, host.describe::<Probe>());
}
