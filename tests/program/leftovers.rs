//! What is left on the disk: of deployments that are over, of plans, of what was
//! refused.

use std::fs;

use rustix::process::geteuid;
use stagewright_tests::Project;

use crate::{course, id};

/// The trees of files that are kept, of all applications.
fn trees(project: &Project) -> Vec<String> {
    let sources = project.path(".stagewright/state.db-files/sources");
    let mut trees = Vec::new();
    for application in fs::read_dir(sources).expect("a directory") {
        let of = application.expect("an entry").path();
        for tree in fs::read_dir(of).expect("a directory") {
            let name = tree.expect("an entry").file_name();
            trees.push(name.into_string().expect("a text"));
        }
    }
    trees
}

#[test]
fn neither_a_plan_nor_what_was_refused_leaves_a_tree_behind() {
    let project = Project::with(&["wait"]);
    project.pipeline("- { name: WAIT, with: { duration: 1ms } }\n");
    project.run(&["plan", "app.yaml"]).exits(0);
    assert_eq!(trees(&project), [""; 0]);
    // By the plugin, by its schema, by the structure.
    for wrong in ["duration: 0s", "duration: 10", "dur: 1s"] {
        project.pipeline(&format!("- {{ name: WAIT, with: {{ {wrong} }} }}\n"));
        project.run(&["plan", "app.yaml"]).exits(2);
        assert_eq!(trees(&project), [""; 0], "{wrong}");
    }
    for wrong in ["duration: 10", "dur: 1s"] {
        project.pipeline(&format!("- {{ name: WAIT, with: {{ {wrong} }} }}\n"));
        project.run(&["run", "app.yaml"]).exits(2);
        assert_eq!(trees(&project), [""; 0], "{wrong}");
    }
}

#[test]
fn of_all_that_was_deployed_only_the_last_success_and_what_is_unfinished_keep_their_trees() {
    let project = Project::with(&["wait"]);
    let commit =
        |of: &serde_json::Value| of["target"]["commit"].as_str().expect("a hash").to_owned();
    for content in ["one", "two", "three"] {
        project.write("page", content);
        project.pipeline("- { name: WAIT, with: { duration: 1ms } }\n");
        project.run(&["run", "app.yaml"]).exits(0);
        assert_eq!(trees(&project), [commit(&project.newest())]);
    }
    let mut needed = vec![commit(&project.newest())];
    project.write("page", "four");
    project.run(&["run", "app.yaml", "--detach"]).exits(5);
    needed.push(commit(&project.newest()));
    project.write("page", "five");
    project.run(&["plan", "app.yaml"]).exits(0);
    let mut left = trees(&project);
    left.sort();
    needed.sort();
    assert_eq!(left, needed);
    project.run(&["work", "--until-idle"]).exits(0);
    assert_eq!(trees(&project), [commit(&project.newest())]);
}

#[test]
fn what_a_cancel_ends_by_itself_is_cleaned_up_by_it() {
    let project = Project::with(&["wait"]);
    project
        .write("stagewright.yaml", "keep: { deployments: 1 }\n")
        .pipeline("- { name: WAIT, with: { duration: 1h } }\n");
    // Suspended, with nobody there.
    let mut run = project.start(&["run", "app.yaml"]);
    run.line_with("1 WAIT suspended");
    run.kill();
    let suspended = project.newest();
    let scratch = project.path(".stagewright/state.db-files/scratch");
    assert_eq!(fs::read_dir(&scratch).expect("a directory").count(), 1);
    assert_eq!(trees(&project).len(), 1);
    let cancel = |of: &serde_json::Value| {
        project
            .run(&["cancel", id(of), "--by", "ann"])
            .exits(0)
            .says(&format!("deployment {} is cancelled", id(of)))
    };
    cancel(&suspended);
    assert_eq!(fs::read_dir(&scratch).expect("a directory").count(), 0);
    assert_eq!(trees(&project), [""; 0]);
    // In the queue; and the older one is not kept.
    project.run(&["run", "app.yaml", "--detach"]).exits(5);
    let queued = project.newest();
    assert_eq!(trees(&project).len(), 1);
    cancel(&queued);
    assert_eq!(trees(&project), [""; 0]);
    project
        .run(&["show", id(&suspended)])
        .exits(2)
        .complains("there is no deployment");
}

#[test]
fn a_scratch_directory_goes_even_if_a_program_made_it_read_only() {
    let project = Project::with(&["script"]);
    project.grant_shell().pipeline(
        "- name: SCRIPT_RUN\n  with:\n    run: \
         \"mkdir -p a/b; echo x > a/b/f; ln -s / a/out; chmod -R a-w a; chmod 0 a/b\"\n",
    );
    // Root may do everything, unless it is told that it may not.
    let powerless = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"];
    let run = if geteuid().is_root() {
        project.start_by(&powerless, &["run", "app.yaml"])
    } else {
        project.start(&["run", "app.yaml"])
    };
    let ended = run.end().exits(0);
    assert_eq!(ended.stderr, "");
    assert_eq!(course(&project.newest()), ["SCRIPT_RUN succeeded"]);
    let scratch = project.path(".stagewright/state.db-files/scratch");
    assert_eq!(fs::read_dir(scratch).expect("a directory").count(), 0);
}

#[test]
fn a_stage_whose_files_are_gone_has_failed_and_says_so() {
    let project = Project::with(&["approval"]);
    project.pipeline("- { name: WAIT_APPROVAL }\n");
    project.run(&["run", "app.yaml", "--detach"]).exits(5);
    project.run(&["work", "--until-idle"]).exits(5);
    let waits = project.newest();
    assert_eq!(course(&waits), ["WAIT_APPROVAL suspended"]);
    let sources = project.path(".stagewright/state.db-files/sources");
    fs::remove_dir_all(sources).expect("it is there");
    let approve = ["approve", id(&waits), "--by", "ann"];
    project.run(&approve).exits(0);
    project.run(&["work", "--until-idle"]).exits(0);
    let ended = project.show(id(&waits));
    assert_eq!(course(&ended), ["WAIT_APPROVAL failed"]);
    let reason = ended["reason"].as_str().expect("a text");
    assert!(reason.contains("sources"), "{reason}");
}
