//! Where everything is kept: deployments, stages, plugins' state, logs, events
//! and the bytes of pinned components.
//!
//! [`Store`] is shaped so that a database with many hosts on it can stand behind
//! it: everything is async, a transition is one compare-and-set on the
//! deployment's version together with its rows, what an execution writes carries
//! its attempt and is refused when it is stale, and who waits for a change is
//! told of it. [`SqliteStore`] is the one that comes with the host.

#[cfg(test)]
pub(crate) mod conformance;
#[cfg(test)]
mod own_store_tests;
mod sqlite;

use std::fmt;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use tokio::sync::watch;

use crate::model::{
    ApplicationId, Attempt, Deployment, DeploymentId, DeploymentStatus, Digest, Event, LogLine,
    PluginKey, Revision, StageId, Timestamp,
};

pub use crate::lifecycle::{Change, Leased};

pub use sqlite::{SqliteStore, files_directory, resolved};

/// Keeps everything. All writes are durable when they return.
#[async_trait]
pub trait Store: Send + Sync + fmt::Debug {
    /// The name that this host's leases are taken under.
    fn owner(&self) -> &str;

    /// Stores a new deployment, with an event for its status. It is due at once,
    /// unless it is at its end or queued behind another one of its application;
    /// [`StoreError::Conflict`] if the id is taken.
    async fn create(&self, deployment: &Deployment) -> Result<(), StoreError>;

    /// The deployment with an id.
    async fn load(&self, id: &DeploymentId) -> Result<Option<Deployment>, StoreError>;

    /// The ids that start with `prefix`, at most `limit`, in order: for people,
    /// who type a part.
    async fn find(&self, prefix: &str, limit: usize) -> Result<Vec<DeploymentId>, StoreError>;

    /// The deployments that pass a filter, the last stored first.
    async fn list(&self, filter: &Filter) -> Result<Vec<Deployment>, StoreError>;

    /// Stores a change, or several of one deployment of which each was decided on
    /// what the one before makes of it: all, if the deployment still has the
    /// version that the first was decided on; else [`StoreError::Conflict`], and
    /// nothing is stored.
    ///
    /// With a success, the deployment's target becomes the application's last
    /// success; with any end, the deployment's leases end, and the next one in the
    /// application's queue is due. A stage keeps the note that [`Store::note`] has
    /// stored, but in a new attempt.
    async fn apply(&self, changes: &[Change], holder: &Holder) -> Result<(), StoreError>;

    /// Shows a short text beside a stage: an event and the stage's note, without
    /// a new version.
    async fn note(&self, fence: &Fence, text: &str, now: Timestamp) -> Result<(), StoreError>;

    /// The source that an application last deployed with success.
    async fn last_success(
        &self,
        application: &ApplicationId,
    ) -> Result<Option<Revision>, StoreError>;

    /// The deployments with work that is due, earliest first, at most `limit`:
    /// those whose [`Change::due`] has come, and those with a lease that has
    /// lapsed.
    async fn due(&self, now: Timestamp, limit: usize) -> Result<Vec<Due>, StoreError>;

    /// When the next work will be due, as far as is known: a time that some
    /// deployment waits for, or the lapse of some lease.
    async fn next_due(&self) -> Result<Option<Timestamp>, StoreError>;

    /// The first unfinished deployment of the same application that was stored
    /// before this one: it has to end first.
    async fn ahead(&self, id: &DeploymentId) -> Result<Option<DeploymentId>, StoreError>;

    /// The unfinished deployments that were cancelled, or whose rollback was.
    async fn cancelling(&self) -> Result<Vec<DeploymentId>, StoreError>;

    /// Removes what is kept of an application's finished deployments beyond the
    /// newest. What is unfinished, and the last success, stay.
    async fn prune(&self, application: &ApplicationId, keep: &Keep) -> Result<(), StoreError>;

    /// Copies everything, as it is at one moment, to a new file. Safe while
    /// others write.
    ///
    /// # Errors
    /// When the file is there already, or the store has no such copies.
    async fn backup(&self, to: &Path) -> Result<(), StoreError>;

    /// Prolongs the leases of an owner, until this time or, where that would not
    /// make one longer, by a little. A lease, whosesoever it is, that lasts far
    /// longer than this is of a clock that was ahead, and may be shortened to it.
    async fn renew(&self, owner: &str, until: Timestamp) -> Result<(), StoreError>;

    /// The leases of a deployment.
    async fn leases(&self, deployment: &DeploymentId) -> Result<Vec<Lease>, StoreError>;

    /// Whether a lease has lapsed: its time is over, or the store knows that its
    /// owner is gone.
    async fn has_lapsed(&self, lease: &Lease, now: Timestamp) -> Result<bool, StoreError>;

    /// The value of a key of a plugin's state.
    async fn state_get(&self, owner: &StateOwner, key: &str)
    -> Result<Option<Vec<u8>>, StoreError>;

    /// Sets the values of some keys: all, or none. With a fence, refused as
    /// [`StoreError::Stale`] unless it is the stage's newest attempt.
    async fn state_put(
        &self,
        owner: &StateOwner,
        values: &[(String, Vec<u8>)],
        fence: Option<&Fence>,
    ) -> Result<(), StoreError>;

    /// Removes a key. Fenced as `state_put` is.
    async fn state_delete(
        &self,
        owner: &StateOwner,
        key: &str,
        fence: Option<&Fence>,
    ) -> Result<(), StoreError>;

