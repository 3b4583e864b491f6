//! Rules with a defect. For each invariant there is at least one that it catches;
//! so a history that breaks nothing says something.

mod beginnings;
mod endings;
mod records;
mod undoing;

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::counts::Counts;
use super::invariants::INVARIANTS;
use super::rules::Rules;
use super::{generate, report};
use crate::lifecycle::{self, Change, Event, Next, Rejected, Waiting, settle};
use crate::model::{Cause, Deployment, Stage, StageId, StageStatus, Timestamp};

/// How many histories are played under each defect.
const HISTORIES: u64 = 3_000;

/// What holds of a history as a whole rather than of an event.
const OF_HISTORIES: [&str; 2] = [
    "each_step_has_one_winner",
    "every_deployment_comes_to_an_end_or_waits_for_a_person",
];

/// Rules that are wrong in one thing.
struct Defect {
    /// What is wrong.
    name: &'static str,
    /// Which invariants notice it first: these, and no others.
    breaks: &'static [&'static str],
    /// Which would notice it too, if those did not look.
    hides: &'static [&'static str],
    how: How,
}

/// How the rules are made wrong.
enum How {
    /// An event is taken for another.
    Mistake(fn(&mut Event)),
    /// The rules see a deployment with something hidden; which is put back.
    Blind(fn(&mut Deployment), fn(&mut Deployment, &Deployment)),
    /// Another deployment comes of an event: from the one before and the event.
    Edit(fn(&mut Deployment, &Deployment, &Event)),
    /// The same, and nothing is drawn from it.
    EditOnly(fn(&mut Deployment, &Deployment, &Event)),
    /// A change is stored otherwise.
    Change(fn(&mut Change)),
    /// An event is refused.
    Refuse(fn(&Deployment, &Event) -> bool),
    /// An event that is refused makes this of the deployment, if it says so.
    Allow(fn(&mut Deployment, &Event, Timestamp) -> bool),
    /// Something else is next.
    Next(fn(&Deployment, Next) -> Next),
    /// Something else is said of what waits.
    Waiting(fn(&mut Vec<Waiting>)),
}

impl Defect {
    /// The change to a deployment, with what is due by these rules.
    fn change(&self, old: &Deployment, new: Deployment, now: Timestamp) -> Change {
        let mut change = Change::between(old, new, now);
        change.due = match self.next(&change.deployment, now) {
            Next::Plan if change.due.is_none() => None,
            Next::Plan | Next::Begin(_) | Next::Tick => Some(Timestamp(0)),
            Next::At(time) => Some(time),
            Next::Busy | Next::Done => None,
        };
        change
    }

    fn hidden(&self, deployment: &Deployment) -> Deployment {
        let mut hidden = deployment.clone();
        if let How::Blind(hide, _) = self.how {
            hide(&mut hidden);
        }
        hidden
    }
}

impl Rules for Defect {
    fn apply(
        &self,
        deployment: &Deployment,
        mut event: Event,
        now: Timestamp,
    ) -> Result<Change, Rejected> {
        if let How::Mistake(mistake) = self.how {
            mistake(&mut event);
        }
        let applied = lifecycle::apply(&self.hidden(deployment), event.clone(), now);
        match (&self.how, applied) {
            (How::Blind(_, restore), Ok(change)) => {
                let mut new = change.deployment;
                restore(&mut new, deployment);
                Ok(self.change(deployment, new, now))
            }
            (How::Edit(edit) | How::EditOnly(edit), Ok(change)) => {
                let mut new = change.deployment.clone();
                edit(&mut new, deployment, &event);
                if new == change.deployment {
                    return Ok(change);
                }
                if matches!(self.how, How::Edit(_)) {
                    settle::settle(&mut new, now);
                }
                Ok(self.change(deployment, new, now))
            }
            (How::Change(edit), Ok(mut change)) => {
                edit(&mut change);
                Ok(change)
            }
            (How::Refuse(refuses), Ok(_)) if refuses(deployment, &event) => {
                Err(lifecycle::reject(deployment, "refused".to_owned()))
            }
            (How::Allow(allow), Err(rejected)) => {
                let mut new = deployment.clone();
                if !allow(&mut new, &event, now) {
                    return Err(rejected);
                }
                settle::settle(&mut new, now);
                Ok(self.change(deployment, new, now))
            }
            (How::Next(_), Ok(change)) => Ok(self.change(deployment, change.deployment, now)),
            (_, applied) => applied,
        }
    }

    fn next(&self, deployment: &Deployment, now: Timestamp) -> Next {
        let next = lifecycle::next(&self.hidden(deployment), now);
        match self.how {
            How::Next(other) => other(deployment, next),
            _ => next,
        }
    }

