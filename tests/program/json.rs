//! `--output json`: what a program that reads it may rely on, command by command.

use serde_json::{Value, json};
use stagewright_tests::Project;

use crate::{id, texts};

fn keys(value: &Value) -> Vec<&str> {
    let object = value.as_object().expect("an object");
    object.keys().map(String::as_str).collect()
}

const ECHO: &str = "- { name: SCRIPT_RUN, with: { run: echo hello } }\n";

#[test]
fn a_run_is_an_object_a_line_events_and_log_as_they_come_and_the_deployment_last() {
    let project = Project::with(&["script"]);
    project.grant_shell().pipeline(ECHO);
    let lines = project
        .run(&["--output", "json", "run", "app.yaml"])
        .exits(0);
    let lines = lines.json_lines();
    let (last, before) = lines.split_last().expect("lines");
    assert_eq!(last["deployment"]["status"], "succeeded");
    let told: Vec<String> = before
        .iter()
        .map(|line| match keys(line)[..] {
            ["event"] => {
                let event = &line["event"];
                assert_eq!(event["deployment"], last["deployment"]["id"]);
                assert!(event["number"].is_u64() && event["at"].is_u64(), "{event}");
                let (kind, status) = (&event["kind"], &event["status"]);
                format!("{} {}", kind.as_str().unwrap(), status.as_str().unwrap())
            }
            ["log"] => {
                let line = &line["log"]["line"];
                assert_eq!(keys(line), ["number", "attempt", "at", "severity", "text"]);
                format!("log {}", line["text"].as_str().unwrap())
            }
            _ => panic!("{line}"),
        })
        .collect();
    let place = |what: &str| told.iter().position(|told| told.starts_with(what));
    let order: Vec<Option<usize>> = [
        "log pipeline, since",
        "deployment planned",
        "deployment running",
        "stage running",
        "log hello",
        "stage succeeded",
        "deployment succeeded",
    ]
    .map(place)
    .to_vec();
    assert!(
        order.iter().all(Option::is_some) && order.is_sorted(),
        "{told:?}"
    );
}

#[test]
fn what_is_stored_is_read_back_the_same_by_show_and_in_the_list() {
    let project = Project::with(&["script"]);
    project.grant_shell().pipeline(ECHO);
    let detached = project.run(&["--output", "json", "run", "app.yaml", "--detach"]);
    let detached = detached.exits(5).json();
    assert_eq!(keys(&detached), ["deployment"]);
    assert_eq!(detached["deployment"]["status"], "queued");
    let id = id(&detached["deployment"]).to_owned();

    let work = project
        .run(&["--output", "json", "work", "--until-idle"])
        .exits(0);
    assert_eq!(work.stdout, "", "nothing is left");
    let shown = project.show(&id);
    assert_eq!(shown["status"], "succeeded");
    assert_eq!(shown["application"]["name"], "shop");
    assert_eq!(shown["stages"][0]["exitCode"], 0);
    assert_eq!(
        shown["stages"][0]["options"],
        json!({ "run": "echo hello" })
    );
    let listed = project
        .run(&["--output", "json", "deployments"])
        .exits(0)
        .json();
    assert_eq!(listed, json!([shown]));

    // The list can be narrowed.
    let list = |arguments: &[&str]| {
        let all = [&["--output", "json", "deployments"], arguments].concat();
        project.run(&all).exits(0).json()
    };
    assert_eq!(list(&["--status", "failed"]), json!([]));
    assert_eq!(
        list(&["--status", "failed", "--status", "succeeded"]),
        listed
    );
    assert_eq!(list(&["--application", "shop"]), listed);
    assert_eq!(list(&["--application", "shed"]), json!([]));
    project
        .run(&["deployments", "--status", "done"])
        .exits(2)
        .complains("the statuses are queued, planning, planned, running, rolling-back");

    let logs = project.run(&["--output", "json", "logs", &id]).exits(0);
    for line in logs.json_lines() {
        assert_eq!(keys(&line), ["stage", "line"]);
    }
}

#[test]
fn a_plan_is_the_deployment_as_it_would_be_with_the_log_and_the_warnings() {
    let project = Project::with(&["script"]);
    project.application(&format!(
        "trigger: {{ onCommit: {{ disabled: true }} }}\npipeline:\n  stages:\n    {ECHO}"
    ));
    let plan = project
        .run(&["--output", "json", "plan", "app.yaml"])
        .exits(0);
    assert_eq!(plan.stderr, "", "warnings are in the result");
    let plan = plan.json();
    assert_eq!(keys(&plan), ["deployment", "log", "warnings"]);
    assert_eq!(plan["deployment"]["status"], "planned");
    assert_eq!(plan["deployment"]["strategy"], "pipeline");
    assert_eq!(plan["warnings"][0]["severity"], "warning");
    assert_eq!(plan["warnings"][0]["line"], 5);
    assert!(plan["deployment"]["plugins"][0]["digest"].is_string());
}

