//! What an embedder holds: a [`Host`], and a [`Run`] for each deployment that it
//! started.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use futures_util::stream::{BoxStream, Stream, StreamExt, TryStreamExt};
use tokio::sync::{OnceCell, watch};
use tokio::task::{AbortHandle, JoinHandle};

use crate::backup::backup;
use crate::definition::{
    self, Application, Built, Diagnostics, HostConfig, Severity, Source as Text,
};
use crate::error::Error;
use crate::fleet::Fleet;
use crate::lifecycle::{self, Plan, Waiting};
use crate::logs;
use crate::model::{
    self, CommandKind, Deployment, DeploymentId, DeploymentStatus, Event, LogLine, Plugin,
    PluginKey, Revision, Shared, StageId, Strategy, Trigger,
};
use crate::runner::wiring::{Wiring, declares};
use crate::runner::{
    CallLog, Claims, Parked, RunError, Runner, Stop, crash, new_deployment_id, now, prune_sources,
    tidy, transition,
};
use crate::silence::{Silent, silent};
use crate::source::{Fetched, Hold, LocalSources, Sources, Wanted};
use crate::store::{Filter, Keep, LogKey, SqliteStore, Store, files_directory};

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

/// Makes a [`Host`].
#[derive(Debug, Default)]
pub struct HostBuilder {
    config: Option<HostConfig>,
    plugins_directory: Option<PathBuf>,
    state_file: Option<PathBuf>,
    opening: Opening,
    store: Option<Arc<dyn Store>>,
    sources: Option<Arc<dyn Sources>>,
    native: Vec<(PluginKey, Arc<dyn Plugin>)>,
}

/// How the state file is opened.
#[derive(Clone, Copy, Debug, Default)]
enum Opening {
    /// Made if it is not there.
    #[default]
    Making,
    /// Not made.
    Existing,
    /// Not made, and perhaps not written.
    Looking,
    /// Not opened.
    Nowhere,
}

/// What is to be deployed.
#[derive(Clone, Debug)]
pub struct Request {
    /// The application file; for an application that is built in code, where it
    /// would be.
    pub file: PathBuf,
    /// The application, if it is built in code.
    pub built: Option<Built>,
    /// The commit to take the application and its files from, as git names it:
    /// a hash, a branch, a tag. None for the file's directory as it stands.
    pub commit: Option<String>,
    /// The strategy, if it is forced.
    pub strategy: Option<Strategy>,
    /// The person who asks for it.
    pub commander: Option<String>,
}

impl Request {
    /// To deploy an application as it stands.
    pub fn new(file: impl Into<PathBuf>) -> Self {
        Self {
            file: file.into(),
            built: None,
            commit: None,
            strategy: None,
            commander: None,
        }
    }

    /// To deploy an application that is built in code, with the files of a
    /// directory. It is told apart from others in the same directory by its name,
    /// whatever that has in it.
    pub fn of(application: Built, directory: impl Into<PathBuf>) -> Self {
        let file = directory.into().join(application.file_name());
        Self {
            built: Some(application),
            ..Self::new(file)
        }
    }

    /// To take it from a commit.
    #[must_use]
    pub fn commit(mut self, commit: impl Into<String>) -> Self {
        self.commit = Some(commit.into());
        self
    }

