//! The promises of the lifecycle, told on small deployments.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;

mod cancel;
mod changes;
mod commands;
mod histories;
mod losing;
mod plans;
mod rollback;
mod stages;
mod time_limits;
mod waiting;

use super::plan::{Answer, Catalogue, PlanError, Requested};
use super::*;
use crate::model::{
    Application, ApplicationId, Attempt, Cause, Commit, DeploymentId, EventKind, Manifest, OnLoss,
    Operation, PlannedStage, PluginKey, Revision, RollbackStatus, Shared, Stage, StageDefinition,
    StageStatus, Strategy, Trigger, Wake,
};

const SECOND: Duration = Duration::from_secs(1);

fn at(seconds: u64) -> Timestamp {
    Timestamp(1_000_000 + seconds * 1000)
}

/// How often a stage may be lost, and a planning begun.
const LIMIT: u32 = 3;

/// A deployment that is to be planned.
fn deployment_of_nothing() -> Deployment {
    let commit = Commit {
        hash: "c0ffee".into(),
        message: "Serve coffee".into(),
        author: "A. Author".into(),
        branch: None,
        created_at: at(0),
        url: None,
        pull_request: None,
    };
    let revision = Revision {
        commit: "c0ffee".into(),
        path: "app.pipecd.yaml".into(),
        config: String::new(),
    };
    let application = Application {
        id: ApplicationId::from("a"),
        name: "coffee".into(),
        labels: BTreeMap::new(),
        remote: "/coffee".into(),
        path: "app.pipecd.yaml".into(),
    };
    let trigger = Trigger {
        commit,
        commander: None,
        at: at(0),
        strategy: None,
    };
    Deployment::new(
        DeploymentId::from("d"),
        application,
        trigger,
        revision,
        at(0),
    )
}

/// A deployment whose stages are named by letters; a small letter is the rollback
/// stage that undoes the stage of its capital.
fn deployment(stages: &str) -> Deployment {
    let new = deployment_of_nothing();
    let forward: Vec<char> = stages.chars().filter(char::is_ascii_uppercase).collect();
    let asked: Vec<Requested> = (0..)
        .zip(&forward)
        .map(|(index, _)| requested(index))
        .collect();
    let planned = stages
        .chars()
        .map(|name| {
            let capital = name.to_ascii_uppercase();
            let index = forward.iter().position(|other| *other == capital).unwrap();
            planned(&name.to_string(), index as u32, name.is_ascii_lowercase())
        })
        .collect();
    let answer = Answer {
        plugin: PluginKey::from("p"),
        stages: planned,
    };
    let stages = plan::pipeline(&catalogue(), &asked, vec![answer], true, &mut ids()).unwrap();
    let plan = Plan {
        strategy: Strategy::Pipeline,
        summary: "pipeline".into(),
        versions: Vec::new(),
        plugins: Vec::new(),
        stages,
    };
    let begun = apply(&new, begin_planning(), at(0)).unwrap().deployment;
    apply(&begun, Event::Planned(Box::new(plan)), at(0))
        .unwrap()
        .deployment
}

fn begin_planning() -> Event {
    Event::PlanBegun {
        limit: 3,
        running: None,
    }
}

fn requested(index: u32) -> Requested {
    Requested {
        index,
        key: None,
        needs: None,
        description: String::new(),
        timeout: None,
        skip: None,
        options: json!({ "place": index }),
        plugin: PluginKey::from("p"),
    }
}

fn planned(name: &str, index: u32, rollback: bool) -> PlannedStage {
    PlannedStage {
        name: name.into(),
        index,
        description: String::new(),
        rollback,
        undoes: None,
        visible: true,
        predefined: false,
        metadata: BTreeMap::new(),
        operation: Operation::None,
        authorized_operators: Vec::new(),
        min_operators: 1,
    }
}

/// Plugin `p` defines A to F and their rollbacks a to f; plugin `q` defines X.
fn catalogue() -> Catalogue {
    let mut catalogue = Catalogue::default();
    let define = |names: &str| Manifest {
        stages: names
            .chars()
            .map(|name| StageDefinition {
                name: name.into(),
                description: format!("does {name}"),
                rollback: name.is_ascii_lowercase(),
                options_schema: None,
            })
            .collect(),
        ..Manifest::default()
    };
    catalogue.define(&PluginKey::from("p"), &define("ABCDEFabcdef"));
    catalogue.define(&PluginKey::from("q"), &define("X"));
    catalogue
}

fn ids() -> impl FnMut() -> StageId {
    let mut next = 0;
    move || {
        next += 1;
        StageId::new(format!("s{next}"))
    }
}

fn stage<'a>(deployment: &'a Deployment, name: &str) -> &'a Stage {
    deployment
        .stages
        .iter()
        .find(|stage| stage.name == name)
        .unwrap()
}

fn begin(deployment: &Deployment, name: &str, time: Timestamp) -> Deployment {
    let id = stage(deployment, name).id.clone();
    apply(deployment, Event::StageBegun(id), time)
        .unwrap()
        .deployment
}

fn end(deployment: &Deployment, name: &str, end: TurnEnd, time: Timestamp) -> Deployment {
    let event = Event::StageEnded {
        stage: stage(deployment, name).id.clone(),
        end,
        targets: Vec::new(),
        exit_code: None,
    };
    apply(deployment, event, time).unwrap().deployment
}

fn run(deployment: &Deployment, name: &str, how: TurnEnd, time: Timestamp) -> Deployment {
    end(&begin(deployment, name, time), name, how, time)
}

fn lose(deployment: &Deployment, name: &str, clean: bool) -> Deployment {
    let event = Event::StageLost {
        stage: stage(deployment, name).id.clone(),
        clean,
        limit: 3,
    };
    apply(deployment, event, at(9)).unwrap().deployment
}

fn ready(deployment: &Deployment, time: Timestamp) -> Vec<&str> {
    match next(deployment, time) {
        Next::Begin(ids) => {
            let stage = |id| deployment.stage(id).unwrap().name.as_str();
            ids.iter().map(stage).collect()
        }
        _ => Vec::new(),
    }
}

/// A deployment whose forward stages need no other.
fn parallel(stages: &str) -> Deployment {
    let mut d = deployment(stages);
    for stage in d.stages.iter_mut().filter(|stage| !stage.rollback) {
        stage.requires.clear();
    }
    d
}

fn status(deployment: &Deployment, name: &str) -> StageStatus {
    stage(deployment, name).status
}

fn cancel_event(by: &str, rollback: bool) -> Event {
    Event::Cancelled {
        by: Some(by.into()),
        why: String::new(),
        rollback,
    }
}

fn cancel(deployment: &Deployment, rollback: bool, time: Timestamp) -> Deployment {
    let event = cancel_event("ann", rollback);
    apply(deployment, event, time).unwrap().deployment
}

fn tick(deployment: &Deployment, time: Timestamp) -> Deployment {
    apply(deployment, Event::Tick, time).unwrap().deployment
}

/// A stage that waits for a person, until a time.
fn until(time: u64) -> TurnEnd {
    TurnEnd::Suspended(vec![Wake::At(at(time)), Wake::Command(0)])
}

/// A stage that waits for a person, who has done nothing yet.
fn waits_for_a_person() -> TurnEnd {
    TurnEnd::Suspended(vec![Wake::Command(0)])
}

fn rollback_status(deployment: &Deployment) -> Option<RollbackStatus> {
    deployment.rollback.as_ref().map(|rollback| rollback.status)
}

fn failed() -> TurnEnd {
    TurnEnd::Failed("boom".into())
}
