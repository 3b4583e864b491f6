//! A plugin for tests: its stage's options are a list of steps, done in order,
//! and each step is something that a plugin might do to a host. `do` are the steps
//! of a call, `woken` those of one that a command woke, `undo` those of a rollback;
//! `decide` (of its configuration) those of a choice of the strategy;
//! `operation` and `operators` are what the stage is planned with.
//!
//! Written against the contract itself rather than the SDK, so that it can also
//! do what the SDK would not let it.
//!
//! Empty but on WebAssembly: a native linker does not take the names of the
//! contract's exports.
#![cfg(target_family = "wasm")]

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::Value;

wit_bindgen::generate!({
    path: "../../../wit",
    inline: "
        package test:probe;
        world probe {
            include stagewright:plugin/imports@0.1.0;
            include stagewright:plugin/manifest-export@0.1.0;
            include stagewright:plugin/planner-export@0.1.0;
            include stagewright:plugin/executor-export@0.1.0;
        }
    ",
    world: "test:probe/probe",
    generate_all,
});

use exports::stagewright::plugin::executor::{
    self, Cause, Outcome, StageRequest, Status, TargetResult, TargetStatus, Wake,
};
use exports::stagewright::plugin::manifest::{
    self, Capability, Claim, Loss, PluginManifest, Request, StageDefinition,
};
use exports::stagewright::plugin::planner::{
    self, Decision, Operation, PlannedStage, RequestedStage, Strategy, Version,
};
use stagewright::plugin::log::Severity;
use stagewright::plugin::process::{Command, Exit};
use stagewright::plugin::state::Scope;
use stagewright::plugin::types::{ConfigKind, Entry, Error, InvalidConfig, PlanInput, Refusal};
use stagewright::plugin::{commands, control, log, process, state};
use wasi::io::poll;

struct Probe;

#[cfg(target_family = "wasm")]
export!(Probe);

impl manifest::Guest for Probe {
    fn describe() -> PluginManifest {
        let request = |capability| Request {
            capability,
            reason: "to try it".to_owned(),
        };
        let stage = |name: &str, rollback, options_schema: Option<&str>| StageDefinition {
            name: name.to_owned(),
            description: "Does what it is told.".to_owned(),
            rollback,
            options_schema: options_schema.map(str::to_owned),
        };
        PluginManifest {
            name: "probe".to_owned(),
            version: "0.1.0".to_owned(),
            description: "Tries what a plugin can do to a host.".to_owned(),
            stages: vec![
                stage(
                    "PROBE",
                    false,
                    Some(
                        r#"{"type":"object","properties":{"do":{"type":"array"},"woken":{"type":"array"},"undo":{"type":"array"},"operation":{"enum":["approve","skip"]},"operators":{"type":"array"}},"additionalProperties":false}"#,
                    ),
                ),
                stage("PROBE_ROLLBACK", true, None),
            ],
            claims: vec![Claim {
                kind: "probe".to_owned(),
                type_name: "test".to_owned(),
            }],
            config_schema: Some(r#"{"type":"object"}"#.to_owned()),
            deploy_target_schema: None,
            application_schema: None,
            needs_deploy_target: false,
            on_loss: Loss::RunAgain,
            requests: vec![
                request(Capability::Commands),
                request(Capability::Env),
                request(Capability::Filesystem),
            ],
        }
    }
}

impl planner::Guest for Probe {
    fn determine_versions(input: PlanInput) -> Result<Vec<Version>, Error> {
        let mut wakes = None;
        steps(&input.plugin_config, "do", &mut wakes)?;
        Ok(vec![Version {
            name: input.deployment.application.name,
            version: input.target_source.commit_hash,
            url: None,
        }])
    }

    fn determine_strategy(input: PlanInput) -> Result<Option<Decision>, Error> {
        steps(&input.plugin_config, "decide", &mut None)?;
        Ok(input.running_source.map(|running| Decision {
            strategy: Strategy::Pipeline,
            summary: format!("from {} on", running.commit_hash),
        }))
    }

