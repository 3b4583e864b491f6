use stagewright_sdk::testing::{Answer, FakeHost, json, requested};
use stagewright_sdk::{ConfigKind, Error, InvalidConfig, Status, state};

use super::*;

fn wrong<T: std::fmt::Debug>(result: Result<T>) -> InvalidConfig {
    match result {
        Err(Error::InvalidConfig(wrong)) => wrong,
        other => panic!("expected invalid-config, got {other:?}"),
    }
}

/// A host that really runs the shell.
fn real_host() -> FakeHost {
    let mut host = FakeHost::new();
    host.run_really(SHELL);
    host
}

fn run(host: &mut FakeHost, options: serde_json::Value) -> Result<Outcome> {
    let mut stage = host.stage(RUN, options);
    host.execute::<Script>(&mut stage)
}

#[test]
fn a_script_that_ends_well_succeeds_and_what_it_prints_is_in_the_log() {
    let mut host = real_host();
    let outcome = run(&mut host, json!({ "run": "echo one\necho two >&2; wait" }));
    assert_eq!(outcome, Ok(Outcome::succeeded().exit_code(0)));
    let mut log = host.log();
    log.sort();
    assert_eq!(log, ["The script exited with code 0", "one", "two"]);
}

#[test]
fn quotes_newlines_dollars_and_backslashes_pass_untouched() {
    let mut host = FakeHost::new();
    host.answer(SHELL, Answer::exits(0));
    let script = "echo \"$HOME\" '${x}' `id` \\n %s \u{e9}\n\n\tcat <<'END'\n$(rm -rf /)\nEND\n";
    run(&mut host, json!({ "run": script })).expect("it runs");
    let command = &host.commands()[0];
    assert_eq!(command.program, "/bin/sh");
    assert_eq!(command.arguments, ["-ec", script]);
}

#[test]
fn variables_are_not_part_of_the_script_however_they_look() {
    let mut host = real_host();
    run(
        &mut host,
        json!({ "env": { "MSG": "\"; echo hacked; '$(echo no)\n\\" }, "run": "printf '<%s>\\n' \"$MSG\"" }),
    )
    .expect("it runs");
    assert_eq!(host.log()[..2], ["<\"; echo hacked; '$(echo no)", "\\>"]);
}

#[test]
fn a_script_runs_in_the_applications_directory_and_can_write_there_without_touching_the_source() {
    let mut host = real_host();
    let source = host.set_target_source("abc", &[("deploy/notes.txt", "hello\n")]);
    let outcome = run(
        &mut host,
        json!({ "run": "cat deploy/notes.txt; echo more > deploy/new.txt; cat deploy/new.txt" }),
    );
    assert_eq!(outcome, Ok(Outcome::succeeded().exit_code(0)));
    assert_eq!(host.log()[..2], ["hello", "more"]);
    assert!(!source.join("deploy/new.txt").exists());
    assert_eq!(host.commands()[0].directory.as_deref(), source.to_str());
}

#[test]
fn the_rollback_script_sees_the_applications_files_too() {
    let mut host = real_host();
    host.set_target_source("abc", &[("undo.sh", "echo undone")]);
    let mut stage = host
        .stage(
            ROLLBACK,
            json!({ "run": "exit 1", "onRollback": "sh undo.sh; echo $SR_IS_ROLLBACK" }),
        )
        .as_rollback();
    let outcome = host.execute::<Script>(&mut stage);
    assert_eq!(outcome, Ok(Outcome::succeeded().exit_code(0)));
    assert_eq!(host.log()[..2], ["undone", "true"]);
}

#[test]
fn a_code_other_than_0_fails_the_stage_with_the_code() {
    let outcome = run(&mut real_host(), json!({ "run": "exit 7" }));
    assert_eq!(
        outcome,
        Ok(Outcome::failed("the script exited with code 7").exit_code(7))
    );
}

#[test]
fn the_first_command_that_fails_ends_the_script() {
    let mut host = real_host();
    let outcome = run(
        &mut host,
        json!({ "run": "echo before\nfalse\necho after" }),
    );
    assert_eq!(
        outcome,
        Ok(Outcome::failed("the script exited with code 1").exit_code(1))
    );
    assert_eq!(host.log(), ["before"]);
}

#[test]
fn a_signal_fails_the_stage_and_is_named() {
    let outcome = run(&mut real_host(), json!({ "run": "kill -15 $$" }));
    assert_eq!(
        outcome,
        Ok(Outcome::failed("the script was ended by signal 15"))
    );
}

