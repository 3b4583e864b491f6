//! The writing end of a log: what one execution of a stage, or one planning,
//! writes.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::batch::Waiting;
use super::lines;
use super::sink::{Appender, Log, Sink};
use crate::model::{LogLine, Severity, Timestamp};
use crate::store::{Fence, LogKey, Store, StoreError};

/// Tells the time.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Changes each message before it is taken apart into lines.
pub type Transform = Arc<dyn Fn(&str) -> Cow<'_, str> + Send + Sync>;

/// How long after a failure storing is tried again; doubled each time.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// How often storing may fail once nobody writes any more.
const LAST_TRIES: u32 = 5;

/// Takes messages, and stores their lines in the background: in order, once, and
/// within 100 ms as long as the store can.
///
/// While the store fails, the lines are kept and storing is tried again; then
/// [`LogWriter::room`] is what holds up whoever writes. Lines of an execution that
/// is no longer the newest are dropped.
///
/// Dropped without [`LogWriter::finish`], it still tries to store what it has, and
/// tells nobody how that went.
pub struct LogWriter {
    shared: Arc<Shared>,
    attempt: u32,
    clock: Clock,
    transform: Option<Transform>,
    task: tokio::sync::Mutex<Option<JoinHandle<Result<(), StoreError>>>>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// There is something new for the task.
    wake: Notify,
    /// There may be room.
    room: Notify,
}

#[derive(Debug, Default)]
struct State {
    waiting: Waiting,
    phase: Phase,
    is_stale: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// Messages are taken.
    #[default]
    Open,
    /// No message is taken any more; what waits is stored.
    Closing,
    /// Nothing is stored any more.
    Ended,
}

impl LogWriter {
    /// A writer of a log: for an execution, with its fence and the number of its
    /// attempt; for a plan, with 0. To be called within a tokio runtime.
    pub fn new(
        store: Arc<dyn Store>,
        key: LogKey,
        fence: Option<Fence>,
        attempt: u32,
        clock: Clock,
    ) -> Self {
        Self::start(Log { store, key, fence }, attempt, clock, FIRST_PAUSE)
    }

    fn start(sink: impl Sink + 'static, attempt: u32, clock: Clock, pause: Duration) -> Self {
        let shared = Arc::<Shared>::default();
        let task = Task {
            shared: Arc::clone(&shared),
            appender: Appender::new(sink),
            first_pause: pause,
        };
        Self {
            shared,
            attempt,
            clock,
            transform: None,
            task: tokio::sync::Mutex::new(Some(tokio::spawn(task.run()))),
        }
    }

    /// With something that changes each message before it is stored.
    #[must_use]
    pub fn with_transform(mut self, transform: Transform) -> Self {
        self.transform = Some(transform);
        self
    }

    /// Takes a message. Each line of it becomes a line of the log; an empty one
    /// is an empty line. Characters that would disturb a terminal are removed, and
    /// a line of more than 64 KiB goes on in the next one. What comes after
    /// [`LogWriter::finish`] is dropped, with a warning in the host's own log.
    pub fn write(&self, severity: Severity, message: &str) {
        let message = match &self.transform {
            Some(transform) => transform(message),
            None => Cow::Borrowed(message),
        };
        let at = (self.clock)();
        let now = Instant::now();
        let mut state = self.shared.state();
        if state.phase != Phase::Open {
            if !state.is_stale {
                tracing::warn!("a message came after the end of its log, and is dropped");
            }
            return;
        }
        let due = state.waiting.due();
        for text in lines::split(&message) {
            // The store gives the number.
            let line = LogLine {
                number: 0,
                attempt: self.attempt,
                at,
                severity,
                text,
            };
            state.waiting.push(line, now);
        }
        if state.waiting.due() != due {
            self.shared.wake.notify_one();
        }
    }

    /// Waits while more than 4 MiB are not yet stored.
    pub async fn room(&self) {
        loop {
            let mut room = std::pin::pin!(self.shared.room.notified());
            // From here on, a notification is not missed.
            room.as_mut().enable();
            if !self.shared.state().waiting.is_full() {
                return;
            }
            room.await;
        }
    }

