//! Defects in what is undone.

use super::{Defect, How, all, each, restart};
use crate::lifecycle::Event;
use crate::model::{DeploymentStatus, RollbackStatus, Shared, Stage, StageId, StageStatus};

pub(super) const DEFECTS: &[Defect] = &[
    Defect {
        name: "a rollback ascends",
        breaks: &["whatever_waits_is_explained"],
        hides: &["rollback_stages_go_one_by_one_in_descending_order"],
        how: How::Blind(
            |d| {
                for stage in d.stages.iter_mut().filter(|stage| stage.rollback) {
                    stage.index = 100 - stage.index;
                }
            },
            |d, old| each(d, old, |stage, old| stage.index = old.index),
        ),
    },
    Defect {
        name: "what never started is undone too",
        breaks: &["only_what_had_started_is_undone"],
        hides: &[],
        how: How::Blind(
            |d| {
                let forward: Vec<StageId> = d.forward_stages().map(|s| s.id.clone()).collect();
                all(d, |stage| {
                    if stage.rollback {
                        stage.undoes.clone_from(&forward);
                    }
                });
            },
            |d, old| each(d, old, |stage, old| stage.undoes.clone_from(&old.undoes)),
        ),
    },
    Defect {
        name: "a rollback forgets its last stage",
        breaks: &["what_had_started_is_undone"],
        hides: &[],
        how: How::Edit(|d, old, event| {
            let begins = d.status == DeploymentStatus::RollingBack
                && old.status != d.status
                && matches!(event, Event::StageEnded { .. });
            let waits = |stage: &&mut Shared<Stage>| stage.rollback && !stage.status.is_final();
            if let Some(stage) = d.stages.iter_mut().find(waits).filter(|_| begins) {
                stage.status = StageStatus::NotRun;
            }
        }),
    },
    Defect {
        name: "`autoRollback: false` is forgotten",
        breaks: &["no_rollback_runs_that_is_not_wanted"],
        hides: &[],
        how: How::Blind(
            |d| d.auto_rollback = true,
            |d, old| d.auto_rollback = old.auto_rollback,
        ),
    },
    Defect {
        name: "a cancel without a rollback is rolled back",
        breaks: &[
            "a_cancel_that_was_taken_is_kept_and_followed",
            "no_rollback_runs_that_is_not_wanted",
        ],
        hides: &[],
        how: How::Blind(
            |d| {
                if let Some(cancel) = &mut d.cancel {
                    cancel.rollback = true;
                }
            },
            |d, old| {
                let mut seen = old.cancel.clone();
                if let Some(cancel) = &mut seen {
                    cancel.rollback = true;
                }
                if d.cancel == seen {
                    d.cancel.clone_from(&old.cancel);
                }
            },
        ),
    },
    Defect {
        name: "a finished rollback stage may run again",
        breaks: &[
            "a_finished_rollback_stage_is_not_run_again",
            "a_stage_begins_if_and_only_if_it_is_offered",
            "what_is_at_its_end_stays_so",
        ],
        hides: &[],
        how: How::Allow(|d, event, now| {
            let rollback = d.rollback.as_ref().map(|rollback| rollback.status);
            let idle = |stage: &Stage| stage.started_at.is_none() || stage.status.is_final();
            let goes_on = rollback == Some(RollbackStatus::Running)
                && d.timeout.is_none()
                && d.all_stages().all(idle);
            goes_on
                && restart(d, event, now, |stage| {
                    stage.rollback && stage.status.is_final() && stage.started_at.is_some()
                })
        }),
    },
    Defect {
        name: "a failed rollback is told as a success",
        breaks: &["a_rollback_has_a_result_of_its_own"],
        hides: &[],
        how: How::EditOnly(|d, _, _| {
            if let Some(rollback) = &mut d.rollback
                && rollback.status == RollbackStatus::Failed
            {
                rollback.status = RollbackStatus::Succeeded;
            }
        }),
    },
    Defect {
        name: "a rollback stage is never shown",
        breaks: &["a_rollback_stage_shows_when_it_starts_behind_the_last_that_did"],
        hides: &[],
        how: How::EditOnly(|d, _, _| {
            for stage in d.stages.iter_mut().filter(|stage| stage.rollback) {
                stage.visible = false;
            }
        }),
    },
    Defect {
        name: "a rollback stage stands behind the first that started",
        breaks: &["a_rollback_stage_shows_when_it_starts_behind_the_last_that_did"],
        hides: &[],
        how: How::EditOnly(|d, old, event| {
            let first = old.stages.iter().find(|stage| stage.started_at.is_some());
            let first = first.map(|stage| stage.id.clone());
            if let (Event::StageBegun(id), Some(first)) = (event, first) {
                each(d, old, |stage, old| {
                    if stage.rollback && &stage.id == id && old.started_at.is_none() {
                        stage.requires = vec![first.clone()];
                    }
                });
            }
        }),
    },
];
