//! What an embedder holds: a [`Host`], and a [`Run`] for each deployment that it
//! started.

mod builder;
mod request;
mod run;

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::stream::{BoxStream, Stream, StreamExt, TryStreamExt};
use tokio::sync::{OnceCell, watch};
use tokio::task::AbortHandle;

use crate::backup::backup;
use crate::definition::{self, Diagnostics, HostConfig};
use crate::error::Error;
use crate::fleet::Fleet;
use crate::lifecycle::{self, Next, Waiting};
use crate::logs;
use crate::model::{
    CommandKind, Deployment, DeploymentId, Event, LogLine, Plugin, PluginKey, StageId,
};
use crate::runner::{Claims, Runner, Stop, now, tidy, transition};
use crate::silence::{Silent, silent};
use crate::source::Sources;
use crate::store::{Filter, Keep, LogKey, Store};

pub use builder::HostBuilder;
pub use request::{Preview, Request};
pub use run::Run;

use run::harder;

/// A host: plugins, a store, and what drives deployments. Cheap to clone; several
/// may live in one process.
#[derive(Clone, Debug)]
pub struct Host {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    config: HostConfig,
    store: Arc<dyn Store>,
    /// The file that the store keeps everything in; none if it is the embedder's
    /// own.
    state_file: Option<PathBuf>,
    sources: Arc<dyn Sources>,
    scratch: PathBuf,
    native: Vec<(PluginKey, Arc<dyn Plugin>)>,
    /// Plugins are loaded when they are first needed: looking at what happened
    /// needs none.
    engine: OnceCell<Engine>,
    stop: watch::Sender<Stop>,
}

#[derive(Debug)]
struct Engine {
    fleet: Arc<Fleet>,
    runner: Arc<Runner>,
    heartbeat: AbortHandle,
    cancels: AbortHandle,
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.heartbeat.abort();
        self.cancels.abort();
    }
}

/// Who wishes that a deployment should not go on, and how.
#[derive(Clone, Debug)]
pub struct Cancel {
    /// Who; none when something automatic does.
    pub by: Option<String>,
    /// Why; may be empty.
    pub why: String,
    /// Whether what had started is to be undone. Without, a rollback that runs
    /// already is stopped too.
    pub rollback: bool,
}

impl Host {
    /// Begins to make a host.
    pub fn builder() -> HostBuilder {
        HostBuilder::default()
    }

    /// Stores a deployment and drives it to its end.
    ///
    /// # Errors
    /// When the definition is wrong, or the store fails.
    pub async fn deploy(&self, request: &Request) -> Result<Run, Error> {
        let (deployment, warnings) = self.submit(request).await?;
        self.follow(deployment.id, warnings).await
    }

    /// Goes on with a deployment that was left, and drives it to its end.
    ///
    /// # Errors
    /// When there is no such deployment, or the store fails.
    pub async fn resume(&self, id: &DeploymentId) -> Result<Run, Error> {
        let deployment = self.deployment(id.as_str()).await?;
        self.follow(deployment.id, Diagnostics::default()).await
    }

    /// Says that a deployment should not go on: at any moment until its end, while
    /// it is queued or planned, between its stages or in one, suspended or while
    /// it rolls back. Durable when this returns; whoever drives it stops what runs
    /// and gives it the grace period.
    ///
    /// # Errors
    /// [`Error::Refused`] when it is at its end, or is being stopped already
    /// (`already` says so).
    pub async fn cancel(&self, id: &DeploymentId, cancel: &Cancel) -> Result<Deployment, Error> {
        let event = || lifecycle::Event::Cancelled {
            by: cancel.by.clone(),
            why: cancel.why.clone(),
            rollback: cancel.rollback,
        };
        self.command(id, event).await
    }

    /// Removes what a deployment that is over no longer needs. That it can't be is no
    /// failure of what ended it: whoever loads the plugins next removes what is left.
    async fn tidy(&self, deployment: &Deployment) {
        let inner = &self.inner;
        let (store, sources, keep) = (&*inner.store, &*inner.sources, keep(&inner.config.keep));
        if let Err(error) = tidy(store, sources, &inner.scratch, &keep, deployment).await {
            tracing::warn!(%error, "what a deployment left behind could not be removed");
        }
    }

