//! The one thread that writes.
//!
//! A durable commit waits for the disk, whatever its size. So all that is asked
//! for while one commit runs goes into the next one together. Each piece of work
//! gets an answer of its own, after the commit. One that is refused takes nothing
//! back but itself: most are refused before they write, and where one has written
//! something, the whole group is done again, each piece by itself.
//!
//! The same connection notices the commits of other processes: SQLite's
//! `data_version` counts those, and never the connection's own.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::{oneshot, watch};

use super::fault::Fault;
use super::hosts::Hosts;
use super::in_place::InPlace;
use crate::store::StoreError;

/// How much goes into one commit at most: the first of a group should not wait
/// for ever for the last.
const GROUP: usize = 1024;

/// How often the commits of other processes are looked for, while anyone cares.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// How long a wait for another process's lock sleeps between tries.
const RETRY_EVERY: Duration = Duration::from_millis(1);

/// How long this host writes without a pause when it shares the file, and how
/// long it then pauses: SQLite's lock knows no queue, so without a pause the
/// other host might wait in vain.
const TURN: Duration = Duration::from_millis(50);
const PAUSE: Duration = Duration::from_millis(2);

/// The way to the writing thread.
#[derive(Debug)]
pub(super) struct Writer {
    file: Arc<Path>,
    queue: Option<mpsc::Sender<Message>>,
    thread: Option<JoinHandle<()>>,
    changes: watch::Sender<u64>,
    commits: Arc<AtomicU64>,
}

enum Message {
    Work(Box<dyn Work>),
    /// Somebody waits for changes from now on.
    Watch,
}

/// A piece of work, to be done once or, after a group that failed, again.
trait Work: Send {
    /// Does it in the open transaction; whether it is done.
    fn run(&mut self, connection: &Connection) -> bool;
    /// Answers with its result, or with why it is not stored.
    fn answer(self: Box<Self>, failure: Option<&Fault>);
}

struct Task<T, F> {
    work: F,
    result: Option<Result<T, Fault>>,
    reply: oneshot::Sender<Answer<T, F>>,
}

/// The result of a piece of work, and the work itself: what it has written is dropped
/// by who asked, not by the one thread that all wait for.
struct Answer<T, F> {
    result: Result<T, Fault>,
    _work: F,
}

impl<T, F> Work for Task<T, F>
where
    T: Send,
    F: FnMut(&Connection) -> Result<T, Fault> + Send,
{
    fn run(&mut self, connection: &Connection) -> bool {
        self.result.insert((self.work)(connection)).is_ok()
    }

    fn answer(self: Box<Self>, failure: Option<&Fault>) {
        let result = match (failure, self.result) {
            // Its own fault says more than what became of the transaction.
            (_, Some(Err(fault))) => Err(fault),
            (Some(fault), _) => Err(fault.clone()),
            (None, Some(result)) => result,
            (None, None) => Err(Fault::Other("it was never done".to_owned())),
        };
        let _work = self.work;
        // Who asked may have gone away: what is stored stays stored.
        let _ = self.reply.send(Answer { result, _work });
    }
}

impl Writer {
    /// Starts the thread on a connection of its own. `patience` is how long it
    /// waits for another process's lock.
    pub(super) fn start(
        connection: Connection,
        file: Arc<Path>,
        patience: Duration,
        hosts: Arc<Hosts>,
        in_place: Arc<InPlace>,
    ) -> std::io::Result<Self> {
        let (queue, messages) = mpsc::channel();
        let changes = watch::Sender::new(0);
        let commits = Arc::new(AtomicU64::new(0));
        let thread = Thread {
            connection,
            messages,
            patience,
            hosts,
            in_place,
            changes: changes.clone(),
            commits: Arc::clone(&commits),
            seen: None,
            busy_since: None,
        };
        let thread = thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || thread.run())?;
        Ok(Self {
            file,
            queue: Some(queue),
            thread: Some(thread),
            changes,
            commits,
        })
    }

    /// Has a piece of work done, and returns when it is durable. It is done even
    /// if nobody waits for the answer any more. `work` may be run again from its
    /// beginning, never after it was stored.
    pub(super) async fn write<T, F>(&self, doing: String, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnMut(&Connection) -> Result<T, Fault> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let task = Task {
            work,
            result: None,
            reply,
        };
        if let Some(queue) = &self.queue
            && queue.send(Message::Work(Box::new(task))).is_ok()
            && let Ok(answer) = answer.await
        {
            return answer
                .result
                .map_err(|fault| fault.while_doing(&doing, &self.file));
        }
        let fault = Fault::Other(
            "the store's writing thread has ended: see the log, and start the host again"
                .to_owned(),
        );
        Err(fault.while_doing(&doing, &self.file))
    }

    /// See [`crate::store::Store::changes`].
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        let receiver = self.changes.subscribe();
        if let Some(queue) = &self.queue {
            // Fails only when the thread has ended, and then all writes say so.
            let _ = queue.send(Message::Watch);
        }
        receiver
    }

    /// How many transactions were committed so far.
    pub(super) fn commits(&self) -> u64 {
        self.commits.load(Ordering::SeqCst)
    }
}

impl Drop for Writer {
    /// Does what is queued, and closes the connection.
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!(file = %self.file.display(), "the store's writing thread has failed");
        }
    }
}

struct Thread {
    connection: Connection,
    messages: mpsc::Receiver<Message>,
    patience: Duration,
    hosts: Arc<Hosts>,
    in_place: Arc<InPlace>,
    changes: watch::Sender<u64>,
    commits: Arc<AtomicU64>,
    /// The `data_version` that the watchers know of; none while nobody watches.
    seen: Option<i64>,
    /// Since when there was no pause.
    busy_since: Option<Instant>,
}

