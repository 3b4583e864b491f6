//! Drives deployments on: one until its end, or all that have something to do.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinError, JoinSet};
use tokio::time::Instant;

use crate::lifecycle::{self, Event, Next};
use crate::model::{Deployment, DeploymentId, StageId, Timestamp};
use crate::store::Due;

use super::places::{Place, Queue};
use super::tidy::{remove_scratch, tidy};
use super::turn::{LOOK_AGAIN, Turn};
use super::{Definition, RunError, Runner, Stop, now, stopped};

/// How long a wait for a time goes without a look at the clock.
const LOOK_AT_THE_CLOCK: Duration = Duration::from_secs(5);

/// How many due deployments are looked up at once.
const BATCH: usize = 100;

/// A look for what is due that took longer than this is followed by a pause, which
/// is so many times as long as what was too long: so looking takes little of a busy
/// host's time, however much there is, and nobody waits on one that is not.
const QUICK_LOOK: Duration = Duration::from_millis(1);
const PAUSE: u32 = 4;

/// The turns under way of a deployment.
type Turns = JoinSet<Result<Option<Deployment>, RunError>>;

/// What has a deployment looked at again.
enum Wakes {
    /// Each change of the store: for one that somebody waits for.
    OnChange(watch::Receiver<u64>),
    /// That it is due, as whoever drives many has found, with the version that it
    /// has: so that no change wakes all of them, and none its own.
    WhenDue(watch::Receiver<u64>),
}

impl Wakes {
    /// Marks what has come so far as seen.
    fn look(&mut self) {
        if let Self::OnChange(changes) = self {
            changes.borrow_and_update();
        }
    }

    /// Waits until there may be a newer version than the one that is known.
    async fn come(&mut self, known: u64) {
        let gone = match self {
            Self::OnChange(changes) => changes.changed().await.is_err(),
            Self::WhenDue(due) => due.wait_for(|version| *version > known).await.is_err(),
        };
        if gone {
            // Nobody is left who could change anything.
            std::future::pending::<()>().await;
        }
    }
}

/// What became of stages that may begin.
enum Begun {
    /// All have, or it is to be read again.
    All(Option<Deployment>),
    /// The rest of them waits for a place; the deployment as it is then.
    NoPlace(Deployment),
}

/// Where a deployment was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parked {
    /// At its end.
    Done,
    /// Waiting for something that nobody here does.
    Waiting,
    /// Wherever it was when the runner was told to stop.
    Stopped,
}

impl Runner {
    /// Drives a deployment to its end, whatever it has to wait for.
    pub(crate) async fn follow(
        self: Arc<Self>,
        id: DeploymentId,
        stop: watch::Receiver<Stop>,
    ) -> Result<Parked, RunError> {
        let changes = self.store.changes();
        self.drive(&id, stop, Wakes::OnChange(changes)).await
    }

