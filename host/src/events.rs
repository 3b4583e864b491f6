//! Events as a stream: what is stored, then what comes.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::Stream;

use crate::error::Error;
use crate::model::{DeploymentId, Event};
use crate::store::{Store, StoreError};

/// How many events are read at once.
const BATCH: usize = 256;

/// All that has happened to a deployment so far.
pub(crate) async fn so_far(
    store: &dyn Store,
    deployment: &DeploymentId,
) -> Result<Vec<Event>, StoreError> {
    let mut all: Vec<Event> = Vec::new();
    loop {
        let after = all.last().map_or(0, |event| event.number);
        let more = store.events(Some(deployment), after, BATCH).await?;
        if more.is_empty() {
            return Ok(all);
        }
        all.extend(more);
    }
}

/// The events after a number; of one deployment, whose end ends the stream, or of
/// all, without an end.
pub(crate) fn follow(
    store: Arc<dyn Store>,
    deployment: Option<DeploymentId>,
    after: u64,
) -> impl Stream<Item = Result<Event, Error>> + Send + use<> {
    let state = Following {
        changes: store.changes(),
        store,
        deployment,
        after,
        read: VecDeque::new(),
        over: false,
    };
    futures_util::stream::unfold(state, |mut state| async move {
        let next = state.next().await?;
        Some((next, state))
    })
}

struct Following {
    store: Arc<dyn Store>,
    changes: tokio::sync::watch::Receiver<u64>,
    deployment: Option<DeploymentId>,
    after: u64,
    read: VecDeque<Event>,
    over: bool,
}

impl Following {
    async fn next(&mut self) -> Option<Result<Event, Error>> {
        loop {
            if self.over {
                return None;
            }
            if let Some(event) = self.read.pop_front() {
                self.after = event.number;
                self.over = self.deployment.is_some() && event.kind.ends_the_deployment();
                return Some(Ok(event));
            }
            self.changes.borrow_and_update();
            let deployment = self.deployment.as_ref();
            match self.store.events(deployment, self.after, BATCH).await {
                Ok(events) if events.is_empty() => {
                    if self.changes.changed().await.is_err() {
                        // The store is closed: nothing more can come.
                        self.over = true;
                    }
                }
                Ok(events) => self.read.extend(events),
                Err(error) => {
                    self.over = true;
                    return Some(Err(error.into()));
                }
            }
        }
    }
}