    /// Whether a line was refused because a newer execution has begun: then
    /// nothing of what this one writes counts any more.
    pub fn is_stale(&self) -> bool {
        self.shared.state().is_stale
    }

    /// Stores all that was written, and says whether every line is stored:
    /// [`StoreError::Stale`] if lines were dropped because this is no longer the
    /// newest execution, another error if lines are lost, and how many. Told once:
    /// a further call has nothing to tell.
    pub async fn finish(&self) -> Result<(), StoreError> {
        self.shared.close();
        // Taken only when it has ended: dropping this future loses no answer.
        let mut slot = self.task.lock().await;
        let Some(task) = slot.as_mut() else {
            return Ok(());
        };
        let result = task.await;
        *slot = None;
        result.unwrap_or_else(|error| {
            Err(StoreError::Failed {
                doing: "storing the lines of a log".to_owned(),
                source: Box::new(error),
            })
        })
    }
}

impl Drop for LogWriter {
    fn drop(&mut self) {
        self.shared.close();
    }
}

impl fmt::Debug for LogWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogWriter")
            .field("attempt", &self.attempt)
            .finish_non_exhaustive()
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // Whoever panicked left lines in order, if perhaps not all of a message.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self) {
        let mut state = self.state();
        if state.phase == Phase::Open {
            state.phase = Phase::Closing;
        }
        drop(state);
        self.wake.notify_one();
    }
}

/// What stores the lines.
struct Task<S> {
    shared: Arc<Shared>,
    appender: Appender<S>,
    first_pause: Duration,
}

impl<S: Sink> Task<S> {
    async fn run(mut self) -> Result<(), StoreError> {
        while let Some(batch) = self.next().await {
            let result = self.store(&batch).await;
            let mut state = self.shared.state();
            state.waiting.settle();
            if let Err(error) = result {
                state.phase = Phase::Ended;
                state.is_stale = matches!(error, StoreError::Stale);
                let lost = batch.len() + state.waiting.clear();
                drop(state);
                self.shared.room.notify_waiters();
                return Err(lines_lost(error, lost));
            }
            drop(state);
            self.shared.room.notify_waiters();
        }
        Ok(())
    }

    /// Waits for the next batch; none when there will be none.
    async fn next(&self) -> Option<Vec<LogLine>> {
        loop {
            let wait = {
                let mut state = self.shared.state();
                let is_open = state.phase == Phase::Open;
                match state.waiting.due() {
                    None if !is_open => {
                        state.phase = Phase::Ended;
                        return None;
                    }
                    None => None,
                    Some(due) if is_open && due > Instant::now() => Some(due),
                    Some(_) => return Some(state.waiting.take()),
                }
            };
            match wait {
                None => self.shared.wake.notified().await,
                Some(due) => tokio::select! {
                    () = tokio::time::sleep_until(due.into()) => {}
                    () = self.shared.wake.notified() => {}
                },
            }
        }
    }

    /// Stores a batch, however long that takes while others are written.
    async fn store(&mut self, batch: &[LogLine]) -> Result<(), StoreError> {
        let mut pause = self.first_pause;
        let mut last_tries = 0;
        loop {
            let error = match self.appender.append(batch).await {
                Err(error @ StoreError::Failed { .. }) => error,
                // Done, or nothing that a further try would change.
                result => return result,
            };
            if self.shared.state().phase != Phase::Open {
                last_tries += 1;
                if last_tries >= LAST_TRIES {
                    return Err(error);
                }
            }
            tracing::warn!(%error, "log lines can't be stored yet: they are kept, and tried again");
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

fn lines_lost(error: StoreError, lost: usize) -> StoreError {
    match error {
        StoreError::Failed { doing, source } => StoreError::Failed {
            doing: format!("the last {lost} lines of a log are lost: {doing}"),
            source,
        },
        error => error,
    }
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
