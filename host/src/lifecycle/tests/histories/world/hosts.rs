//! What hosts do, as the runner does it: who ends a turn looks whether the stage
//! still runs in that turn, who finds a lapsed lease says so.

use std::time::Duration;

use super::super::super::LIMIT;
use super::super::invariants::Origin;
use super::super::script::End;
use super::{Lease, Planning, Turn, World};
use crate::lifecycle::{Event, Leased, Plan, TurnEnd, time_left};
use crate::model::{Attempt, DeploymentStatus, StageStatus, Strategy, Timestamp, Wake};

impl World<'_> {
    fn lapsed(&self, lease: &Lease) -> bool {
        lease.until <= self.now || self.hosts[lease.host.0] != lease.host.1
    }

    pub(super) fn plan(&mut self, host: usize, stale: bool) {
        let lease = self.leases.iter().find(|lease| lease.what == Leased::Plan);
        let open = [DeploymentStatus::Queued, DeploymentStatus::Planning];
        if !open.contains(&self.store.status) || lease.is_some_and(|lease| !self.lapsed(lease)) {
            return;
        }
        let event = Event::PlanBegun {
            limit: LIMIT,
            running: None,
        };
        if self.fire(event, host, None, stale) && self.store.status == DeploymentStatus::Planning {
            self.plannings.push(Planning {
                attempt: self.store.plan_attempt,
                host: (host, self.hosts[host]),
                over: false,
            });
        }
    }

    pub(super) fn planned(&mut self, host: usize, well: bool, stale: bool) {
        let me = (host, self.hosts[host]);
        let mine = |planning: &Planning| planning.host == me && !planning.over;
        let Some(place) = self.plannings.iter().position(mine) else {
            return;
        };
        let event = if well {
            Event::Planned(Box::new(Plan {
                strategy: Strategy::Pipeline,
                summary: String::new(),
                versions: Vec::new(),
                plugins: Vec::new(),
                stages: self.plan.clone(),
            }))
        } else {
            Event::PlanFailed("no plan".to_owned())
        };
        self.end_planning(place, event, stale);
    }

    /// Says that a planning is over, if it is still that one.
    fn end_planning(&mut self, place: usize, event: Event, stale: bool) {
        self.plannings[place].over = true;
        let Planning { attempt, host, .. } = self.plannings[place];
        if self.store.status != DeploymentStatus::Planning || self.store.plan_attempt != attempt {
            self.counts.count("plan that came too late");
            return;
        }
        self.fire(event, host.0, None, stale);
    }

    pub(super) fn begin(&mut self, host: usize, name: char, stale: bool) -> bool {
        let Some(place) = self.place(name) else {
            return false;
        };
        let event = Event::StageBegun(self.plan[place].id.clone());
        if !self.fire(event, host, None, stale) {
            return false;
        }
        let Some(stage) = self.store.stages.get(place) else {
            return false;
        };
        // Who runs it now, nobody else does.
        for turn in self.turns.iter_mut().filter(|turn| turn.place == place) {
            turn.over = true;
        }
        self.turns.push(Turn {
            place,
            attempt: stage.attempt,
            host: (host, self.hosts[host]),
            began: self.steady,
            left: time_left(&self.store, stage, self.now),
            over: false,
        });
        true
    }

    /// Whether the host of a turn is gone.
    pub(in super::super) fn is_orphaned(&self, turn: &Turn) -> bool {
        self.hosts[turn.host.0] != turn.host.1
    }

    /// Whether the time that a turn's host gave it is over.
    pub(in super::super) fn time_is_over(&self, turn: &Turn) -> bool {
        Duration::from_millis(self.steady - turn.began) >= turn.left
    }

    pub(super) fn answer(&mut self, name: char, attempt: Attempt, end: End, stale: bool) {
        let Some(place) = self.place(name) else {
            return;
        };
        let same = |turn: &Turn| turn.place == place && turn.attempt == attempt;
        // No two turns are the same; were they, the older one would not know.
        let Some(turn) = self.turns.iter().position(same) else {
            return;
        };
        let late = self.time_is_over(&self.turns[turn]);
        let end = match end {
            _ if late => TurnEnd::TimedOut,
            End::TimedOut => return,
            End::Succeeded => TurnEnd::Succeeded,
            End::Failed => TurnEnd::Failed("boom".to_owned()),
            End::Skipped => TurnEnd::Skipped("nothing to do".to_owned()),
            End::Exited => TurnEnd::Exited("that was all".to_owned()),
            End::Cancelled => TurnEnd::Cancelled,
            End::Suspended(time, command) => {
                let time = time.map(|ms| Wake::At(Timestamp(self.now.0.saturating_add(ms))));
                let wakes = time.into_iter().chain(command.map(Wake::Command));
                TurnEnd::Suspended(wakes.collect())
            }
        };
        let event = Event::StageEnded {
            stage: self.plan[place].id.clone(),
            end,
            targets: Vec::new(),
            exit_code: None,
        };
        self.end(turn, event, stale);
    }

    /// Says that a turn is over, if the stage still runs in it.
    fn end(&mut self, turn: usize, event: Event, stale: bool) {
        let Turn {
            place,
            attempt,
            host,
            over,
            ..
        } = self.turns[turn];
        let Some(stage) = self.store.stages.get(place) else {
            return;
        };
        if stage.status != StageStatus::Running || stage.attempt != attempt {
            self.counts.count("end that came too late");
            return;
        }
        if self.fire(event, host.0, Some(Origin { over }), stale) {
            self.turns[turn].over = true;
        }
    }

    pub(super) fn stop(&mut self, host: usize) {
        let me = (host, self.hosts[host]);
        for turn in 0..self.turns.len() {
            if self.turns[turn].host == me && !self.turns[turn].over {
                self.lose(turn, true);
            }
        }
        for planning in 0..self.plannings.len() {
            if self.plannings[planning].host == me && !self.plannings[planning].over {
                self.end_planning(planning, Event::PlanHandedBack, false);
            }
        }
        self.hosts[host] += 1;
    }

    pub(super) fn take_over(&mut self, host: usize) {
        let me = (host, self.hosts[host]);
        for lease in self.leases.clone() {
            let Leased::Stage(id) = &lease.what else {
                continue;
            };
            if lease.host == me || !self.lapsed(&lease) {
                continue;
            }
            let running = |turn: &Turn| &self.plan[turn.place].id == id && turn.host == lease.host;
            if let Some(turn) = self.turns.iter().rposition(running) {
                self.lose(turn, false);
            }
        }
    }

    pub(super) fn lose(&mut self, turn: usize, clean: bool) {
        let event = Event::StageLost {
            stage: self.plan[self.turns[turn].place].id.clone(),
            clean,
            limit: LIMIT,
        };
        self.end(turn, event, false);
    }
}