    /// Approves or skips a stage that is at work or suspended. Durable when this
    /// returns.
    ///
    /// # Errors
    /// [`Error::Refused`] when the stage is none that people approve or skip, when
    /// it has not started or is at its end, when this person may not, or when they
    /// have done so already (`already` says so).
    pub async fn act(
        &self,
        id: &DeploymentId,
        stage: &StageId,
        kind: CommandKind,
        by: &str,
    ) -> Result<Deployment, Error> {
        self.command(id, || lifecycle::Event::Commanded {
            stage: stage.clone(),
            kind,
            by: by.to_owned(),
        })
        .await
    }

    async fn command(
        &self,
        id: &DeploymentId,
        event: impl Fn() -> lifecycle::Event,
    ) -> Result<Deployment, Error> {
        let store = &self.inner.store;
        let known = store.load(id).await?;
        let mut known = known.ok_or_else(|| self.unknown(id.as_str()))?;
        // What time has made of it comes first, and holds whatever becomes of the
        // command: who is told that it is too late is told what is so from now on.
        if lifecycle::next(&known, now()) == Next::Tick {
            known = self.change(&known, || lifecycle::Event::Tick).await?;
        }
        self.change(&known, event).await
    }

    async fn change(
        &self,
        known: &Deployment,
        event: impl Fn() -> lifecycle::Event,
    ) -> Result<Deployment, Error> {
        let store = &*self.inner.store;
        let done = transition(store, Claims::Nothing, known, |_| true, event).await?;
        // It fits whatever it is, so there is one.
        let gone = || Error::Input(format!("deployment {} is gone", known.id));
        let changed = done.ok_or_else(gone)?.deployment;
        if changed.status.is_final() {
            // No host need ever look at it again.
            self.tidy(&changed).await;
        }
        Ok(changed)
    }

    /// What a deployment waits for: for each part of it that is not at its end,
    /// since when, and what would end it.
    pub fn waiting(&self, deployment: &Deployment) -> Vec<Waiting> {
        lifecycle::waiting(deployment, now())
    }

