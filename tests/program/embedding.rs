//! The host in another tool: the example, as it was built.

use std::path::PathBuf;
use std::process::Command;

use stagewright_tests::{Project, component_path};

/// A built example: beside the components lies what was built for this machine,
/// and cargo builds the examples of the workspace before it runs any test.
fn example(name: &str) -> PathBuf {
    let component = component_path("wait");
    let target = component.ancestors().nth(3).expect("a target directory");
    target.join("debug/examples").join(name)
}

#[test]
fn an_application_a_plugin_and_a_store_of_ones_own_need_neither_file_nor_component() {
    let files = tempfile::tempdir().unwrap();
    let example = example("own_store");
    let output = Command::new(&example)
        .arg(files.path())
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}: run `just test`", example.display()));
    let printed = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}{complained}");
    assert_eq!(
        printed,
        "GREET: hello, the world\nGREET: hello, everyone in it\nsucceeded\n"
    );
    assert_eq!(std::fs::read_dir(files.path()).unwrap().count(), 0);
}

#[test]
fn the_example_for_embedders_deploys_and_tells_what_happens() {
    let project = Project::with(&["wait"]);
    project.pipeline("- name: WAIT\n  with: { duration: 1ms }\n");
    let example = example("embed");
    let output = Command::new(&example)
        .current_dir(project.path(""))
        .args(["plugins", "state.db", "app.yaml"])
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}: run `just test`", example.display()));
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{printed}");
    let lines: Vec<&str> = printed.lines().collect();
    assert!(lines[0].contains("status: Queued"), "{printed}");
    assert!(
        printed.contains("name: \"WAIT\", status: Succeeded"),
        "{printed}"
    );
    assert_eq!(lines.last(), Some(&"succeeded"), "{printed}");
}
