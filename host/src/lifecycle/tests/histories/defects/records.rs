//! Defects in what is stored and told beside the statuses.

use std::time::Duration;

use super::{Defect, How, begun, each};
use crate::lifecycle::{Event, Next, TurnEnd, WaitsFor};
use crate::model::{Command, DeploymentStatus, EventKind, Shared, Stage, StageStatus};

pub(super) const DEFECTS: &[Defect] = &[
    Defect {
        name: "nothing is said of people who are waited for",
        breaks: &["whatever_waits_is_explained"],
        hides: &[],
        how: How::Waiting(|waiting| {
            for one in waiting {
                one.what.retain(|what| !matches!(what, WaitsFor::People(_)));
            }
        }),
    },
    Defect {
        name: "nobody looks for what waits for a time",
        breaks: &[
            "every_deployment_comes_to_an_end_or_waits_for_a_person",
            "nothing_is_ever_stuck",
        ],
        hides: &[],
        how: How::Next(|_, next| match next {
            Next::At(_) => Next::Busy,
            next => next,
        }),
    },
    Defect {
        name: "a rollback is left for a tick to begin",
        breaks: &["a_change_draws_all_that_follows"],
        hides: &[],
        how: How::EditOnly(|d, old, event| {
            let begins = d.status == DeploymentStatus::RollingBack && old.status != d.status;
            if begins && !matches!(event, Event::Tick) && old.status == DeploymentStatus::Running {
                d.status = DeploymentStatus::Running;
                d.rollback = None;
                for stage in d.stages.iter_mut().filter(|stage| stage.rollback) {
                    stage.status = StageStatus::Waiting;
                    stage.reason.clear();
                }
            }
        }),
    },
    Defect {
        name: "it is forgotten when something is due",
        breaks: &["due_says_when_something_is_next"],
        hides: &[],
        how: How::Change(|change| change.due = None),
    },
    Defect {
        name: "something is told twice",
        breaks: &["events_tell_each_change_once_and_in_order"],
        hides: &[],
        how: How::Change(|change| change.events.extend(change.events.last().cloned())),
    },
    Defect {
        name: "the last is told first",
        breaks: &["events_tell_each_change_once_and_in_order"],
        hides: &[],
        how: How::Change(|change| change.events.reverse()),
    },
    Defect {
        name: "a turn counts as longer than it took",
        breaks: &["active_time_is_that_in_which_something_ran"],
        hides: &[],
        how: How::EditOnly(|d, _, event| {
            if let Event::StageEnded { .. } = event {
                d.active += Duration::from_millis(1);
            }
        }),
    },
    Defect {
        name: "a lease is not given back",
        breaks: &["what_runs_is_leased_and_nothing_else"],
        hides: &[],
        how: How::Change(|change| change.released.clear()),
    },
    Defect {
        name: "anyone may approve",
        breaks: &["commands_are_taken_from_those_who_may_and_kept"],
        hides: &[],
        how: How::Allow(|d, event, now| {
            let Event::Commanded { stage, kind, by } = event else {
                return false;
            };
            let open = |one: &&mut Shared<Stage>| {
                let open = one.started_at.is_some() && !one.status.is_final();
                &one.id == stage && kind.fits(one.operation) && open
            };
            let Some(stage) = d.stages.iter_mut().find(open) else {
                return false;
            };
            let number = stage.commands.len() as u64 + 1;
            stage.commands.push(Command {
                number,
                kind: *kind,
                by: by.clone(),
                at: now,
            });
            true
        }),
    },
    Defect {
        name: "what people said is forgotten when a turn ends",
        breaks: &["commands_are_taken_from_those_who_may_and_kept"],
        hides: &[],
        how: How::EditOnly(|d, old, event| {
            if let Event::StageEnded { end, .. } = event
                && !matches!(end, TurnEnd::Suspended(_))
            {
                each(d, old, |stage, old| {
                    if old.status == StageStatus::Running {
                        stage.commands.clear();
                    }
                });
            }
        }),
    },
    Defect {
        name: "a stage gets another name when it begins",
        breaks: &["what_was_planned_stays"],
        hides: &[],
        how: How::EditOnly(|d, _, event| {
            if let Some(id) = begun(event) {
                let mut stages = d.stages.iter_mut();
                if let Some(stage) = stages.find(|stage| &stage.id == id) {
                    stage.name.push('?');
                }
            }
        }),
    },
    Defect {
        name: "a change does not say that there is a plan",
        breaks: &["a_change_names_all_that_differs"],
        hides: &[],
        how: How::Change(|change| change.planned = false),
    },
    Defect {
        name: "a change forgets the last stage that differs",
        breaks: &["a_change_names_all_that_differs"],
        hides: &[],
        how: How::Change(|change| {
            change.stages.pop();
        }),
    },
    Defect {
        name: "a cancel counts no version",
        breaks: &["each_change_counts_one_version"],
        hides: &["each_step_has_one_winner"],
        how: How::Change(|change| {
            let cancels = |event: &EventKind| matches!(event, EventKind::Cancel(_));
            if change.events.iter().any(cancels) {
                change.deployment.version -= 1;
            }
        }),
    },
];
