//! A world around one deployment: a store that takes a change only on the version
//! that it was decided on, hosts that run turns under leases, a clock that can be
//! set.

mod drain;
mod hosts;

use std::time::Duration;

use super::counts::Counts;
use super::invariants::{self, Origin, Seen};
use super::ledger::Ledger;
use super::rules::Rules;
use super::scene::name_of;
use super::script::{Line, Script, Step};
use crate::lifecycle::{Event, Leased, Next};
use crate::model::{Attempt, Deployment, Stage, StageId, Timestamp};

/// How many hosts there are.
pub(super) const HOSTS: usize = 3;

/// How long a lease lasts, in milliseconds.
const LEASE: u64 = 15_000;

/// A host, from its start to its death.
type Host = (usize, u32);

/// A turn of a stage that some host began.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    pub(super) place: usize,
    pub(super) attempt: Attempt,
    pub(super) host: Host,
    /// On the clock that nobody sets, in milliseconds.
    began: u64,
    left: Duration,
    /// Whether the store has taken its end, or its loss.
    pub(super) over: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Planning {
    pub(super) attempt: u32,
    pub(super) host: Host,
    pub(super) over: bool,
}

#[derive(Clone, Debug)]
struct Lease {
    what: Leased,
    host: Host,
    until: Timestamp,
}

/// An invariant that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Complaint {
    pub(super) invariant: &'static str,
    pub(super) what: String,
}

pub(super) struct World<'a> {
    rules: &'a dyn Rules,
    counts: &'a mut Counts,
    plan: Vec<Stage>,
    pub(super) store: Deployment,
    /// The deployment one change ago.
    before: Option<Deployment>,
    pub(super) now: Timestamp,
    /// A clock that nobody sets, in milliseconds.
    steady: u64,
    /// How often each host was started.
    hosts: [u32; HOSTS],
    pub(super) turns: Vec<Turn>,
    pub(super) plannings: Vec<Planning>,
    leases: Vec<Lease>,
    ledger: Ledger,
    /// What the first step that broke an invariant broke.
    pub(super) complaints: Vec<Complaint>,
}

impl<'a> World<'a> {
    pub(super) fn new(script: &Script, rules: &'a dyn Rules, counts: &'a mut Counts) -> Self {
        let plan = script.scene.plan();
        let store = script.scene.deployment();
        Self {
            rules,
            counts,
            ledger: Ledger::new(plan.len()),
            plan,
            now: store.created_at,
            store,
            before: None,
            steady: 0,
            hosts: [1; HOSTS],
            turns: Vec::new(),
            plannings: Vec::new(),
            leases: Vec::new(),
            complaints: Vec::new(),
        }
    }

    /// Plays a script to its end, and the deployment to its own.
    pub(super) fn play(mut self, script: &Script) -> Vec<Complaint> {
        for line in &script.lines {
            self.step(line);
            if !self.complaints.is_empty() {
                return self.complaints;
            }
        }
        self.drain();
        self.complaints
    }

    pub(super) fn next(&self) -> Next {
        self.rules.next(&self.store, self.now)
    }

    pub(super) fn place(&self, name: char) -> Option<usize> {
        self.plan.iter().position(|stage| name_of(stage) == name)
    }

