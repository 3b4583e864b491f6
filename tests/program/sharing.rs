//! Several hosts on one state file: they share the work, and nothing is done twice,
//! too early, or only by one of them.

use std::fs;

use futures_util::TryStreamExt;
use stagewright::model::{DeploymentId, DeploymentStatus, Event};
use stagewright::{Host, Request};
use stagewright_tests::{Gate, Project};

use crate::leaving::{gated, left};

/// A host of the test itself on a project's state: it stores and looks, and drives
/// nothing.
async fn onlooker(project: &Project) -> Host {
    let host = Host::builder()
        .plugins_directory(project.path("plugins"))
        .state_file(project.path(".stagewright/state.db"))
        .build();
    host.await.expect("a host")
}

/// Stores a deployment of an application in a directory of the project.
async fn submit(host: &Host, project: &Project, directory: &str) -> DeploymentId {
    let request = Request::new(project.path(directory).join("app.yaml"));
    let (deployment, _) = host.submit(&request).await.expect("it is stored");
    deployment.id
}

/// Waits for the end of a deployment.
async fn over(host: &Host, id: &DeploymentId) {
    let events = host.events(Some(id.clone()), 0);
    let events: Vec<Event> = events.try_collect().await.expect("events");
    assert!(!events.is_empty());
}

/// Writes an application into a directory of its own: what its stages write goes
/// to a file of its name.
fn application(project: &Project, name: &str, stages: &[&str]) {
    let stages: String = stages
        .iter()
        .map(|run| format!("- name: SCRIPT_RUN\n  with:\n    run: {run}\n"))
        .collect();
    project.pipeline(&stages);
    fs::create_dir(project.path(name)).expect("a directory");
    let place = project.path(name).join("app.yaml");
    fs::rename(project.path("app.yaml"), place).expect("a file");
}

#[test]
fn work_leaves_alone_what_another_host_is_at() {
    let mut gate = Gate::new();
    let project = gated(&gate, "");
    let mut run = project.start(&["run", "app.yaml"]);
    run.line_with("| begun");
    project
        .run(&["work", "--until-idle"])
        .exits(5)
        .says("left unfinished:");
    gate.open();
    run.end().exits(0).says("2 SCRIPT_RUN succeeded");
    let done = project.newest();
    assert_eq!(done["stages"][0]["attempt"]["number"], 1);
}

