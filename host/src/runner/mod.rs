//! Drives due deployments: calls plugins, feeds what happens to the lifecycle,
//! writes the transitions.
//!
//! The runner decides nothing. What is to be done next, and what follows from
//! what happened, is the lifecycle's; whether a transition still counts is the
//! store's. So any number of runners, in any number of processes, may look at the
//! same deployment: each step is claimed by a compare-and-set, and who comes
//! second looks again.

mod cancelling;
pub(crate) mod crash;
mod drive;
mod places;
mod plan;
mod planning;
pub(crate) mod providers;
mod services;
mod tidy;
mod transition;
mod turn;
pub(crate) mod wiring;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use tokio::sync::watch;

use crate::clock::{heartbeat, lease};
use crate::definition::{Application, HostLimits, Source as Text};
use crate::model::{Deployment, DeploymentId, PluginKey, Revision, Source, StageId};
use crate::source::{SourceError, Sources};
use crate::store::{Holder, Keep, Store, StoreError};

pub(crate) use crate::clock::now;
use cancelling::Calls;
pub(crate) use drive::Parked;
use places::Places;
pub use planning::PlanFailure;
use providers::Providers;
pub(crate) use services::CallLog;
pub(crate) use tidy::{prune_sources, tidy};
pub(crate) use transition::{Applied, Claims, TransitionError, transition};

/// Drives deployments.
#[derive(Debug)]
pub(crate) struct Runner {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) sources: Arc<dyn Sources>,
    pub(crate) providers: Arc<dyn Providers>,
    pub(crate) limits: HostLimits,
    /// How much is kept of an application's finished deployments.
    pub(crate) keep: Keep,
    /// Where the scratch directories are.
    pub(crate) scratch: PathBuf,
    places: Arc<Places>,
    /// The calls under way, to be told of cancels.
    calls: Calls,
}

/// How far a runner is to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stop {
    /// On.
    No,
    /// Nothing new begins; what runs may end within the grace period, and is
    /// handed back after it.
    Soon,
    /// What runs is handed back at once.
    Now,
}

/// Why a deployment could not be driven on. It stands where it stood.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A source is gone.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// There is no such deployment.
    #[error("there is no deployment {0}")]
    Unknown(DeploymentId),
    /// A task of the runner broke down.
    #[error("a task of the host broke down: {0}")]
    Broken(String),
}

impl Runner {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        sources: Arc<dyn Sources>,
        providers: Arc<dyn Providers>,
        limits: HostLimits,
        keep: Keep,
        scratch: PathBuf,
    ) -> Self {
        Self {
            store,
            sources,
            providers,
            places: Arc::new(Places::new(limits.concurrent_stages.get())),
            limits,
            keep,
            scratch,
            calls: Calls::default(),
        }
    }

    /// Renews this host's leases until it is dropped.
    pub(crate) async fn keep_leases(self: Arc<Self>) {
        let mut beat = tokio::time::interval(heartbeat());
        beat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut last = Instant::now();
        loop {
            beat.tick().await;
            let stood_still = last.elapsed() > lease();
            last = Instant::now();
            if stood_still && let Err(error) = self.tell_of_losses().await {
                tracing::warn!(%error, "it could not be seen what others have taken over");
            }
            let Holder { owner, until } = holder(&*self.store);
            if let Err(error) = self.store.renew(&owner, until).await {
                // A lease that lapses is taken over by its own host at the latest;
                // a store that fails is told by whoever writes to it next.
                tracing::warn!(%error, "leases could not be renewed");
            }
        }
    }

    async fn load(&self, id: &DeploymentId) -> Result<Deployment, RunError> {
        load(&*self.store, id).await
    }

    /// The files of a revision.
    async fn source(
        &self,
        deployment: &Deployment,
        revision: &Revision,
    ) -> Result<Source, SourceError> {
        let application = &deployment.application.id;
        Ok(Source {
            root: self.sources.tree(application, &revision.commit).await?,
            commit: revision.commit.clone(),
            path: revision.path.clone(),
            config: revision.config.clone(),
        })
    }

    /// The directory that belongs to a deployment and a plugin.
    fn scratch_of(&self, deployment: &DeploymentId, plugin: &PluginKey) -> PathBuf {
        self.scratch.join(deployment.as_str()).join(plugin.as_str())
    }
}

/// The application file of a deployment that is driven: read when it is first
/// needed, and once.
#[derive(Debug, Default)]
struct Definition(OnceLock<Result<Application, PlanFailure>>);

impl Definition {
    /// The file as it was when the deployment was stored. What was validated then
    /// is what runs: which of its keys a plugin's schema declares is not asked
    /// again, since that plugin may be another by now.
    fn of(&self, deployment: &Deployment) -> Result<&Application, PlanFailure> {
        let read = self.0.get_or_init(|| {
            let application = &deployment.application;
            // A source without a URL is a directory of this machine, and the path
            // below it leads to the file from wherever someone reads of it.
            let place = Path::new(&application.remote);
            let name = if place.is_absolute() {
                place.join(&application.path)
            } else {
                PathBuf::from(&application.path)
            };
            let text = Text::from_text(name.display().to_string(), &deployment.target.config);
            Application::from_source(&text, &application.name, &|_, _| true)
                .map(|checked| checked.value)
                .map_err(PlanFailure::Definition)
        });
        read.as_ref().map_err(Clone::clone)
    }
}

async fn load(store: &dyn Store, id: &DeploymentId) -> Result<Deployment, RunError> {
    let found = store.load(id).await?;
    found.ok_or_else(|| RunError::Unknown(id.clone()))
}

/// Who takes a lease now.
fn holder(store: &dyn Store) -> Holder {
    Holder {
        owner: store.owner().to_owned(),
        until: now().after(lease()),
    }
}

/// A new id for a stage.
pub(crate) fn new_stage_id() -> StageId {
    StageId::new(uuid::Uuid::now_v7().simple().to_string())
}

/// A new id for a deployment: random, so that a few digits tell two apart.
pub(crate) fn new_deployment_id() -> DeploymentId {
    let mut id = uuid::Uuid::new_v4().simple().to_string();
    id.truncate(16);
    DeploymentId::new(id)
}

/// Waits until a runner is to stop at least as urgently as said.
async fn stopped(stop: &mut watch::Receiver<Stop>, at_least: Stop) {
    if stop.wait_for(|stop| *stop >= at_least).await.is_err() {
        // Nobody is left who could say so.
        std::future::pending::<()>().await;
    }
}
