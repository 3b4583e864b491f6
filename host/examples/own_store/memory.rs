//! A store in memory: what a store has to promise, without a database.
//!
//! Nothing outlives the process, so it is for tests and trials. Every call takes
//! one lock, which is what makes each of them happen whole or not at all.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use stagewright::model::{
    ApplicationId, Deployment, DeploymentId, DeploymentStatus, Digest, Event, EventKind, LogLine,
    PinnedPlugin, Revision, StageId, Timestamp,
};
use stagewright::store::{
    Change, Due, Fence, Filter, Holder, Keep, Lease, LogKey, StateOwner, Store, StoreError,
};
use tokio::sync::watch;

/// Keeps everything in memory.
#[derive(Debug)]
pub(crate) struct MemoryStore {
    tables: Mutex<Tables>,
    changes: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Tables {
    /// In the order in which they were stored.
    deployments: Vec<Row>,
    events: Vec<Event>,
    newest_event: u64,
    leases: Vec<Lease>,
    state: BTreeMap<(String, String), Vec<u8>>,
    logs: BTreeMap<(DeploymentId, Option<StageId>), Vec<Vec<LogLine>>>,
    successes: BTreeMap<String, Revision>,
    components: BTreeMap<Digest, Vec<u8>>,
}

#[derive(Debug)]
struct Row {
    deployment: Deployment,
    due: Option<Timestamp>,
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self {
            tables: Mutex::default(),
            changes: watch::Sender::new(0),
        }
    }
}

impl MemoryStore {
    fn read(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes, and tells those who wait that there is something new.
    fn write<T>(
        &self,
        work: impl FnOnce(&mut Tables) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let done = work(&mut self.read())?;
        self.changes.send_modify(|count| *count += 1);
        Ok(done)
    }
}

impl Tables {
    /// Makes a change that was found to fit.
    fn change(&mut self, change: &Change, holder: &Holder) -> Result<(), StoreError> {
        let new = &change.deployment;
        let row = self.row_mut(&new.id)?;
        let old = &row.deployment;
        let named = |place: &usize| change.stages.contains(place);
        let mut stored = new.clone();
        for (place, stage) in stored.stages.iter_mut().enumerate() {
            let Some(before) = old.stages.get(place) else {
                continue;
            };
            if !named(&place) {
                *stage = before.clone();
            } else if stage.id == before.id && stage.attempt.number == before.attempt.number {
                stage.note.clone_from(&before.note);
            }
        }
        row.deployment = stored;
        row.due = change.due;
        self.succeeded(new);
        let leases = &mut self.leases;
        let over = new.status.is_final();
        leases.retain(|lease| {
            let released = change.released.contains(&lease.what);
            let taken = change.taken.contains(&lease.what);
            lease.deployment != new.id || !(over || released || taken)
        });
        if !over {
            leases.extend(change.taken.iter().map(|what| Lease {
                deployment: new.id.clone(),
                what: what.clone(),
                owner: holder.owner.clone(),
                until: holder.until,
            }));
        }
        for kind in &change.events {
            self.tell(new, change.at, kind.clone());
        }
        let next = self.queue(&new.application.id).next();
        if over && let Some(id) = next.map(|row| row.deployment.id.clone()) {
            let next = self.row_mut(&id)?;
            if next.deployment.status == DeploymentStatus::Queued {
                next.due = Some(Timestamp(0));
            }
        }
        Ok(())
    }

    fn row(&self, id: &DeploymentId) -> Option<&Row> {
        self.deployments.iter().find(|row| &row.deployment.id == id)
    }

    fn row_mut(&mut self, id: &DeploymentId) -> Result<&mut Row, StoreError> {
        let mut rows = self.deployments.iter_mut();
        rows.find(|row| &row.deployment.id == id)
            .ok_or(StoreError::Conflict)
    }

    /// The unfinished deployments of an application, the first stored first.
    fn queue<'a>(&'a self, application: &'a ApplicationId) -> impl Iterator<Item = &'a Row> {
        let unfinished = |row: &&Row| !row.deployment.status.is_final();
        let rows = self.deployments.iter().filter(unfinished);
        rows.filter(move |row| &row.deployment.application.id == application)
    }