    fn waiting(&self, deployment: &Deployment, now: Timestamp) -> Vec<Waiting> {
        let mut waiting = lifecycle::waiting(&self.hidden(deployment), now);
        if let How::Waiting(edit) = self.how {
            edit(&mut waiting);
        }
        waiting
    }
}

fn begun(event: &Event) -> Option<&StageId> {
    match event {
        Event::StageBegun(id) => Some(id),
        _ => None,
    }
}

fn all(deployment: &mut Deployment, edit: impl Fn(&mut Stage)) {
    for stage in &mut deployment.stages {
        edit(stage);
    }
}

/// Edits the stages that were there before too.
fn each(deployment: &mut Deployment, old: &Deployment, edit: impl Fn(&mut Stage, &Stage)) {
    for (stage, old) in deployment.stages.iter_mut().zip(&old.stages) {
        edit(stage, old);
    }
}

/// Begins a turn of a stage, whatever is said against it.
fn restart(
    deployment: &mut Deployment,
    event: &Event,
    now: Timestamp,
    may: fn(&Stage) -> bool,
) -> bool {
    let mut stages = deployment.stages.iter_mut();
    let stage = stages.find(|stage| begun(event) == Some(&stage.id) && may(stage));
    let Some(stage) = stage else { return false };
    stage.status = StageStatus::Running;
    stage.attempt.number = stage.attempt.number.max(1);
    stage.attempt.turn += 1;
    if stage.started_at.is_some() {
        stage.cause = Cause::Loss;
    }
    stage.started_at.get_or_insert(now);
    stage.turn_started_at = Some(now);
    stage.ended_at = None;
    true
}

/// All of them.
fn defects() -> Vec<&'static Defect> {
    let subjects = [
        beginnings::DEFECTS,
        endings::DEFECTS,
        undoing::DEFECTS,
        records::DEFECTS,
    ];
    subjects.into_iter().flatten().collect()
}

/// Which invariants complain first over many histories, if only some are looked
/// at.
fn noticed(defect: &Defect, only: Option<&'static str>) -> Vec<(&'static str, u64)> {
    let mut noticed: Vec<(&'static str, u64)> = Vec::new();
    for seed in 0..HISTORIES {
        let mut counts = Counts::of(only);
        let (_, complaints) = generate::play(seed, defect, &mut counts);
        for complaint in complaints {
            if noticed
                .iter()
                .all(|(known, _)| *known != complaint.invariant)
            {
                noticed.push((complaint.invariant, seed));
            }
        }
        if only.is_some() && !noticed.is_empty() {
            break;
        }
    }
    noticed.sort_unstable();
    noticed
}

/// What is not as it should be when a defect is looked for.
fn wrong_about(defect: &Defect) -> String {
    let mut wrong = String::new();
    let noticed = noticed(defect, None);
    let mut breaks = defect.breaks.to_vec();
    breaks.sort_unstable();
    let names: Vec<_> = noticed.iter().map(|(name, _)| *name).collect();
    if names != breaks {
        let odd = noticed.iter().find(|(name, _)| !breaks.contains(name));
        let example = odd
            .map(|(_, seed)| report(*seed, defect))
            .unwrap_or_default();
        let name = defect.name;
        wrong += &format!("{name}: noticed by {names:?}, not {breaks:?}\n{example}\n");
    }
    for hidden in defect.hides {
        if self::noticed(defect, Some(hidden)).is_empty() {
            wrong += &format!("{}: not noticed by {hidden}\n", defect.name);
        }
    }
    wrong
}

#[test]
fn every_seeded_defect_is_caught_by_what_it_breaks_and_by_nothing_else() {
    let defects = defects();
    let next = AtomicUsize::new(0);
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let wrong: String = thread::scope(|scope| {
        let work = || {
            let take = || defects.get(next.fetch_add(1, Ordering::Relaxed));
            let taken = std::iter::from_fn(take);
            taken.map(|defect| wrong_about(defect)).collect::<String>()
        };
        let tasks: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        tasks.into_iter().map(|task| task.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn every_invariant_catches_a_seeded_defect() {
    let all = INVARIANTS.iter().map(|(name, _)| *name).chain(OF_HISTORIES);
    let defects = defects();
    let caught = |name: &&str| {
        let mut defects = defects.iter();
        defects.any(|defect| defect.breaks.contains(name) || defect.hides.contains(name))
    };
    let never: Vec<&str> = all.clone().filter(|name| !caught(name)).collect();
    assert_eq!(never, Vec::<&str>::new(), "caught by nothing");
    let known: Vec<&str> = all.collect();
    let listed = defects
        .iter()
        .flat_map(|defect| defect.breaks.iter().chain(defect.hides));
    for name in listed {
        assert!(known.contains(name), "no invariant is called {name}");
    }
}