#[test]
fn the_plugins_are_those_that_serve_with_their_manifests_and_those_that_do_not() {
    let project = Project::with(&["script", "wait"]);
    project.grant_shell().write("plugins/bad.wasm", "no");
    let listed = project
        .run(&["--output", "json", "plugins"])
        .exits(0)
        .json();
    assert_eq!(keys(&listed), ["plugins", "keptOut"]);
    assert_eq!(texts(&listed["plugins"], "key"), ["script", "wait"]);
    let script = &listed["plugins"][0];
    assert_eq!(script["file"], "script.wasm");
    assert_eq!(script["granted"], json!(["commands"]));
    assert_eq!(script["missing"], json!([]));
    assert_eq!(
        texts(&script["manifest"]["stages"], "name"),
        ["SCRIPT_RUN", "SCRIPT_RUN_ROLLBACK"]
    );
    assert_eq!(texts(&listed["keptOut"], "file"), ["bad.wasm"]);
}

#[test]
fn an_error_is_an_object_too_with_the_problems_of_a_file_as_data() {
    let project = Project::with(&["wait"]);
    project.pipeline("- { name: WAIT, with: { duration: 0s } }\n");
    for command in ["plan", "run"] {
        let file = if command == "plan" {
            "app.yaml"
        } else {
            "none.yaml"
        };
        let failed = project.run(&["--output", "json", command, file]).exits(2);
        assert_eq!(failed.stderr, "");
        let error = &failed.json()["error"];
        if command == "plan" {
            let problem = &error["problems"][0];
            assert_eq!(problem["severity"], "error");
            assert_eq!(
                (&problem["line"], &problem["column"]),
                (&json!(7), &json!(41))
            );
        } else {
            let message = error["message"].as_str().expect("a text");
            assert!(message.contains("none.yaml"), "{message}");
        }
    }
    let checked = project.run(&["--output", "json", "check", "app.yaml", "none.yaml"]);
    let checked = checked.exits(2).json_lines();
    assert_eq!(
        checked[0],
        json!({ "file": "app.yaml", "ok": true, "problems": [] })
    );
    assert_eq!(keys(&checked[1]), ["file", "ok", "problems"]);
    assert_eq!(checked[1]["ok"], false);
}

#[test]
fn colour_is_for_terminals_and_for_who_asks_for_it() {
    let project = Project::with(&["wait"]);
    project.pipeline("- { name: WAIT, with: { duration: 10ms } }\n");
    let plain = project.run(&["run", "app.yaml"]).exits(0);
    assert!(!plain.stdout.contains('\u{1b}'), "{plain}");
    let painted = project.run(&["--color", "always", "deployments"]).exits(0);
    assert!(
        painted.stdout.contains("\u{1b}[32msucceeded\u{1b}[0m"),
        "{painted}"
    );
    let json = project.run(&["--color", "always", "--output", "json", "deployments"]);
    assert!(!json.exits(0).stdout.contains('\u{1b}'));
}

#[test]
fn what_a_run_warns_of_is_a_line_of_its_own_before_all_others() {
    let project = Project::with(&["script"]);
    project.grant_shell().application(&format!(
        "trigger: {{ onCommit: {{ disabled: true }} }}\npipeline:\n  stages:\n    {ECHO}"
    ));
    for (detach, code) in [(&[][..], 0), (&["--detach"], 5)] {
        let run = [&["--output", "json", "run", "app.yaml"], detach].concat();
        let run = project.run(&run).exits(code);
        assert_eq!(run.stderr, "");
        let lines = run.json_lines();
        assert_eq!(keys(&lines[0]), ["warnings"]);
        assert_eq!(lines[0]["warnings"][0]["severity"], "warning");
        assert_eq!(lines[0]["warnings"][0]["line"], 5);
        let more = lines[1..].iter().any(|line| line["warnings"].is_array());
        assert!(!more, "{run}");
    }
}

#[test]
fn problems_beyond_a_hundred_are_counted() {
    let project = Project::with(&["script"]);
    let keys: String = (0..150).map(|key| format!("key{key}: 1\n")).collect();
    project.application(&format!("{keys}plugins: {{ script: }}\n"));
    project
        .run(&["check", "app.yaml"])
        .exits(2)
        .complains("and 50 more");
    let check = project.run(&["--output", "json", "check", "app.yaml"]);
    let check = check.exits(2).json();
    assert_eq!(check["problems"].as_array().expect("a list").len(), 100);
    assert_eq!(check["leftOut"], 50);
    for command in ["plan", "run"] {
        let refused = project.run(&["--output", "json", command, "app.yaml"]);
        assert_eq!(refused.exits(2).json()["error"]["leftOut"], 50);
    }
}
