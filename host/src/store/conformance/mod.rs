//! What every [`Store`] promises, as tests that any of them can be put through:
//! `every_promise!(open)` in a module of tests makes a test of each, where `open`
//! gives an empty store together with what must live as long.

use std::collections::BTreeMap;

use serde_json::json;

use super::{Change, Fence, Holder, LogKey, Store};
use crate::model::{
    Application, Attempt, Cause, Commit, Deployment, DeploymentStatus, LogLine, OnLoss, Operation,
    Revision, Severity, Shared, Stage, StageStatus, Timestamp, Trigger,
};

pub(super) mod deployments;
pub(super) mod records;
pub(super) mod work;

macro_rules! every_promise {
    ($open:path) => {
        crate::store::conformance::every_promise! { $open;
            deployments:
                a_new_deployment_is_there_whole_with_an_event_and_due_at_once,
                an_id_is_taken_once,
                what_is_not_there_is_none_or_empty,
                a_change_is_stored_whole_with_its_events_in_order,
                a_change_that_was_decided_on_another_version_leaves_nothing_behind,
                a_change_writes_the_stages_it_names_and_no_others,
                changes_that_follow_each_other_are_stored_together_or_not_at_all,
                a_change_that_does_not_name_a_new_stage_is_refused,
                a_plan_that_is_made_again_replaces_the_stages,
                ids_are_found_by_their_start_in_order_up_to_the_limit,
                deployments_are_listed_the_last_first_by_application_and_status,
                a_success_is_the_applications_last_one_and_a_failure_is_not,
                the_revisions_in_use_are_those_of_the_unfinished_and_of_the_last_success,
                a_note_is_shown_with_an_event_and_without_a_new_version,
                a_note_outlives_changes_and_ends_with_the_attempt;
            work:
                what_is_due_comes_earliest_first_up_to_the_limit,
                a_change_says_anew_when_it_is_due,
                the_next_due_time_is_the_earliest_of_waits_and_lapses,
                a_lease_that_lapses_makes_its_deployment_due_once,
                a_lease_is_renewed_for_its_owner_only_and_each_time_made_longer,
                a_released_lease_is_gone_and_one_taken_again_has_a_new_owner,
                a_lease_has_lapsed_when_its_time_is_over,
                the_end_of_a_deployment_ends_its_leases,
                deployments_of_an_application_queue_in_their_order,
                cancelled_deployments_are_known_until_their_end;
            records:
                values_are_kept_for_their_owner_alone,
                a_value_is_replaced_and_removed,
                keys_are_listed_by_their_start_in_order,
                every_write_of_another_execution_or_after_the_end_is_refused,
                a_refused_write_of_several_values_writes_none,
                what_a_planning_says_is_refused_when_another_one_has_begun,
                log_lines_are_numbered_by_the_store_across_attempts_and_turns,
                logs_are_read_from_any_line_in_whole_chunks,
                the_log_of_a_plan_and_those_of_stages_are_apart,
                lines_of_a_deployment_that_is_not_there_are_refused,
                events_are_numbered_over_all_deployments_and_read_after_a_number,
                components_are_kept_once_and_come_back,
                components_that_no_unfinished_deployment_pins_are_removed,
                nothing_is_removed_while_a_deployment_is_planned,
                every_kind_of_write_is_told_as_a_change,
                old_deployments_and_logs_are_removed_and_nothing_that_is_unfinished,
                the_newest_event_is_known;
        }
    };
    ($open:path; $($group:ident: $($promise:ident),+;)+) => {
        $($(
            #[tokio::test]
            async fn $promise() {
                let (store, _keep) = $open();
                crate::store::conformance::$group::$promise(&store).await;
            }
        )+)+
    };
}

pub(super) use every_promise;

