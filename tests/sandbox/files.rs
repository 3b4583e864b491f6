//! What a plugin sees of the host: what was granted, and nothing else.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use stagewright::model::Plugin;
use stagewright::sandbox::{GrantedDirectory, Grants, PluginConfig};
use stagewright_tests::Scene;

use crate::{bare, probe_with};

async fn lines(scene: &Scene, grants: Grants, steps: Value) -> Vec<String> {
    let plugin = probe_with(&PluginConfig { grants, ..bare() }).await;
    plugin
        .execute_stage(&scene.call, &scene.stage(steps))
        .await
        .expect("an outcome");
    scene.recorder.lines()
}

#[tokio::test]
async fn a_source_is_read_and_never_written_and_scratch_is_both() {
    let scene = Scene::new();
    let steps = json!([
        { "read": "/target/site/app.pipecd.yaml" },
        { "write": ["/target/site/new", "x"] },
        { "write": ["/target/site/app.pipecd.yaml", "x"] },
        { "write": ["/scratch/kept", "for the next stage"] },
        { "read": "/scratch/kept" },
    ]);
    let lines = lines(&scene, Grants::default(), steps).await;
    assert_eq!(lines[0], "/target/site/app.pipecd.yaml: kind: Application");
    assert!(
        !lines.iter().any(|line| line.ends_with("new: written")),
        "{lines:?}"
    );
    assert!(!scene.path("target/site/new").exists());
    assert_eq!(
        fs::read_to_string(scene.path("target/site/app.pipecd.yaml")).expect("a file"),
        "kind: Application\n"
    );
    assert_eq!(
        fs::read_to_string(scene.path("scratch/kept")).expect("a file"),
        "for the next stage"
    );
}

#[tokio::test]
async fn paths_and_links_that_lead_out_are_refused() {
    let scene = Scene::new();
    fs::write(scene.path("secret"), "hunter2").expect("a file");
    symlink("../../secret", scene.path("target/site/up")).expect("a link");
    symlink(scene.path("secret"), scene.path("target/site/absolute")).expect("a link");
    symlink(scene.path(""), scene.path("scratch/directory")).expect("a link");
    let steps = json!([
        { "read": "/target/../secret" },
        { "read": "/target/site/../../secret" },
        { "read": "/target/site/up" },
        { "read": "/target/site/absolute" },
        { "read": "/scratch/directory/secret" },
        { "read": "/etc/passwd" },
        { "read": scene.path("secret") },
        { "write": ["/scratch/directory/planted", "x"] },
    ]);
    let lines = lines(&scene, Grants::default(), steps).await;
    assert!(
        !lines.iter().any(|line| line.contains("hunter2")),
        "{lines:?}"
    );
    assert!(
        !lines.iter().any(|line| line.contains("root:")),
        "{lines:?}"
    );
    assert!(!scene.path("planted").exists());
}

#[tokio::test]
async fn a_granted_directory_is_seen_as_it_was_granted() {
    let scene = Scene::new();
    fs::create_dir_all(scene.path("ro")).expect("a directory");
    fs::create_dir_all(scene.path("rw")).expect("a directory");
    fs::write(scene.path("ro/file"), "content").expect("a file");
    let directory = |name: &str, writable| GrantedDirectory {
        host: scene.path(name),
        guest: format!("/srv/{name}"),
        writable,
    };
    let grants = Grants {
        filesystem: vec![directory("ro", false), directory("rw", true)],
        ..Grants::default()
    };
    let steps = json!([
        { "read": "/srv/ro/file" },
        { "write": ["/srv/ro/file", "x"] },
        { "write": ["/srv/rw/file", "x"] },
    ]);
    let lines = lines(&scene, grants, steps).await;
    assert_eq!(lines[0], "/srv/ro/file: content");
    assert_ne!(lines[1], "/srv/ro/file: written");
    assert_eq!(lines[2], "/srv/rw/file: written");
    assert_eq!(
        fs::read_to_string(scene.path("ro/file")).expect("a file"),
        "content"
    );
}

#[tokio::test]
async fn a_source_that_is_gone_is_the_hosts_failure_and_named() {
    let scene = Scene::new();
    let mut stage = scene.stage(json!([]));
    stage.input.target.root = scene.path("nowhere");
    let error = probe_with(&bare())
        .await
        .execute_stage(&scene.call, &stage)
        .await
        .expect_err("a failure")
        .to_string();
    assert!(
        error.contains("nowhere") && error.contains("/target"),
        "{error}"
    );
}

#[tokio::test]
async fn a_variable_is_seen_only_if_it_was_granted() {
    // Cargo sets this one for every test.
    let name = "CARGO_PKG_NAME";
    let scene = Scene::new();
    let steps = json!(["all-env", { "env": name }]);
    let seen = lines(&scene, Grants::default(), steps.clone()).await;
    assert_eq!(seen, ["variables: []".to_owned(), format!("{name}=None")]);

    let scene = Scene::new();
    let grants = Grants {
        env: vec![name.to_owned()],
        ..Grants::default()
    };
    let seen = lines(&scene, grants, steps).await;
    assert_eq!(seen[0], format!("variables: [{name:?}]"));
    assert_eq!(seen[1], format!("{name}=Some(\"stagewright-tests\")"));
}

#[tokio::test]
async fn there_is_no_network() {
    let scene = Scene::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a listener");
    let address = listener.local_addr().expect("an address").to_string();
    let steps = json!([{ "connect": address }, { "connect": "localhost:80" }]);
    let lines = lines(&scene, Grants::default(), steps).await;
    assert!(
        lines.iter().all(|line| line.starts_with("not connected")),
        "{lines:?}"
    );
}
