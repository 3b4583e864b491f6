//! What always holds, each as a function with a name that says it. They look at
//! one event: what was stored before it, what the rules made of it, and what the
//! history knows of its past.

mod endings;
mod losing;
mod order;
mod records;
mod rollback;
mod waits;

use super::ledger::Ledger;
use super::rules::Rules;
use super::world::Complaint;
use crate::lifecycle::{
    Change, DEFAULT_DEPLOYMENT_TIMEOUT, Event, Leased, Next, Rejected, Waiting,
};
use crate::model::{Deployment, Stage, StageId, StageStatus, Timestamp};

/// An event, and what became of it.
pub(super) struct Seen<'a> {
    pub(super) rules: &'a dyn Rules,
    /// The stages as they were planned.
    pub(super) plan: &'a [Stage],
    pub(super) before: &'a Deployment,
    pub(super) event: &'a Event,
    pub(super) outcome: &'a Result<Change, Rejected>,
    pub(super) now: Timestamp,
    /// What is next after the event, if it was taken.
    pub(super) next: Option<Next>,
    /// What waits after the event, if it was taken.
    pub(super) waiting: Option<Vec<Waiting>>,
    /// What is leased after the event.
    pub(super) leases: &'a [Leased],
    /// The past, without the event.
    pub(super) ledger: &'a Ledger,
    /// The turn that the event is the end of, if it is one's.
    pub(super) origin: Option<Origin>,
}

/// A turn that somebody says is at its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    /// Whether that was said and taken before.
    pub(super) over: bool,
}

/// A stage before and after an event.
pub(super) struct Step<'a> {
    pub(super) place: usize,
    pub(super) was: &'a Stage,
    pub(super) is: &'a Stage,
}

impl Step<'_> {
    /// Whether a turn of the stage was begun.
    pub(super) fn is_begun(&self) -> bool {
        self.is.status == StageStatus::Running && self.was.status != StageStatus::Running
    }
}

impl<'a> Seen<'a> {
    /// The deployment that the event made, if it was taken.
    pub(super) fn after(&self) -> Option<&'a Deployment> {
        self.outcome.as_ref().ok().map(|change| &change.deployment)
    }

    /// All stages, as far as the event was taken. A stage that was not there
    /// before was as it is planned.
    pub(super) fn steps(&self) -> impl Iterator<Item = Step<'a>> {
        let (before, plan) = (self.before, self.plan);
        let stages = self.after().map_or(&[][..], |after| &after.stages);
        stages.iter().enumerate().map(move |(place, is)| Step {
            place,
            was: before.stages.get(place).map_or(&plan[place], |was| was),
            is,
        })
    }

    /// The stage of which a turn was begun, if one was.
    pub(super) fn begun(&self) -> Option<Step<'a>> {
        self.steps().find(Step::is_begun)
    }

    /// What was stored, and what time had made of it by now without the event.
    pub(super) fn as_it_stood(&self) -> Deployment {
        match self.rules.apply(self.before, Event::Tick, self.now) {
            Ok(change) => change.deployment,
            Err(_) => self.before.clone(),
        }
    }

    /// Whether a stage has a turn to come, or under way, for what people did to it in
    /// time.
    pub(super) fn is_owed(stage: &Stage) -> bool {
        let last = stage.commands.len() as u64;
        match stage.status {
            StageStatus::Suspended => {
                let after = stage.wait.as_ref().and_then(|wait| wait.after_command);
                after.is_some_and(|after| last > after)
            }
            status => !status.is_final() && last > stage.answered,
        }
    }

    /// Whether the time of the deployment, or of its rollback, is over.
    pub(super) fn is_over(&self, deployment: &Deployment, rollback: bool) -> bool {
        let active = self.ledger.active(self.now);
        let (since, active) = match &deployment.rollback {
            Some(undoing) if rollback => {
                let used = active.saturating_sub(self.ledger.active_before_rollback);
                (Some(undoing.started_at), used)
            }
            _ => (deployment.started_at, active),
        };
        match deployment.timeout {
            Some(limit) => order::is_over(since, Some(limit), self.now),
            None => active >= DEFAULT_DEPLOYMENT_TIMEOUT,
        }
    }

    /// The stage's place in the plan.
    pub(super) fn place(&self, id: &StageId) -> Option<usize> {
        self.plan.iter().position(|stage| &stage.id == id)
    }
}

/// Complains with a sentence unless something holds.
macro_rules! hold {
    ($holds:expr, $($otherwise:tt)+) => {
        if !$holds {
            return Err(format!($($otherwise)+));
        }
    };
}
use hold;

type Held = Result<(), String>;

type Invariant = (&'static str, fn(&Seen<'_>) -> Held);

macro_rules! invariants {
    ($($subject:ident: $($name:ident),+;)+) => {
        /// All of them.
        pub(super) const INVARIANTS: &[Invariant] =
            &[$($((stringify!($name), $subject::$name as fn(&Seen<'_>) -> Held)),+),+];
    };
}

invariants! {
    order:
        a_stage_begins_if_and_only_if_it_is_offered,
        no_stage_begins_before_what_it_requires_ended_well,
        no_stage_begins_once_the_ending_is_known,
        nothing_begins_when_its_time_is_over,
        what_is_to_be_skipped_is_never_called,
        what_is_suspended_comes_back_for_what_it_waits_for;
    endings:
        what_is_at_its_end_stays_so,
        a_cancel_that_was_taken_is_kept_and_followed,
        a_cancel_is_refused_only_when_it_says_nothing_new,
        an_answer_counts_as_it_was_given,
        what_timed_out_is_told_so,
        what_was_cancelled_is_told_so,
        a_result_says_how_it_came_about;
    rollback:
        rollback_stages_go_one_by_one_in_descending_order,
        only_what_had_started_is_undone,
        what_had_started_is_undone,
        no_rollback_runs_that_is_not_wanted,
        a_finished_rollback_stage_is_not_run_again,
        a_rollback_has_a_result_of_its_own,
        a_rollback_stage_shows_when_it_starts_behind_the_last_that_did;
    losing:
        attempts_and_turns_only_grow,
        an_older_attempt_changes_nothing,
        a_stage_is_lost_only_when_it_was_lost_too_often,
        a_clean_stop_never_counts,
        an_interrupted_stage_runs_again;
    waits:
        whatever_waits_is_explained,
        nothing_is_ever_stuck,
        a_change_draws_all_that_follows,
        due_says_when_something_is_next,
        what_waits_beyond_its_limit_ends,
        what_people_did_in_time_has_its_turn_before_a_limit_ends_anything;
    records:
        events_tell_each_change_once_and_in_order,
        active_time_is_that_in_which_something_ran,
        what_runs_is_leased_and_nothing_else,
        commands_are_taken_from_those_who_may_and_kept,
        what_was_planned_stays,
        a_change_names_all_that_differs,
        each_change_counts_one_version;
}

/// What does not hold.
pub(super) fn complaints(seen: &Seen<'_>) -> Vec<Complaint> {
    let broken = INVARIANTS.iter().filter_map(|(invariant, holds)| {
        let what = holds(seen).err()?;
        Some(Complaint { invariant, what })
    });
    broken.collect()
}
