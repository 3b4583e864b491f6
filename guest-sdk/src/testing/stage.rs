//! A stage of a test, over its turns and attempts.

use std::fmt::Display;

use crate::bindings::types::Entry;
use crate::commands::Command;
use crate::input::Cause;
use crate::outcome::Wake;
use crate::plan::{Operation, PlannedStage, RequestedStage};
use crate::time::Timestamp;

/// A stage that a test executes, turn by turn. Made by
/// [`FakeHost::stage`](super::FakeHost::stage).
#[derive(Debug, Clone)]
pub struct StageRun {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its place in the plan.
    pub index: u32,
    /// Whether it is executed to undo others.
    pub rollback: bool,
    /// The metadata that it was planned with.
    pub metadata: Vec<Entry>,
    /// What a person may do to it; nothing unless it was
    /// [`planned`](Self::planned) or is [`operated_by`](Self::operated_by) people.
    pub operation: Operation,
    /// Who may do so; empty for anyone.
    pub authorized_operators: Vec<String>,
    /// What people did to it, over its turns and attempts.
    pub commands: Vec<Command>,
    /// Its options as JSON text.
    pub options: String,
    /// When it first started; set by the first call.
    pub first_started_at: Option<Timestamp>,
    /// The attempt of the next call.
    pub attempt: u32,
    /// The turn of the next call.
    pub turn: u32,
    /// Why the next call is made.
    pub cause: Cause,
    /// The time that it waits for, if it is suspended until one.
    pub wakes_at: Option<Timestamp>,
    /// The number that the command it waits for comes after, if it is suspended
    /// until one.
    pub wakes_after_command: Option<u64>,
    /// The status that it ended with.
    pub ended: Option<&'static str>,
}

impl StageRun {
    pub(super) fn new(id: String, name: &str, options: &impl Display) -> Self {
        Self {
            id,
            name: name.to_owned(),
            index: 0,
            rollback: false,
            metadata: Vec::new(),
            operation: Operation::None,
            authorized_operators: Vec::new(),
            commands: Vec::new(),
            options: options.to_string(),
            first_started_at: None,
            attempt: 1,
            turn: 1,
            cause: Cause::First,
            wakes_at: None,
            wakes_after_command: None,
            ended: None,
        }
    }

    /// At this place in the plan.
    pub fn at(mut self, index: u32) -> Self {
        self.index = index;
        self
    }

    /// Executed to undo others.
    pub fn as_rollback(mut self) -> Self {
        self.rollback = true;
        self
    }

    /// One that people may approve or skip: those named, or anyone if none is.
    pub fn operated_by<S: Into<String>>(
        mut self,
        operation: Operation,
        operators: impl IntoIterator<Item = S>,
    ) -> Self {
        self.operation = operation;
        self.authorized_operators = operators.into_iter().map(Into::into).collect();
        self
    }

    /// As it was planned: with that stage's index, metadata, kind and operation.
    pub fn planned(mut self, planned: &PlannedStage) -> Self {
        self.index = planned.index;
        self.rollback = planned.rollback;
        self.metadata.clone_from(&planned.metadata);
        self.operation = planned.operation;
        self.authorized_operators
            .clone_from(&planned.authorized_operators);
        self
    }

    pub(super) fn is_suspended(&self) -> bool {
        self.wakes_at.is_some() || self.wakes_after_command.is_some()
    }

    /// Leaves it to the first of these wakes: the earliest time and the lowest
    /// number stand for all.
    pub(super) fn suspend(&mut self, wakes: &[Wake]) {
        let times = wakes.iter().filter_map(|wake| match wake {
            Wake::At(at) => Some(*at),
            Wake::Command(_) => None,
        });
        let commands = wakes.iter().filter_map(|wake| match wake {
            Wake::Command(after) => Some(*after),
            Wake::At(_) => None,
        });
        self.wakes_at = times.min();
        self.wakes_after_command = commands.min();
        assert!(
            self.wakes_at.is_some() || self.operation != Operation::None,
            "{} is suspended until a command, but it is one that nobody approves or skips: plan \
             it with `PlannedStage::operated_by`, and say so in the test with `StageRun::planned`",
            self.name
        );
        self.turn += 1;
        self.cause = Cause::Time;
    }

    /// Ends its suspension, if it is suspended, for a call that is made now.
    pub(super) fn come_back(&mut self, now: Timestamp) {
        let in_time = self.wakes_at.is_some_and(|at| at <= now);
        if self.has_command() && !in_time {
            self.cause = Cause::Command;
        }
        assert!(
            self.wakes_after_command.is_none() || self.wakes_at.is_some() || self.has_command(),
            "{} waits for a command that nobody has given: see `FakeHost::approve` and \
             `FakeHost::skip`",
            self.name
        );
        self.wakes_at = None;
        self.wakes_after_command = None;
        self.ended = None;
    }

    /// Makes the next call the one after the host died while the stage ran: its
    /// next attempt, with its state kept.
    pub fn lose(&mut self) {
        self.attempt += 1;
        self.turn = 1;
        self.cause = Cause::Loss;
        self.wakes_at = None;
        self.wakes_after_command = None;
        self.ended = None;
    }
}

/// A stage of the application's pipeline, for
/// [`FakeHost::pipeline_sync_plan`](super::FakeHost::pipeline_sync_plan).
pub fn requested(index: u32, name: &str, options: impl Display) -> RequestedStage {
    RequestedStage {
        index,
        name: name.to_owned(),
        description: String::new(),
        timeout: None,
        options: options.to_string(),
    }
}
