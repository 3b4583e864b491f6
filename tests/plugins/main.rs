//! A plugins directory with good and bad files: the good ones serve, and each bad
//! one has its reason.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use stagewright::model::{Capability, Digest, OutcomeStatus, Plugin};
use stagewright::plugins::{
    DirectoryError, DirectorySettings, PluginEntry, Registered, Registry, Rejected,
};
use stagewright::sandbox::{Grants, PluginConfig, PluginLimits, Sandbox, SandboxSettings};
use stagewright_tests::{Scene, component};
use tempfile::TempDir;
use tokio::sync::OnceCell;

const LARGEST: u64 = 16 << 20;

/// One sandbox for all tests; the probe stays compiled in it.
async fn sandbox() -> Sandbox {
    static SANDBOX: OnceCell<(Sandbox, Registered)> = OnceCell::const_new();
    let made = SANDBOX.get_or_init(async || {
        let sandbox = Sandbox::new(SandboxSettings {
            instances: 8,
            ..SandboxSettings::default()
        })
        .expect("a sandbox");
        let config = PluginConfig::bare("probe".into(), "stagewright.yaml");
        let probe = Registered::load(&sandbox, None, component("probe").into(), &config)
            .await
            .expect("the probe loads");
        (sandbox, probe)
    });
    made.await.0.clone()
}

fn directory(files: &[(&str, &[u8])]) -> TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    for (name, bytes) in files {
        fs::write(directory.path().join(name), bytes).expect("a file");
    }
    directory
}

fn settings(path: &Path, entries: Vec<PluginEntry>) -> DirectorySettings {
    DirectorySettings {
        path: path.to_owned(),
        entries,
        origin: "stagewright.yaml".to_owned(),
        largest_file: LARGEST,
    }
}

fn entry(key: &str, file: &str, grants: Grants) -> PluginEntry {
    PluginEntry {
        key: key.into(),
        file: Some(file.to_owned()),
        origin: "stagewright.yaml:7".to_owned(),
        grants,
        limits: PluginLimits::default(),
    }
}

async fn load(directory: &TempDir, entries: Vec<PluginEntry>) -> Registry {
    let mut registry = Registry::new();
    registry
        .add_directory(&sandbox().await, &settings(directory.path(), entries))
        .await
        .expect("a directory");
    registry
}

fn keys(registry: &Registry) -> Vec<&str> {
    registry
        .plugins()
        .map(|plugin| plugin.key().as_str())
        .collect()
}

#[tokio::test]
async fn the_good_ones_serve_and_each_bad_one_has_its_reason() {
    let probe = component("probe");
    let other = wat::parse_str("(component)").expect("a component");
    let directory = directory(&[
        ("empty.wasm", b""),
        ("half.wasm", &probe[..probe.len() / 2]),
        ("module.wasm", b"\0asm\x01\0\0\0"),
        ("notes.txt", b"not looked at"),
        ("other.wasm", &other),
        ("probe.wasm", &probe),
        (".probe.wasm.tmp.wasm", b"being copied"),
    ]);
    let registry = load(&directory, Vec::new()).await;
    assert_eq!(keys(&registry), ["probe"]);
    let reasons: Vec<String> = registry
        .rejected()
        .iter()
        .map(Rejected::to_string)
        .collect();
    let expected = [
        "empty.wasm is empty",
        "half.wasm is truncated",
        "module.wasm is a core WebAssembly module",
        "other.wasm is a component of another world",
    ];
    assert_eq!(reasons.len(), expected.len(), "{reasons:?}");
    for (reason, expected) in reasons.iter().zip(expected) {
        assert!(reason.starts_with(expected), "{reason}");
        assert_eq!(reason.lines().count(), 1, "{reason}");
    }
    let rejection = registry.rejection(&"half".into()).expect("a reason");
    assert_eq!(rejection.file, "half.wasm");
}

#[tokio::test]
async fn a_missing_and_an_empty_directory_are_one_error_each() {
    let empty = directory(&[]);
    let mut registry = Registry::new();
    let error = registry
        .add_directory(&sandbox().await, &settings(empty.path(), Vec::new()))
        .await
        .expect_err("an error");
    assert_eq!(error, DirectoryError::Empty(empty.path().to_owned()));
    let missing = empty.path().join("plugins");
    let error = registry
        .add_directory(&sandbox().await, &settings(&missing, Vec::new()))
        .await
        .expect_err("an error");
    assert!(
        error.to_string().contains("make it and put the plugins'"),
        "{error}"
    );
}

