//! The host in another tool: the example, as it was built.

use std::process::Command;

use stagewright_tests::{Project, component_path};

#[test]
fn the_example_for_embedders_deploys_and_tells_what_happens() {
    let project = Project::with(&["wait"]);
    project.pipeline("- name: WAIT\n  with: { duration: 1ms }\n");
    // Beside the components lies what was built for this machine; cargo builds
    // the examples of the workspace before it runs any test.
    let target = component_path("wait")
        .ancestors()
        .nth(3)
        .map(ToOwned::to_owned);
    let example = target
        .expect("a target directory")
        .join("debug/examples/embed");
    let output = Command::new(&example)
        .current_dir(project.path(""))
        .args(["plugins", "state.db", "app.yaml"])
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}: run `just test`", example.display()));
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{printed}");
    let lines: Vec<&str> = printed.lines().collect();
    assert!(lines[0].contains("status: Planning"), "{printed}");
    assert!(
        printed.contains("name: \"WAIT\", status: Succeeded"),
        "{printed}"
    );
    assert_eq!(lines.last(), Some(&"succeeded"), "{printed}");
}
