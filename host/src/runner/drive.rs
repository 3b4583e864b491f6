//! Drives deployments on: one until its end, or all that have something to do.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::task::{AbortHandle, JoinError, JoinSet};

use crate::lifecycle::{self, Event, Next};
use crate::model::{ApplicationId, Deployment, DeploymentId, StageId, Timestamp};
use crate::source::remove_tree;
use crate::store::Keep;

use super::turn::LOOK_AGAIN;
use super::{RunError, Runner, Stop, now, stopped};

/// How long a wait for a time goes without a look at the clock.
const LOOK_AT_THE_CLOCK: Duration = Duration::from_secs(5);

/// How many due deployments are looked up at once.
const BATCH: usize = 100;

/// What has a deployment looked at again.
enum Wakes {
    /// Each change of the store: for one that somebody waits for.
    OnChange(watch::Receiver<u64>),
    /// That it is due, as whoever drives many has found: so that no change wakes
    /// all of them.
    WhenDue(Arc<Notify>),
}

impl Wakes {
    /// Marks what has come so far as seen.
    fn look(&mut self) {
        if let Self::OnChange(changes) = self {
            changes.borrow_and_update();
        }
    }

    async fn come(&mut self) {
        match self {
            Self::OnChange(changes) => {
                if changes.changed().await.is_err() {
                    // Nobody is left who could change anything.
                    std::future::pending::<()>().await;
                }
            }
            Self::WhenDue(due) => due.notified().await,
        }
    }
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
        let mut driven: BTreeMap<DeploymentId, (AbortHandle, Arc<Notify>)> = BTreeMap::new();
        loop {
            changes.borrow_and_update();
            let stopping = *stop.borrow() > Stop::No;
            driven.retain(|_, (task, _)| !task.is_finished());
            if !stopping {
                for id in self.store.due(now(), BATCH + driven.len()).await? {
                    // One that is driven already has something new to do.
                    if let Some((_, due)) = driven.get(&id) {
                        due.notify_one();
                        continue;
                    }
                    let due = Arc::new(Notify::new());
                    let wakes = Wakes::WhenDue(due.clone());
                    let (runner, key, stop) = (self.clone(), id.clone(), stop.clone());
                    let task = tasks.spawn(async move { runner.drive(&id, stop, wakes).await });
                    driven.insert(key, (task, due));
                }
            }
            if tasks.is_empty() && (until_idle || stopping) {
                return Ok(());
            }
            let next = self.store.next_due().await?;
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
        let mut turns = JoinSet::new();
        loop {
            wakes.look();
            let stopping = *stop.borrow() > Stop::No;
            if stopping && turns.is_empty() {
                return Ok(Parked::Stopped);
            }
            let deployment = self.load(id).await?;
            let lapse = self.take_over(&deployment).await?;
            let mut wake = None;
            match lifecycle::next(&deployment, now()) {
                Next::Done => {
                    self.clean_up(&deployment).await?;
                    return Ok(Parked::Done);
                }
                Next::Tick => {
                    self.apply(&deployment, |_| true, || Event::Tick).await?;
                    continue;
                }
                Next::Plan if !stopping && lapse.is_none() => {
                    if self.store.ahead(id).await?.is_none() {
                        self.plan_step(&deployment, &stop).await?;
                        continue;
                    }
                }
                Next::Begin(stages) if !stopping => {
                    for stage in stages {
                        self.begin(&deployment, stage, &mut turns, &stop).await?;
                    }
                    continue;
                }
                Next::At(time) => wake = Some(time),
                Next::Plan | Next::Begin(_) | Next::Busy => {}
            }
            if turns.is_empty() && matches!(wakes, Wakes::WhenDue(_)) {
                return Ok(Parked::Waiting);
            }
            let wake = wake.into_iter().chain(lapse).min();
            tokio::select! {
                Some(ended) = turns.join_next() => { finished(ended)?; }
                () = wakes.come() => {}
                () = until(wake), if wake.is_some() => {}
                () = stopped(&mut stop, Stop::Soon), if !stopping => {}
            }
        }
    }

    /// Claims a stage and starts its turn, as soon as there is room for one more.
    async fn begin(
        self: &Arc<Self>,
        deployment: &Deployment,
        stage: StageId,
        turns: &mut JoinSet<Result<(), RunError>>,
        stop: &watch::Receiver<Stop>,
    ) -> Result<(), RunError> {
        let mut stopping = stop.clone();
        let permit = tokio::select! {
            permit = self.permits.clone().acquire_owned() => permit,
            () = stopped(&mut stopping, Stop::Soon) => return Ok(()),
        };
        let permit = permit.map_err(|error| RunError::Broken(error.to_string()))?;
        if let Some(deployment) = self.claim(deployment, &stage).await? {
            let (runner, stop) = (self.clone(), stop.clone());
            turns.spawn(async move {
                let _permit = permit;
                runner.turn(deployment, stage, stop).await
            });
        }
        Ok(())
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
                remove(&entry.path()).await;
            }
        }
        Ok(())
    }

    /// Removes the sources of an application that nobody needs any more.
    pub(crate) async fn prune_sources(&self, application: &ApplicationId) {
        let in_use = async {
            let commits = self.store.revisions_in_use(application).await;
            commits.map_err(Box::from)
        };
        if let Err(error) = self.sources.prune(application, Box::pin(in_use)).await {
            tracing::warn!(%error, "old sources could not be removed");
        }
    }

    /// Removes what a deployment that is over no longer needs. Whoever sees the
    /// end does it; a second time finds nothing.
    async fn clean_up(&self, deployment: &Deployment) -> Result<(), RunError> {
        remove(&self.scratch.join(deployment.id.as_str())).await;
        let application = &deployment.application.id;
        self.prune_sources(application).await;
        if deployment
            .plugins
            .iter()
            .any(|pinned| pinned.digest.is_some())
        {
            self.store.components_prune().await?;
        }
        if self.keep != Keep::default() {
            self.store.prune(application, &self.keep).await?;
        }
        Ok(())
    }
}

/// Removes a directory. What can't be removed is only told: it is in nobody's way
/// but the disk's.
async fn remove(directory: &Path) {
    let path = directory.to_owned();
    match tokio::task::spawn_blocking(move || remove_tree(&path)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => {
            tracing::warn!(path = %directory.display(), %error, "could not be removed");
        }
        Ok(Err(error)) => {
            tracing::warn!(path = %directory.display(), %error, "could not be removed");
        }
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