impl Thread {
    fn run(mut self) {
        while let Some(work) = self.next() {
            self.group(work);
            self.look();
            self.pause();
        }
    }

    /// The next piece of work; none when the store is dropped.
    fn next(&mut self) -> Option<Box<dyn Work>> {
        if let Ok(Message::Work(work)) = self.messages.try_recv() {
            return Some(work);
        }
        self.busy_since = None;
        loop {
            if self.changes.receiver_count() == 0 {
                self.seen = None;
                match self.messages.recv().ok()? {
                    Message::Work(work) => return Some(work),
                    Message::Watch => self.look(),
                }
            } else {
                self.look();
                match self.messages.recv_timeout(LOOK_EVERY) {
                    Ok(Message::Work(work)) => return Some(work),
                    Ok(Message::Watch) | Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return None,
                }
            }
        }
    }

    /// Tells the watchers when another process has committed.
    fn look(&mut self) {
        if self.changes.receiver_count() == 0 {
            return;
        }
        if self.in_place.known().is_ok() && self.in_place.look().is_err() {
            // Each of them then looks, and is told why nothing more comes.
            self.tell();
        }
        if self.in_place.confirm().is_err() {
            self.tell();
        }
        let version = self
            .connection
            .prepare_cached("PRAGMA data_version")
            .and_then(|mut statement| statement.query_row([], |row| row.get(0)));
        match version {
            // Nobody looked before, so what has happened since the watcher came
            // isn't known: it looks once in vain rather than once too little.
            Ok(version) if self.seen != Some(version) => {
                self.seen = Some(version);
                self.tell();
            }
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(%error, "can't see whether another process has changed the store");
            }
        }
    }

    fn tell(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    /// Lets another host have its turn.
    fn pause(&mut self) {
        let since = *self.busy_since.get_or_insert_with(Instant::now);
        if since.elapsed() >= TURN {
            if self.hosts.has_company() {
                thread::sleep(PAUSE);
            }
            self.busy_since = None;
        }
    }

    /// Does all that is queued, in one transaction.
    fn group(&mut self, first: Box<dyn Work>) {
        let mut group = Vec::new();
        let before = match self.begin() {
            Ok(before) => before,
            Err(fault) => return first.answer(Some(&fault)),
        };
        let mut next = Some(first);
        let mut result = Ok(());
        while let Some(mut work) = next.take() {
            if result.is_ok() {
                result = self.attempt(work.as_mut());
            }
            group.push(work);
            while group.len() < GROUP && next.is_none() {
                match self.messages.try_recv() {
                    Ok(Message::Work(work)) => next = Some(work),
                    Ok(Message::Watch) => {}
                    Err(_) => break,
                }
            }
        }
        let result = result.and_then(|()| self.commit(before));
        if result.is_err() {
            self.abandon();
        }
        match result {
            Ok(()) => group.into_iter().for_each(|work| work.answer(None)),
            // The fault may be that of one piece only, such as one that is too
            // large for what is left of the disk, or that was refused half-way: the
            // others shall not suffer.
            Err(_) if group.len() > 1 => group.into_iter().for_each(|work| self.alone(work)),
            Err(fault) => group.into_iter().for_each(|work| work.answer(Some(&fault))),
        }
    }

    /// Does one piece of work in a transaction of its own.
    fn alone(&mut self, mut work: Box<dyn Work>) {
        let result = self.begin().and_then(|before| {
            self.attempt(work.as_mut())?;
            self.commit(before)
        });
        if result.is_err() {
            self.abandon();
        }
        work.answer(result.err().as_ref());
    }

    /// Begins a transaction, waiting for another process's lock; how many changes
    /// were made before it.
    fn begin(&self) -> Result<u64, Fault> {
        // Nothing is open, unless a fault left it so.
        self.abandon();
        self.in_place.look()?;
        let started = Instant::now();
        loop {
            match self.execute("BEGIN IMMEDIATE") {
                Err(fault) if fault.is_busy() && started.elapsed() < self.patience => {
                    thread::sleep(RETRY_EVERY);
                }
                result => return result.map(|()| self.connection.total_changes()),
            }
        }
    }

    /// Does a piece of work. An error is one of the whole transaction, which is
    /// then abandoned.
    fn attempt(&self, work: &mut dyn Work) -> Result<(), Fault> {
        let before = self.connection.total_changes();
        let done = work.run(&self.connection);
        if self.connection.is_autocommit() {
            // A full disk, and the like, make SQLite take back the transaction.
            let fault = "the transaction was taken back: the disk may be full or failing";
            return Err(Fault::Other(fault.to_owned()));
        }
        if !done && self.connection.total_changes() != before {
            let fault = "it was refused after it had written something";
            return Err(Fault::Other(fault.to_owned()));
        }
        Ok(())
    }

    fn commit(&self, before: u64) -> Result<(), Fault> {
        self.execute("COMMIT")?;
        // What was stored where nobody will find it is not acknowledged.
        self.in_place.look()?;
        // Such as a renewal where there is no lease.
        if self.connection.total_changes() != before {
            self.commits.fetch_add(1, Ordering::SeqCst);
            self.tell();
        }
        Ok(())
    }

    fn abandon(&self) {
        if !self.connection.is_autocommit()
            && let Err(error) = self.connection.execute_batch("ROLLBACK")
        {
            tracing::error!(%error, "a transaction could not be rolled back");
        }
    }

    fn execute(&self, sql: &str) -> Result<(), Fault> {
        self.connection.prepare_cached(sql)?.execute([])?;
        Ok(())
    }
}