    fn quick_sync_plan(_: PlanInput, rollback: bool) -> Result<Vec<PlannedStage>, Error> {
        let mut stages = vec![planned("PROBE", 0, false)];
        if rollback {
            stages.push(planned("PROBE_ROLLBACK", 1, true));
        }
        Ok(stages)
    }

    fn pipeline_sync_plan(
        _: PlanInput,
        rollback: bool,
        requested: Vec<RequestedStage>,
    ) -> Result<Vec<PlannedStage>, Error> {
        if let Some(stage) = requested.iter().find(|stage| stage.name != "PROBE") {
            return Err(Error::InvalidConfig(InvalidConfig {
                kind: ConfigKind::Stage,
                name: stage.index.to_string(),
                path: "/do".to_owned(),
                message: format!("{} is not a probe", stage.name),
            }));
        }
        let mut stages = Vec::new();
        for stage in requested {
            let options = parse(&stage.options)?;
            if rollback && options["undo"].is_array() {
                stages.push(PlannedStage {
                    undoes: None,
                    ..planned("PROBE_ROLLBACK", stage.index, true)
                });
            }
            stages.push(PlannedStage {
                operation: match string(&options["operation"]) {
                    "approve" => Operation::Approve,
                    "skip" => Operation::Skip,
                    _ => Operation::None,
                },
                authorized_operators: strings(&options["operators"]),
                min_operators: options["needed"].as_u64().map_or(1, |needed| needed as u32),
                ..planned(&stage.name, stage.index, false)
            });
        }
        Ok(stages)
    }
}

fn planned(name: &str, index: u32, rollback: bool) -> PlannedStage {
    PlannedStage {
        name: name.to_owned(),
        index,
        description: String::new(),
        rollback,
        undoes: rollback.then(|| vec![0]),
        visible: !rollback,
        predefined: rollback,
        metadata: vec![Entry {
            key: "made-by".to_owned(),
            value: "probe".to_owned(),
        }],
        operation: Operation::None,
        authorized_operators: Vec::new(),
        min_operators: 1,
    }
}

impl executor::Guest for Probe {
    fn execute_stage(request: StageRequest) -> Result<Outcome, Error> {
        let mut status = None;
        let stage = &request.stage;
        // Steps may name where they are done.
        let options = request
            .options
            .replace("{stage}", &stage.id)
            .replace("{attempt}", &stage.attempt.to_string())
            .replace("{turn}", &stage.turn.to_string());
        let key = match stage.cause {
            _ if stage.rollback => "undo",
            Cause::Command => "woken",
            _ => "do",
        };
        steps(&options, key, &mut status)?;
        Ok(Outcome {
            status: status.unwrap_or(Status::Succeeded),
            targets: request
                .input
                .deploy_targets
                .into_iter()
                .map(|target| TargetResult {
                    name: target.name,
                    status: TargetStatus::Succeeded,
                    message: String::new(),
                })
                .collect(),
            exit_code: None,
        })
    }
}

fn parse(options: &str) -> Result<Value, Error> {
    serde_json::from_str(options).map_err(|error| Error::Internal(error.to_string()))
}

/// Does the steps under a key, if there are any.
fn steps(options: &str, key: &str, status: &mut Option<Status>) -> Result<(), Error> {
    let options = parse(options)?;
    // Kept to the end of the call: what a plugin forgets to end.
    let mut children = Vec::new();
    let nothing = Vec::new();
    for step in options[key].as_array().unwrap_or(&nothing) {
        let (name, with) = match step {
            Value::Object(step) => match step.iter().next() {
                Some((name, with)) => (name.as_str(), with),
                None => continue,
            },
            Value::String(name) => (name.as_str(), &Value::Null),
            _ => return Err(Error::Internal("a step is a name or an object".to_owned())),
        };
        do_step(name, with, status, &mut children)?;
    }
    Ok(())
}

fn do_step(
    name: &str,
    with: &Value,
    status: &mut Option<Status>,
    children: &mut Vec<process::Child>,
) -> Result<(), Error> {
    let text = with.as_str().unwrap_or_default();
    let number = with.as_u64().unwrap_or_default();
    match name {
        "log" => log::write(Severity::Info, text),
        "success" => log::write(Severity::Success, text),
        "error" => log::write(Severity::Error, text),
        "status" => log::status(text),
        "print" => print!("{text}"),
        "eprint" => eprint!("{text}"),
        "print-bytes" => {
            use std::io::Write;
            let bytes: Vec<u8> = with
                .as_array()
                .into_iter()
                .flatten()
                .map(|byte| byte.as_u64().unwrap_or_default() as u8)
                .collect();
            let mut out = std::io::stdout();
            if let Err(error) = out.write_all(&bytes).and_then(|()| out.flush()) {
                say(&error.to_string());
            }
        }
        "panic" => panic!("{text}"),
        "exit" => std::process::exit(number as i32),
        "spin" => loop {
            std::hint::black_box(());
        },
        "spin-until-cancelled" => while !control::cancelled() {},
        "wait-for-cancel" => control::subscribe().block(),
        "recurse" => say(&recurse(u64::MAX).to_string()),
        "sleep" => std::thread::sleep(Duration::from_millis(number)),
        "alloc" => {
            let bytes = vec![1_u8; (number as usize) << 20];
            say(&format!("allocated {}", std::hint::black_box(&bytes).len()));
        }
        "keep-pollables" => {
            let kept: Vec<_> = (0..number).map(|_| control::subscribe()).collect();
            say(&format!("kept {}", kept.len()));
        }
        "hand-over" => log::write(Severity::Info, &"x".repeat((number as usize) << 20)),
        "env" => say(&format!("{text}={:?}", std::env::var(text).ok())),
        "all-env" => {
            let names: Vec<String> = std::env::vars().map(|(name, _)| name).collect();
            say(&format!("variables: {names:?}"));
        }
        "read" => say(&match std::fs::read_to_string(text) {
            Ok(content) => format!("{text}: {content}"),
            Err(error) => format!("{text}: {error}"),
        }),
        "write" => {
            let (path, content) = (string(&with[0]), string(&with[1]));
            say(&match std::fs::write(path, content) {
                Ok(()) => format!("{path}: written"),
                Err(error) => format!("{path}: {error}"),
            });
        }
        "append" => {
            use std::io::Write;
            let (path, line) = (string(&with[0]), string(&with[1]));
            let file = std::fs::OpenOptions::new()
                .create(true)
                .append(true)
                .open(path);
            // At once: half a line would be left where the host is killed between.
            let line = format!("{line}\n");
            if let Err(error) = file.and_then(|mut file| file.write_all(line.as_bytes())) {
                return Err(Error::Internal(format!("{path}: {error}")));
            }
        }
        "connect" => say(&match std::net::TcpStream::connect(text) {
            Ok(_) => "connected".to_owned(),
            Err(error) => format!("not connected: {error}"),
        }),
        "put" => say(&refused(state::put(
            scope(&with[0]),
            string(&with[1]),
            string(&with[2]).as_bytes(),
        ))),
        "get" => say(&match state::get(scope(&with[0]), string(&with[1])) {
            Ok(value) => format!(
                "{:?}",
                value.map(|value| String::from_utf8_lossy(&value).into_owned())
            ),
            Err(refusal) => refused(Err(refusal)),
        }),
        "keys" => say(&match state::keys(scope(&with[0]), string(&with[1])) {
            Ok(keys) => keys.join(" "),
            Err(refusal) => refused(Err(refusal)),
        }),
        "commands" => match commands::after(number) {
            Ok(given) => given.iter().for_each(|command| {
                let kind = match command.kind {
                    commands::CommandKind::Approve => "approve",
                    commands::CommandKind::Skip => "skip",
                };
                let (number, by, at) = (command.number, &command.by, command.at);
                say(&format!("command {number}: {kind} by {by} at {at}"));
            }),
            Err(refusal) => say(&refused(Err(refusal))),
        },
        "spawn" | "start" => match process::spawn(&command(with)) {
            Ok(child) if name == "start" => children.push(child),
            Ok(child) => say(&ended(&child)),
            Err(refusal) => say(&refused(Err(refusal))),
        },
        "wait-for-any" => {
            let mut pollables: Vec<_> = children.iter().map(process::Child::subscribe).collect();
            pollables.push(control::subscribe());
            let ready = poll::poll(&pollables.iter().collect::<Vec<_>>());
            say(&format!("ready: {ready:?}"));
        }
        "drop-children-before-pollables" => {
            let pollables: Vec<_> = children.iter().map(process::Child::subscribe).collect();
            children.clear();
            for pollable in pollables {
                pollable.block();
            }
            say("all ended");
        }
        "leak-children" => children.drain(..).for_each(std::mem::forget),
        "kill" => {
            for child in children.iter() {
                child.kill();
                say(&ended(child));
            }
        }
        "fail" => *status = Some(Status::Failed(text.to_owned())),
        "suspend" => *status = Some(Status::Suspended(vec![Wake::At(number)])),
        "suspend-if" if with[0] == with[1] => *status = Some(Status::Suspended(vec![Wake::At(0)])),
        "suspend-if" => {}
        // Beside the other wakes, if there are any.
        "suspend-until-command" => match status {
            Some(Status::Suspended(wakes)) => wakes.push(Wake::Command(number)),
            _ => *status = Some(Status::Suspended(vec![Wake::Command(number)])),
        },
        "suspend-for-nothing" => *status = Some(Status::Suspended(Vec::new())),
        "invalid-config" => {
            return Err(Error::InvalidConfig(InvalidConfig {
                kind: ConfigKind::Stage,
                name: String::new(),
                path: text.to_owned(),
                message: "not like this".to_owned(),
            }));
        }
        other => return Err(Error::Unsupported(format!("the step `{other}`"))),
    }
    Ok(())
}

fn say(text: &str) {
    log::write(Severity::Info, text);
}

fn string(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn strings(value: &Value) -> Vec<String> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .map(|value| string(value).to_owned())
        .collect()
}

fn recurse(depth: u64) -> u64 {
    let here = std::hint::black_box([depth; 64]);
    if depth == 0 {
        here[0]
    } else {
        recurse(depth - 1) + here[1]
    }
}

fn scope(value: &Value) -> Scope {
    match string(value) {
        "stage" => Scope::Stage,
        "deployment" => Scope::Deployment,
        "application" => Scope::Application,
        _ => Scope::Shared,
    }
}

fn refused(result: Result<(), Refusal>) -> String {
    match result {
        Ok(()) => "done".to_owned(),
        Err(Refusal::Denied(text)) => format!("denied: {text}"),
        Err(Refusal::QuotaExceeded(text)) => format!("quota exceeded: {text}"),
        Err(Refusal::StaleAttempt) => "stale attempt".to_owned(),
        Err(Refusal::Cancelled) => "cancelled".to_owned(),
        Err(Refusal::Invalid(text)) => format!("invalid: {text}"),
    }
}

fn command(with: &Value) -> Command {
    Command {
        program: string(&with["program"]).to_owned(),
        arguments: strings(&with["arguments"]),
        environment: with["environment"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(key, value)| Entry {
                key: key.clone(),
                value: string(value).to_owned(),
            })
            .collect(),
        directory: with["directory"].as_str().map(str::to_owned),
        stdin: string(&with["stdin"]).as_bytes().to_vec(),
        capture: with["capture"].as_bool().unwrap_or_default(),
        to_log: with["log"].as_bool().unwrap_or_default(),
    }
}

fn ended(child: &process::Child) -> String {
    let mut text = match child.wait() {
        Ok(Exit::Code(code)) => format!("exit code {code}"),
        Ok(Exit::Signal(signal)) => format!("signal {signal}"),
        Err(refusal) => refused(Err(refusal)),
    };
    let captured = child.captured();
    if !captured.stdout.is_empty() || !captured.stderr.is_empty() || captured.truncated {
        let (out, err) = (&captured.stdout, &captured.stderr);
        if out.len() > 1000 {
            let _ = write!(text, ", {} bytes", out.len());
        } else {
            let _ = write!(text, ", out {:?}", String::from_utf8_lossy(out));
        }
        let _ = write!(text, ", err {:?}", String::from_utf8_lossy(err));
        let _ = write!(text, ", truncated {}", captured.truncated);
    }
    text
}