#[tokio::test]
async fn of_two_that_define_the_same_stage_the_later_file_is_kept_out_and_both_are_named() {
    let probe = component("probe");
    let directory = directory(&[("b.wasm", &probe), ("a.wasm", &probe)]);
    let registry = load(&directory, Vec::new()).await;
    assert_eq!(keys(&registry), ["a"]);
    assert_eq!(
        registry.rejected()[0].to_string(),
        "b.wasm defines the stage `PROBE`, which is already defined by plugin `a` (a.wasm): \
         remove one of the two"
    );
}

#[tokio::test]
async fn an_entry_owns_its_file_its_grants_and_its_key() {
    let probe = component("probe");
    let directory = directory(&[("probe-v2.wasm", &probe)]);
    let grants = Grants {
        commands: vec!["/bin/sh".to_owned()],
        stages: vec!["WAIT".to_owned()],
        ..Grants::default()
    };
    let entries = vec![
        entry("site", "probe-v2.wasm", grants),
        entry("gone", "gone.wasm", Grants::default()),
    ];
    let registry = load(&directory, entries).await;
    let site = registry.plugin(&"site".into()).expect("a plugin");
    assert_eq!(
        (site.file(), site.manifest().name.as_str()),
        (Some("probe-v2.wasm"), "probe")
    );
    assert_eq!(
        Vec::from_iter(site.missing()),
        [Capability::Env, Capability::Filesystem]
    );
    assert_eq!(Vec::from_iter(site.unused()), [Capability::Stages]);
    let gone = registry.rejection(&"gone".into()).expect("a reason");
    assert!(
        gone.to_string()
            .contains("stagewright.yaml:7 binds plugin `gone` to it"),
        "{gone}"
    );
}

#[tokio::test]
async fn grants_that_can_not_be_meant_keep_their_plugin_out() {
    let directory = directory(&[("probe.wasm", &component("probe"))]);
    let grants = Grants {
        commands: vec!["bin/sh".to_owned()],
        ..Grants::default()
    };
    let registry = load(&directory, vec![entry("probe", "probe.wasm", grants)]).await;
    let reason = registry.rejected()[0].to_string();
    assert!(
        reason.contains("its grants at stagewright.yaml:7 are wrong"),
        "{reason}"
    );
}

#[tokio::test]
async fn options_are_checked_against_the_schema_of_their_stage() {
    let directory = directory(&[("probe.wasm", &component("probe"))]);
    let registry = load(&directory, Vec::new()).await;
    let owner = registry.plugin(&"probe".into()).expect("it serves");
    let found = owner.schemas().check_options("PROBE", &json!({ "dd": [] }));
    assert_eq!(found[0].path, "/dd");
    assert_eq!(found[0].message, "unknown key `dd`: did you mean `do`?");
}

#[tokio::test]
async fn a_deployment_goes_on_with_a_component_that_the_directory_no_longer_has() {
    let probe = component("probe");
    let directory = directory(&[("probe.wasm", &probe)]);
    let registry = load(&directory, Vec::new()).await;
    let pinned = registry.plugin(&"probe".into()).expect("a plugin").pinned();
    let digest = pinned.digest.expect("a digest");
    assert_eq!(digest.as_str().len(), 64);
    assert!(registry.pinned(&pinned.key, Some(&digest)).is_some());
    let newer = Digest::from("00");
    assert!(registry.pinned(&pinned.key, Some(&newer)).is_none());

    let stored: Arc<[u8]> = probe.into();
    let config = PluginConfig::bare(pinned.key, "stagewright.yaml");
    let again = Registered::load(&sandbox().await, None, stored, &config)
        .await
        .expect("it loads");
    assert_eq!(again.digest(), Some(&digest));
    let scene = Scene::new();
    let outcome = again
        .plugin()
        .execute_stage(&scene.call, &scene.stage(json!([])))
        .await
        .expect("an outcome");
    assert_eq!(outcome.status, OutcomeStatus::Succeeded);
}

#[tokio::test]
async fn a_native_plugin_stands_beside_those_of_the_directory_and_comes_first() {
    let probe = component("probe");
    let directory = directory(&[("probe.wasm", &probe)]);
    let config = PluginConfig::bare("native".into(), "stagewright.yaml");
    let plugin: Arc<dyn Plugin> = Arc::new(
        sandbox()
            .await
            .load(probe.into(), &config)
            .await
            .expect("a plugin"),
    );
    let mut registry = Registry::new();
    registry
        .add_native("native".into(), plugin)
        .expect("a place");
    registry
        .add_directory(&sandbox().await, &settings(directory.path(), Vec::new()))
        .await
        .expect("a directory");
    assert_eq!(keys(&registry), ["native"]);
    let native = registry.plugin(&"native".into()).expect("a plugin");
    assert_eq!((native.digest(), native.missing().len()), (None, 0));
    let reason = registry.rejected()[0].to_string();
    assert!(
        reason.contains("plugin `native` (the host's own code)"),
        "{reason}"
    );
}