#[test]
fn a_cancel_ends_the_script_and_what_it_started() {
    let mut host = real_host();
    host.cancel_on_log("started");
    // Without the cancel, the script and its child would outlive any test run.
    let outcome = run(
        &mut host,
        json!({ "run": "sleep 100000 & echo started $!; wait" }),
    );
    assert_eq!(outcome, Err(Error::Internal(Error::Cancelled.to_string())));
    let child = host.log()[0].replace("started ", "");
    // A killed process stays listed for a moment, and as a zombie until somebody has
    // waited for it.
    let gone = (0..100_000).any(|_| {
        std::thread::yield_now();
        std::fs::read_to_string(format!("/proc/{child}/stat"))
            .map_or(true, |stat| stat.contains(") Z "))
    });
    assert!(gone, "the process {child} is still there");
}

#[test]
fn a_shell_that_the_operator_did_not_grant_is_a_denial_not_a_failure() {
    let mut host = FakeHost::new();
    let error = run(&mut host, json!({ "run": "true" })).expect_err("nothing is granted");
    assert!(matches!(error, Error::Denied(_)), "{error:?}");
}

#[test]
fn a_script_is_told_of_its_deployment() {
    let mut host = FakeHost::new();
    host.answer(SHELL, Answer::exits(0));
    host.deployment.trigger.commander = Some("ada".to_owned());
    host.deployment.trigger.commit.hash = "4f2a".to_owned();
    host.add_label("env", "prod");
    host.add_label("app.kubernetes.io/part-of", "shop");
    host.put_state_bytes(state::shared(), "summary", b"3 files changed");
    run(&mut host, json!({ "run": "true" })).expect("it runs");
    let command = &host.commands()[0];
    for (name, value) in [
        ("SR_DEPLOYMENT_ID", "deployment-1"),
        ("SR_APPLICATION_ID", "application-1"),
        ("SR_APPLICATION_NAME", "shop"),
        ("SR_TRIGGERED_AT", "1767225600"),
        ("SR_TRIGGERED_COMMIT_HASH", "4f2a"),
        ("SR_TRIGGERED_COMMANDER", "ada"),
        ("SR_REPOSITORY_URL", "https://git.example/shop.git"),
        ("SR_SUMMARY", "3 files changed"),
        ("SR_IS_ROLLBACK", "false"),
        ("SR_LABELS_ENV", "prod"),
        ("SR_LABELS_APP_KUBERNETES_IO_PART_OF", "shop"),
    ] {
        assert_eq!(command.env(name), Some(value), "{name}");
    }
    let raw = command.env("SR_CONTEXT_RAW").expect("there is one");
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(raw).expect("JSON"),
        json!({
            "deploymentID": "deployment-1",
            "applicationID": "application-1",
            "applicationName": "shop",
            "triggeredAt": 1_767_225_600,
            "triggeredCommitHash": "4f2a",
            "triggeredCommander": "ada",
            "repositoryURL": "https://git.example/shop.git",
            "summary": "3 files changed",
            "labels": { "env": "prod", "app.kubernetes.io/part-of": "shop" },
            "isRollback": false,
        })
    );
}

#[test]
fn two_labels_that_would_be_one_variable_are_refused_by_both_names_while_planning_and_executing() {
    for (one, other) in [("app.kind/x", "app-kind-x"), ("Tier", "tier"), ("ä", "ö")] {
        let mut host = FakeHost::new();
        host.answer(SHELL, Answer::exits(0));
        host.add_label(one, "1");
        host.add_label("apart", "2");
        host.add_label(other, "3");
        let planning =
            host.pipeline_sync_plan::<Script>(true, &[requested(0, RUN, json!({ "run": "true" }))]);
        let planning = planning.expect_err("planning refuses");
        let executing = run(&mut host, json!({ "run": "true" })).expect_err("executing refuses");
        for error in [planning, executing] {
            let error = error.to_string();
            assert!(
                error.contains(&format!("`{one}`")) && error.contains(&format!("`{other}`")),
                "{error}"
            );
        }
        assert_eq!(host.commands(), []);
    }
}

#[test]
fn what_nobody_knows_is_an_empty_variable() {
    let mut host = FakeHost::new();
    host.answer(SHELL, Answer::exits(0));
    run(&mut host, json!({ "run": "true" })).expect("it runs");
    let command = &host.commands()[0];
    assert_eq!(command.env("SR_TRIGGERED_COMMANDER"), Some(""));
    assert_eq!(command.env("SR_SUMMARY"), Some(""));
}

#[test]
fn numbers_and_booleans_in_env_are_passed_as_the_file_spells_them() {
    let mut host = FakeHost::new();
    host.answer(SHELL, Answer::exits(0));
    let options = r#"{"run": "true", "env": {"A": 1.10, "B": true, "C": 12345678901234567890, "D": "on", "SR_SUMMARY": "mine"}}"#;
    let mut stage = host.stage(RUN, options);
    host.execute::<Script>(&mut stage).expect("it runs");
    let command = &host.commands()[0];
    for (name, value) in [
        ("A", "1.10"),
        ("B", "true"),
        ("C", "12345678901234567890"),
        ("D", "on"),
        ("SR_SUMMARY", "mine"),
    ] {
        assert_eq!(command.env(name), Some(value), "{name}");
    }
}

