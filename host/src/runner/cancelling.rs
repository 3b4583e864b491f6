//! Telling the calls of this host that their stages were cancelled, or are no
//! longer theirs.
//!
//! A cancel is a fact in the store. Whoever begins a call looks there first; for
//! those under way, one task looks after each change, however many there are.
//! A host that stood still for longer than its leases last looks whether others
//! have taken over what it ran.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

use crate::lifecycle;
use crate::model::{Attempt, Canceller, Deployment, DeploymentId, StageId, StageStatus};

use super::{RunError, Runner};

/// The calls under way.
#[derive(Debug, Default)]
pub(super) struct Calls {
    by_deployment: Mutex<HashMap<DeploymentId, Vec<UnderWay>>>,
    /// A call began: it may have been cancelled just before.
    began: Notify,
}

#[derive(Debug)]
struct UnderWay {
    stage: StageId,
    attempt: Attempt,
    canceller: Canceller,
    lost: Arc<Notify>,
}

/// A call is told of a cancel, and of its loss, until this is dropped.
#[derive(Debug)]
pub(super) struct Registered<'a> {
    calls: &'a Calls,
    deployment: &'a DeploymentId,
    stage: &'a StageId,
    attempt: Attempt,
    lost: Arc<Notify>,
}

impl Registered<'_> {
    /// Waits until the stage is known to run elsewhere, or not at all.
    pub(super) async fn lost(&self) {
        self.lost.notified().await;
    }
}

impl Calls {
    fn register<'a>(
        &'a self,
        deployment: &'a DeploymentId,
        stage: &'a StageId,
        attempt: Attempt,
        canceller: Canceller,
    ) -> Registered<'a> {
        let lost = Arc::new(Notify::new());
        let call = UnderWay {
            stage: stage.clone(),
            attempt,
            canceller,
            lost: lost.clone(),
        };
        let mut calls = self.lock();
        calls.entry(deployment.clone()).or_default().push(call);
        drop(calls);
        self.began.notify_one();
        Registered {
            calls: self,
            deployment,
            stage,
            attempt,
            lost,
        }
    }

    /// Whether a deployment has a call that was not told yet: one that was has the
    /// grace period, and is not told again.
    fn has(&self, deployment: &DeploymentId) -> bool {
        let calls = self.lock();
        let mut calls = calls.get(deployment).into_iter().flatten();
        calls.any(|call| !call.canceller.is_cancelled())
    }

    fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Tells the calls whose stages are to stop.
    fn tell(&self, deployment: &Deployment) {
        let calls = self.lock();
        for call in calls.get(&deployment.id).into_iter().flatten() {
            let stage = deployment.stage(&call.stage);
            if stage.is_some_and(|stage| lifecycle::is_cancelled(deployment, stage).is_some()) {
                call.canceller.cancel();
            }
        }
    }

    fn deployments(&self) -> Vec<DeploymentId> {
        self.lock().keys().cloned().collect()
    }

    /// Tells the calls whose executions are no longer the newest.
    fn tell_lost(&self, deployment: &Deployment) {
        let calls = self.lock();
        for call in calls.get(&deployment.id).into_iter().flatten() {
            let stage = deployment.stage(&call.stage);
            let still = stage.is_some_and(|stage| {
                stage.status == StageStatus::Running && stage.attempt == call.attempt
            });
            if !still {
                call.lost.notify_one();
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<DeploymentId, Vec<UnderWay>>> {
        // The map is never left half changed.
        self.by_deployment
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        let mut calls = self.calls.lock();
        if let Some(of_deployment) = calls.get_mut(self.deployment) {
            of_deployment.retain(|call| &call.stage != self.stage || call.attempt != self.attempt);
            if of_deployment.is_empty() {
                calls.remove(self.deployment);
            }
        }
    }
}

impl Runner {
    /// Has a call told of a cancel, also of one that came before.
    pub(super) fn on_cancel<'a>(
        &'a self,
        deployment: &'a DeploymentId,
        stage: &'a StageId,
        attempt: Attempt,
        canceller: Canceller,
    ) -> Registered<'a> {
        self.calls.register(deployment, stage, attempt, canceller)
    }

    /// Tells calls of cancels until it is dropped.
    pub(crate) async fn watch_cancels(&self) {
        let mut changes = self.store.changes();
        loop {
            tokio::select! {
                changed = changes.changed() => if changed.is_err() { return },
                () = self.calls.began.notified() => {}
            }
            if self.calls.is_empty() {
                continue;
            }
            if let Err(error) = self.tell_of_cancels().await {
                // A store that fails is told by whoever writes to it next; the
                // next change is looked at again.
                tracing::warn!(%error, "cancels could not be looked for");
            }
        }
    }

    /// Drops the calls whose stages others have taken over.
    pub(super) async fn tell_of_losses(&self) -> Result<(), RunError> {
        for id in self.calls.deployments() {
            self.calls.tell_lost(&self.load(&id).await?);
        }
        Ok(())
    }

    async fn tell_of_cancels(&self) -> Result<(), RunError> {
        for id in self.store.cancelling().await? {
            if self.calls.has(&id) {
                self.calls.tell(&self.load(&id).await?);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Cancel;
    use crate::store::conformance::{deployment, stage};

    #[test]
    fn a_deployment_whose_calls_were_told_of_a_cancel_is_not_looked_at_again() {
        let (calls, id) = (Calls::default(), DeploymentId::from("d"));
        let (canceller, _cancel) = Cancel::new();
        let (one, other) = (StageId::from("s1"), StageId::from("s2"));
        let attempt = Attempt::default();
        let _one = calls.register(&id, &one, attempt, canceller.clone());
        assert!(calls.has(&id));
        canceller.cancel();
        assert!(!calls.has(&id));
        let (canceller, _cancel) = Cancel::new();
        let _other = calls.register(&id, &other, attempt, canceller);
        assert!(calls.has(&id));
    }

    #[tokio::test]
    async fn a_call_is_told_of_its_loss_when_its_stage_has_a_newer_attempt_and_not_before() {
        let calls = Calls::default();
        let mut now = deployment("d", "site");
        let mut one = stage("s1");
        one.status = StageStatus::Running;
        now.stages = vec![one];
        let (id, stage) = (now.id.clone(), now.stages[0].id.clone());
        let attempt = now.stages[0].attempt;
        let (canceller, cancel) = Cancel::new();
        let told = calls.register(&id, &stage, attempt, canceller);
        calls.tell_lost(&now);
        tokio::select! {
            biased;
            () = told.lost() => panic!("it is the newest"),
            () = std::future::ready(()) => {}
        }
        now.stages[0].attempt.number += 1;
        calls.tell_lost(&now);
        told.lost().await;
        assert!(!cancel.is_cancelled(), "it was no cancel");
    }
}
