//! More deployments than may run at once: who waits for a place is not forgotten
//! meanwhile, and what undoes others waits for none.

use stagewright_tests::{Gate, Project};

use crate::{course, id};

/// A project whose host runs one stage at once.
fn narrow() -> Project {
    let project = Project::with(&["script", "approval"]);
    project.write(
        "stagewright.yaml",
        "limits: { concurrentStages: 1, gracePeriod: 1s }\n\
         plugins: { script: { allow: { commands: [/bin/sh] } } }\n",
    );
    project
}

/// Stores a deployment of an application of a name and these further keys.
fn detach(project: &Project, name: &str, spec: &str) -> String {
    application(project, name, spec);
    let file = format!("{name}.yaml");
    project.run(&["run", &file, "--detach"]).exits(5);
    id(&project.newest()).to_owned()
}

fn application(project: &Project, name: &str, spec: &str) {
    let spec = stagewright_tests::indented(spec, 2);
    project.write(
        &format!("{name}.yaml"),
        format!("apiVersion: stagewright.dev/v1\nkind: Application\nspec:\n  name: {name}\n{spec}"),
    );
}

/// An application whose only stage keeps the place until a gate opens.
fn hog(gate: &Gate) -> String {
    format!(
        "pipeline:\n  stages:\n    - name: SCRIPT_RUN\n      with:\n        run: echo begun; {}\n",
        gate.wait()
    )
}

#[test]
fn what_is_suspended_times_out_while_another_stage_waits_for_a_place() {
    let mut gate = Gate::new();
    let project = narrow();
    application(
        &project,
        "shop",
        &format!(
            "pipeline:\n  stages:\n    \
             - {{ id: w, name: WAIT_APPROVAL, needs: [], timeout: 1s }}\n    \
             - id: a\n      name: SCRIPT_RUN\n      needs: []\n      with:\n        run: echo begun; {}\n    \
             - {{ id: b, name: SCRIPT_RUN, needs: [], with: {{ run: echo b }} }}\n",
            gate.wait()
        ),
    );
    let mut run = project.start(&["run", "shop.yaml"]);
    run.line_with("| begun");
    // Another one waits for the place that is taken, and the limit holds all the same.
    run.line_with("1 WAIT_APPROVAL timed-out");
    gate.open();
    run.end().exits(1);
}

#[test]
fn a_deployment_whose_next_stage_waits_for_a_place_ends_when_its_time_is_over() {
    let (mut first, mut other) = (Gate::new(), Gate::new());
    let project = narrow();
    let work = project.start(&["work"]);
    let limited = detach(
        &project,
        "limited",
        &format!(
            "timeout: 3s\n{}    - {{ name: SCRIPT_RUN, with: {{ run: echo two }} }}\n",
            hog(&first)
        ),
    );
    let mut log = project.start(&["logs", &limited, "--follow"]);
    log.line_with("| begun");
    let held = detach(&project, "hog", &hog(&other));
    project.start(&["logs", &held, "plan", "--follow"]).end();
    // The place goes to the other one, which keeps it.
    first.open();
    let mut hogs = project.start(&["logs", &held, "--follow"]);
    hogs.line_with("| begun");
    log.end().exits(0);
    let limited = project.show(&limited);
    assert_eq!(limited["status"], "timed-out", "{limited}");
    assert_eq!(course(&project.show(&held)), ["SCRIPT_RUN running"]);
    other.open();
    hogs.end().exits(0);
    work.terminate();
    work.end().exits(0);
}

#[test]
fn a_rollback_waits_for_no_place() {
    let (mut fails, mut other) = (Gate::new(), Gate::new());
    let project = narrow();
    let work = project.start(&["work"]);
    let undone = detach(
        &project,
        "undone",
        &format!(
            "pipeline:\n  stages:\n    - name: SCRIPT_RUN\n      with:\n        \
             run: echo begun; {}; exit 1\n        onRollback: echo undone\n",
            fails.wait()
        ),
    );
    let mut log = project.start(&["logs", &undone, "--follow"]);
    log.line_with("| begun");
    let held = detach(&project, "hog", &hog(&other));
    project.start(&["logs", &held, "plan", "--follow"]).end();
    fails.open();
    log.line_with("| undone");
    log.end().exits(0);
    let undone = project.show(&undone);
    assert_eq!(undone["rollback"]["status"], "succeeded", "{undone}");
    other.open();
    project
        .start(&["logs", &held, "--follow"])
        .end()
        .exits(0)
        .says("| begun");
    work.terminate();
    work.end().exits(0);
}

#[test]
fn a_stage_whose_host_died_is_ended_as_cancelled_while_another_waits_for_a_place() {
    let (gate, mut other) = (Gate::new(), Gate::new());
    let project = narrow();
    let work = project.start(&["work"]);
    let held = detach(&project, "hog", &hog(&other));
    let mut hogs = project.start(&["logs", &held, "--follow"]);
    hogs.line_with("| begun");
    application(
        &project,
        "both",
        &format!(
            "pipeline:\n  stages:\n    \
             - id: a\n      name: SCRIPT_RUN\n      needs: []\n      with:\n        run: echo begun; {}\n    \
             - {{ id: b, name: SCRIPT_RUN, needs: [], with: {{ run: echo b }} }}\n",
            gate.wait()
        ),
    );
    let mut run = project.start(&["run", "both.yaml"]);
    run.line_with("| begun");
    let both = id(&project.newest()).to_owned();
    run.kill();
    project.run(&["cancel", &both, "--by", "ann"]).exits(0);
    project.start(&["logs", &both, "--follow"]).end().exits(0);
    let both = project.show(&both);
    assert_eq!(both["status"], "cancelled", "{both}");
    assert_eq!(course(&project.show(&held)), ["SCRIPT_RUN running"]);
    other.open();
    hogs.end().exits(0);
    work.terminate();
    work.end().exits(0);
}
