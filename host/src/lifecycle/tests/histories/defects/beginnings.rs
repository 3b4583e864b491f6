//! Defects in what begins, and what becomes of it when its host is gone.

use super::{Defect, How, all, begun, each, restart};
use crate::lifecycle::Event;
use crate::model::{StageStatus, Timestamp};

pub(super) const DEFECTS: &[Defect] = &[
    Defect {
        name: "a rollback stage that is offered can't begin",
        breaks: &["a_stage_begins_if_and_only_if_it_is_offered"],
        hides: &["every_deployment_comes_to_an_end_or_waits_for_a_person"],
        how: How::Refuse(|d, event| {
            let stage = begun(event).and_then(|id| d.stage(id));
            stage.is_some_and(|stage| stage.rollback)
        }),
    },
    Defect {
        name: "`needs` is forgotten",
        breaks: &[
            "what_is_to_be_skipped_is_never_called",
            "what_was_planned_stays",
        ],
        hides: &["no_stage_begins_before_what_it_requires_ended_well"],
        how: How::Mistake(|event| {
            if let Event::Planned(plan) = event {
                for stage in &mut plan.stages {
                    stage.requires.clear();
                }
            }
        }),
    },
    Defect {
        name: "what was not to run begins after all",
        breaks: &[
            "a_stage_begins_if_and_only_if_it_is_offered",
            "no_stage_begins_before_what_it_requires_ended_well",
            "no_stage_begins_once_the_ending_is_known",
            "what_is_at_its_end_stays_so",
        ],
        hides: &[],
        how: How::Allow(|d, event, now| {
            !d.status.is_final()
                && d.timeout.is_none()
                && restart(d, event, now, |stage| {
                    stage.status == StageStatus::NotRun && !stage.rollback && stage.skip.is_none()
                })
        }),
    },
    Defect {
        name: "a stage's time limit is forgotten",
        breaks: &["whatever_waits_is_explained"],
        hides: &[
            "nothing_begins_when_its_time_is_over",
            "what_waits_beyond_its_limit_ends",
        ],
        how: How::Blind(
            |d| all(d, |stage| stage.timeout = None),
            |d, old| each(d, old, |stage, old| stage.timeout = old.timeout),
        ),
    },
    Defect {
        name: "`skipOn` is forgotten",
        breaks: &["what_is_to_be_skipped_is_never_called"],
        hides: &[],
        how: How::Blind(
            |d| all(d, |stage| stage.skip = None),
            |d, old| each(d, old, |stage, old| stage.skip.clone_from(&old.skip)),
        ),
    },
    Defect {
        name: "what is suspended comes back at once",
        breaks: &["what_is_suspended_comes_back_for_what_it_waits_for"],
        hides: &[],
        how: How::Blind(
            |d| {
                all(d, |stage| {
                    if let Some(wait) = &mut stage.wait {
                        wait.until = Some(Timestamp(0));
                    }
                });
            },
            |d, old| {
                each(d, old, |stage, old| {
                    if stage.status == old.status {
                        stage.wait.clone_from(&old.wait);
                    }
                });
            },
        ),
    },
    Defect {
        name: "a command between the look and the suspension is missed",
        breaks: &["what_is_suspended_comes_back_for_what_it_waits_for"],
        hides: &[],
        how: How::Edit(|d, old, event| {
            if let Event::StageEnded { .. } = event {
                each(d, old, |stage, old| {
                    let last = old.commands.len() as u64;
                    if let Some(after) = stage.wait.as_mut().and_then(|w| w.after_command.as_mut())
                    {
                        *after = last;
                    }
                });
            }
        }),
    },
    Defect {
        name: "the attempt is not counted up at a loss",
        breaks: &["attempts_and_turns_only_grow"],
        hides: &["an_older_attempt_changes_nothing"],
        how: How::EditOnly(|d, old, event| {
            if let Event::StageLost { stage: id, .. } = event {
                each(d, old, |stage, old| {
                    if &stage.id == id && old.status == StageStatus::Running {
                        stage.attempt = old.attempt;
                        stage.attempt.turn -= 1;
                    }
                });
            }
        }),
    },
    Defect {
        name: "a stage is lost when its host dies once",
        breaks: &["a_stage_is_lost_only_when_it_was_lost_too_often"],
        hides: &[],
        how: How::Mistake(|event| {
            if let Event::StageLost { limit, .. } = event {
                *limit = 1;
            }
        }),
    },
    Defect {
        name: "a stage is lost never",
        breaks: &["a_stage_is_lost_only_when_it_was_lost_too_often"],
        hides: &[],
        how: How::Mistake(|event| {
            if let Event::StageLost { limit, .. } = event {
                *limit = u32::MAX;
            }
        }),
    },
    Defect {
        name: "a clean stop counts as a loss",
        breaks: &["a_clean_stop_never_counts"],
        hides: &[],
        how: How::EditOnly(|d, old, event| {
            if let Event::StageLost { clean: true, .. } = event {
                each(d, old, |stage, old| {
                    if old.status == StageStatus::Running && stage.status == StageStatus::Waiting {
                        stage.losses += 1;
                    }
                });
            }
        }),
    },
    Defect {
        name: "a stage that was interrupted fails",
        breaks: &["an_interrupted_stage_runs_again"],
        hides: &[],
        how: How::Edit(|d, old, event| {
            if let Event::StageLost { .. } = event {
                let at = Some(Timestamp(1));
                each(d, old, |stage, old| {
                    let taken = old.status == StageStatus::Running;
                    if taken && stage.status == StageStatus::Waiting {
                        stage.status = StageStatus::Failed;
                        stage.attempt = old.attempt;
                        stage.ended_at = at;
                    }
                });
            }
        }),
    },
];