    /// To force a strategy.
    #[must_use]
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.strategy = Some(strategy);
        self
    }

    /// To say who asks for it.
    #[must_use]
    pub fn commander(mut self, name: impl Into<String>) -> Self {
        self.commander = Some(name.into());
        self
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

/// How a deployment would go.
#[derive(Clone, Debug)]
pub struct Preview {
    /// The deployment as it would be, planned; it is stored nowhere.
    pub deployment: Deployment,
    /// What the plugins said while they planned.
    pub log: Vec<(model::Severity, String)>,
    /// What of the definition does less than it seems to.
    pub warnings: Diagnostics,
}

impl HostBuilder {
    /// The whole configuration. What is set besides overrides it.
    #[must_use]
    pub fn config(mut self, config: HostConfig) -> Self {
        self.config = Some(config);
        self
    }

    /// The directory with the plugins' `.wasm` files.
    #[must_use]
    pub fn plugins_directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.plugins_directory = Some(directory.into());
        self
    }

    /// The file that everything is kept in. It is made if it is not there; what
    /// can't be kept in it lies beside it, in a directory named after it.
    #[must_use]
    pub fn state_file(mut self, file: impl Into<PathBuf>) -> Self {
        self.state_file = Some(file.into());
        self
    }

    /// Demands that the state file is there, for a host that has nothing to store
    /// in a new one: none is made, and [`StoreError::Missing`](crate::store::StoreError)
    /// says so.
    #[must_use]
    pub fn existing_state(mut self) -> Self {
        self.opening = Opening::Existing;
        self
    }

    /// Demands the same of a host that only looks at what is stored, for which it also
    /// does where this user can't write it.
    #[must_use]
    pub fn to_look(mut self) -> Self {
        self.opening = Opening::Looking;
        self
    }

    /// For a host that only checks files and shows its plugins: the state file is not
    /// even opened. What is stored all the same is lost with the host.
    #[must_use]
    pub fn without_state(mut self) -> Self {
        self.opening = Opening::Nowhere;
        self
    }

    /// A store of one's own, in place of the state file.
    #[must_use]
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// Sources of one's own, in place of the directories and repositories of this
    /// machine.
    #[must_use]
    pub fn sources(mut self, sources: Arc<dyn Sources>) -> Self {
        self.sources = Some(sources);
        self
    }

    /// A plugin written in the embedder's own code, under a key.
    #[must_use]
    pub fn plugin(mut self, key: impl Into<String>, plugin: Arc<dyn Plugin>) -> Self {
        self.native.push((PluginKey::new(key), plugin));
        self
    }

    /// Makes the host: opens the store. Plugins are loaded when they are first
    /// needed.
    ///
    /// # Errors
    /// When the store can't be opened.
    pub async fn build(self) -> Result<Host, Error> {
        let mut config = self
            .config
            .unwrap_or_else(|| HostConfig::in_directory(Path::new("")));
        if let Some(directory) = self.plugins_directory {
            config.plugins_directory = directory;
        }
        if let Some(file) = self.state_file {
            config.state_file = file;
        }
        // The process may change its directory later on.
        if let Ok(file) = std::path::absolute(&config.state_file) {
            config.state_file = file;
        }
        let files = files_directory(&config.state_file);
        let (store, state_file) = match self.store {
            Some(store) => (store, None),
            None => {
                let (file, opening) = (config.state_file.clone(), self.opening);
                let opened = tokio::task::spawn_blocking(move || match opening {
                    Opening::Making => SqliteStore::open(&file),
                    Opening::Existing => SqliteStore::open_existing(&file),
                    Opening::Looking => SqliteStore::open_to_look(&file),
                    Opening::Nowhere => SqliteStore::nowhere(&file),
                });
                let opened = opened
                    .await
                    .map_err(|error| Error::Host(error.to_string()))??;
                let store: Arc<dyn Store> = Arc::new(opened);
                (store, Some(config.state_file.clone()))
            }
        };
        let sources = self.sources.unwrap_or_else(|| {
            let left_out = state_files(&config.state_file);
            Arc::new(LocalSources::new(files.join("sources"), left_out))
        });
        Ok(Host {
            inner: Arc::new(Inner {
                config,
                store,
                state_file,
                sources,
                scratch: files.join("scratch"),
                native: self.native,
                engine: OnceCell::new(),
                stop: watch::Sender::new(Stop::No),
            }),
        })
    }
}

/// The host's own files, which are no part of what it deploys even when they lie
/// in the same directory.
fn state_files(state: &Path) -> Vec<PathBuf> {
    let parent = state.parent().unwrap_or(Path::new("/"));
    let parent = parent.canonicalize().unwrap_or_else(|_| parent.to_owned());
    let name = state.file_name().unwrap_or_default().to_string_lossy();
    ["", "-wal", "-shm", "-files"]
        .iter()
        .map(|suffix| parent.join(format!("{name}{suffix}")))
        .collect()
}

impl Host {
    /// Begins to make a host.
    pub fn builder() -> HostBuilder {
        HostBuilder::default()
    }