#[test]
fn two_hosts_that_work_at_once_share_the_work_and_run_no_stage_twice() {
    let project = Project::with(&["script"]);
    let ran = project.path("ran");
    project.grant_shell().pipeline(&format!(
        "- {{ name: SCRIPT_RUN, with: {{ run: echo $SR_DEPLOYMENT_ID >> '{0}' }} }}\n\
         - {{ name: SCRIPT_RUN, with: {{ run: echo $SR_DEPLOYMENT_ID >> '{0}' }} }}\n",
        ran.display()
    ));
    fs::create_dir(project.path("app")).unwrap();
    fs::rename(project.path("app.yaml"), project.path("app/app.yaml")).unwrap();
    let mut wanted: Vec<String> = Vec::new();
    for _ in 0..3 {
        let left = left(project.run(&["run", "app/app.yaml", "--detach"]), "queued");
        let id = left.as_str().expect("an id").to_owned();
        wanted.extend([id.clone(), id]);
    }
    let hosts = [(); 2].map(|()| project.start(&["work", "--until-idle"]));
    for host in hosts {
        // One may find that the other is still at the last of them.
        let ended = host.end();
        assert!(matches!(ended.code, Some(0 | 5)), "{ended} failed");
    }
    let mut ran: Vec<String> = project.read("ran").lines().map(str::to_owned).collect();
    ran.sort();
    wanted.sort();
    assert_eq!(ran, wanted);
    let listed = project
        .run(&["deployments", "--status", "succeeded"])
        .exits(0);
    assert_eq!(listed.stdout.lines().count(), 1 + 3, "{listed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_of_several_applications_is_kept_in_its_order_however_many_hosts_drive_it() {
    let project = Project::with(&["script"]);
    project.grant_shell();
    let names = ["one", "two", "three"];
    for name in names {
        let ran = project.path("ran").join(name);
        let stage = |place: u32| {
            let (ran, id) = (ran.display(), "$SR_DEPLOYMENT_ID");
            format!("echo {id} {place} begins >> '{ran}'; echo {id} {place} ends >> '{ran}'")
        };
        application(&project, name, &[&stage(1), &stage(2)]);
    }
    fs::create_dir(project.path("ran")).expect("a directory");
    let host = onlooker(&project).await;
    let hosts = [(); 2].map(|()| project.start(&["work"]));
    let mut stored = Vec::new();
    for _ in 0..4 {
        for name in names {
            stored.push((name, submit(&host, &project, name).await));
        }
    }
    for (_, id) in &stored {
        over(&host, id).await;
    }
    for one in hosts {
        one.terminate();
        one.end().exits(0);
    }
    for name in names {
        let of_name = stored.iter().filter(|(of, _)| *of == name);
        let wanted: String = of_name
            .flat_map(|(_, id)| [1, 2].map(|place| (id, place)))
            .map(|(id, place)| format!("{id} {place} begins\n{id} {place} ends\n"))
            .collect();
        assert_eq!(project.read(&format!("ran/{name}")), wanted, "{name}");
    }
    for (_, id) in &stored {
        let done = project.show(id.as_str());
        assert_eq!(done["status"], "succeeded");
        for stage in done["stages"].as_array().expect("a list") {
            let once = stage["status"] == "not-run" || stage["attempt"]["number"] == 1;
            assert!(once, "{stage}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_has_no_room_left_keeps_no_other_from_the_work() {
    let mut gate = Gate::new();
    let project = Project::with(&["script"]);
    project.write(
        "stagewright.yaml",
        "limits: { concurrentStages: 1 }\n\
         plugins: { script: { allow: { commands: [/bin/sh] } } }\n",
    );
    application(&project, "held", &[&format!("echo begun; {}", gate.wait())]);
    let names = ["one", "two", "three"];
    for name in names {
        application(&project, name, &["echo first", "echo second"]);
    }
    let host = onlooker(&project).await;
    let full = project.start(&["work"]);
    let held = submit(&host, &project, "held").await;
    let mut log = project.start(&["logs", held.as_str(), "--follow"]);
    log.line_with("begun");
    let mut others = Vec::new();
    for name in names {
        others.push(submit(&host, &project, name).await);
    }
    let free = project.start(&["work"]);
    for id in &others {
        over(&host, id).await;
        assert_eq!(project.show(id.as_str())["status"], "succeeded");
    }
    assert_eq!(project.show(held.as_str())["status"], "running");
    gate.open();
    over(&host, &held).await;
    log.end().exits(0);
    for one in [full, free] {
        one.terminate();
        one.end().exits(0);
    }
    let done = project.show(held.as_str());
    assert_eq!(done["status"], "succeeded");
    assert_eq!(done["stages"][0]["attempt"]["number"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_dies_leaves_its_queue_to_the_other_in_its_order() {
    let gate = Gate::new();
    let project = Project::with(&["script"]);
    project.grant_shell();
    let ran = project.path("ran");
    let marker = project.path("marker");
    application(
        &project,
        "app",
        &[&format!(
            "echo $SR_DEPLOYMENT_ID >> '{0}'; if [ ! -e '{1}' ]; then touch '{1}'; echo begun; {2}; fi",
            ran.display(),
            marker.display(),
            gate.wait()
        )],
    );
    let host = onlooker(&project).await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(submit(&host, &project, "app").await);
    }
    let dies = project.start(&["work"]);
    let mut log = project.start(&["logs", ids[0].as_str(), "--follow"]);
    log.line_with("begun");
    // It stands by: what runs is not its own.
    let other = project.start(&["work"]);
    dies.kill();
    for id in &ids {
        over(&host, id).await;
    }
    other.terminate();
    other.end().exits(0);
    log.end().exits(0);
    let wanted = [&ids[0], &ids[0], &ids[1], &ids[2]].map(|id| format!("{id}\n"));
    assert_eq!(project.read("ran"), wanted.concat());
}

#[tokio::test]
async fn hosts_that_race_for_a_planning_take_it_from_nobody_who_lives() {
    const HOSTS: usize = 3;
    const DEPLOYMENTS: usize = 16;
    let project = Project::with(&["wait"]);
    // A second beginning would already be one too many.
    project.write("stagewright.yaml", "limits: { attempts: 1 }\n");
    project.pipeline("- { name: WAIT, with: { duration: 1ms } }\n");
    fs::create_dir(project.path("shop")).expect("a directory");
    fs::rename(project.path("app.yaml"), project.path("shop/app.yaml")).expect("a file");
    let host = onlooker(&project).await;
    let hosts: Vec<_> = (0..HOSTS).map(|_| project.start(&["work"])).collect();
    let mut stored = Vec::new();
    for number in 0..DEPLOYMENTS {
        // Each is a directory of its own, so that none waits for another.
        let directory = format!("shop-{number}");
        fs::create_dir(project.path(&directory)).expect("a directory");
        let [from, to] = ["shop", &directory].map(|d| project.path(d).join("app.yaml"));
        fs::copy(from, to).expect("a file");
        stored.push(submit(&host, &project, &directory).await);
    }
    for id in &stored {
        over(&host, id).await;
        let done = host.deployment(id.as_str()).await.expect("it is there");
        let (status, reason) = (done.status, &done.reason);
        assert_eq!(done.plan_attempt, 1, "{status}: {reason}");
        assert_eq!(status, DeploymentStatus::Succeeded, "{reason}");
    }
    for host in hosts {
        host.terminate();
        host.end().exits(0);
    }
}
