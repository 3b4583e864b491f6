//! Ending one thing and beginning the next in one commit.
//!
//! A durable commit waits for the disk. What ends leaves, most of the time, one
//! stage that may begin, and who has just ended it is about to claim that: so
//! both are decided together and stored together, all or none.

use crate::lifecycle::{self, Event, Next};
use crate::model::{Deployment, StageId};
use crate::store::StoreError;

use super::{RunError, Runner, crash, holder, now};

/// What an event made of a deployment.
pub(super) struct Applied {
    /// The deployment as it is then.
    pub(super) deployment: Deployment,
    /// The stage that was claimed with it.
    pub(super) begun: Option<StageId>,
}

impl Applied {
    /// Nothing was claimed.
    pub(super) fn alone(deployment: Deployment) -> Self {
        Self {
            deployment,
            begun: None,
        }
    }
}

impl Runner {
    /// Applies an event, as [`Runner::apply`] does, and claims the stage that may
    /// begin after it, if it is the only one.
    pub(super) async fn apply_and_claim(
        &self,
        known: &Deployment,
        still_fits: impl Fn(&Deployment) -> bool,
        event: impl Fn() -> Event,
    ) -> Result<Option<Applied>, RunError> {
        if still_fits(known)
            && let Some(applied) = self.both(known, event()).await?
        {
            return Ok(Some(applied));
        }
        let applied = self.apply(known, still_fits, event).await?;
        Ok(applied.map(Applied::alone))
    }

    /// None if there is no such stage, or the deployment is another by now.
    async fn both(&self, known: &Deployment, event: Event) -> Result<Option<Applied>, RunError> {
        let at = now();
        let name = event.name();
        let Ok(first) = lifecycle::apply(known, event, at) else {
            return Ok(None);
        };
        let Next::Begin(ready) = first.next() else {
            return Ok(None);
        };
        let [stage] = ready.as_slice() else {
            return Ok(None);
        };
        let begin = Event::StageBegun(stage.clone());
        let begins = begin.name();
        let Ok(second) = lifecycle::apply(&first.deployment, begin, at) else {
            return Ok(None);
        };
        let deployment = second.deployment.clone();
        for name in [name, begins] {
            crash::before(name);
        }
        match self
            .store
            .apply(&[first, second], &holder(&*self.store))
            .await
        {
            Ok(()) => {
                for name in [name, begins] {
                    crash::after(name);
                }
                Ok(Some(Applied {
                    deployment,
                    begun: Some(stage.clone()),
                }))
            }
            Err(StoreError::Conflict) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}
