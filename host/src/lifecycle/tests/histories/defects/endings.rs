//! Defects in how something ends, and in what is said of it.

use std::time::Duration;

use super::{Defect, How, each};
use crate::lifecycle::{Event, TurnEnd, cancel};
use crate::model::{DeploymentStatus, Ending, Shared, Stage, StageStatus, Timestamp, Wake};

pub(super) const DEFECTS: &[Defect] = &[
    Defect {
        name: "the deployment's time limit is forgotten",
        breaks: &[
            "commands_are_taken_from_those_who_may_and_kept",
            "nothing_begins_when_its_time_is_over",
            "what_is_suspended_comes_back_for_what_it_waits_for",
            "what_timed_out_is_told_so",
            "whatever_waits_is_explained",
        ],
        hides: &[],
        how: How::Blind(|d| d.timeout = None, |d, old| d.timeout = old.timeout),
    },
    Defect {
        name: "the default time limit of a deployment is forgotten",
        breaks: &[
            "a_rollback_has_a_result_of_its_own",
            "nothing_begins_when_its_time_is_over",
            "what_timed_out_is_told_so",
        ],
        hides: &[],
        how: How::Blind(
            |d| {
                d.timeout
                    .get_or_insert(Duration::from_secs(u64::from(u32::MAX)));
            },
            |d, old| d.timeout = old.timeout,
        ),
    },
    Defect {
        name: "a cancel reaches what had ended well",
        breaks: &["what_is_at_its_end_stays_so"],
        hides: &[],
        how: How::EditOnly(|d, _, event| {
            let well = |stage: &&mut Shared<Stage>| stage.status == StageStatus::Succeeded;
            if let (Event::Cancelled { .. }, Some(stage)) = (event, d.stages.iter_mut().find(well))
            {
                stage.reason = "cancelled".into();
            }
        }),
    },
    Defect {
        name: "a cancel is forgotten when the stage ends",
        breaks: &[
            "a_cancel_that_was_taken_is_kept_and_followed",
            "what_was_cancelled_is_told_so",
        ],
        hides: &[],
        how: How::EditOnly(|d, _, event| {
            if let (Event::StageEnded { .. }, DeploymentStatus::Running) = (event, d.status) {
                d.cancel = None;
            }
        }),
    },
    Defect {
        name: "who cancels without a rollback comes second",
        breaks: &["a_cancel_is_refused_only_when_it_says_nothing_new"],
        hides: &[],
        how: How::Refuse(|d, event| {
            d.cancel.is_some()
                && matches!(
                    event,
                    Event::Cancelled {
                        rollback: false,
                        ..
                    }
                )
        }),
    },
    Defect {
        name: "what a stage says after it was told to stop is a failure",
        breaks: &["an_answer_counts_as_it_was_given"],
        hides: &[],
        how: How::EditOnly(|d, old, event| {
            let cancelled = old.cancel.is_some();
            if let Event::StageEnded { .. } = event {
                each(d, old, |stage, old| {
                    let told = stage.status == StageStatus::Cancelled && cancelled;
                    if told && old.status == StageStatus::Running {
                        stage.status = StageStatus::Failed;
                    }
                });
            }
        }),
    },
    Defect {
        name: "a deployment that timed out is told as cancelled",
        breaks: &[
            "a_result_says_how_it_came_about",
            "what_timed_out_is_told_so",
            "what_was_cancelled_is_told_so",
        ],
        hides: &[],
        how: How::EditOnly(|d, _, _| {
            if d.ending == Some(Ending::TimedOut) {
                d.ending = Some(Ending::Cancelled);
                if d.status == DeploymentStatus::TimedOut {
                    d.status = DeploymentStatus::Cancelled;
                }
            }
        }),
    },
    Defect {
        name: "a stage that timed out while it waited is told as cancelled",
        breaks: &[
            "what_waits_beyond_its_limit_ends",
            "what_was_cancelled_is_told_so",
        ],
        hides: &[],
        how: How::EditOnly(|d, old, event| {
            if matches!(event, Event::Tick) && !d.status.is_final() {
                each(d, old, |stage, old| {
                    if stage.status == StageStatus::TimedOut && stage.status != old.status {
                        stage.status = StageStatus::Cancelled;
                    }
                });
            }
        }),
    },
    Defect {
        name: "a limit ends what people had approved in time",
        breaks: &["what_people_did_in_time_has_its_turn_before_a_limit_ends_anything"],
        hides: &[],
        how: How::Edit(|d, old, event| {
            let (Event::StageBegun(id)
            | Event::StageEnded { stage: id, .. }
            | Event::StageLost { stage: id, .. }) = event
            else {
                return;
            };
            each(d, old, |stage, old| {
                let waits = stage.wait.is_some() && stage.wait == old.wait;
                if waits && &stage.id != id && cancel::is_owed_a_turn(stage) {
                    stage.status = StageStatus::TimedOut;
                    stage.wait = None;
                    stage.ended_at = Some(Timestamp(1));
                }
            });
        }),
    },
    Defect {
        name: "a stage is suspended until what never comes",
        breaks: &[
            "an_answer_counts_as_it_was_given",
            "what_is_suspended_comes_back_for_what_it_waits_for",
        ],
        hides: &[],
        how: How::Mistake(|event| {
            if let Event::StageEnded {
                end: TurnEnd::Suspended(wakes),
                ..
            } = event
                && wakes.is_empty()
            {
                wakes.push(Wake::At(Timestamp(u64::MAX)));
            }
        }),
    },
    Defect {
        name: "a failure counts as a success at the end",
        breaks: &["a_result_says_how_it_came_about"],
        hides: &[],
        how: How::EditOnly(|d, old, _| {
            let failed = d.status == DeploymentStatus::Failed && old.status != d.status;
            if failed && d.cancel.is_none() {
                d.status = DeploymentStatus::Succeeded;
            }
        }),
    },
];
