//! The store that comes with the host: one SQLite file, which several processes
//! may have open at once.
//!
//! One thread writes, in groups that are durable when they are answered
//! ([`writer`]); a few others read ([`readers`]). What is asked is said in SQL in
//! the files beside this one, each of which has one subject.

mod chunk;
mod components;
mod deployments;
mod events;
mod fault;
mod hosts;
mod logs;
mod open;
#[cfg(test)]
mod opening_tests;
mod readers;
mod rows;
mod schema;
mod state;
#[cfg(test)]
mod tests;
mod work;
mod writer;

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::watch;

use self::deployments::{Rows, Transition};
use self::hosts::Hosts;
use self::logs::Chunk;
use self::readers::Readers;
use self::writer::Writer;
pub use self::open::files_directory;

use super::{Change, Fence, Filter, Holder, Lease, LogKey, StateOwner, Store, StoreError};
use crate::model::{
    ApplicationId, Deployment, DeploymentId, Digest, Event, EventKind, LogLine, Revision, Timestamp,
};

/// How long another process may keep the file locked before a write fails.
const PATIENCE: Duration = Duration::from_secs(10);

/// Threads that read, at most.
const READERS: usize = 4;

/// Keeps everything in one SQLite file.
///
/// Several stores may be open on one file, in one process or in several. A write
/// whose future is dropped may still be stored. The name that a store's leases are
/// taken under is one that no other has or ever had; as soon as the store is
/// dropped, or its process ends, however it ends, others know that these leases
/// have lapsed.
#[derive(Debug)]
pub struct SqliteStore {
    file: Arc<Path>,
    writer: Writer,
    readers: Readers,
    /// Dropped last: this host is there until its last write is answered.
    hosts: Arc<Hosts>,
}

impl SqliteStore {
    /// Opens the store in a file, which is made, with the directories above it,
    /// if it is not there, and brought to this version if it is of an earlier
    /// one. Beside it, a directory is made ([`files_directory`]).
    ///
    /// Blocks for as long as the disk needs, or another process that has the file
    /// locked: up to ten seconds.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::open_with(path.as_ref(), PATIENCE)
    }

    fn open_with(path: &Path, patience: Duration) -> Result<Self, StoreError> {
        let connection = open::writing(path, patience)?;
        let file: Arc<Path> = Arc::from(path);
        let directory = files_directory(path).join("hosts");
        let beside = |error| {
            StoreError::Open(format!(
                "the directory {} can't be used: {error}; give this user the right to write it",
                directory.display()
            ))
        };
        let hosts = Arc::new(Hosts::join(directory.clone()).map_err(beside)?);
        let needed = work::owners(&connection).map_err(|fault| fault.opening(path))?;
        hosts
            .tidy(|owner| needed.iter().any(|needed| needed == owner))
            .map_err(beside)?;
        let count = thread::available_parallelism().map_or(1, usize::from);
        let connections = (0..count.clamp(1, READERS))
            .map(|_| open::reading(path, patience))
            .collect::<Result<_, _>>()?;
        let threads = |error| {
            StoreError::Open(format!(
                "the threads of the store can't be started: {error}; see the limits on processes \
                 and memory"
            ))
        };
        Ok(Self {
            writer: Writer::start(connection, Arc::clone(&file), patience, Arc::clone(&hosts))
                .map_err(threads)?,
            readers: Readers::start(connections, Arc::clone(&file)).map_err(threads)?,
            hosts,
            file,
        })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.file
    }

    /// How many transactions this store has committed: each is one wait for the
    /// disk, however many writes it holds.
    pub fn commits(&self) -> u64 {
        self.writer.commits()
    }

    /// What went wrong before the work reached a thread.
    fn failed<'a>(&'a self, doing: &'a str) -> impl FnOnce(fault::Fault) -> StoreError + 'a {
        move |fault| fault.while_doing(doing, &self.file)
    }
}

#[async_trait]
impl Store for SqliteStore {
    fn owner(&self) -> &str {
        self.hosts.owner()
    }

