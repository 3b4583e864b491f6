//! `--commit`: what is taken from a repository, and what can't be.

use std::fs;

use stagewright_tests::Project;

use crate::bad_input::one_error;
use crate::{course, id};

const APPLICATION: &str = "apiVersion: stagewright.dev/v1
kind: Application
spec:
  name: shop
  pipeline: { stages: [{ name: SCRIPT_RUN, with: { run: cat page } }] }
";

/// A repository with an application in `app`, committed.
fn committed() -> Project {
    let project = Project::with(&["script"]);
    project
        .grant_shell()
        .write(".gitignore", ".stagewright\nplugins\n")
        .write("app/page", "of the commit\n")
        .write("app/app.yaml", APPLICATION);
    project.commit(".", "Add the shop");
    project
}

/// Adds a submodule as git records it, whose own repository is not needed.
fn add_submodule(project: &Project, path: &str) {
    let entry = format!("160000,{},{path}", project.git(".", &["rev-parse", "HEAD"]));
    project.git(".", &["update-index", "--add", "--cacheinfo", &entry]);
    project.git(".", &["commit", "--quiet", "--message", "Add a submodule"]);
}

#[test]
fn a_submodule_within_the_applications_directory_is_refused_with_its_path() {
    for path in ["app/themes/blue", "app/themes"] {
        let project = committed();
        add_submodule(&project, path);
        for command in ["plan", "run"] {
            one_error(
                project.run(&[command, "app/app.yaml", "--commit", "main"]),
                2,
            )
            .complains(&format!("{path} is a submodule"))
            .complains("leave `--commit` out");
        }
        // The commit before has none.
        project
            .run(&["plan", "app/app.yaml", "--commit", "main~1"])
            .exits(0);
        project
            .run(&["deployments"])
            .exits(0)
            .says("no deployments");
    }
}

#[test]
fn a_submodule_elsewhere_is_in_nobodys_way() {
    let project = committed();
    // It only begins like the application's directory.
    add_submodule(&project, "app-themes");
    add_submodule(&project, "other/app");
    project
        .run(&["run", "app/app.yaml", "--commit", "main"])
        .exits(0)
        .says("| of the commit");
}

#[test]
fn an_application_at_the_root_has_no_elsewhere() {
    let project = committed();
    project.write("app.yaml", APPLICATION);
    project.commit(".", "Add another at the root");
    add_submodule(&project, "far/away");
    one_error(project.run(&["plan", "app.yaml", "--commit", "main"]), 2)
        .complains("far/away is a submodule");
}

#[test]
fn a_file_that_is_gone_from_the_work_tree_is_taken_from_its_commit() {
    let project = committed();
    let before = project.run(&["run", "app/app.yaml", "--commit", "main"]);
    before.exits(0);
    let before = project.newest();
    fs::remove_dir_all(project.path("app")).unwrap();
    project
        .run(&["run", "app/app.yaml", "--commit", "main"])
        .exits(0)
        .says("| of the commit");
    let after = project.newest();
    assert_ne!(id(&after), id(&before));
    assert_eq!(course(&after), ["SCRIPT_RUN succeeded"]);
    // It is the same application as before, so it knows what runs.
    assert_eq!(after["application"], before["application"]);
    assert_eq!(after["running"]["commit"], before["target"]["commit"]);
    // What is in neither is told as before.
    one_error(project.run(&["run", "app/app.yaml"]), 2).complains("is the path right?");
    one_error(project.run(&["run", "ap/app.yaml", "--commit", "main"]), 2)
        .complains("ap/app.yaml is not in commit");
}

#[test]
fn what_names_something_else_than_a_commit_is_bad_input_and_told_with_the_repository() {
    let project = committed();
    project.git(".", &["tag", "--annotate", "v1", "--message", "One"]);
    for name in [
        "HEAD:app",
        "HEAD:app/app.yaml",
        "HEAD^{tree}",
        "main..HEAD",
        "^main",
        "0000000000000000000000000000000000000000",
        "main~7",
        "@{upstream}",
        ":/Nothing like this",
        "no such name",
        "",
    ] {
        for command in ["plan", "run"] {
            let ended = project.run(&[command, "app/app.yaml", "--commit", name]);
            let ended = one_error(ended, 2).complains(&format!("`{name}` "));
            let root = project.path("").canonicalize().unwrap();
            ended.complains(&format!(
                "commit of the git repository at {}",
                root.display()
            ));
        }
    }
    project
        .run(&["deployments"])
        .exits(0)
        .says("no deployments");
    // A tag that is an object of its own leads to its commit.
    project
        .run(&["plan", "app/app.yaml", "--commit", "v1"])
        .exits(0);
}
