//! Where a writer's lines go: one log of a store, and the care that each batch
//! gets there once.

use std::sync::Arc;

use async_trait::async_trait;

use crate::model::LogLine;
use crate::store::{Fence, LogKey, Store, StoreError};

/// One log, as its writer sees it.
#[async_trait]
pub(super) trait Sink: Send + Sync {
    async fn append(&self, lines: &[LogLine]) -> Result<(), StoreError>;
    /// All lines from a number on.
    async fn read(&self, from: u64) -> Result<Vec<LogLine>, StoreError>;
    async fn end(&self) -> Result<u64, StoreError>;
}

/// A log of a store.
#[derive(Debug)]
pub(super) struct Log {
    pub(super) store: Arc<dyn Store>,
    pub(super) key: LogKey,
    pub(super) fence: Option<Fence>,
}

#[async_trait]
impl Sink for Log {
    async fn append(&self, lines: &[LogLine]) -> Result<(), StoreError> {
        let fence = self.fence.as_ref();
        self.store.log_append(&self.key, lines, fence).await
    }

    async fn read(&self, from: u64) -> Result<Vec<LogLine>, StoreError> {
        self.store.log_read(&self.key, from, usize::MAX).await
    }

    async fn end(&self) -> Result<u64, StoreError> {
        self.store.log_end(&self.key).await
    }
}

/// Appends batches, each once, however often that has to be tried.
pub(super) struct Appender<S> {
    sink: S,
    /// A number before which no line of the next batch stands; none as long as
    /// nothing was appended.
    end: Option<u64>,
    /// Whether the batch that is tried may be there already, because it failed
    /// in a way that leaves this open.
    in_doubt: bool,
}

impl<S: Sink> Appender<S> {
    pub(super) fn new(sink: S) -> Self {
        Self {
            sink,
            end: None,
            in_doubt: false,
        }
    }

    /// Tries to append a batch. After an error it may be tried again, with the
    /// same lines: they will not be there twice.
    pub(super) async fn append(&mut self, lines: &[LogLine]) -> Result<(), StoreError> {
        let end = match self.end {
            Some(end) => end,
            None => *self.end.insert(self.sink.end().await?),
        };
        if self.in_doubt && is_within(lines, &self.sink.read(end).await?) {
            self.in_doubt = false;
        } else {
            // In doubt also if this future is dropped.
            self.in_doubt = true;
            self.sink.append(lines).await?;
            self.in_doubt = false;
        }
        self.end = Some(end + lines.len() as u64);
        Ok(())
    }
}

/// Whether some lines stand among those of a log, one after another.
fn is_within(lines: &[LogLine], log: &[LogLine]) -> bool {
    let same = |a: &LogLine, b: &LogLine| {
        (a.attempt, a.at, a.severity, &a.text) == (b.attempt, b.at, b.severity, &b.text)
    };
    log.windows(lines.len().max(1))
        .any(|stored| stored.iter().zip(lines).all(|(a, b)| same(a, b)))
}
