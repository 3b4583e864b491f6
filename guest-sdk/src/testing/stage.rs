//! A stage of a test, over its turns and attempts.

use std::fmt::Display;

use crate::bindings::types::Entry;
use crate::input::Cause;
use crate::plan::{PlannedStage, RequestedStage};
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
    /// What it waits for, if it is suspended.
    pub wakes_at: Option<Timestamp>,
}

impl StageRun {
    pub(super) fn new(id: String, name: &str, options: &impl Display) -> Self {
        Self {
            id,
            name: name.to_owned(),
            index: 0,
            rollback: false,
            metadata: Vec::new(),
            options: options.to_string(),
            first_started_at: None,
            attempt: 1,
            turn: 1,
            cause: Cause::First,
            wakes_at: None,
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

    /// As it was planned: with that stage's index, metadata and kind.
    pub fn planned(mut self, planned: &PlannedStage) -> Self {
        self.index = planned.index;
        self.rollback = planned.rollback;
        self.metadata.clone_from(&planned.metadata);
        self
    }

    /// Makes the next call the one after the host died while the stage ran: its
    /// next attempt, with its state kept.
    pub fn lose(&mut self) {
        self.attempt += 1;
        self.turn = 1;
        self.cause = Cause::Loss;
        self.wakes_at = None;
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
