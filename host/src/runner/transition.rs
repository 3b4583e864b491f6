//! Making transitions: what the lifecycle decides on is stored, if the deployment is
//! still the one that it was decided on; else it is read again and decided anew.
//!
//! A durable commit waits for the disk. What ends leaves, most of the time, one
//! stage that may begin, and who has just ended it is about to claim that: so
//! both are decided together and stored together, all or none.

use std::slice;

use crate::lifecycle::{self, Change, Event, Next, Rejected};
use crate::model::{Deployment, StageId};
use crate::store::{Store, StoreError};

use super::{RunError, Runner, crash, holder, load, now};

/// What an event made of a deployment.
pub(crate) struct Applied {
    /// The deployment as it is then.
    pub(crate) deployment: Deployment,
    /// The stage that was claimed with it.
    pub(crate) begun: Option<StageId>,
}

/// Whether the stage that may begin after an event, if it is the only one, is claimed
/// with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claims {
    /// It is.
    Next,
    /// No stage is.
    Nothing,
}

/// Why an event made nothing of a deployment.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TransitionError {
    /// It does not fit where the deployment stands.
    #[error(transparent)]
    Rejected(#[from] Rejected),
    /// The store failed.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl Runner {
    /// Applies an event to a deployment as it is now. None if the event no longer
    /// fits: then someone else has done it. `known` is what it most likely is.
    pub(super) async fn apply(
        &self,
        known: &Deployment,
        still_fits: impl Fn(&Deployment) -> bool,
        event: impl Fn() -> Event,
    ) -> Result<Option<Deployment>, RunError> {
        let applied = self
            .apply_and(Claims::Nothing, known, still_fits, event)
            .await?;
        Ok(applied.map(|applied| applied.deployment))
    }

    /// The same; and claims what is to be claimed with it.
    pub(super) async fn apply_and(
        &self,
        claims: Claims,
        known: &Deployment,
        still_fits: impl Fn(&Deployment) -> bool,
        event: impl Fn() -> Event,
    ) -> Result<Option<Applied>, RunError> {
        match transition(&*self.store, claims, known, still_fits, event).await {
            Ok(applied) => Ok(applied),
            Err(TransitionError::Rejected(rejected)) => {
                tracing::debug!(%rejected, "an event came too late");
                Ok(None)
            }
            Err(TransitionError::Run(error)) => Err(error),
        }
    }
}

/// Applies an event to a deployment, which is read again if it is another by now.
/// None if `still_fits` says no to what it is now.
pub(crate) async fn transition(
    store: &dyn Store,
    claims: Claims,
    known: &Deployment,
    still_fits: impl Fn(&Deployment) -> bool,
    event: impl Fn() -> Event,
) -> Result<Option<Applied>, TransitionError> {
    let mut read: Option<Deployment> = None;
    loop {
        let (deployment, is_now) = (read.as_ref().unwrap_or(known), read.is_some());
        let wanted = event();
        let name = wanted.name();
        let change = still_fits(deployment)
            .then(|| lifecycle::apply(deployment, wanted, now()))
            .transpose();
        match change {
            Ok(Some(change)) => {
                let begun = match claims {
                    Claims::Next => begin_next(&change),
                    Claims::Nothing => None,
                };
                if let Some(applied) = stored(store, name, change, begun).await? {
                    return Ok(Some(applied));
                }
            }
            // Only what it is now can say no.
            Ok(None) if is_now => return Ok(None),
            Err(rejected) if is_now => return Err(rejected.into()),
            Ok(None) | Err(_) => {}
        }
        read = Some(load(store, &known.id).await?);
    }
}

/// A stage that begins right after a change.
struct Begun {
    stage: StageId,
    name: &'static str,
    change: Change,
}

/// What comes of beginning the stage that may begin after a change, if there is one
/// and no other.
fn begin_next(after: &Change) -> Option<Begun> {
    let Next::Begin(ready) = after.next() else {
        return None;
    };
    let [stage] = ready.as_slice() else {
        return None;
    };
    let event = Event::StageBegun(stage.clone());
    let name = event.name();
    let change = lifecycle::apply(&after.deployment, event, after.at).ok()?;
    let stage = stage.clone();
    Some(Begun {
        stage,
        name,
        change,
    })
}

/// Stores a change, and what begins right after it. None if the deployment is another
/// by now.
async fn stored(
    store: &dyn Store,
    name: &'static str,
    change: Change,
    begun: Option<Begun>,
) -> Result<Option<Applied>, RunError> {
    let names = [Some(name), begun.as_ref().map(|begun| begun.name)];
    for name in names.into_iter().flatten() {
        crash::before(name);
    }
    let holder = holder(store);
    let (done, deployment, begun) = match begun {
        None => {
            let done = store.apply(slice::from_ref(&change), &holder).await;
            (done, change.deployment, None)
        }
        Some(begun) => {
            let changes = [change, begun.change];
            let done = store.apply(&changes, &holder).await;
            let [_, last] = changes;
            (done, last.deployment, Some(begun.stage))
        }
    };
    match done {
        Ok(()) => {
            for name in names.into_iter().flatten() {
                crash::after(name);
            }
            Ok(Some(Applied { deployment, begun }))
        }
        Err(StoreError::Conflict) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