#[test]
fn options_that_no_script_could_run_with_are_refused_while_planning_and_executing() {
    let mut host = FakeHost::new();
    for (options, path, message) in [
        (json!({}), "", "missing field `run`"),
        (json!({ "run": " \n" }), "/run", "the script is empty"),
        (json!({ "run": "a\0b" }), "/run", "NUL"),
        (json!({ "run": ["true"] }), "/run", "expected a string"),
        (
            json!({ "run": "true", "onRollback": "" }),
            "/onRollback",
            "the script is empty",
        ),
        (
            json!({ "run": "true", "onrollback": "x" }),
            "/onrollback",
            "unknown field",
        ),
        (
            json!({ "run": "true", "env": { "A-B": "x" } }),
            "/env/A-B",
            "`A-B` is no name",
        ),
        (
            json!({ "run": "true", "env": { "1A": "x" } }),
            "/env/1A",
            "`1A` is no name",
        ),
        (
            json!({ "run": "true", "env": { "": "x" } }),
            "/env/",
            "`` is no name",
        ),
        (
            json!({ "run": "true", "env": { "A=B": "x" } }),
            "/env/A=B",
            "`A=B` is no name",
        ),
        (
            json!({ "run": "true", "env": { "A": null } }),
            "/env/A",
            "null is no text",
        ),
        (
            json!({ "run": "true", "env": { "A": ["x"] } }),
            "/env/A",
            "a list is no text",
        ),
        (
            json!({ "run": "true", "env": { "A": "a\0b" } }),
            "/env/A",
            "NUL",
        ),
        (
            json!({ "run": "true", "env": ["A=x"] }),
            "/env",
            "expected a mapping of names to texts",
        ),
    ] {
        let planning =
            wrong(host.pipeline_sync_plan::<Script>(true, &[requested(4, RUN, &options)]));
        assert_eq!((planning.kind, &*planning.name), (ConfigKind::Stage, "4"));
        let executing = wrong(run(&mut host, options.clone()));
        for wrong in [planning, executing] {
            assert_eq!(wrong.path, path, "{options}");
            assert!(
                wrong.message.contains(message),
                "{options}: {}",
                wrong.message
            );
        }
    }
    assert_eq!(host.commands(), []);
}

#[test]
fn each_script_with_on_rollback_is_undone_when_rollback_is_asked() {
    let host = FakeHost::new();
    let asked = [
        requested(0, RUN, json!({ "run": "true", "onRollback": "undo" })),
        requested(2, RUN, json!({ "run": "true" })),
        requested(3, RUN, json!({ "run": "true", "onRollback": null })),
        requested(5, RUN, json!({ "run": "true", "onRollback": "undo" })),
    ];
    let plan = |rollback| -> Vec<(String, u32, bool, bool)> {
        host.pipeline_sync_plan::<Script>(rollback, &asked)
            .expect("a plan")
            .into_iter()
            .map(|stage| (stage.name, stage.index, stage.rollback, stage.visible))
            .collect()
    };
    let run = |index| (RUN.to_owned(), index, false, true);
    let undo = |index| (ROLLBACK.to_owned(), index, true, false);
    assert_eq!(
        plan(true),
        [run(0), undo(0), run(2), run(3), run(5), undo(5)]
    );
    assert_eq!(plan(false), [run(0), run(2), run(3), run(5)]);
}

#[test]
fn a_rollback_stage_without_a_script_has_nothing_to_do() {
    let mut host = FakeHost::new();
    let mut stage = host.stage(ROLLBACK, json!({ "run": "true" })).as_rollback();
    let outcome = host
        .execute::<Script>(&mut stage)
        .expect("nothing goes wrong");
    assert!(matches!(outcome.status, Status::Skipped(_)));
    assert_eq!(host.commands(), []);
}

#[test]
fn there_is_nothing_to_run_in_a_quick_sync() {
    assert_eq!(
        FakeHost::new().quick_sync_plan::<Script>(true),
        Ok(Vec::new())
    );
}

#[test]
fn the_schema_of_the_options_knows_three_keys_and_needs_run() {
    let manifest = FakeHost::new().describe::<Script>();
    for stage in &manifest.stages {
        let schema = stage.options_schema.as_deref().expect("a schema");
        let schema: serde_json::Value = serde_json::from_str(schema).expect("JSON");
        assert_eq!(schema["additionalProperties"], json!(false));
        assert_eq!(schema["required"], json!(["run"]));
        let mut keys: Vec<&String> = schema["properties"]
            .as_object()
            .expect("keys")
            .keys()
            .collect();
        keys.sort();
        assert_eq!(keys, ["env", "onRollback", "run"]);
    }
}