    /// Drives everything that is due, and what becomes due; with `until_idle`,
    /// until nothing is due.
    pub(crate) async fn work(
        self: Arc<Self>,
        until_idle: bool,
        mut stop: watch::Receiver<Stop>,
    ) -> Result<(), RunError> {
        let mut changes = self.store.changes();
        let mut tasks = JoinSet::new();
        let mut driven: HashMap<DeploymentId, (AbortHandle, watch::Sender<u64>)> = HashMap::new();
        loop {
            let began = Instant::now();
            while let Some(ended) = tasks.try_join_next() {
                finished(ended)?;
            }
            changes.borrow_and_update();
            let stopping = *stop.borrow() > Stop::No;
            driven.retain(|_, (task, _)| !task.is_finished());
            if !stopping {
                for due in self.store.due(now(), BATCH + driven.len()).await? {
                    let Due {
                        deployment: id,
                        version,
                    } = due;
                    // One that is driven already has something new to do, unless it
                    // is that which it is about to do.
                    if let Some((_, known)) = driven.get(&id) {
                        known.send_if_modified(|known| {
                            let is_new = *known < version;
                            *known = version.max(*known);
                            is_new
                        });
                        continue;
                    }
                    let known = watch::Sender::new(version);
                    let wakes = Wakes::WhenDue(known.subscribe());
                    let (runner, key, stop) = (self.clone(), id.clone(), stop.clone());
                    let task = tasks.spawn(async move { runner.drive(&id, stop, wakes).await });
                    driven.insert(key, (task, known));
                }
            }
            if tasks.is_empty() && (until_idle || stopping) {
                return Ok(());
            }
            let next = self.store.next_due().await?;
            let too_long = began.elapsed().saturating_sub(QUICK_LOOK);
            let enough = Instant::now() + too_long * PAUSE;
            let look = |due: Timestamp| {
                if due > now() {
                    due
                } else {
                    now().after(LOOK_AGAIN)
                }
            };
            tokio::select! {
                Some(ended) = tasks.join_next() => { finished(ended)?; }
                _ = changes.changed() => {}
                // What is due already is under way, or another host's that may be
                // gone: then it is looked at again.
                () = until(next.map(look)) => {}
                () = stopped(&mut stop, Stop::Soon), if !stopping => {}
            }
            tokio::time::sleep_until(enough).await;
        }
    }

    /// Drives a deployment on: to its end, if it is looked at on each change; else
    /// until there is nothing to do now.
    async fn drive(
        self: Arc<Self>,
        id: &DeploymentId,
        mut stop: watch::Receiver<Stop>,
        mut wakes: Wakes,
    ) -> Result<Parked, RunError> {
        let mut turns = Turns::new();
        let definition = Arc::new(Definition::default());
        // What this host has made of it last is what it is, until something else
        // is heard: a change by others is refused or waked for, and then read.
        let mut known = None;
        let mut lapse = None;
        let mut queue = Queue::default();
        loop {
            let stopping = *stop.borrow() > Stop::No;
            if stopping && turns.is_empty() {
                return Ok(Parked::Stopped);
            }
            let mut deployment = match known.take() {
                Some(known) => known,
                None => {
                    wakes.look();
                    let loaded = self.load(id).await?;
                    let (taken, next) = self.take_over(loaded).await?;
                    lapse = next;
                    taken
                }
            };
            let (mut wake, mut full) = (None, false);
            match lifecycle::next(&deployment, now()) {
                Next::Done => {
                    self.clean_up(&deployment).await?;
                    return Ok(Parked::Done);
                }
                Next::Tick => {
                    known = self.apply(&deployment, |_| true, || Event::Tick).await?;
                    continue;
                }
                Next::Plan if !stopping && lapse.is_none() => {
                    if self.store.ahead(id).await?.is_none() {
                        let planned = self.plan_step(&deployment, &definition, &stop).await?;
                        if let Some((planned, place)) = planned {
                            if let (Some(stage), Some(place)) = (planned.begun, place) {
                                let turn = Turn::new(&planned.deployment, stage, &definition);
                                self.start(turn, place, &mut turns, &stop);
                            }
                            known = Some(planned.deployment);
                        }
                        continue;
                    }
                }
                Next::Begin(stages) if !stopping => {
                    let begun = self.begin(
                        deployment,
                        stages,
                        &mut queue,
                        &definition,
                        |turn, place| {
                            self.start(turn, place, &mut turns, &stop);
                        },
                    );
                    match begun.await? {
                        Begun::All(last) => {
                            known = last;
                            continue;
                        }
                        Begun::NoPlace(last) => deployment = last,
                    }
                    // Meanwhile, its limits hold.
                    full = true;
                    wake = lifecycle::limit_at(&deployment, now());
                }
                Next::At(time) => wake = Some(time),
                Next::Plan | Next::Begin(_) | Next::Busy => {}
            }
            if !full {
                queue.leave();
            }
            if turns.is_empty() && !queue.waits() && matches!(wakes, Wakes::WhenDue(_)) {
                return Ok(Parked::Waiting);
            }
            let wake = wake.into_iter().chain(lapse).min();
            tokio::select! {
                Some(ended) = turns.join_next() => {
                    known = finished(ended)?.map(|ended| newer(ended, deployment));
                }
                place = queue.come() => {
                    place?;
                    known = Some(deployment);
                }
                () = wakes.come(deployment.version) => {}
                () = until(wake), if wake.is_some() => {}
                () = stopped(&mut stop, Stop::Soon), if !stopping => {}
            }
        }
    }