    async fn create(&self, deployment: &Deployment) -> Result<(), StoreError> {
        let doing = format!("storing the new deployment {}", deployment.id);
        let rows = Rows::whole(deployment).map_err(self.failed(&doing))?;
        let event = EventKind::Deployment {
            status: deployment.status,
            reason: deployment.reason.clone(),
        };
        self.writer
            .write(doing, move |c| deployments::create(c, &rows, &event))
            .await
    }

    async fn load(&self, id: &DeploymentId) -> Result<Option<Deployment>, StoreError> {
        let id = id.clone();
        self.readers
            .read(format!("reading the deployment {id}"), move |c| {
                deployments::load(c, &id)
            })
            .await
    }

    async fn find(&self, prefix: &str, limit: usize) -> Result<Vec<DeploymentId>, StoreError> {
        let prefix = prefix.to_owned();
        self.readers
            .read(format!("finding the deployments {prefix}…"), move |c| {
                deployments::find(c, &prefix, limit)
            })
            .await
    }

    async fn list(&self, filter: &Filter) -> Result<Vec<Deployment>, StoreError> {
        let filter = filter.clone();
        self.readers
            .read("listing deployments".to_owned(), move |c| {
                deployments::list(c, &filter)
            })
            .await
    }

    async fn apply(&self, change: &Change, holder: &Holder) -> Result<(), StoreError> {
        let doing = format!(
            "storing a change of the deployment {}",
            change.deployment.id
        );
        let transition = Transition::new(change, holder).map_err(self.failed(&doing))?;
        self.writer
            .write(doing, move |c| deployments::apply(c, &transition))
            .await
    }

    async fn note(&self, fence: &Fence, text: &str, now: Timestamp) -> Result<(), StoreError> {
        let (fence, text) = (fence.clone(), text.to_owned());
        self.writer
            .write(format!("storing the note of {}", fence.stage), move |c| {
                deployments::note(c, &fence, &text, now)
            })
            .await
    }

    async fn last_success(
        &self,
        application: &ApplicationId,
    ) -> Result<Option<Revision>, StoreError> {
        let id = application.clone();
        self.readers
            .read(format!("reading the last success of {id}"), move |c| {
                deployments::last_success(c, &id)
            })
            .await
    }

    async fn due(&self, now: Timestamp, limit: usize) -> Result<Vec<DeploymentId>, StoreError> {
        let hosts = Arc::clone(&self.hosts);
        self.readers
            .read("looking for work".to_owned(), move |c| {
                work::due(c, &hosts, now, limit)
            })
            .await
    }

    async fn next_due(&self) -> Result<Option<Timestamp>, StoreError> {
        let hosts = Arc::clone(&self.hosts);
        self.readers
            .read("looking for the next work".to_owned(), move |c| {
                work::next_due(c, &hosts)
            })
            .await
    }

    async fn has_unfinished(&self) -> Result<bool, StoreError> {
        self.readers
            .read(
                "looking for unfinished deployments".to_owned(),
                work::has_unfinished,
            )
            .await
    }

    async fn renew(&self, owner: &str, until: Timestamp) -> Result<(), StoreError> {
        let owner = owner.to_owned();
        self.writer
            .write("renewing leases".to_owned(), move |c| {
                work::renew(c, &owner, until)
            })
            .await
    }

    async fn leases(&self, deployment: &DeploymentId) -> Result<Vec<Lease>, StoreError> {
        let id = deployment.clone();
        self.readers
            .read(format!("reading the leases of {id}"), move |c| {
                work::leases(c, &id)
            })
            .await
    }

    async fn has_lapsed(&self, lease: &Lease, now: Timestamp) -> Result<bool, StoreError> {
        Ok(lease.until <= now || self.hosts.is_gone(&lease.owner))
    }

