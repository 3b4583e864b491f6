//! The application file.

use std::fs;

use stagewright_tests::Project;

use super::one_error;

const GOOD: &str = "apiVersion: pipecd.dev/v1beta1
kind: Application
spec:
  name: shop
  pipeline:
    stages:
      - name: WAIT
        with: { duration: 10ms }
";

#[test]
fn each_file_that_can_not_be_read_is_one_error_that_says_what_to_do() {
    let project = Project::with(&["wait"]);
    fs::create_dir(project.path("directory")).unwrap();
    project
        .write("empty.yaml", "")
        .write("comment.yaml", "# nothing\n---\n")
        .write("binary.yaml", b"kind: A\n\0\x01")
        .write("latin1.yaml", b"kind: Caf\xe9\n")
        .write("two.yaml", format!("{GOOD}---\n{GOOD}"))
        .write("tabs.yaml", GOOD.replace("  name: shop", "\tname: shop"))
        .write("scalar.yaml", "hello\n")
        .write("open.yaml", "kind: [Application\n")
        .write(
            "twice.yaml",
            GOOD.replace("spec:\n", "spec:\n  name: first\n"),
        );
    let cases = [
        ("missing.yaml", "no such file", "the path"),
        ("directory", "is a directory", "name the"),
        ("empty.yaml", "empty", "write its keys"),
        ("comment.yaml", "empty", "a comment is no value"),
        ("binary.yaml", "binary", "UTF-8"),
        ("latin1.yaml", "latin1.yaml:1:10", "save the file as UTF-8"),
        (
            "two.yaml",
            "two.yaml:10:1",
            "first begins on line 1, the second on line 10",
        ),
        ("tabs.yaml", "tabs.yaml:4:1", "spaces"),
        ("scalar.yaml", "scalar.yaml:1:1", "kind: Application"),
        ("open.yaml", "open.yaml:", "help:"),
        ("twice.yaml", "twice.yaml:5:3", "the first is on line 4"),
    ];
    for (file, what, help) in cases {
        one_error(
            project
                .run(&["check", "--structure", file])
                .without_output(),
            2,
        )
        .complains(file)
        .complains(what)
        .complains(help);
    }
    // A deployment reads it by another way, and says the same.
    for (file, what) in [
        ("missing.yaml", "is the path right?"),
        ("directory", "name the application file in it"),
        ("binary.yaml", "this is a binary file"),
        ("two.yaml", "first begins on line 1"),
    ] {
        one_error(project.run(&["run", file]), 2)
            .complains(file)
            .complains(what);
    }
    project
        .run(&["deployments"])
        .exits(0)
        .says("no deployments");
}

#[test]
fn windows_line_ends_and_a_byte_order_mark_change_nothing() {
    let project = Project::with(&["wait"]);
    project.write(
        "app.yaml",
        format!("\u{feff}{}", GOOD.replace('\n', "\r\n")),
    );
    project
        .run(&["check", "app.yaml"])
        .exits(0)
        .says("app.yaml: ok");
    let ran = project.run(&["run", "app.yaml"]).exits(0);
    assert_eq!(ran.stderr, "");
    // What is wrong in such a file is where an editor shows it.
    project.write(
        "app.yaml",
        format!(
            "\u{feff}{}",
            GOOD.replace("name: shop", "nmae: shop")
                .replace('\n', "\r\n")
        ),
    );
    project
        .run(&["check", "--structure", "app.yaml"])
        .exits(2)
        .complains("app.yaml:4:3: error:")
        .complains("did you mean `name`?");
}

#[test]
fn a_stage_that_nobody_defines_lists_who_defines_what_and_the_nearest_name() {
    let project = Project::with(&["wait", "script"]);
    project.write("app.yaml", GOOD.replace("name: WAIT", "name: WIAT"));
    for command in ["check", "run"] {
        let refused = project.run(&[command, "app.yaml"]).exits(2);
        let refused = refused
            .complains("app.yaml:7:15: error: no plugin defines the stage WIAT")
            .complains("did you mean WAIT?")
            .complains("SCRIPT_RUN by ")
            .complains("script.wasm")
            .complains("WAIT by ")
            .complains("wait.wasm");
        assert_eq!(refused.stderr.matches("error:").count(), 1, "{refused}");
    }
    project
        .run(&["deployments"])
        .exits(0)
        .says("no deployments");
}

#[test]
fn a_rollback_stage_in_the_pipeline_is_refused_and_told_to_come_by_itself() {
    let project = Project::with(&["script"]);
    project.pipeline("- { name: SCRIPT_RUN_ROLLBACK, with: { run: 'true' } }\n");
    project
        .run(&["check", "app.yaml"])
        .exits(2)
        .complains("it is a rollback stage: plugin `script` adds it by itself; remove it here");
}

#[test]
fn an_application_without_stages_and_plugins_says_which_plugins_there_are() {
    let project = Project::with(&["wait", "script"]);
    project.application("description: of nothing\n");
    project
        .run(&["plan", "app.yaml"])
        .exits(2)
        .complains("the application names no plugin")
        .complains("script, wait");
}

#[test]
fn an_unknown_plugin_and_an_unknown_deploy_target_name_the_nearest_and_all() {
    let project = Project::with(&["probe"]);
    project.write(
        "stagewright.yaml",
        "plugins: { probe: { deployTargets: [{ name: north }, { name: south }] } }\n",
    );
    project.application("plugins: { prob: }\ndeployTargets: { probe: [nroth] }\n");
    project
        .run(&["check", "app.yaml"])
        .exits(2)
        .complains("this host has no plugin `prob`")
        .complains("did you mean `probe`?")
        .complains("plugin `probe` has no deploy target `nroth`")
        .complains("did you mean `north`? it has: north, south");
}

#[test]
fn a_plugin_that_needs_a_deploy_target_and_has_none_is_told_where_to_give_one() {
    let project = Project::with(&["site"]);
    project.application("plugins: { site: }\n");
    project
        .run(&["plan", "app.yaml"])
        .exits(2)
        .complains("plugin `site` needs a deploy target")
        .complains("`plugins.site.deployTargets`");
}

#[test]
fn a_commit_that_is_none_and_a_file_that_is_not_in_it_are_told() {
    let project = Project::with(&["wait"]);
    project.write("app.yaml", GOOD);
    project
        .run(&["plan", "app.yaml", "--commit", "main"])
        .exits(2)
        .complains("is in no git repository")
        .complains("leave `--commit` out");
    fs::remove_file(project.path("app.yaml")).unwrap();
    project.write(".gitignore", "*\n").commit(".", "Nothing");
    project.write("app.yaml", GOOD);
    project
        .run(&["plan", "app.yaml", "--commit", "mian"])
        .exits(2)
        .complains("`mian` names no commit");
    project
        .run(&["plan", "app.yaml", "--commit", "main"])
        .exits(2)
        .complains("app.yaml is not in commit")
        .complains("commit it, or leave `--commit` out");
}
