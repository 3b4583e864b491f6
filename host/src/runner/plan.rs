//! Planning as a step of a deployment's way: claims it, reads the definition
//! again, asks the plugins, pins them, stores the plan or why there is none.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use crate::definition::Application;
use crate::lifecycle::{Event, Plan};
use crate::logs::LogWriter;
use crate::model::{Attempt, Deployment, DeploymentId, DeploymentStatus, Severity, Source};
use crate::source::changed_files;
use crate::store::{Fence, LogKey, StoreError};

use super::places::Place;
use super::planning::{PlanFailure, Planning};
use super::services::CallLog;
use super::wiring::Wiring;
use super::{Applied, Claims, Definition, RunError, Runner, Stop, new_stage_id, now, stopped};

/// How often at most it is looked whether a planning was cancelled.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

impl Runner {
    /// Plans a deployment, if nobody else does. Gives it as it is then, if this
    /// is what became of it; with its first stage claimed, if there is room.
    pub(super) async fn plan_step(
        &self,
        deployment: &Deployment,
        definition: &Definition,
        stop: &watch::Receiver<Stop>,
    ) -> Result<Option<(Applied, Option<Place>)>, RunError> {
        let id = &deployment.id;
        // Another host may have begun meanwhile: then it has the lease, and this one
        // has looked at none.
        let (status, attempt) = (deployment.status, deployment.plan_attempt);
        let as_it_was = |d: &Deployment| d.status == status && d.plan_attempt == attempt;
        let planning = |d: &Deployment| d.status == DeploymentStatus::Planning;
        let application = &deployment.application.id;
        let running = self.store.last_success(application).await?;
        let limit = self.limits.attempts.get();
        let changes = self.store.changes();
        let begin = || Event::PlanBegun {
            limit,
            running: running.clone(),
        };
        let begun = self.apply(deployment, as_it_was, begin).await?;
        let Some(deployment) = begun.filter(planning) else {
            return Ok(None);
        };
        let mine = deployment.plan_attempt;
        let key = LogKey {
            deployment: id.clone(),
            stage: None,
        };
        let log = Arc::new(LogWriter::new(
            self.store.clone(),
            key,
            // What another planning has taken over has no more to say.
            Some(Fence {
                deployment: id.clone(),
                stage: None,
                attempt: Attempt {
                    number: mine,
                    turn: 0,
                },
            }),
            mine,
            Arc::new(now),
        ));
        let still_mine = |d: &Deployment| planning(d) && d.plan_attempt == mine;
        let mut stop = stop.clone();
        let plan = async {
            let application = definition.of(&deployment)?;
            let log = CallLog::Stored(log.clone());
            self.plan_with(&deployment, application, log).await
        };
        let made = tokio::select! {
            made = plan => made,
            // Planning has no effect but its answer: it can be dropped at once.
            cancelled = self.no_longer(id, still_mine, changes) => {
                cancelled?;
                is_stored(&log).await?;
                return Ok(None);
            }
            () = stopped(&mut stop, Stop::Soon) => {
                is_stored(&log).await?;
                let event = || Event::PlanHandedBack;
                let back = self.apply_and(Claims::Nothing, &deployment, still_mine, event);
                return Ok(back.await?.map(|back| (back, None)));
            }
        };
        match &made {
            Ok(plan) => log.write(Severity::Success, &plan.summary),
            Err(failure) => log.write(Severity::Error, &failure.to_string()),
        }
        if !is_stored(&log).await? {
            return Ok(None);
        }
        let event = match made {
            Ok(plan) => {
                self.pin(&plan).await?;
                Event::Planned(Box::new(plan))
            }
            Err(failure) => Event::PlanFailed(failure.to_string()),
        };
        let event = || event.clone();
        let place = match *stop.borrow() {
            Stop::No => self.places.free(),
            Stop::Soon | Stop::Now => None,
        };
        let claims = place.as_ref().map_or(Claims::Nothing, Place::claims);
        let planned = self
            .apply_and(claims, &deployment, still_mine, event)
            .await?;
        Ok(planned.map(|planned| (planned, place)))
    }

    /// Waits until something no longer holds of a deployment: it is looked at after
    /// changes that were not seen yet.
    async fn no_longer(
        &self,
        id: &DeploymentId,
        holds: impl Fn(&Deployment) -> bool,
        mut changes: watch::Receiver<u64>,
    ) -> Result<(), RunError> {
        loop {
            if changes.changed().await.is_err() {
                // Nobody is left who could change it.
                std::future::pending::<()>().await;
            }
            // Most changes are those of others.
            tokio::time::sleep(BETWEEN_LOOKS).await;
            changes.borrow_and_update();
            if !holds(&self.load(id).await?) {
                return Ok(());
            }
        }
    }

    /// Asks the plugins how a deployment will go; stores nothing.
    pub(crate) async fn plan_with(
        &self,
        deployment: &Deployment,
        application: &Application,
        log: CallLog,
    ) -> Result<Plan, PlanFailure> {
        let wiring = Wiring::new(application, &*self.providers).map_err(PlanFailure::Definition)?;
        let host = |error: &dyn std::error::Error| PlanFailure::Host(error.to_string());
        let target = self.source(deployment, &deployment.target).await;
        let target = target.map_err(|e| host(&e))?;
        let running = match &deployment.running {
            Some(revision) => {
                let source = self.source(deployment, revision).await;
                Some(source.map_err(|e| host(&e))?)
            }
            None => None,
        };
        let changed = match &running {
            Some(running) if skips_by_path(application) => {
                Some(changes(running.clone(), target.clone()).await?)
            }
            _ => None,
        };
        let planning = Planning {
            deployment: Arc::new(deployment.clone()),
            application,
            wiring: &wiring,
            providers: &*self.providers,
            target,
            running,
            changed,
            store: self.store.clone(),
            log,
            timeout: self.limits.plan_timeout,
            now,
            new_id: new_stage_id,
        };
        planning.run().await
    }

    /// Keeps the components that a plan needs, so that what was planned is what
    /// runs, whatever becomes of the plugins directory.
    async fn pin(&self, plan: &Plan) -> Result<(), RunError> {
        for provider in self.providers.all() {
            let registered = &provider.registered;
            if let (Some(digest), Some(bytes)) = (registered.digest(), registered.bytes())
                && plan
                    .plugins
                    .iter()
                    .any(|pinned| &pinned.key == registered.key())
            {
                self.store.component_put(digest, bytes).await?;
            }
        }
        Ok(())
    }
}

/// Stores what was said of a planning. Whether it still counts.
async fn is_stored(log: &LogWriter) -> Result<bool, RunError> {
    match log.finish().await {
        Ok(()) => Ok(true),
        Err(StoreError::Stale) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Comparing two trees costs reading both: it is done only for who asks.
fn skips_by_path(application: &Application) -> bool {
    let mut stages = application.stages.iter();
    stages.any(|stage| !stage.skip_on.paths.is_empty())
}

async fn changes(running: Source, target: Source) -> Result<BTreeSet<String>, PlanFailure> {
    let compared =
        tokio::task::spawn_blocking(move || changed_files(&running.root, &target.root)).await;
    match compared {
        Ok(Ok(changed)) => Ok(changed),
        Ok(Err(error)) => Err(PlanFailure::Host(error.to_string())),
        Err(error) => Err(PlanFailure::Host(format!(
            "comparing sources broke off: {error}"
        ))),
    }
}
