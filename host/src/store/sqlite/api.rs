//! The trait, spoken by the store: each call becomes a piece of work for a thread.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::watch;

use super::changes::{self, Rows, Transition};
use super::logs::{self, Chunk};
use super::{SqliteStore, backup, components, deployments, events, retention, state, work};
use crate::model::{
    ApplicationId, Deployment, DeploymentId, Digest, Event, EventKind, LogLine, Revision, Timestamp,
};
use crate::store::{
    Change, Due, Fence, Filter, Holder, Keep, Lease, LogKey, StateOwner, Store, StoreError,
};

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
            .write(doing, move |c| changes::create(c, &rows, &event))
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

    async fn apply(&self, changes: &[Change], holder: &Holder) -> Result<(), StoreError> {
        let Some(first) = changes.first() else {
            return Ok(());
        };
        let doing = format!("storing a change of the deployment {}", first.deployment.id);
        let transitions = Transition::all(changes, holder).map_err(self.failed(&doing))?;
        self.writer
            .write(doing, move |c| changes::apply(c, &transitions))
            .await
    }

    async fn note(&self, fence: &Fence, text: &str, now: Timestamp) -> Result<(), StoreError> {
        let (fence, text) = (fence.clone(), text.to_owned());
        self.writer
            .write(
                format!("storing a note of {}", fence.deployment),
                move |c| changes::note(c, &fence, &text, now),
            )
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

    async fn due(&self, now: Timestamp, limit: usize) -> Result<Vec<Due>, StoreError> {
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

    async fn ahead(&self, id: &DeploymentId) -> Result<Option<DeploymentId>, StoreError> {
        let id = id.clone();
        self.readers
            .read(format!("looking who is before {id}"), move |c| {
                work::ahead(c, &id)
            })
            .await
    }

    async fn cancelling(&self) -> Result<Vec<DeploymentId>, StoreError> {
        self.readers
            .read(
                "looking for cancelled deployments".to_owned(),
                work::cancelling,
            )
            .await
    }

    async fn prune(&self, application: &ApplicationId, keep: &Keep) -> Result<(), StoreError> {
        let (application, keep) = (application.clone(), *keep);
        self.writer
            .write(
                format!("removing old deployments of {application}"),
                move |c| retention::prune(c, &application, &keep),
            )
            .await
    }

    async fn backup(&self, to: &Path) -> Result<(), StoreError> {
        let to = to.to_owned();
        let doing = format!("copying the state to {}", to.display());
        self.readers
            .read(doing, move |c| backup::copy(c, &to))
            .await
    }

    async fn renew(&self, owner: &str, until: Timestamp) -> Result<(), StoreError> {
        let (owner, hosts) = (owner.to_owned(), Arc::clone(&self.hosts));
        self.writer
            .write("renewing leases".to_owned(), move |c| {
                work::renew(c, &owner, until)?;
                hosts.look(&work::latest(c)?);
                Ok(())
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
        Ok(self.hosts.has_lapsed(lease, now))
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

    async fn newest_event(&self) -> Result<u64, StoreError> {
        self.readers
            .read(
                "reading the newest event's number".to_owned(),
                events::newest,
            )
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