    /// The keys that start with a prefix, in order.
    async fn state_keys(&self, owner: &StateOwner, prefix: &str)
    -> Result<Vec<String>, StoreError>;

    /// Appends lines to a log, as one chunk. Their numbers follow the log's end.
    /// Fenced as `state_put` is; a plan's log has no fence.
    async fn log_append(
        &self,
        log: &LogKey,
        lines: &[LogLine],
        fence: Option<&Fence>,
    ) -> Result<(), StoreError>;

    /// The lines of a log from a number on, in order, at most about `limit`
    /// (a chunk is never cut).
    async fn log_read(
        &self,
        log: &LogKey,
        from: u64,
        limit: usize,
    ) -> Result<Vec<LogLine>, StoreError>;

    /// The number that the next line of a log will have.
    async fn log_end(&self, log: &LogKey) -> Result<u64, StoreError>;

    /// The events after a number, in order, at most `limit`; of one deployment or
    /// of all.
    async fn events(
        &self,
        deployment: Option<&DeploymentId>,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Event>, StoreError>;

    /// The number of the newest event; 0 if there is none.
    async fn newest_event(&self) -> Result<u64, StoreError>;

    /// Keeps the bytes of a component; no error if it has them.
    async fn component_put(&self, digest: &Digest, bytes: &[u8]) -> Result<(), StoreError>;

    /// The bytes of a component.
    async fn component(&self, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError>;

    /// Removes the components that no unfinished deployment has pinned. Does
    /// nothing while a deployment is being planned: what it is about to pin may
    /// be there already.
    async fn components_prune(&self) -> Result<(), StoreError>;

    /// Which of an application's revisions may still be read: those of its
    /// unfinished deployments and of its last success, as commit hashes.
    async fn revisions_in_use(
        &self,
        application: &ApplicationId,
    ) -> Result<Vec<String>, StoreError>;

    /// Told of every change, by whichever process: the value counts up. Whoever
    /// waits looks first, then waits, then looks again.
    fn changes(&self) -> watch::Receiver<u64>;
}

/// A deployment with work that is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    /// The deployment.
    pub deployment: DeploymentId,
    /// Its version: who knows it already knows what there is to do.
    pub version: u64,
}

/// Who takes the leases of a change.
#[derive(Clone, Debug)]
pub struct Holder {
    /// The host.
    pub owner: String,
    /// When the leases lapse unless they are renewed.
    pub until: Timestamp,
}

/// The right of one host to do one thing, until it lapses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The deployment it belongs to.
    pub deployment: DeploymentId,
    /// What it is for.
    pub what: Leased,
    /// The host that holds it.
    pub owner: String,
    /// When it lapses unless it is renewed.
    pub until: Timestamp,
}

/// The execution that a write comes from: of a stage, or of a planning, which
/// writes nothing but its log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fence {
    /// The deployment.
    pub deployment: DeploymentId,
    /// The stage; none for the planning.
    pub stage: Option<StageId>,
    /// The execution; a planning has no turns.
    pub attempt: Attempt,
}

/// Whom a value of a plugin's state belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum StateOwner {
    /// A stage.
    Stage(StageId),
    /// A plugin within a deployment.
    Deployment(DeploymentId, PluginKey),
    /// A plugin within an application.
    Application(ApplicationId, PluginKey),
}

/// A log.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LogKey {
    /// The deployment.
    pub deployment: DeploymentId,
    /// The stage; none for the plan's log.
    pub stage: Option<StageId>,
}

/// How much is kept of an application's finished deployments; none for all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keep {
    /// The number of deployments, the newest first.
    pub deployments: Option<u32>,
    /// The number of deployments whose logs are kept, the newest first.
    pub logs: Option<u32>,
}

/// Which deployments are wanted.
#[derive(Clone, Debug)]
pub struct Filter {
    /// Those of the application with this id or name.
    pub application: Option<String>,
    /// Those with one of these statuses; empty for any.
    pub statuses: Vec<DeploymentStatus>,
    /// Those stored at this time or later.
    pub since: Option<Timestamp>,
    /// Those stored before this time.
    pub until: Option<Timestamp>,
    /// At most so many.
    pub limit: usize,
}

impl Default for Filter {
    fn default() -> Self {
        Self {
            application: None,
            statuses: Vec::new(),
            since: None,
            until: None,
            limit: 50,
        }
    }
}

/// Why the store did not do it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The deployment has changed meanwhile, or is not there.
    #[error("the deployment has changed meanwhile")]
    Conflict,
    /// The write comes from an execution that is not the newest.
    #[error("the stage runs again elsewhere: this attempt's writes no longer count")]
    Stale,
    /// There is no file where the store should be, and none was to be made.
    #[error(
        "there is no state file {}, so nothing was deployed with it; `--config FILE` names another \
         configuration, and `stateFile` in that another state",
        .0.display()
    )]
    Missing(PathBuf),
    /// The file, or one of those that belong to it, is no longer the one that the
    /// store has open. Nothing more is stored or read.
    #[error(
        "the state file {} (or its `-wal` or `-shm` beside it) was removed, moved or replaced while \
         it was in use: nothing more is stored; put it back, or a backup of it, with no host \
         running, and start again",
        .0.display()
    )]
    Gone(PathBuf),
    /// The store can't be opened. The text says why and what to do.
    #[error("{0}")]
    Open(String),
    /// The store failed. The text says what it was doing.
    #[error("{doing}: {source}")]
    Failed {
        /// What was being done, with the file.
        doing: String,
        /// Why it failed.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}
