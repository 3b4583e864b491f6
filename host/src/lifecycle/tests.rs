//! The promises of the lifecycle, told on small deployments.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;

use super::plan::{Answer, Catalogue, PlanError, Requested};
use super::*;
use crate::model::{
    Application, ApplicationId, Attempt, Cause, Commit, DeploymentId, EventKind, Manifest, OnLoss,
    Operation, PlannedStage, PluginKey, Revision, Stage, StageDefinition, StageStatus, Strategy,
    Trigger, Wake,
};

const SECOND: Duration = Duration::from_secs(1);

fn at(seconds: u64) -> Timestamp {
    Timestamp(1_000_000 + seconds * 1000)
}

/// A deployment whose stages are named by letters; a small letter is the rollback
/// stage that undoes the stage of its capital.
fn deployment(stages: &str) -> Deployment {
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
    let new = Deployment::new(
        DeploymentId::from("d"),
        application,
        trigger,
        revision,
        at(0),
    );
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

fn failed() -> TurnEnd {
    TurnEnd::Failed("boom".into())
}

#[test]
fn stages_begin_one_after_another_and_the_last_success_ends_the_deployment() {
    let d = deployment("ABab");
    assert_eq!(d.status, DeploymentStatus::Planned);
    assert_eq!(ready(&d, at(1)), ["A"]);
    let d = run(&d, "A", TurnEnd::Succeeded, at(1));
    assert_eq!(d.status, DeploymentStatus::Running);
    assert_eq!(ready(&d, at(2)), ["B"]);
    let d = run(&d, "B", TurnEnd::Skipped("nothing new".into()), at(2));
    assert_eq!(d.status, DeploymentStatus::Succeeded);
    assert_eq!(d.ended_at, Some(at(2)));
    assert_eq!(stage(&d, "a").status, StageStatus::NotRun);
    assert_eq!(next(&d, at(3)), Next::Done);
}

#[test]
fn after_a_failure_nothing_new_starts_and_what_had_started_is_undone_in_descending_order() {
    let d = deployment("ABCabc");
    let d = run(&d, "A", TurnEnd::Succeeded, at(1));
    let d = run(&d, "B", failed(), at(2));
    assert_eq!(d.status, DeploymentStatus::RollingBack);
    assert_eq!(stage(&d, "C").status, StageStatus::NotRun);
    assert_eq!(stage(&d, "c").status, StageStatus::NotRun);
    assert_eq!(ready(&d, at(3)), ["b"]);
    let d = begin(&d, "b", at(3));
    assert!(ready(&d, at(3)).is_empty(), "one by one");
    let d = end(&d, "b", failed(), at(4));
    assert_eq!(ready(&d, at(4)), ["a"], "a failing one stops none");
    let d = run(&d, "a", TurnEnd::Succeeded, at(5));
    assert_eq!(d.status, DeploymentStatus::Failed);
    assert_eq!(d.reason, "stage 2 (B) failed: boom");
}

#[test]
fn a_rollback_stage_is_hidden_until_it_starts_and_then_requires_the_last_that_started() {
    let d = deployment("ABab");
    let d = run(&d, "A", TurnEnd::Succeeded, at(1));
    let d = run(&d, "B", failed(), at(2));
    assert!(!stage(&d, "b").visible);
    let d = run(&d, "b", TurnEnd::Succeeded, at(3));
    assert!(stage(&d, "b").visible);
    assert_eq!(stage(&d, "b").requires, [stage(&d, "B").id.clone()]);
    let d = begin(&d, "a", at(4));
    assert_eq!(stage(&d, "a").requires, [stage(&d, "b").id.clone()]);
}

#[test]
fn without_auto_rollback_no_rollback_stage_runs() {
    let mut d = deployment("Aa");
    d.auto_rollback = false;
    let d = run(&d, "A", failed(), at(1));
    assert_eq!(d.status, DeploymentStatus::Failed);
    assert_eq!(stage(&d, "a").status, StageStatus::NotRun);
}

#[test]
fn an_exit_ends_the_pipeline_as_a_success_without_a_rollback() {
    let d = deployment("ABab");
    let d = run(&d, "A", TurnEnd::Exited("no change".into()), at(1));
    assert_eq!(d.status, DeploymentStatus::Succeeded);
    assert_eq!(stage(&d, "B").status, StageStatus::NotRun);
    assert_eq!(stage(&d, "a").status, StageStatus::NotRun);
}

#[test]
fn a_suspended_stage_comes_back_in_its_next_turn_when_its_time_has_come() {
    let d = deployment("A");
    let d = run(&d, "A", TurnEnd::Suspended(vec![Wake::At(at(60))]), at(1));
    assert_eq!(stage(&d, "A").status, StageStatus::Suspended);
    assert_eq!(next(&d, at(2)), Next::At(at(60)));
    assert_eq!(ready(&d, at(60)), ["A"]);
    let d = begin(&d, "A", at(60));
    assert_eq!(stage(&d, "A").attempt, Attempt { number: 1, turn: 2 });
    assert_eq!(stage(&d, "A").cause, Cause::Time);
    assert_eq!(stage(&d, "A").started_at, Some(at(1)));
}

#[test]
fn a_wake_in_the_past_is_due_a_second_after_the_turn() {
    let d = deployment("A");
    let d = run(&d, "A", TurnEnd::Suspended(vec![Wake::At(at(0))]), at(5));
    assert_eq!(next(&d, at(5)), Next::At(at(6)));
}

#[test]
fn a_lost_stage_runs_again_with_its_state_until_it_was_lost_too_often() {
    let mut d = deployment("Aa");
    for number in 1..=2 {
        d = begin(&d, "A", at(1));
        assert_eq!(stage(&d, "A").attempt, Attempt { number, turn: 1 });
        d = lose(&d, "A", false);
        assert_eq!(stage(&d, "A").cause, Cause::Loss);
        assert_eq!(ready(&d, at(9)), ["A"]);
    }
    d = lose(&begin(&d, "A", at(9)), "A", false);
    assert_eq!(stage(&d, "A").status, StageStatus::Lost);
    assert_eq!(d.status, DeploymentStatus::RollingBack);
}

#[test]
fn from_the_moment_of_a_loss_the_old_attempt_is_stale() {
    let d = begin(&deployment("A"), "A", at(1));
    let old = stage(&d, "A").attempt;
    let d = lose(&d, "A", false);
    assert!(stage(&d, "A").attempt > old);
}

#[test]
fn a_clean_stop_of_the_host_is_nobodys_failure() {
    let mut d = deployment("A");
    for _ in 0..5 {
        d = lose(&begin(&d, "A", at(1)), "A", true);
    }
    assert_eq!(ready(&d, at(9)), ["A"]);
    assert_eq!(stage(&d, "A").losses, 0);
}

#[test]
fn a_stage_that_must_not_run_twice_is_lost_at_once() {
    let mut d = deployment("A");
    d.stages[0].on_loss = OnLoss::Fail;
    for clean in [false, true] {
        let d = lose(&begin(&d, "A", at(1)), "A", clean);
        assert_eq!(stage(&d, "A").status, StageStatus::Lost);
        assert_eq!(d.status, DeploymentStatus::Failed);
    }
}

#[test]
fn a_planning_that_was_begun_too_often_fails_the_deployment() {
    let mut d = deployment("A");
    d.status = DeploymentStatus::Planning;
    d.plan_attempt = 0;
    for attempt in 1..=3 {
        let begun = apply(&d, begin_planning(), at(1)).unwrap();
        assert_eq!(begun.taken, [Leased::Plan]);
        d = begun.deployment;
        assert_eq!(d.plan_attempt, attempt);
    }
    let change = apply(&d, begin_planning(), at(1)).unwrap();
    assert_eq!(change.deployment.status, DeploymentStatus::Failed);
    assert_eq!(
        change.deployment.reason,
        "its host died 3 times while planning it"
    );
    assert_eq!(change.taken, []);
}

#[test]
fn a_stage_that_is_to_be_skipped_is_skipped_without_a_call_when_its_turn_comes() {
    let mut d = deployment("ABCabc");
    d.stages[1].skip = Some("only docs changed".into());
    assert_eq!(stage(&d, "B").status, StageStatus::Waiting);
    let d = run(&d, "A", TurnEnd::Succeeded, at(1));
    assert_eq!(stage(&d, "B").status, StageStatus::Skipped);
    assert_eq!(stage(&d, "B").reason, "only docs changed");
    assert_eq!(ready(&d, at(1)), ["C"]);
    let d = run(&d, "C", failed(), at(2));
    assert_eq!(
        stage(&d, "b").status,
        StageStatus::NotRun,
        "a skipped stage is not undone"
    );
}

#[test]
fn a_written_stage_timeout_includes_suspended_time_and_is_told_as_a_timeout() {
    let mut d = deployment("Aa");
    d.stages[0].timeout = Some(30 * SECOND);
    let d = run(&d, "A", TurnEnd::Suspended(vec![Wake::At(at(3600))]), at(1));
    assert_eq!(next(&d, at(2)), Next::At(at(31)));
    assert_eq!(next(&d, at(31)), Next::Tick);
    let d = apply(&d, Event::Tick, at(31)).unwrap().deployment;
    assert_eq!(stage(&d, "A").status, StageStatus::TimedOut);
    assert_eq!(d.status, DeploymentStatus::RollingBack);
    let d = run(&d, "a", TurnEnd::Succeeded, at(32));
    assert_eq!(d.status, DeploymentStatus::Failed);
    assert!(d.reason.contains("timed-out"), "{}", d.reason);
}

#[test]
fn the_default_stage_limit_does_not_count_suspended_time() {
    let d = deployment("A");
    let day = 24 * 3600;
    let d = run(&d, "A", TurnEnd::Suspended(vec![Wake::At(at(day))]), at(1));
    assert_eq!(ready(&d, at(day)), ["A"]);
    let d = begin(&d, "A", at(day));
    assert_eq!(
        time_left(&d, stage(&d, "A"), at(day)),
        DEFAULT_STAGE_TIMEOUT
    );
}

#[test]
fn a_written_deployment_timeout_ends_it_as_timed_out_after_its_rollback() {
    let mut d = deployment("ABab");
    d.timeout = Some(60 * SECOND);
    let d = run(&d, "A", TurnEnd::Suspended(vec![Wake::At(at(3600))]), at(1));
    assert_eq!(next(&d, at(2)), Next::At(at(61)));
    let d = apply(&d, Event::Tick, at(61)).unwrap().deployment;
    assert_eq!(stage(&d, "A").status, StageStatus::TimedOut);
    assert_eq!(stage(&d, "B").status, StageStatus::NotRun);
    let d = run(&d, "a", TurnEnd::Succeeded, at(62));
    assert_eq!(d.status, DeploymentStatus::TimedOut);
}

#[test]
fn a_stage_that_ran_when_the_deployments_time_was_over_is_not_blamed_for_it() {
    let mut d = deployment("A");
    d.timeout = Some(60 * SECOND);
    let d = begin(&d, "A", at(1));
    assert_eq!(time_left(&d, stage(&d, "A"), at(2)), 59 * SECOND);
    let d = end(&d, "A", TurnEnd::TimedOut, at(61));
    assert_eq!(d.status, DeploymentStatus::TimedOut);
}

#[test]
fn the_default_deployment_limit_counts_only_time_in_which_something_ran() {
    let d = deployment("AB");
    let day = 24 * 3600;
    let d = run(&d, "A", TurnEnd::Suspended(vec![Wake::At(at(day))]), at(1));
    let d = begin(&d, "A", at(day));
    let d = end(&d, "A", TurnEnd::Succeeded, at(day + 100));
    assert_eq!(d.active, 100 * SECOND);
    let d = begin(&d, "B", at(day + 100));
    let left = time_left(&d, stage(&d, "B"), at(day + 100));
    assert_eq!(left, DEFAULT_DEPLOYMENT_TIMEOUT - 100 * SECOND);
}

#[test]
fn an_event_that_comes_twice_or_out_of_order_changes_nothing() {
    let d = deployment("AB");
    let b = stage(&d, "B").id.clone();
    assert!(
        apply(&d, Event::StageBegun(b), at(1)).is_err(),
        "before its turn"
    );
    let d = begin(&d, "A", at(1));
    let a = stage(&d, "A").id.clone();
    assert!(
        apply(&d, Event::StageBegun(a.clone()), at(1)).is_err(),
        "twice"
    );
    let d = end(&d, "A", TurnEnd::Succeeded, at(2));
    let again = Event::StageEnded {
        stage: a,
        end: failed(),
        targets: Vec::new(),
        exit_code: None,
    };
    assert!(apply(&d, again, at(2)).is_err(), "after its end");
}

#[test]
fn a_change_counts_one_version_names_what_differs_and_says_when_something_is_due() {
    let d = deployment("AB");
    let a = stage(&d, "A").id.clone();
    let change = apply(&d, Event::StageBegun(a.clone()), at(1)).unwrap();
    assert_eq!(change.deployment.version, d.version + 1);
    assert_eq!(change.stages, [0]);
    assert_eq!(change.taken, [Leased::Stage(a.clone())]);
    assert_eq!(change.due, None, "a stage is at work");
    let kinds: Vec<&str> = change
        .events
        .iter()
        .map(|event| match event {
            EventKind::Deployment { status, .. } => status.as_str(),
            EventKind::Stage { name, .. } => name.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(kinds, ["running", "A"]);
    let ended = Event::StageEnded {
        stage: a.clone(),
        end: TurnEnd::Suspended(vec![Wake::At(at(60))]),
        targets: Vec::new(),
        exit_code: None,
    };
    let change = apply(&change.deployment, ended, at(2)).unwrap();
    assert_eq!(change.released, [Leased::Stage(a)]);
    assert_eq!(change.due, Some(at(60)));
}

#[test]
fn a_plan_that_failed_ends_the_deployment_with_its_reason() {
    let mut d = deployment("A");
    d.status = DeploymentStatus::Planning;
    let change = apply(&d, Event::PlanFailed("no such stage".into()), at(1)).unwrap();
    assert_eq!(change.deployment.status, DeploymentStatus::Failed);
    assert_eq!(change.deployment.reason, "no such stage");
}

fn assemble(asked: &[u32], stages: Vec<PlannedStage>) -> Result<Vec<Stage>, PlanError> {
    let asked: Vec<Requested> = asked.iter().map(|index| requested(*index)).collect();
    let answer = Answer {
        plugin: PluginKey::from("p"),
        stages,
    };
    plan::pipeline(&catalogue(), &asked, vec![answer], true, &mut ids())
}

#[test]
fn each_stage_of_a_pipeline_requires_the_id_of_the_one_directly_before() {
    let stages = assemble(
        &[0, 1],
        vec![planned("A", 1, false), planned("A", 0, false)],
    )
    .unwrap();
    assert_eq!(stages[0].requires, []);
    assert_eq!(stages[1].requires, [stages[0].id.clone()]);
    assert_ne!(stages[0].id, stages[1].id, "names repeat, ids do not");
}

#[test]
fn a_rollback_stage_shares_its_stages_options_but_neither_its_timeout_nor_its_skip() {
    let mut asked = requested(0);
    asked.timeout = Some(SECOND);
    asked.skip = Some("because".into());
    let answer = Answer {
        plugin: PluginKey::from("p"),
        stages: vec![planned("A", 0, false), planned("a", 0, true)],
    };
    let stages = plan::pipeline(&catalogue(), &[asked], vec![answer], true, &mut ids()).unwrap();
    assert_eq!(stages[1].options, stages[0].options);
    assert_eq!((stages[0].timeout, stages[1].timeout), (Some(SECOND), None));
    assert_eq!(stages[1].skip, None);
    assert_eq!(stages[1].undoes, [stages[0].id.clone()]);
}

#[test]
fn every_fault_in_a_plugins_plan_is_named() {
    let twice = assemble(&[0], vec![planned("A", 0, false), planned("B", 0, false)]);
    assert!(matches!(twice, Err(PlanError::IndexTwice { index: 0, .. })));
    let foreign = assemble(&[0], vec![planned("A", 3, false)]);
    assert!(matches!(
        foreign,
        Err(PlanError::ForeignIndex { index: 3, .. })
    ));
    let missing = assemble(&[0, 1], vec![planned("A", 0, false)]);
    assert!(matches!(
        missing,
        Err(PlanError::IndexMissing { index: 1, .. })
    ));
    let unknown = assemble(&[0], vec![planned("Z", 0, false)]);
    assert!(matches!(unknown, Err(PlanError::UnknownStage { .. })));
    let others = assemble(&[0], vec![planned("X", 0, false)]);
    assert!(
        others
            .unwrap_err()
            .to_string()
            .contains("plugins.p.allow.stages: [X]")
    );
    let wrong = assemble(&[0], vec![planned("A", 0, true)]);
    assert!(matches!(wrong, Err(PlanError::WrongDirection { .. })));
    let rollback_twice = assemble(
        &[0],
        vec![
            planned("A", 0, false),
            planned("a", 0, true),
            planned("b", 0, true),
        ],
    );
    assert!(matches!(rollback_twice, Err(PlanError::IndexTwice { .. })));
    let undoes = PlannedStage {
        undoes: Some(vec![7]),
        ..planned("a", 0, true)
    };
    let nothing = assemble(&[0], vec![planned("A", 0, false), undoes]);
    assert!(matches!(
        nothing,
        Err(PlanError::UndoesNothing { index: 7, .. })
    ));
}

#[test]
fn a_granted_stage_of_another_plugin_is_executed_by_its_owner() {
    let mut catalogue = catalogue();
    catalogue.grant(&PluginKey::from("p"), "X");
    let answer = Answer {
        plugin: PluginKey::from("p"),
        stages: vec![planned("X", 0, false)],
    };
    let stages =
        plan::pipeline(&catalogue, &[requested(0)], vec![answer], true, &mut ids()).unwrap();
    assert_eq!(stages[0].plugin, PluginKey::from("q"));
}

#[test]
fn a_quick_sync_chains_in_plugin_order_and_each_rollback_undoes_its_own_plugins_stages() {
    let answers = vec![
        Answer {
            plugin: PluginKey::from("p"),
            stages: vec![
                planned("B", 0, false),
                planned("A", 0, false),
                planned("a", 0, true),
            ],
        },
        Answer {
            plugin: PluginKey::from("q"),
            stages: vec![planned("X", 0, false)],
        },
    ];
    let stages = plan::quick_sync(&catalogue(), answers, true, &mut ids()).unwrap();
    let names: Vec<&str> = stages.iter().map(|stage| stage.name.as_str()).collect();
    assert_eq!(names, ["B", "A", "X", "a"]);
    assert_eq!(stages[2].requires, [stages[1].id.clone()]);
    assert_eq!(
        stages[3].undoes,
        [stages[0].id.clone(), stages[1].id.clone()]
    );
}

#[test]
fn a_quick_sync_without_a_single_stage_is_an_error_that_names_who_was_asked() {
    let answers = vec![Answer {
        plugin: PluginKey::from("p"),
        stages: Vec::new(),
    }];
    let error = plan::quick_sync(&catalogue(), answers, true, &mut ids()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "no plugin of the application has a stage for a quick sync: asked p"
    );
}

#[test]
fn a_rollback_stage_that_nobody_asked_for_is_refused() {
    let answer = Answer {
        plugin: PluginKey::from("p"),
        stages: vec![planned("A", 0, false), planned("a", 0, true)],
    };
    let made = plan::pipeline(
        &catalogue(),
        &[requested(0)],
        vec![answer],
        false,
        &mut ids(),
    );
    assert!(matches!(made, Err(PlanError::UnwantedRollback { .. })));
}