    fn tell(&mut self, deployment: &Deployment, at: Timestamp, kind: EventKind) {
        self.newest_event += 1;
        self.events.push(Event {
            number: self.newest_event,
            at,
            deployment: deployment.id.clone(),
            application: deployment.application.id.clone(),
            kind,
        });
    }

    /// Refuses what does not come from a stage's newest execution.
    fn check(&self, fence: Option<&Fence>) -> Result<(), StoreError> {
        let Some(fence) = fence else { return Ok(()) };
        let deployment = self.row(&fence.deployment).map(|row| &row.deployment);
        let fits = deployment.is_some_and(|deployment| match &fence.stage {
            Some(stage) => deployment
                .stage(stage)
                .is_some_and(|stage| stage.attempt == fence.attempt && !stage.status.is_final()),
            None => {
                let status = deployment.status;
                let open = [DeploymentStatus::Planning, DeploymentStatus::Cancelled];
                deployment.plan_attempt == fence.attempt.number && open.contains(&status)
            }
        });
        if fits { Ok(()) } else { Err(StoreError::Stale) }
    }

    fn succeeded(&mut self, deployment: &Deployment) {
        if deployment.status == DeploymentStatus::Succeeded {
            let application = deployment.application.id.to_string();
            self.successes
                .insert(application, (*deployment.target).clone());
        }
    }

    fn remove(&mut self, id: &DeploymentId) {
        let Some(place) = self
            .deployments
            .iter()
            .position(|row| &row.deployment.id == id)
        else {
            return;
        };
        let row = self.deployments.remove(place);
        self.events.retain(|event| &event.deployment != id);
        self.logs.retain(|(deployment, _), _| deployment != id);
        let of_deployment = format!("{:?}", ("deployment", id.as_str()));
        let mut owners = vec![of_deployment];
        let stages = row.deployment.stages.iter();
        owners.extend(stages.map(|stage| owner(&StateOwner::Stage(stage.id.clone()))));
        self.state
            .retain(|(of, _), _| !owners.iter().any(|owner| of.starts_with(owner)));
    }
}

/// A text that no two owners share.
fn owner(owner: &StateOwner) -> String {
    match owner {
        StateOwner::Stage(stage) => format!("{:?}", ("stage", stage.as_str())),
        StateOwner::Deployment(id, plugin) => {
            format!("{:?}{:?}", ("deployment", id.as_str()), plugin.as_str())
        }
        StateOwner::Application(id, plugin) => {
            format!("{:?}{:?}", ("application", id.as_str()), plugin.as_str())
        }
    }
}

#[async_trait]
impl Store for MemoryStore {
    fn owner(&self) -> &str {
        // There is one host: nobody else sees this memory.
        "this process"
    }

    async fn create(&self, deployment: &Deployment) -> Result<(), StoreError> {
        self.write(|tables| {
            if tables.row(&deployment.id).is_some() {
                return Err(StoreError::Conflict);
            }
            let ahead = tables.queue(&deployment.application.id).next().is_some();
            let waits = ahead || deployment.status.is_final();
            tables.deployments.push(Row {
                deployment: deployment.clone(),
                due: (!waits).then_some(Timestamp(0)),
            });
            tables.succeeded(deployment);
            let kind = EventKind::Deployment {
                status: deployment.status,
                reason: deployment.reason.clone(),
            };
            tables.tell(deployment, deployment.created_at, kind);
            Ok(())
        })
    }

    async fn load(&self, id: &DeploymentId) -> Result<Option<Deployment>, StoreError> {
        Ok(self.read().row(id).map(|row| row.deployment.clone()))
    }

    async fn find(&self, prefix: &str, limit: usize) -> Result<Vec<DeploymentId>, StoreError> {
        let tables = self.read();
        let ids = tables.deployments.iter().map(|row| &row.deployment.id);
        let mut ids: Vec<DeploymentId> = ids
            .filter(|id| id.as_str().starts_with(prefix))
            .cloned()
            .collect();
        ids.sort();
        ids.truncate(limit);
        Ok(ids)
    }