    pub(super) fn step(&mut self, line: &Line) {
        self.counts.steps += 1;
        let stale = line.stale;
        match &line.step {
            Step::Pass(ms) => self.pass(*ms),
            Step::Jump(ms) => {
                self.now = Timestamp(self.now.0.saturating_add(*ms));
                self.counts.count("clock set forward");
            }
            Step::Back(ms) => {
                self.now = Timestamp(self.now.0.saturating_sub(*ms));
                self.ledger.set_back = true;
                self.counts.count("clock set back");
            }
            Step::Plan(host) => self.plan(*host, stale),
            Step::Planned(host, well) => self.planned(*host, *well, stale),
            Step::Begin(host, name) => {
                self.begin(*host, *name, stale);
            }
            Step::Answer(name, attempt, end) => self.answer(*name, *attempt, *end, stale),
            Step::Die(host) => {
                self.hosts[*host] += 1;
                self.counts.count("host died");
            }
            Step::Stop(host) => self.stop(*host),
            Step::TakeOver(host) => self.take_over(*host),
            Step::Cancel(by, rollback) => {
                let event = Event::Cancelled {
                    by: Some(by.clone()),
                    why: String::new(),
                    rollback: *rollback,
                };
                self.fire(event, 0, None, stale);
            }
            Step::Command(kind, name, by) => {
                let stage = StageId::new(name.to_string());
                let (kind, by) = (*kind, by.clone());
                self.fire(Event::Commanded { stage, kind, by }, 0, None, stale);
            }
            Step::Tick => {
                self.fire(Event::Tick, 0, None, stale);
            }
        }
    }

    fn pass(&mut self, ms: u64) {
        self.now = Timestamp(self.now.0.saturating_add(ms));
        self.steady += ms;
        let until = Timestamp(self.now.0.saturating_add(LEASE));
        for lease in &mut self.leases {
            if self.hosts[lease.host.0] == lease.host.1 {
                lease.until = until;
            }
        }
    }

    /// Applies an event, looks whether all that always holds still does, and
    /// stores the change. Whether there was one.
    fn fire(&mut self, event: Event, host: usize, origin: Option<Origin>, stale: bool) -> bool {
        if !self.complaints.is_empty() {
            return false;
        }
        if let Some(before) = self.before.as_ref().filter(|_| stale) {
            // Who decided on what is no longer there comes second, and decides
            // again.
            if let Ok(change) = self.rules.apply(before, event.clone(), self.now) {
                self.counts.count("decision on an older version");
                if change.deployment.version == self.store.version + 1 {
                    self.complain(vec![Complaint {
                        invariant: "each_step_has_one_winner",
                        what: "a change was decided on an older version and fits".to_owned(),
                    }]);
                    return false;
                }
            }
        }
        let outcome = self.rules.apply(&self.store, event.clone(), self.now);
        let host = (host, self.hosts[host]);
        let mut leases = self.leases.clone();
        if let Ok(change) = &outcome {
            let until = Timestamp(self.now.0.saturating_add(LEASE));
            leases.retain(|lease| !change.released.contains(&lease.what));
            leases.retain(|lease| !change.taken.contains(&lease.what));
            leases.extend(
                change
                    .taken
                    .iter()
                    .cloned()
                    .map(|what| Lease { what, host, until }),
            );
        }
        let what: Vec<Leased> = leases.iter().map(|lease| lease.what.clone()).collect();
        let after = outcome.as_ref().ok().map(|change| &change.deployment);
        let seen = Seen {
            rules: self.rules,
            plan: &self.plan,
            before: &self.store,
            event: &event,
            outcome: &outcome,
            now: self.now,
            next: after.map(|after| self.rules.next(after, self.now)),
            waiting: after.map(|after| self.rules.waiting(after, self.now)),
            leases: &what,
            ledger: &self.ledger,
            origin,
        };
        let complaints = invariants::complaints(&seen);
        self.complain(complaints);
        self.counts.event(&event, &outcome);
        let Ok(change) = outcome else { return false };
        self.ledger
            .update(&self.store, &change.deployment, &event, self.now);
        self.leases = leases;
        self.before = Some(std::mem::replace(&mut self.store, change.deployment));
        true
    }

    /// Keeps complaints of the invariants that are looked at.
    fn complain(&mut self, complaints: Vec<Complaint>) {
        let only = self.counts.only;
        let heard = |complaint: &Complaint| only.is_none_or(|only| only == complaint.invariant);
        self.complaints = complaints.into_iter().filter(heard).collect();
    }
}
