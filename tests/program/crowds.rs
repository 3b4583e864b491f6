//! Many deployments at once: none starves, none gets what is another's.

use std::fs;
use std::sync::Arc;

use futures_util::TryStreamExt;
use stagewright::definition::{Built, BuiltStage, HostConfig};
use stagewright::model::{DeploymentId, DeploymentStatus, Event, OutcomeStatus, Timestamp, Wake};
use stagewright::store::Filter;
use stagewright::{Host, Request};
use stagewright_tests::{Gate, Native, Project};

use crate::texts;

/// Waits for the end of a deployment.
async fn over(host: &Host, id: &DeploymentId) {
    let events = host.events(Some(id.clone()), 0);
    let events: Vec<Event> = events.try_collect().await.expect("events");
    assert!(!events.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_thousand_unfinished_deployments_none_starves() {
    const MANY: usize = 1000;
    let project = Project::empty();
    // Each of them is unfinished while all the others begin.
    let native = Native::new(|_, request| match request.attempt.turn {
        1 => OutcomeStatus::Suspended(vec![Wake::At(Timestamp(0))]),
        _ => OutcomeStatus::Succeeded,
    });
    fs::create_dir(project.path("files")).expect("a directory");
    let host = Host::builder()
        .plugin("native", Arc::new(native))
        .plugins_directory(project.path("files"))
        .state_file(project.path("state.db"))
        .build();
    let host = host.await.expect("a host");
    for n in 0..MANY {
        let application = Built::new(format!("app-{n}")).stage(BuiltStage::new("NATIVE"));
        let request = Request::of(application, project.path("files"));
        host.submit(&request).await.expect("it is stored");
    }
    let all = |status| {
        let filter = Filter {
            statuses: vec![status],
            limit: usize::MAX,
            ..Filter::default()
        };
        let host = host.clone();
        async move { host.deployments(&filter).await.expect("a list").len() }
    };
    assert_eq!(all(DeploymentStatus::Queued).await, MANY);
    let driving = host.clone();
    let work = tokio::spawn(async move { driving.work(false).await });
    let filter = Filter {
        limit: usize::MAX,
        ..Filter::default()
    };
    for deployment in host.deployments(&filter).await.expect("a list") {
        over(&host, &deployment.id).await;
    }
    host.shut_down();
    work.await.expect("no panic").expect("no failure");
    assert_eq!(all(DeploymentStatus::Succeeded).await, MANY);
}

#[test]
fn fifty_deployments_that_keep_state_at_once_each_find_their_own() {
    const MANY: usize = 50;
    let mut gate = Gate::new();
    let project = Project::with(&["probe"]);
    project.write(
        "stagewright.yaml",
        "plugins: { probe: { allow: { commands: [/bin/sh] } } }\n",
    );
    for n in 0..MANY {
        let mut steps = format!(
            "- log: begun\n- spawn: {{ program: /bin/sh, arguments: [-c, \"{}\"] }}\n",
            gate.wait()
        );
        for key in 0..10 {
            for scope in ["application", "deployment", "stage"] {
                steps.push_str(&format!("- put: [{scope}, key-{key}, {n}-{key}]\n"));
            }
        }
        for key in 0..10 {
            for scope in ["application", "deployment", "stage"] {
                steps.push_str(&format!("- get: [{scope}, key-{key}]\n"));
            }
        }
        project.write(
            &format!("apps/{n}/app.yaml"),
            format!(
                "apiVersion: stagewright.dev/v1\nkind: Application\nspec:\n  name: app-{n}\n  \
                 planner: {{ alwaysUsePipeline: true }}\n  pipeline:\n    stages:\n      \
                 - name: PROBE\n        with:\n          do:\n{}",
                stagewright_tests::indented(&steps, 12)
            ),
        );
    }
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let config = HostConfig::load(&project.path("stagewright.yaml")).expect("a configuration");
        let host = Host::builder().config(config.value).build().await;
        let host = host.expect("a host");
        let mut ids = Vec::new();
        for n in 0..MANY {
            let file = project.path(&format!("apps/{n}/app.yaml"));
            let (deployment, _) = host.submit(&Request::new(file)).await.expect("stored");
            ids.push(deployment.id);
        }
        let work = project.start(&["work"]);
        for id in &ids {
            // All of them are at work before any goes on.
            let mut events = Box::pin(host.events(Some(id.clone()), 0));
            loop {
                let event = events.try_next().await.expect("events").expect("no end");
                let stage = event.kind;
                if matches!(stage, stagewright::model::EventKind::Stage { status, .. }
                    if status == stagewright::model::StageStatus::Running)
                {
                    break;
                }
            }
        }
        for _ in 0..MANY {
            gate.open();
        }
        for (n, id) in ids.iter().enumerate() {
            over(&host, id).await;
            let done = host.deployment(id.as_str()).await.expect("it is stored");
            assert_eq!(done.status, DeploymentStatus::Succeeded, "{}", done.reason);
            let stage = done.stages[0].id.clone();
            let lines = host.log(id.clone(), Some(stage), 0, false);
            let lines: Vec<_> = lines.try_collect().await.expect("lines");
            let told: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
            let mut wanted = vec!["begun".to_owned(), "exit code 0".to_owned()];
            wanted.extend((0..30).map(|_| "done".to_owned()));
            wanted.extend((0..30).map(|line| format!("Some(\"{n}-{}\")", line / 3)));
            assert_eq!(told, wanted, "{id}");
        }
        work.terminate();
        work.end().exits(0);
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_applications_of_one_repository_are_deployed_from_commits_at_once() {
    const MANY: usize = 20;
    let project = Project::empty();
    for content in ["old", "new"] {
        for n in 0..MANY {
            project.write(
                &format!("repository/{n}/app.yaml"),
                format!(
                    "apiVersion: stagewright.dev/v1\nkind: Application\nspec:\n  name: app-{n}\n  \
                     pipeline:\n    stages:\n      - name: NATIVE\n"
                ),
            );
            project.write(&format!("repository/{n}/content"), format!("{content} {n}"));
        }
        project.commit("repository", content);
    }
    // What each of them found in its files.
    let native = Native::new(|call, request| {
        let source = &request.input.target;
        let directory = source.root.join(&source.path);
        let file = directory.with_file_name("content");
        match fs::read_to_string(&file) {
            Ok(content) => {
                call.services
                    .log(stagewright::model::Severity::Info, &content);
                OutcomeStatus::Succeeded
            }
            Err(error) => OutcomeStatus::Failed(format!("{}: {error}", file.display())),
        }
    });
    fs::create_dir(project.path("plugins")).expect("a directory");
    let host = Host::builder()
        .plugin("native", Arc::new(native))
        .plugins_directory(project.path("plugins"))
        .state_file(project.path("state.db"))
        .build();
    let host = host.await.expect("a host");
    let mut tasks = Vec::new();
    for n in 0..MANY {
        for (commit, content) in [("main~1", "old"), ("main", "new")] {
            let file = project.path(&format!("repository/{n}/app.yaml"));
            let (host, wanted) = (host.clone(), format!("{content} {n}"));
            tasks.push(tokio::spawn(async move {
                let run = host.deploy(&Request::new(file).commit(commit)).await;
                let run = run.expect("it is stored");
                let done = run.finished().await.expect("it is driven");
                assert_eq!(done.status, DeploymentStatus::Succeeded, "{}", done.reason);
                let stage = done.stages[0].id.clone();
                let lines = host.log(done.id.clone(), Some(stage), 0, false);
                let lines: Vec<_> = lines.try_collect().await.expect("lines");
                assert_eq!(lines[0].text, wanted);
            }));
        }
    }
    for task in tasks {
        task.await.expect("each of them has what it wanted");
    }
}

#[test]
fn stages_that_log_at_the_same_time_each_have_all_of_their_lines_and_no_other() {
    const LINES: usize = 2000;
    let project = Project::with(&["script"]);
    let write =
        |name: &str| format!("n=0; while [ $n -lt {LINES} ]; do echo {name} $n; n=$((n+1)); done");
    let names = ["left", "middle", "right"];
    let stages: String = names
        .iter()
        .map(|name| {
            let run = write(name);
            format!("- {{ id: {name}, name: SCRIPT_RUN, needs: [], with: {{ run: '{run}' }} }}\n")
        })
        .collect();
    project.grant_shell().pipeline(&stages);
    project.run(&["run", "app.yaml"]).exits(0);
    let done = project.newest();
    for (place, name) in (1..).zip(names) {
        let log = project.log(crate::id(&done), &format!("{place}"));
        let wanted = (0..LINES).map(|n| format!("{name} {n}"));
        let wanted: Vec<String> = wanted
            .chain(["The script exited with code 0".into()])
            .collect();
        assert_eq!(log, wanted, "{name}");
    }
    assert_eq!(texts(&done["stages"], "status")[..3], ["succeeded"; 3]);
}