    async fn list(&self, filter: &Filter) -> Result<Vec<Deployment>, StoreError> {
        let wanted = |deployment: &Deployment| {
            let application = &deployment.application;
            let by_application = filter
                .application
                .as_ref()
                .is_none_or(|name| application.name == *name || application.id.as_str() == name);
            let statuses = &filter.statuses;
            let at = deployment.created_at;
            by_application
                && (statuses.is_empty() || statuses.contains(&deployment.status))
                && filter.since.is_none_or(|since| at >= since)
                && filter.until.is_none_or(|until| at < until)
        };
        let tables = self.read();
        let newest = tables.deployments.iter().rev().map(|row| &row.deployment);
        let found = newest.filter(|deployment| wanted(deployment));
        Ok(found.take(filter.limit).cloned().collect())
    }

    async fn apply(&self, changes: &[Change], holder: &Holder) -> Result<(), StoreError> {
        self.write(|tables| {
            if let Some(first) = changes.first() {
                follow(&tables.row_mut(&first.deployment.id)?.deployment, changes)?;
            }
            changes
                .iter()
                .try_for_each(|change| tables.change(change, holder))
        })
    }

    async fn note(&self, fence: &Fence, text: &str, now: Timestamp) -> Result<(), StoreError> {
        self.write(|tables| {
            tables.check(Some(fence))?;
            let id = fence.stage.as_ref().ok_or(StoreError::Stale)?;
            let row = tables.row_mut(&fence.deployment)?;
            let stages = &mut row.deployment.stages;
            if let Some(stage) = stages.iter_mut().find(|stage| &stage.id == id) {
                text.clone_into(&mut stage.note);
            }
            let deployment = row.deployment.clone();
            let kind = EventKind::Note {
                stage: id.clone(),
                text: text.to_owned(),
            };
            tables.tell(&deployment, now, kind);
            Ok(())
        })
    }

    async fn last_success(&self, id: &ApplicationId) -> Result<Option<Revision>, StoreError> {
        Ok(self.read().successes.get(id.as_str()).cloned())
    }

    async fn due(&self, now: Timestamp, limit: usize) -> Result<Vec<Due>, StoreError> {
        let tables = self.read();
        let rows = tables.deployments.iter();
        let waits = rows.filter_map(|row| Some((row.due?, &row.deployment.id)));
        let leases = tables.leases.iter();
        let lapses = leases.map(|lease| (lease.until, &lease.deployment));
        let mut due: Vec<_> = waits.chain(lapses).filter(|(at, _)| *at <= now).collect();
        due.sort();
        let mut found: Vec<Due> = Vec::new();
        for (_, id) in due {
            if let Some(row) = tables.row(id)
                && !found.iter().any(|due| due.deployment == *id)
            {
                found.push(Due {
                    deployment: id.clone(),
                    version: row.deployment.version,
                });
            }
        }
        found.truncate(limit);
        Ok(found)
    }

    async fn next_due(&self) -> Result<Option<Timestamp>, StoreError> {
        let tables = self.read();
        let waits = tables.deployments.iter().filter_map(|row| row.due);
        let lapses = tables.leases.iter().map(|lease| lease.until);
        Ok(waits.chain(lapses).min())
    }

    async fn ahead(&self, id: &DeploymentId) -> Result<Option<DeploymentId>, StoreError> {
        let tables = self.read();
        let Some(row) = tables.row(id) else {
            return Ok(None);
        };
        let first = tables.queue(&row.deployment.application.id).next();
        let first = first.map(|row| &row.deployment.id);
        Ok(first.filter(|first| *first != id).cloned())
    }