    /// The first unfinished deployment of the same application that was stored
    /// before this one: it has to end first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn ahead(&self, id: &DeploymentId) -> Result<Option<DeploymentId>, Error> {
        Ok(self.inner.store.ahead(id).await?)
    }

    /// Copies the state as it is at one moment to a new directory, with the files
    /// that it needs. Safe while deployments run. To go back to it, let
    /// `stateFile` name the file of the same name in there.
    ///
    /// # Errors
    /// When the directory is there already or can't be written.
    pub async fn backup(&self, to: &Path) -> Result<(), Error> {
        backup(&*self.inner.store, &self.inner.config.state_file, to).await
    }

    async fn follow(&self, id: DeploymentId, warnings: Diagnostics) -> Result<Run, Error> {
        let runner = self.engine().await?.runner.clone();
        let (stop, stopped) = self.stop();
        let task = tokio::spawn(runner.follow(id.clone(), stopped));
        Ok(Run {
            host: self.clone(),
            id,
            warnings,
            stop,
            task,
        })
    }

    /// Drives everything that is due, and what becomes due, until the host is shut
    /// down; with `until_idle`, until nothing is left to do now.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn work(&self, until_idle: bool) -> Result<(), Error> {
        let runner = self.engine().await?.runner.clone();
        Ok(runner.work(until_idle, self.inner.stop.subscribe()).await?)
    }

    /// Lets stages that run end within the grace period and begins nothing new;
    /// what does not end is resumed by whoever drives it next. Called again, stops
    /// at once. Nothing is cancelled.
    pub fn shut_down(&self) {
        self.inner.stop.send_modify(harder);
    }

    /// The deployment whose id begins with a text.
    ///
    /// # Errors
    /// When there is none, or more than one, or the text is empty: that is an id
    /// that somebody forgot.
    pub async fn deployment(&self, id: &str) -> Result<Deployment, Error> {
        if id.is_empty() {
            return Err(Error::Input(
                "the id of the deployment is empty; see `stagewright deployments`".to_owned(),
            ));
        }
        let found = self.inner.store.find(id, 10).await?;
        let exact = found.iter().find(|found| found.as_str() == id);
        let id = match (exact, found.as_slice()) {
            (Some(exact), _) => exact,
            (None, [one]) => one,
            (None, []) => return Err(self.unknown(id)),
            (None, several) => {
                let ids: Vec<&str> = several.iter().map(DeploymentId::as_str).collect();
                return Err(Error::Input(format!(
                    "{id} begins several deployments: {}",
                    ids.join(", ")
                )));
            }
        };
        let loaded = self.inner.store.load(id).await?;
        loaded.ok_or_else(|| Error::Input(format!("deployment {id} is gone")))
    }

    /// That there is no such deployment, and where none is.
    fn unknown(&self, id: &str) -> Error {
        Error::Input(match self.state_file() {
            Some(file) => format!(
                "there is no deployment {id} in {}; see `stagewright deployments`, or name another \
                 configuration by `--config FILE`",
                file.display()
            ),
            None => format!("there is no deployment {id}; see `stagewright deployments`"),
        })
    }

    /// The file that everything is kept in; none with a store of one's own.
    pub fn state_file(&self) -> Option<&Path> {
        self.inner.state_file.as_deref()
    }

    /// Deployments, newest first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn deployments(&self, filter: &Filter) -> Result<Vec<Deployment>, Error> {
        Ok(self.inner.store.list(filter).await?)
    }

    /// What happens, from the event after a number on: what is stored, then what
    /// comes. Of one deployment, whose end ends the stream, or of all, without an
    /// end.
    pub fn events(
        &self,
        deployment: Option<DeploymentId>,
        after: u64,
    ) -> impl Stream<Item = Result<Event, Error>> + Send + use<> {
        crate::events::follow(self.inner.store.clone(), deployment, after)
    }

    /// All that has happened to a deployment so far.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn past_events(&self, deployment: &DeploymentId) -> Result<Vec<Event>, Error> {
        Ok(crate::events::so_far(&*self.inner.store, deployment).await?)
    }

    /// The number of the newest event of all, from which [`Host::events`] gives
    /// what comes; 0 if there is none.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn newest_event(&self) -> Result<u64, Error> {
        Ok(self.inner.store.newest_event().await?)
    }

    /// The log of a stage, or of the plan, from a line on: what is stored, and
    /// with `follow` what comes until the stage's end.
    pub fn log(
        &self,
        deployment: DeploymentId,
        stage: Option<StageId>,
        from: u64,
        follow: bool,
    ) -> BoxStream<'static, Result<LogLine, Error>> {
        let key = LogKey { deployment, stage };
        let store = self.inner.store.clone();
        if follow {
            logs::follow(store, key, from).map_err(Error::from).boxed()
        } else {
            logs::read(store, key, from).map_err(Error::from).boxed()
        }
    }

    /// What of a deployment is at work under a host that does not answer: it goes on
    /// as soon as another host drives it.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn silent(&self, deployment: &DeploymentId) -> Result<Vec<Silent>, Error> {
        Ok(silent(&*self.inner.store, deployment).await?)
    }

    /// The plugins that serve, and those that were kept out.
    ///
    /// # Errors
    /// When there is no plugins directory.
    pub async fn plugins(&self) -> Result<Arc<Fleet>, Error> {
        Ok(self.engine().await?.fleet.clone())
    }

    /// A stop of one's own that also follows the host's.
    fn stop(&self) -> (watch::Sender<Stop>, watch::Receiver<Stop>) {
        let (sender, receiver) = watch::channel(Stop::No);
        let mut all = self.inner.stop.subscribe();
        let one = sender.clone();
        tokio::spawn(async move {
            loop {
                let level = *all.borrow_and_update();
                one.send_if_modified(|own| {
                    let raised = level > *own;
                    *own = level.max(*own);
                    raised
                });
                tokio::select! {
                    changed = all.changed() => if changed.is_err() { break },
                    () = one.closed() => break,
                }
            }
        });
        (sender, receiver)
    }

    async fn engine(&self) -> Result<&Engine, Error> {
        let inner = &self.inner;
        inner
            .engine
            .get_or_try_init(|| async {
                let fleet = Fleet::load(&inner.config, &inner.native, inner.store.clone()).await?;
                let fleet = Arc::new(fleet);
                let runner = Arc::new(Runner::new(
                    inner.store.clone(),
                    inner.sources.clone(),
                    fleet.clone(),
                    inner.config.limits.clone(),
                    keep(&inner.config.keep),
                    inner.scratch.clone(),
                ));
                runner.sweep().await?;
                let heartbeat = tokio::spawn(runner.clone().keep_leases()).abort_handle();
                let watching = runner.clone();
                let cancels = tokio::spawn(async move { watching.watch_cancels().await });
                Ok(Engine {
                    fleet,
                    runner,
                    heartbeat,
                    cancels: cancels.abort_handle(),
                })
            })
            .await
    }
}

/// How much is kept, as the store takes it.
fn keep(keep: &definition::Keep) -> Keep {
    Keep {
        deployments: keep.deployments.map(NonZeroU32::get),
        logs: keep.logs.map(NonZeroU32::get),
    }
}