    async fn state_get(
        &self,
        owner: &StateOwner,
        key: &str,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let (owner, key) = (owner.clone(), key.to_owned());
        self.readers
            .read(format!("reading the value {key:?}"), move |c| {
                state::get(c, &owner, &key)
            })
            .await
    }

    async fn state_put(
        &self,
        owner: &StateOwner,
        values: &[(String, Vec<u8>)],
        fence: Option<&Fence>,
    ) -> Result<(), StoreError> {
        let (owner, values, fence) = (owner.clone(), values.to_owned(), fence.cloned());
        self.writer
            .write("storing state".to_owned(), move |c| {
                state::put(c, &owner, &values, fence.as_ref())
            })
            .await
    }

    async fn state_delete(
        &self,
        owner: &StateOwner,
        key: &str,
        fence: Option<&Fence>,
    ) -> Result<(), StoreError> {
        let (owner, key, fence) = (owner.clone(), key.to_owned(), fence.cloned());
        self.writer
            .write(format!("removing the value {key:?}"), move |c| {
                state::delete(c, &owner, &key, fence.as_ref())
            })
            .await
    }

    async fn state_keys(
        &self,
        owner: &StateOwner,
        prefix: &str,
    ) -> Result<Vec<String>, StoreError> {
        let (owner, prefix) = (owner.clone(), prefix.to_owned());
        self.readers
            .read(format!("listing the keys {prefix:?}…"), move |c| {
                state::keys(c, &owner, &prefix)
            })
            .await
    }

    async fn log_append(
        &self,
        log: &LogKey,
        lines: &[LogLine],
        fence: Option<&Fence>,
    ) -> Result<(), StoreError> {
        let (log, chunk, fence) = (log.clone(), Chunk::new(lines), fence.cloned());
        self.writer
            .write(
                format!("storing log lines of {}", log.deployment),
                move |c| logs::append(c, &log, &chunk, fence.as_ref()),
            )
            .await
    }

    async fn log_read(
        &self,
        log: &LogKey,
        from: u64,
        limit: usize,
    ) -> Result<Vec<LogLine>, StoreError> {
        let log = log.clone();
        self.readers
            .read(format!("reading a log of {}", log.deployment), move |c| {
                logs::read(c, &log, from, limit)
            })
            .await
    }

    async fn log_end(&self, log: &LogKey) -> Result<u64, StoreError> {
        let log = log.clone();
        self.readers
            .read(
                format!("looking for the end of a log of {}", log.deployment),
                move |c| logs::end(c, &log),
            )
            .await
    }

    async fn events(
        &self,
        deployment: Option<&DeploymentId>,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Event>, StoreError> {
        let deployment = deployment.cloned();
        self.readers
            .read("reading events".to_owned(), move |c| {
                events::after(c, deployment.as_ref(), after, limit)
            })
            .await
    }

    async fn component_put(&self, digest: &Digest, bytes: &[u8]) -> Result<(), StoreError> {
        let doing = format!("storing the component {}", digest.short());
        let id = digest.clone();
        let has = move |c: &rusqlite::Connection| components::has(c, &id);
        // Most are there: no need to copy them.
        if self.readers.read(doing.clone(), has).await? {
            return Ok(());
        }
        let (digest, bytes) = (digest.clone(), bytes.to_owned());
        self.writer
            .write(doing, move |c| components::put(c, &digest, &bytes))
            .await
    }

    async fn component(&self, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
        let digest = digest.clone();
        self.readers
            .read(
                format!("reading the component {}", digest.short()),
                move |c| components::get(c, &digest),
            )
            .await
    }

    async fn components_prune(&self) -> Result<(), StoreError> {
        self.writer
            .write("removing components".to_owned(), components::prune)
            .await
    }

    async fn revisions_in_use(
        &self,
        application: &ApplicationId,
    ) -> Result<Vec<String>, StoreError> {
        let id = application.clone();
        self.readers
            .read(format!("reading the revisions of {id}"), move |c| {
                deployments::revisions_in_use(c, &id)
            })
            .await
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.writer.changes()
    }
}
