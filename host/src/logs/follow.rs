//! The reading end of a log: what is stored, then what comes, until its end.

use std::sync::Arc;

use futures_util::stream::{self, Stream, TryStreamExt};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use crate::model::{DeploymentStatus, LogLine};
use crate::store::{LogKey, Store, StoreError};

/// Lines that are read at once, and that wait for a slow reader, at most about.
const LINES: usize = 1_000;

/// The lines of a log from a number on that are stored now.
pub fn read(
    store: Arc<dyn Store>,
    log: LogKey,
    from: u64,
) -> impl Stream<Item = Result<LogLine, StoreError>> + Send + use<> {
    let batches = stream::try_unfold((store, log, from), |(store, log, from)| async move {
        let lines = store.log_read(&log, from, LINES).await?;
        let next = lines.last().map(|last| last.number + 1);
        Ok(next.map(|next| {
            let lines = stream::iter(lines.into_iter().map(Ok));
            (lines, (store, log, next))
        }))
    });
    batches.try_flatten()
}

/// The lines of a log from a number on: those that are stored, then each as it is
/// stored. The stream ends when there will be no more: the stage, or the
/// planning, is at its end and all is read. It ends at once if there is no such
/// deployment or stage, and after an error. To be called within a tokio runtime.
///
/// However slowly it is read, it holds up nobody, and misses nothing.
pub fn follow(
    store: Arc<dyn Store>,
    log: LogKey,
    from: u64,
) -> impl Stream<Item = Result<LogLine, StoreError>> + Send + Unpin + use<> {
    let (lines, stream) = mpsc::channel(LINES);
    let follower = Follower {
        store,
        log,
        from,
        events: None,
    };
    tokio::spawn(follower.run(lines));
    ReceiverStream::new(stream)
}

/// Reads a log for one reader.
struct Follower {
    store: Arc<dyn Store>,
    log: LogKey,
    /// The next line.
    from: u64,
    /// The last event of the deployment when it was last looked at.
    events: Option<u64>,
}

impl Follower {
    async fn run(mut self, lines: mpsc::Sender<Result<LogLine, StoreError>>) {
        if let Err(error) = self.send_all(&lines).await {
            // If nobody reads any more, nobody needs to know.
            let _ = lines.send(Err(error)).await;
        }
    }

    async fn send_all(
        &mut self,
        lines: &mpsc::Sender<Result<LogLine, StoreError>>,
    ) -> Result<(), StoreError> {
        let mut changes = self.store.changes();
        loop {
            changes.borrow_and_update();
            // Looked at before the lines are read: all lines are stored before
            // the end is.
            let has_ended = self.has_ended().await?;
            loop {
                let read = self.store.log_read(&self.log, self.from, LINES).await?;
                if read.is_empty() {
                    break;
                }
                for line in read {
                    self.from = line.number + 1;
                    if lines.send(Ok(line)).await.is_err() {
                        return Ok(());
                    }
                }
            }
            if has_ended {
                return Ok(());
            }
            tokio::select! {
                () = lines.closed() => return Ok(()),
                changed = changes.changed() => if changed.is_err() {
                    // The store is gone: nothing more can come.
                    return Ok(());
                },
            }
        }
    }

    /// Whether no more lines will come than are stored. The deployment is loaded
    /// only when there is a new event of it, as there is with each new status:
    /// most changes are another's.
    async fn has_ended(&mut self) -> Result<bool, StoreError> {
        let id = &self.log.deployment;
        if let Some(mut last) = self.events {
            let before = last;
            loop {
                let events = self.store.events(Some(id), last, LINES).await?;
                let Some(event) = events.last() else {
                    break;
                };
                last = event.number;
            }
            self.events = Some(last);
            if last == before {
                return Ok(false);
            }
        } else {
            self.events = Some(0);
        }
        let Some(deployment) = self.store.load(id).await? else {
            return Ok(true);
        };
        Ok(match &self.log.stage {
            None => !matches!(
                deployment.status,
                DeploymentStatus::Queued | DeploymentStatus::Planning
            ),
            Some(stage) => {
                deployment.status.is_final()
                    || deployment
                        .stage(stage)
                        .is_none_or(|stage| stage.status.is_final())
            }
        })
    }
}
