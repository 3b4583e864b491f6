//! How a history comes to its end: hosts do what there is to do, and people what
//! is waited for, until nothing is left.

use super::super::scene::name_of;
use super::super::script::End;
use super::{Complaint, Turn, World};
use crate::lifecycle::{Event, Leased, Next};
use crate::model::{CommandKind, Operation, Stage, StageStatus};

/// How many steps may pass from the end of a script to the end of its deployment.
const PATIENCE: usize = 500;

impl World<'_> {
    /// Lets hosts do what there is to do until the deployment is at its end. What
    /// waits for a person is what the script had them leave undone.
    pub(super) fn drain(&mut self) {
        for _ in 0..PATIENCE {
            if !self.complaints.is_empty() || self.store.status.is_final() {
                break;
            }
            if !self.bring_on() {
                break;
            }
        }
        if self.complaints.is_empty() && !self.store.status.is_final() {
            let what = format!("it is {} and {:?}", self.store.status, self.next());
            self.complain(vec![Complaint {
                invariant: "every_deployment_comes_to_an_end_or_waits_for_a_person",
                what,
            }]);
        }
        self.counts.end(&self.store);
    }

    /// Does what is next. Whether that was possible.
    fn bring_on(&mut self) -> bool {
        match self.next() {
            Next::Done => false,
            Next::Plan => {
                self.leases.retain(|lease| lease.what != Leased::Plan);
                self.plan(0, false);
                self.planned(0, true, false);
                true
            }
            Next::Begin(ids) => {
                let first = ids.first().and_then(|id| self.store.stage(id));
                first
                    .map(name_of)
                    .is_some_and(|name| self.begin(0, name, false))
            }
            Next::Tick => self.fire(Event::Tick, 0, None, false),
            Next::At(time) => {
                self.pass(time.since(self.now).as_millis() as u64);
                true
            }
            Next::Busy => self.wait_for_somebody(),
        }
    }

    fn wait_for_somebody(&mut self) -> bool {
        if let Some(turn) = self.turns.iter().position(|turn| !turn.over) {
            let Turn { place, attempt, .. } = self.turns[turn];
            if !self.is_orphaned(&self.turns[turn]) {
                let name = name_of(&self.plan[place]);
                self.answer(name, attempt, End::Succeeded, false);
            } else {
                self.lose(turn, false);
            }
            return self.turns[turn].over;
        }
        let waits = |stage: &&Stage| stage.status == StageStatus::Suspended;
        let Some(stage) = self.store.all_stages().find(waits) else {
            return false;
        };
        let kind = match stage.operation {
            Operation::None => return false,
            Operation::Approve => CommandKind::Approve,
            Operation::Skip => CommandKind::Skip,
        };
        // Somebody who has not yet said so; if all have, only a cancel is left.
        let said = |name: &String| stage.commands.iter().any(|command| &command.by == name);
        let anyone = ["eve".to_owned(), "fay".to_owned()];
        let who = if stage.authorized_operators.is_empty() {
            &anyone[..]
        } else {
            &stage.authorized_operators[..]
        };
        let event = match who.iter().find(|name| !said(name)) {
            Some(by) => Event::Commanded {
                stage: stage.id.clone(),
                kind,
                by: by.clone(),
            },
            None => Event::Cancelled {
                by: None,
                why: String::new(),
                rollback: false,
            },
        };
        self.fire(event, 0, None, false)
    }
}