    async fn cancelling(&self) -> Result<Vec<DeploymentId>, StoreError> {
        let cancelled = |deployment: &Deployment| {
            let rollback = deployment.rollback.as_ref();
            deployment.cancel.is_some() || rollback.is_some_and(|r| r.cancel.is_some())
        };
        let tables = self.read();
        let rows = tables.deployments.iter().map(|row| &row.deployment);
        let found = rows.filter(|d| !d.status.is_final() && cancelled(d));
        Ok(found.map(|deployment| deployment.id.clone()).collect())
    }

    async fn prune(&self, application: &ApplicationId, keep: &Keep) -> Result<(), StoreError> {
        self.write(|tables| {
            let rows = tables.deployments.iter().rev().map(|row| &row.deployment);
            let finished: Vec<DeploymentId> = rows
                .filter(|d| d.status.is_final() && &d.application.id == application)
                .map(|deployment| deployment.id.clone())
                .collect();
            let beyond = |keep: Option<u32>| {
                finished
                    .iter()
                    .skip(keep.map_or(usize::MAX, |k| k as usize))
            };
            for id in beyond(keep.logs) {
                tables.logs.retain(|(deployment, _), _| deployment != id);
            }
            for id in beyond(keep.deployments) {
                tables.remove(id);
            }
            Ok(())
        })
    }

    async fn backup(&self, to: &Path) -> Result<(), StoreError> {
        Err(StoreError::Failed {
            doing: format!("copying the state to {}", to.display()),
            source: "what is in memory alone has no copies".into(),
        })
    }

    async fn renew(&self, owner: &str, until: Timestamp) -> Result<(), StoreError> {
        self.write(|tables| {
            for lease in tables
                .leases
                .iter_mut()
                .filter(|lease| lease.owner == owner)
            {
                lease.until = until.max(Timestamp(lease.until.0 + 1));
            }
            Ok(())
        })
    }

    async fn leases(&self, deployment: &DeploymentId) -> Result<Vec<Lease>, StoreError> {
        let tables = self.read();
        let leases = tables.leases.iter();
        let mut found: Vec<Lease> = leases
            .filter(|lease| &lease.deployment == deployment)
            .cloned()
            .collect();
        found.sort_by_key(|lease| format!("{:?}", lease.what));
        Ok(found)
    }

    async fn has_lapsed(&self, lease: &Lease, now: Timestamp) -> Result<bool, StoreError> {
        Ok(lease.until <= now)
    }

    async fn state_get(&self, of: &StateOwner, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let place = (owner(of), key.to_owned());
        Ok(self.read().state.get(&place).cloned())
    }

    async fn state_put(
        &self,
        of: &StateOwner,
        values: &[(String, Vec<u8>)],
        fence: Option<&Fence>,
    ) -> Result<(), StoreError> {
        self.write(|tables| {
            tables.check(fence)?;
            for (key, value) in values {
                tables.state.insert((owner(of), key.clone()), value.clone());
            }
            Ok(())
        })
    }

    async fn state_delete(
        &self,
        of: &StateOwner,
        key: &str,
        fence: Option<&Fence>,
    ) -> Result<(), StoreError> {
        self.write(|tables| {
            tables.check(fence)?;
            tables.state.remove(&(owner(of), key.to_owned()));
            Ok(())
        })
    }

    async fn state_keys(&self, of: &StateOwner, prefix: &str) -> Result<Vec<String>, StoreError> {
        let of = owner(of);
        let tables = self.read();
        let keys = tables.state.keys();
        let keys = keys.filter(|(owner, key)| *owner == of && key.starts_with(prefix));
        Ok(keys.map(|(_, key)| key.clone()).collect())
    }

    async fn log_append(
        &self,
        log: &LogKey,
        lines: &[LogLine],
        fence: Option<&Fence>,
    ) -> Result<(), StoreError> {
        self.write(|tables| {
            tables.check(fence)?;
            tables.row_mut(&log.deployment)?;
            let place = (log.deployment.clone(), log.stage.clone());
            let chunks = tables.logs.entry(place).or_default();
            let first: usize = chunks.iter().map(Vec::len).sum();
            let numbered = (first as u64..).zip(lines).map(|(number, line)| LogLine {
                number,
                ..line.clone()
            });
            let chunk: Vec<LogLine> = numbered.collect();
            if !chunk.is_empty() {
                chunks.push(chunk);
            }
            Ok(())
        })
    }