    /// Checks an application file as it stands: its structure, whether this host's
    /// plugins define its stages, and its options against the plugins' schemas.
    /// Gives what of it does less than it seems to.
    ///
    /// # Errors
    /// [`Error::Definition`] with all that is wrong.
    pub async fn check(&self, file: &Path) -> Result<Diagnostics, Error> {
        let fleet = self.engine().await?.fleet.clone();
        let declares = |plugin: &str, key: &str| declares(&*fleet, plugin, key);
        let checked = Application::load(file, &declares).map_err(Error::Definition)?;
        let wiring = Wiring::new(&checked.value, &*fleet).map_err(Error::Definition)?;
        let mut warnings = checked.warnings;
        warnings.extend(wiring.warnings);
        Ok(warnings)
    }

    /// Finds out how a deployment would go. Stores nothing.
    ///
    /// # Errors
    /// When the definition is wrong or a plugin can't plan it.
    pub async fn plan(&self, request: &Request) -> Result<Preview, Error> {
        let Prepared {
            mut deployment,
            application,
            warnings,
            hold,
        } = self.prepare(request).await?;
        let runner = &self.engine().await?.runner;
        let lines = Arc::default();
        let log = CallLog::Kept(Arc::clone(&lines));
        let planned = runner.plan_with(&deployment, &application, log).await;
        drop(hold);
        self.prune_sources(&deployment.application.id).await;
        let Plan {
            strategy,
            summary,
            versions,
            plugins,
            stages,
        } = planned.map_err(Error::Plan)?;
        deployment.status = DeploymentStatus::Planned;
        deployment.strategy = Some(strategy);
        deployment.summary = summary;
        deployment.versions = versions.into();
        deployment.plugins = plugins.into();
        deployment.stages = stages.into_iter().map(Shared::from).collect();
        let log = std::mem::take(&mut *lines.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(Preview {
            deployment,
            log,
            warnings,
        })
    }

    /// Stores a deployment and leaves it to whoever drives what is due.
    ///
    /// # Errors
    /// When the definition is wrong, or the store fails.
    pub async fn submit(&self, request: &Request) -> Result<(Deployment, Diagnostics), Error> {
        let Prepared {
            deployment,
            warnings,
            hold,
            ..
        } = self.prepare(request).await?;
        crash::before("submitted");
        self.inner.store.create(&deployment).await?;
        crash::after("submitted");
        drop(hold);
        Ok((deployment, warnings))
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
        let cancelled = self.command(id, event).await?;
        if cancelled.status.is_final() {
            // No host need ever look at it again.
            self.tidy(&cancelled).await;
        }
        Ok(cancelled)
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
        let known = known.ok_or_else(|| self.unknown(id.as_str()))?;
        let done = transition(&**store, Claims::Nothing, &known, |_| true, event).await?;
        // It fits whatever it is, so there is one.
        done.map(|applied| applied.deployment)
            .ok_or_else(|| Error::Input(format!("deployment {id} is gone")))
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

    /// Reads and checks what is to be deployed, and makes a deployment of it that
    /// is stored nowhere yet.
    async fn prepare(&self, request: &Request) -> Result<Prepared, Error> {
        let commander = request.commander.as_deref().map(model::person).transpose();
        let commander = commander.map_err(|no_name| Error::Input(no_name.to_string()))?;
        let request = &Request {
            commander: commander.map(str::to_owned),
            ..request.clone()
        };
        let wanted = Wanted {
            file: request.file.clone(),
            commit: request.commit.clone(),
            config: request.built.as_ref().map(Built::text),
            max_size: self.inner.config.limits.max_source_size.bytes(),
        };
        let fetched = self.inner.sources.fetch(&wanted).await?;
        let application = fetched.application.clone();
        let prepared = self.prepare_fetched(request, fetched).await;
        if prepared.is_err() {
            // Nobody holds what was fetched for this any more.
            self.prune_sources(&application).await;
        }
        prepared
    }

    async fn prune_sources(&self, application: &model::ApplicationId) {
        prune_sources(&*self.inner.store, &*self.inner.sources, application).await;
    }

    async fn prepare_fetched(
        &self,
        request: &Request,
        fetched: Fetched,
    ) -> Result<Prepared, Error> {
        let fleet = &self.engine().await?.fleet;
        let hold = fetched.hold.clone();
        let name = request.file.display().to_string();
        let text = Text::from_bytes(name, &fetched.config).map_err(Error::Definition)?;
        let declares = |plugin: &str, key: &str| declares(&**fleet, plugin, key);
        let checked = Application::from_source(&text, &default_name(&fetched), &declares)
            .map_err(Error::Definition)?;
        let mut warnings = checked.warnings;
        let application = checked.value;
        let wiring = Wiring::new(&application, &**fleet).map_err(Error::Definition)?;
        warnings.extend(wiring.warnings);
        debug_assert!(warnings.iter().all(|w| w.severity == Severity::Warning));
        // What a plan would start from now; a deployment that is queued learns it
        // when its turn comes.
        let running = self.inner.store.last_success(&fetched.application).await?;
        let mut deployment = make(request, &application, fetched, text.text());
        deployment.running = running.map(Shared::from);
        Ok(Prepared {
            deployment,
            application,
            warnings,
            hold,
        })
    }
}

/// A deployment that is stored nowhere yet.
struct Prepared {
    deployment: Deployment,
    application: Application,
    warnings: Diagnostics,
    /// Keeps its files until they are known to be needed, or are not.
    hold: Hold,
}

/// How much is kept, as the store takes it.
fn keep(keep: &definition::Keep) -> Keep {
    Keep {
        deployments: keep.deployments.map(NonZeroU32::get),
        logs: keep.logs.map(NonZeroU32::get),
    }
}

fn make(
    request: &Request,
    application: &Application,
    fetched: Fetched,
    config: &str,
) -> Deployment {
    let at = now();
    let target = Revision {
        commit: fetched.commit.hash.clone(),
        path: fetched.path.clone(),
        config: config.to_owned(),
    };
    let trigger = Trigger {
        commit: fetched.commit,
        commander: request.commander.clone(),
        at,
        strategy: request.strategy,
    };
    let deployed = model::Application {
        id: fetched.application,
        name: application.name.value.clone(),
        labels: application.labels.clone(),
        remote: fetched.remote,
        path: fetched.path,
    };
    Deployment {
        auto_rollback: application.planner.auto_rollback,
        timeout: application.timeout.as_ref().map(|timeout| timeout.value),
        ..Deployment::new(new_deployment_id(), deployed, trigger, target, at)
    }
}

/// What an application without a name is called: its directory's name, or that of
/// the whole source.
fn default_name(fetched: &Fetched) -> String {
    let directory = fetched
        .path
        .rsplit_once('/')
        .map(|(directory, _)| directory);
    let directory = directory.unwrap_or(fetched.remote.trim_end_matches('/'));
    let name = directory.rsplit('/').next().unwrap_or(directory);
    let name = name.strip_suffix(".git").unwrap_or(name);
    if name.is_empty() { "application" } else { name }.to_owned()
}

fn harder(stop: &mut Stop) {
    *stop = match *stop {
        Stop::No => Stop::Soon,
        Stop::Soon | Stop::Now => Stop::Now,
    };
}

/// A deployment that is being driven by this host.
#[derive(Debug)]
pub struct Run {
    host: Host,
    id: DeploymentId,
    warnings: Diagnostics,
    stop: watch::Sender<Stop>,
    task: JoinHandle<Result<Parked, RunError>>,
}

impl Run {
    /// The deployment's id.
    pub fn id(&self) -> &DeploymentId {
        &self.id
    }

    /// What of the definition does less than it seems to.
    pub fn warnings(&self) -> &Diagnostics {
        &self.warnings
    }

    /// What happens, from the beginning to the deployment's end.
    pub fn events(&self) -> impl Stream<Item = Result<Event, Error>> + Send + use<> {
        self.host.events(Some(self.id.clone()), 0)
    }

    /// Leaves the deployment where it stands: stages that run may end within the
    /// grace period, nothing new begins. Called again, leaves at once. Nothing is
    /// cancelled.
    pub fn leave(&self) {
        self.stop.send_modify(harder);
    }

    /// Waits until the deployment is at its end, or left. Gives it as it is then.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn finished(self) -> Result<Deployment, Error> {
        self.task
            .await
            .map_err(|error| Error::Host(error.to_string()))??;
        self.host.deployment(self.id.as_str()).await
    }
}
