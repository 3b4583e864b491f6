//! What a history knows of its past beside what is stored: kept from what was
//! seen to happen, without the rules that are under trial.

use std::time::Duration;

use crate::lifecycle::{Event, TurnEnd};
use crate::model::{Deployment, DeploymentStatus, Stage, StageStatus, Timestamp, Wake};

/// How many commands of people a stage was given: in all, when its newest turn
/// began, and how many of them its plugin has answered.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct People {
    given: usize,
    called: usize,
    answered: usize,
}

impl People {
    /// Whether something is left that no turn was there for.
    pub(super) fn wait_for_an_answer(self) -> bool {
        self.given > self.answered
    }

    fn update(&mut self, stage: &Stage, event: &Event) {
        match event {
            Event::Commanded { stage: id, .. } if id == &stage.id => self.given += 1,
            Event::StageBegun(id) if id == &stage.id => self.called = self.given,
            Event::StageEnded {
                stage: id,
                end: TurnEnd::Suspended(wakes),
                ..
            } if id == &stage.id => {
                let commands = wakes.iter().filter_map(|wake| match wake {
                    Wake::Command(seen) => Some(*seen as usize),
                    Wake::At(_) => None,
                });
                // Who waits for none asks nothing of people.
                let seen = commands.min().unwrap_or(self.given);
                self.answered = seen.clamp(self.called, self.given);
            }
            _ => {}
        }
    }
}

#[derive(Debug)]
pub(super) struct Ledger {
    /// The stages that were begun, as places in the plan, in that order.
    pub(super) begun: Vec<usize>,
    /// Those that were seen at their end.
    pub(super) ended: Vec<bool>,
    /// How often a host died under each.
    pub(super) losses: Vec<u32>,
    /// What people did to each that its plugin was not called for yet.
    pub(super) people: Vec<People>,
    /// Whether the clock was ever set back.
    pub(super) set_back: bool,
    /// How long stages were running up to `since`.
    active: Duration,
    since: Option<Timestamp>,
    /// `active` when the rollback began.
    pub(super) active_before_rollback: Duration,
}

impl Ledger {
    pub(super) fn new(stages: usize) -> Self {
        Self {
            begun: Vec::new(),
            ended: vec![false; stages],
            losses: vec![0; stages],
            people: vec![People::default(); stages],
            set_back: false,
            active: Duration::ZERO,
            since: None,
            active_before_rollback: Duration::ZERO,
        }
    }

    /// How long stages were running up to now.
    pub(super) fn active(&self, now: Timestamp) -> Duration {
        self.active + self.since.map_or(Duration::ZERO, |since| now.since(since))
    }

    /// Notes what a change that was stored did.
    pub(super) fn update(
        &mut self,
        old: &Deployment,
        new: &Deployment,
        event: &Event,
        now: Timestamp,
    ) {
        for (place, stage) in new.stages.iter().enumerate() {
            if stage.status.is_final() {
                self.ended[place] = true;
            }
            self.people[place].update(stage, event);
            match event {
                Event::StageBegun(id) if id == &stage.id && !self.begun.contains(&place) => {
                    self.begun.push(place);
                }
                Event::StageLost {
                    stage: id,
                    clean: false,
                    ..
                } if id == &stage.id => self.losses[place] += 1,
                _ => {}
            }
        }
        let running = |deployment: &Deployment| {
            let mut stages = deployment.stages.iter();
            stages.any(|stage| stage.status == StageStatus::Running)
        };
        if running(new) {
            self.since.get_or_insert(now);
        } else {
            self.active = self.active(now);
            self.since = None;
        }
        let rolls_back =
            |deployment: &Deployment| deployment.status == DeploymentStatus::RollingBack;
        if rolls_back(new) && !rolls_back(old) {
            self.active_before_rollback = self.active;
        }
    }
}