    async fn log_read(
        &self,
        log: &LogKey,
        from: u64,
        limit: usize,
    ) -> Result<Vec<LogLine>, StoreError> {
        let tables = self.read();
        let place = (log.deployment.clone(), log.stage.clone());
        let mut lines = Vec::new();
        for chunk in tables.logs.get(&place).into_iter().flatten() {
            if lines.len() >= limit {
                break;
            }
            lines.extend(chunk.iter().filter(|line| line.number >= from).cloned());
        }
        Ok(lines)
    }

    async fn log_end(&self, log: &LogKey) -> Result<u64, StoreError> {
        let tables = self.read();
        let place = (log.deployment.clone(), log.stage.clone());
        let chunks = tables.logs.get(&place).into_iter().flatten();
        Ok(chunks.map(|chunk| chunk.len() as u64).sum())
    }

    async fn events(
        &self,
        deployment: Option<&DeploymentId>,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Event>, StoreError> {
        let tables = self.read();
        let events = tables.events.iter().filter(|event| event.number > after);
        let events = events.filter(|e| deployment.is_none_or(|id| &e.deployment == id));
        Ok(events.take(limit).cloned().collect())
    }

    async fn newest_event(&self) -> Result<u64, StoreError> {
        Ok(self.read().newest_event)
    }

    async fn component_put(&self, digest: &Digest, bytes: &[u8]) -> Result<(), StoreError> {
        self.write(|tables| {
            let components = &mut tables.components;
            components
                .entry(digest.clone())
                .or_insert_with(|| bytes.to_owned());
            Ok(())
        })
    }

    async fn component(&self, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.read().components.get(digest).cloned())
    }

    async fn components_prune(&self) -> Result<(), StoreError> {
        self.write(|tables| {
            let unfinished = |row: &&Row| !row.deployment.status.is_final();
            let rows = tables.deployments.iter().filter(unfinished);
            let deployments: Vec<&Deployment> = rows.map(|row| &row.deployment).collect();
            let mut statuses = deployments.iter().map(|deployment| deployment.status);
            if statuses.any(|status| status == DeploymentStatus::Planning) {
                return Ok(());
            }
            let pins = deployments.iter().flat_map(|d| &d.plugins);
            let digest = |pinned: &PinnedPlugin| pinned.digest.clone();
            let needed: Vec<Digest> = pins.filter_map(digest).collect();
            tables
                .components
                .retain(|digest, _| needed.contains(digest));
            Ok(())
        })
    }

    async fn revisions_in_use(&self, id: &ApplicationId) -> Result<Vec<String>, StoreError> {
        let tables = self.read();
        let mut commits: Vec<String> = Vec::new();
        for row in tables.queue(id) {
            commits.push(row.deployment.target.commit.clone());
            commits.extend(row.deployment.running.iter().map(|r| r.commit.clone()));
        }
        commits.extend(tables.successes.get(id.as_str()).map(|r| r.commit.clone()));
        commits.sort();
        commits.dedup();
        Ok(commits)
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}

/// Whether changes fit a deployment, one after the other.
fn follow(old: &Deployment, changes: &[Change]) -> Result<(), StoreError> {
    let (mut version, mut stages) = (old.version, old.stages.len());
    for change in changes {
        let new = &change.deployment;
        if new.id != old.id || new.version != version + 1 {
            return Err(StoreError::Conflict);
        }
        let named = |place: &usize| change.stages.contains(place);
        let mut added = stages..new.stages.len();
        let beyond = change.stages.iter().any(|place| *place >= new.stages.len());
        if beyond || added.any(|place| !named(&place)) {
            return Err(StoreError::Failed {
                doing: format!("storing a change of {}", new.id),
                source: "the stages that it names are not those that are new".into(),
            });
        }
        (version, stages) = (new.version, new.stages.len());
    }
    Ok(())
}