/// A deployment that is being planned, of the application `app-<name>`.
pub(crate) fn deployment(id: &str, application: &str) -> Deployment {
    let commit = format!("commit-of-{id}");
    let target = revision(&commit);
    let trigger = Trigger {
        commit: Commit {
            hash: commit,
            message: "Say hello\n\nin two lines".to_owned(),
            author: "Ada".to_owned(),
            branch: None,
            created_at: Timestamp(1),
            url: None,
            pull_request: Some(7),
        },
        commander: Some("ada".to_owned()),
        at: Timestamp(2),
        strategy: None,
    };
    let application = Application {
        id: format!("app-{application}").as_str().into(),
        name: application.to_owned(),
        labels: BTreeMap::from([("team".to_owned(), "web".to_owned())]),
        remote: "https://example.com/site.git".to_owned(),
        path: "site/app.pipecd.yaml".to_owned(),
    };
    Deployment {
        version: 1,
        ..Deployment::new(id.into(), application, trigger, target, Timestamp(3))
    }
}

fn revision(commit: &str) -> Revision {
    Revision {
        commit: commit.to_owned(),
        path: "site/app.pipecd.yaml".to_owned(),
        config: "kind: Application\n".to_owned(),
    }
}

/// A stage that runs, in the first turn of its first attempt.
pub(crate) fn stage(id: &str) -> Shared<Stage> {
    Shared::from(Stage {
        id: id.into(),
        key: None,
        name: "WAIT".to_owned(),
        description: String::new(),
        index: 0,
        requires: Vec::new(),
        rollback: false,
        undoes: Vec::new(),
        visible: true,
        predefined: false,
        metadata: BTreeMap::new(),
        operation: Operation::None,
        authorized_operators: Vec::new(),
        min_operators: 1,
        plugin: "wait".into(),
        options: json!({ "duration": "1h", "ratio": 0.10 }),
        skip: None,
        timeout: None,
        on_loss: OnLoss::RunAgain,
        status: StageStatus::Running,
        reason: String::new(),
        note: String::new(),
        attempt: Attempt { number: 1, turn: 1 },
        losses: 0,
        cause: Cause::First,
        wait: None,
        commands: Vec::new(),
        answered: 0,
        started_at: Some(Timestamp(4)),
        turn_started_at: Some(Timestamp(4)),
        ended_at: None,
        exit_code: None,
        targets: Vec::new(),
    })
}

/// What a change of a deployment would be that does what `edit` does.
pub(crate) fn change(old: &Deployment, edit: impl FnOnce(&mut Deployment)) -> Change {
    let mut new = old.clone();
    edit(&mut new);
    new.version += 1;
    let stages = (0..new.stages.len())
        .filter(|place| old.stages.get(*place) != new.stages.get(*place))
        .collect();
    let planned = |d: &Deployment| {
        let (running, summary) = (d.running.clone(), d.summary.clone());
        (
            running,
            d.strategy,
            summary,
            d.versions.clone(),
            d.plugins.clone(),
        )
    };
    Change {
        planned: planned(old) != planned(&new),
        deployment: new,
        stages,
        events: Vec::new(),
        due: None,
        taken: Vec::new(),
        released: Vec::new(),
        at: Timestamp(10),
    }
}

fn holder(owner: &str, until: u64) -> Holder {
    Holder {
        owner: owner.to_owned(),
        until: Timestamp(until),
    }
}

/// Stores a change, and gives the deployment as it now is.
async fn apply(store: &dyn Store, change: &Change) -> Deployment {
    store
        .apply(std::slice::from_ref(change), &holder("host", 1_000))
        .await
        .unwrap();
    change.deployment.clone()
}

/// Stores a deployment `d` with stages that run.
async fn running(store: &dyn Store, stages: &[&str]) -> Deployment {
    let new = deployment("d", "site");
    store.create(&new).await.unwrap();
    let change = change(&new, |d| {
        d.status = DeploymentStatus::Running;
        d.stages = stages.iter().map(|id| stage(id)).collect();
    });
    apply(store, &change).await
}

fn fence(stage: &str, number: u32, turn: u32) -> Fence {
    Fence {
        deployment: "d".into(),
        stage: Some(stage.into()),
        attempt: Attempt { number, turn },
    }
}

fn log(stage: Option<&str>) -> LogKey {
    LogKey {
        deployment: "d".into(),
        stage: stage.map(Into::into),
    }
}

fn line(attempt: u32, text: &str) -> LogLine {
    LogLine {
        number: 77,
        attempt,
        at: Timestamp(20),
        severity: Severity::Success,
        text: text.to_owned(),
    }
}
