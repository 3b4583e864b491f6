//! The threads that read, each on a connection of its own: in SQLite's WAL mode
//! a reader sees the last commit and neither waits for a writer nor holds it up.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::{self, JoinHandle};

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::fault::Fault;
use super::in_place::InPlace;
use crate::store::StoreError;

/// The way to the reading threads.
#[derive(Debug)]
pub(super) struct Readers {
    file: Arc<Path>,
    queue: Option<mpsc::Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
    in_place: Arc<InPlace>,
}

type Job = Box<dyn FnOnce(&Connection) + Send>;

impl Readers {
    /// Starts a thread for each connection.
    pub(super) fn start(
        connections: Vec<Connection>,
        file: Arc<Path>,
        in_place: Arc<InPlace>,
    ) -> std::io::Result<Self> {
        let (queue, jobs) = mpsc::channel();
        let jobs = Arc::new(Mutex::new(jobs));
        let threads = connections
            .into_iter()
            .map(|connection| {
                let jobs = Arc::clone(&jobs);
                thread::Builder::new()
                    .name("store-reader".to_owned())
                    .spawn(move || {
                        while let Some(job) = next(&jobs) {
                            job(&connection);
                        }
                    })
            })
            .collect::<Result<_, _>>()?;
        Ok(Self {
            file,
            queue: Some(queue),
            threads,
            in_place,
        })
    }

    /// Reads, in one transaction: all that `work` sees is of one moment.
    pub(super) async fn read<T, F>(&self, doing: String, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let in_place = Arc::clone(&self.in_place);
        let job: Job = Box::new(move |connection| {
            if !reply.is_closed() {
                let read = in_place.known();
                let read = read.and_then(|()| in_one_moment(connection, work));
                // What went wrong may come of that, too.
                let read = in_place.confirm().and(read);
                // Nobody may be there any more to hear it.
                let _ = reply.send(read);
            }
        });
        let result = match &self.queue {
            Some(queue) if queue.send(job).is_ok() => answer.await.ok(),
            _ => None,
        };
        let ended = "the store's reading thread has failed: see the log";
        result
            .unwrap_or_else(|| Err(Fault::Other(ended.to_owned())))
            .map_err(|fault| fault.while_doing(&doing, &self.file))
    }
}

fn next(jobs: &Mutex<mpsc::Receiver<Job>>) -> Option<Job> {
    // The lock is held only while waiting, never while a job runs.
    let jobs = jobs.lock().unwrap_or_else(PoisonError::into_inner);
    jobs.recv().ok()
}

fn in_one_moment<T>(
    connection: &Connection,
    work: impl FnOnce(&Connection) -> Result<T, Fault>,
) -> Result<T, Fault> {
    let transaction = connection.unchecked_transaction()?;
    let value = work(&transaction)?;
    transaction.commit()?;
    Ok(value)
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.queue = None;
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!(file = %self.file.display(), "a reading thread of the store has failed");
            }
        }
    }
}