    /// Claims stages and starts their turns, as far as there are places. What undoes
    /// others waits for none.
    async fn begin(
        &self,
        deployment: Deployment,
        stages: Vec<StageId>,
        queue: &mut Queue,
        definition: &Arc<Definition>,
        mut start: impl FnMut(Turn, Place),
    ) -> Result<Begun, RunError> {
        let mut known = deployment;
        for stage in stages {
            let undoes = known.stage(&stage).is_some_and(|stage| stage.rollback);
            let place = match queue.take(&self.places) {
                Some(place) => place,
                None if undoes => self.places.at_once(),
                None => {
                    queue.join(&self.places);
                    return Ok(Begun::NoPlace(known));
                }
            };
            // One that somebody else began leaves it to be read again.
            let Some(claimed) = self.claim(&known, &stage).await? else {
                return Ok(Begun::All(None));
            };
            start(Turn::new(&claimed, stage, definition), place);
            known = claimed;
        }
        Ok(Begun::All(Some(known)))
    }

    /// Starts a turn that was claimed.
    fn start(
        self: &Arc<Self>,
        turn: Turn,
        place: Place,
        turns: &mut Turns,
        stop: &watch::Receiver<Stop>,
    ) {
        let (runner, stop) = (self.clone(), stop.clone());
        turns.spawn(runner.turns(turn, place, stop));
    }

    /// Removes the scratch directories of deployments that are over: a host that
    /// died right after the end of one has left its own.
    pub(crate) async fn sweep(&self) -> Result<(), RunError> {
        // Without a directory there is nothing to sweep.
        let Ok(mut entries) = tokio::fs::read_dir(&self.scratch).await else {
            return Ok(());
        };
        while let Ok(Some(entry)) = entries.next_entry().await {
            let id = DeploymentId::new(entry.file_name().to_string_lossy());
            let deployment = self.store.load(&id).await?;
            if deployment.is_some_and(|deployment| deployment.status.is_final()) {
                remove_scratch(&self.scratch, id.as_str()).await;
            }
        }
        Ok(())
    }

    /// Removes what a deployment that is over no longer needs. Whoever sees the
    /// end does it; a second time finds nothing.
    async fn clean_up(&self, deployment: &Deployment) -> Result<(), RunError> {
        let (store, sources) = (&*self.store, &*self.sources);
        let done = tidy(store, sources, &self.scratch, &self.keep, deployment);
        Ok(done.await?)
    }
}

/// Which of two states of a deployment is the later one.
fn newer(one: Deployment, other: Deployment) -> Deployment {
    if one.version > other.version {
        one
    } else {
        other
    }
}

fn finished<T>(ended: Result<Result<T, RunError>, JoinError>) -> Result<T, RunError> {
    ended.unwrap_or_else(|error| Err(RunError::Broken(error.to_string())))
}

/// Waits until a time; for ever without one. The clock may be set meanwhile: so
/// it is looked at now and then.
async fn until(time: Option<Timestamp>) {
    match time {
        Some(time) => loop {
            let left = time.since(now());
            if left.is_zero() {
                return;
            }
            // A millisecond more, since a time is a whole number of them.
            let left = left + Duration::from_millis(1);
            tokio::time::sleep(left.min(LOOK_AT_THE_CLOCK)).await;
        },
        None => std::future::pending().await,
    }
}
