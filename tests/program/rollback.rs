//! What a failure leads to, and what it must not.

use stagewright_tests::Project;

use crate::{course, id};

const THREE: &str = "- { name: SCRIPT_RUN, with: { run: echo one > f, onRollback: echo undo one } }
- { name: SCRIPT_RUN, with: { run: 'true', onRollback: exit 5 } }
- { name: SCRIPT_RUN, with: { run: exit 3, onRollback: echo undo three } }
- { name: SCRIPT_RUN, with: { run: 'true', onRollback: echo undo four } }
";

#[test]
fn what_had_started_is_undone_from_the_last_to_the_first_and_a_failure_in_it_stops_nothing() {
    let project = Project::with(&["script"]);
    project.grant_shell().pipeline(THREE);
    let run = project.run(&["run", "app.yaml"]).exits(1);
    let undone: Vec<&str> = run
        .stdout
        .lines()
        .filter(|line| line.contains(" SCRIPT_RUN_ROLLBACK "))
        .filter(|line| line.contains("| undo") || line.contains("ROLLBACK failed"))
        .map(|line| line.split(" after ").next().expect("the first part"))
        .collect();
    assert_eq!(
        undone,
        [
            "r3 SCRIPT_RUN_ROLLBACK | undo three",
            "r2 SCRIPT_RUN_ROLLBACK failed",
            "r1 SCRIPT_RUN_ROLLBACK | undo one"
        ]
    );
    let failed = project.newest();
    assert_eq!(failed["status"], "failed");
    let reason = failed["reason"].as_str().expect("a text");
    assert!(
        reason.starts_with("stage 3 (SCRIPT_RUN) failed"),
        "{reason}"
    );
    let seen = project.run(&["show", id(&failed)]).exits(0);
    assert!(seen.stdout.contains("not-run"), "{seen}");
}

#[test]
fn rollback_stages_of_one_name_are_told_apart_by_their_places_wherever_one_is_named() {
    let project = Project::with(&["script"]);
    project.grant_shell().pipeline(THREE);
    project
        .run(&["plan", "app.yaml"])
        .exits(0)
        .says("r1  SCRIPT_RUN_ROLLBACK")
        .says("r4  SCRIPT_RUN_ROLLBACK");
    project.run(&["run", "app.yaml"]).exits(1);
    let failed = project.newest();
    let id = id(&failed);
    let shown = project.run(&["show", id]).exits(0);
    for place in ["r1", "r2", "r3"] {
        shown
            .clone()
            .says(&format!("{place}  SCRIPT_RUN_ROLLBACK  "));
    }
    let reason = failed["rollback"]["reason"].as_str().expect("a text");
    assert!(
        reason.starts_with("stage r2 (SCRIPT_RUN_ROLLBACK) failed"),
        "{reason}"
    );
    assert!(project.log(id, "r1").contains(&"undo one".to_owned()));
    assert!(project.log(id, "r3").contains(&"undo three".to_owned()));
    project
        .run(&["logs", id])
        .exits(0)
        .says("r3 SCRIPT_RUN_ROLLBACK | undo three");
    // A name that is several stages' is answered with their list.
    let several = "r1 SCRIPT_RUN_ROLLBACK, r2 SCRIPT_RUN_ROLLBACK, r3 SCRIPT_RUN_ROLLBACK, \
                   r4 SCRIPT_RUN_ROLLBACK";
    project
        .run(&["logs", id, "SCRIPT_RUN_ROLLBACK"])
        .exits(2)
        .complains(several);
    project
        .run(&["skip", id, "SCRIPT_RUN_ROLLBACK", "--by", "ann"])
        .exits(2)
        .complains(several);
    project
        .run(&["skip", id, "r2", "--by", "ann"])
        .exits(2)
        .complains("stage r2 (SCRIPT_RUN_ROLLBACK) is failed");
}

#[test]
fn without_auto_rollback_nothing_is_undone() {
    let project = Project::with(&["script"]);
    project.grant_shell().application(
        "planner: { autoRollback: false }\npipeline:\n  stages:\n    \
         - { name: SCRIPT_RUN, with: { run: exit 3, onRollback: echo undone } }\n",
    );
    let run = project.run(&["run", "app.yaml"]).exits(1);
    assert!(!run.stdout.contains("undone"), "{run}");
    assert_eq!(course(&project.newest()), ["SCRIPT_RUN failed"]);
}

#[test]
fn a_plugin_that_traps_fails_its_stage_with_its_words_and_the_host_goes_on() {
    let project = Project::with(&["probe", "script"]);
    project.grant_shell().application(
        "planner: { alwaysUsePipeline: true }\npipeline:\n  stages:\n    \
         - { name: SCRIPT_RUN, with: { run: 'true', onRollback: echo undone } }\n    \
         - { name: PROBE, with: { do: [{ log: last words }, { panic: out of luck }] } }\n",
    );
    project
        .run(&["run", "app.yaml"])
        .exits(1)
        .says("2 PROBE | last words")
        .says("2 PROBE failed")
        .says("out of luck")
        .says("SCRIPT_RUN_ROLLBACK | undone");
    let failed = project.newest();
    let reason = failed["reason"].as_str().expect("a text");
    assert!(reason.contains("out of luck"), "{reason}");
}

#[test]
fn memory_beyond_the_limit_fails_the_stage_and_names_the_limit() {
    let project = Project::with(&["probe"]);
    project
        .write(
            "stagewright.yaml",
            "plugins: { probe: { limits: { memory: 8MiB } } }\n",
        )
        .application(
            "planner: { alwaysUsePipeline: true }\npipeline:\n  stages:\n    \
             - { name: PROBE, with: { do: [{ alloc: 64 }] } }\n",
        );
    project
        .run(&["run", "app.yaml"])
        .exits(1)
        .says("8 MiB")
        .says("plugins.probe.limits.memory");
}
