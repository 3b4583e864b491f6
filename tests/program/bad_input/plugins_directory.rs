//! The plugins directory.

use std::fs;

use stagewright_tests::{Project, component};

use super::one_error;

const WAIT: &str = "- { name: WAIT, with: { duration: 10ms } }\n";

#[test]
fn no_plugins_directory_and_an_empty_one_are_told_apart_and_say_what_to_do() {
    let project = Project::empty();
    project.pipeline(WAIT);
    for command in [
        vec!["plugins"],
        vec!["plan", "app.yaml"],
        vec!["check", "app.yaml"],
    ] {
        one_error(project.run(&command), 2)
            .complains("there is no plugins directory")
            .complains("make it and put the plugins' `.wasm` files there");
    }
    fs::create_dir(project.path("plugins")).unwrap();
    one_error(project.run(&["run", "app.yaml"]), 2)
        .complains("has no `.wasm` file: put the plugins' `.wasm` files there");
    fs::remove_dir(project.path("plugins")).unwrap();
    project.write("plugins", "a file");
    one_error(project.run(&["plugins"]), 2).complains("is not a directory");
    project
        .run(&["deployments"])
        .exits(0)
        .says("no deployments");
}

/// A component whose `describe` traps as it is called for.
const TRAPS: &str = r#"(component
    (core module $m
        (func $start unreachable)
        (start $start)
        (func (export "describe")))
    (core instance $m (instantiate $m))
    (func $describe (canon lift (core func $m "describe")))
    (instance $i (export "describe" (func $describe)))
    (export "stagewright:plugin/manifest@0.1.0" (instance $i)))"#;

const NEWER: &str = r#"(component (component $c) (instance $i (instantiate $c))
    (export "stagewright:plugin/manifest@0.2.0" (instance $i)))"#;

const OTHER: &str = r#"(component (component $c) (instance $i (instantiate $c))
    (export "wasi:cli/run@0.2.0" (instance $i)))"#;

#[test]
fn a_bad_file_is_kept_out_with_its_reason_while_the_good_one_serves() {
    let project = Project::with(&["wait"]);
    project.add_plugin("wait", "plugins/wait-again.wasm");
    let wait = component("wait");
    let text = |text: &str| wat::parse_str(text).expect("a component");
    let files: [(&str, Vec<u8>, &str); 8] = [
        ("empty", Vec::new(), "is empty"),
        ("half", wait[..wait.len() / 2].to_vec(), "is truncated"),
        ("module", text("(module)"), "is a core WebAssembly module"),
        ("newer", text(NEWER), "0.2.0"),
        ("other", text(OTHER), "`wasi:cli/run@0.2.0`"),
        ("text", b"#!/bin/sh\n".to_vec(), "is no WebAssembly"),
        ("traps", text(TRAPS), "`unreachable`"),
        (
            "wait",
            wait.clone(),
            "(wait-again.wasm): remove one of the two",
        ),
    ];
    for (name, bytes, _) in &files {
        project.write(&format!("plugins/{name}.wasm"), bytes);
    }
    let listed = project.run(&["--output", "json", "plugins"]).exits(0);
    let listed = listed.json();
    assert_eq!(crate::texts(&listed["plugins"], "key"), ["wait-again"]);
    let kept_out = listed["keptOut"].as_array().expect("a list");
    assert_eq!(kept_out.len(), files.len(), "{kept_out:?}");
    for (kept_out, (name, _, words)) in kept_out.iter().zip(&files) {
        assert_eq!(kept_out["file"], format!("{name}.wasm"));
        let reason = kept_out["reason"].as_str().expect("a text");
        assert!(reason.contains(words), "{name}: {reason}");
        assert_eq!(reason.lines().count(), 1, "{name}: {reason}");
    }

    // A person is told too, whatever they do, and what serves serves.
    let run = project.pipeline(WAIT).run(&["run", "app.yaml"]).exits(0);
    for (name, _, words) in &files {
        let told = run
            .stderr
            .lines()
            .find(|line| line.contains(&format!("{name}.wasm ")));
        assert!(
            told.is_some_and(|line| line.contains(words)),
            "{name}: {run}"
        );
    }
}

#[test]
fn a_plugin_that_is_named_in_the_configuration_and_not_there_is_told_with_its_line() {
    let project = Project::with(&["wait"]);
    project.write(
        "stagewright.yaml",
        "plugins:\n  script: { file: skript.wasm }\n",
    );
    let listed = project.run(&["plugins"]).exits(0);
    listed.says("skript.wasm").says("stagewright.yaml:2");
}

#[test]
fn a_plugin_that_is_too_large_names_the_limit_that_raises_it() {
    let project = Project::with(&["wait"]);
    project.write("stagewright.yaml", "limits: { maxPluginFileSize: 1KiB }\n");
    project
        .run(&["plugins"])
        .exits(0)
        .says("wait.wasm is too large")
        .says("limits.maxPluginFileSize");
}

#[test]
fn a_configuration_with_an_unknown_key_is_refused_with_its_line_and_the_nearest_name() {
    let project = Project::with(&["wait"]);
    project.write("stagewright.yaml", "pluginDirectory: plugins\n");
    one_error(project.run(&["plugins"]), 2)
        .complains("stagewright.yaml:1:1: error:")
        .complains("did you mean `pluginsDirectory`?");
    one_error(project.run(&["--config", "none.yaml", "plugins"]), 2)
        .complains("none.yaml: error: there is no such file");
}
