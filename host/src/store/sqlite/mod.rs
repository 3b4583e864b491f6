//! The store that comes with the host: one SQLite file, which several processes
//! may have open at once.
//!
//! One thread writes, in groups that are durable when they are answered
//! ([`writer`]); a few others read ([`readers`]). What is asked is said in SQL in
//! the files beside this one, each of which has one subject.

mod answers;
mod api;
mod backup;
mod changes;
mod chunk;
mod components;
mod deployments;
mod events;
mod fault;
mod hosts;
mod immutable;
mod in_place;
mod logs;
mod looking;
mod open;
#[cfg(test)]
mod opening_tests;
mod readers;
mod retention;
mod rows;
mod schema;
#[cfg(test)]
mod sharing_tests;
mod state;
#[cfg(test)]
mod tests;
mod texts;
mod work;
mod writer;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rusqlite::Connection;

use self::hosts::Hosts;
use self::in_place::InPlace;
use self::open::Absent;
use self::readers::Readers;
use self::writer::Writer;
use super::StoreError;

pub use self::open::{files_directory, resolved};

/// How long another process may keep the file locked before a write fails.
const PATIENCE: Duration = Duration::from_secs(10);

/// Threads that read, at most.
const READERS: usize = 4;

fn absolute(path: &Path) -> Result<PathBuf, StoreError> {
    resolved(path).map_err(|error| {
        StoreError::Open(format!(
            "the state file {:?} can't be used: {error}; name another file",
            path.display().to_string()
        ))
    })
}

/// Keeps everything in one SQLite file.
///
/// Several stores may be open on one file, in one process or in several. A write
/// whose future is dropped may still be stored. Dropping the store waits for the
/// writes that are queued. The name that a store's leases are taken under is one
/// that no other has or ever had; as soon as the store is dropped, or its process
/// ends, however it ends, others know that these leases have lapsed.
#[derive(Debug)]
pub struct SqliteStore {
    file: Arc<Path>,
    writer: Writer,
    /// Dropped after the one that writes: who closes the file last, if it can write,
    /// removes what lies beside it by its name, which may be another file's by then.
    readers: Readers,
    /// Dropped last: this host is there until its last write is answered.
    hosts: Arc<Hosts>,
}

impl SqliteStore {
    /// Opens the store in a file, which is made, with the directories above it,
    /// if it is not there, and brought to this version if it is of an earlier
    /// one. Beside it, a directory is made ([`files_directory`]).
    ///
    /// Blocks for as long as the disk needs, or another process that has the file
    /// locked: up to ten seconds.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::open_with(path.as_ref(), PATIENCE, Absent::Made)
    }

    /// Opens the store as [`SqliteStore::open`] does, in a file that has to be
    /// there: [`StoreError::Missing`] if it is not, and nothing is made.
    pub fn open_existing(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::open_with(path.as_ref(), PATIENCE, Absent::Missed)
    }

    /// Opens the store as [`SqliteStore::open_existing`] does, for whoever only looks at
    /// what is stored: also where this user can't write it, and then all that would be
    /// stored is refused.
    pub fn open_to_look(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = absolute(path.as_ref())?;
        if looking::can_be_written(&path) {
            return Self::open_existing(path);
        }
        let (mut connections, in_place) = looking::open(&path, PATIENCE, READERS + 1)?;
        let hosts = Hosts::look_on(files_directory(&path).join("hosts"));
        let (file, patience) = (Arc::from(path), PATIENCE);
        // It has nothing to write, and sees what others do.
        let watching = connections.pop();
        let watching = watching.ok_or_else(|| fault::Fault::Gone.opening(&file))?;
        Self::start(file, patience, watching, connections, hosts, in_place)
    }

    /// An empty store in memory, for whoever stores nothing, in place of the one in a
    /// file: that is not even looked for.
    pub(crate) fn nowhere(path: &Path) -> Result<Self, StoreError> {
        let connection = || {
            let opened = Connection::open_in_memory();
            let mut connection = opened.map_err(|error| fault::Fault::from(error).opening(path))?;
            schema::migrate(&mut connection, path)?;
            Ok::<_, StoreError>(connection)
        };
        let hosts = Hosts::look_on(files_directory(path).join("hosts"));
        let (writing, reading) = (connection()?, vec![connection()?]);
        let file = Arc::from(path);
        Self::start(file, PATIENCE, writing, reading, hosts, InPlace::nowhere())
    }

    fn open_with(path: &Path, patience: Duration, absent: Absent) -> Result<Self, StoreError> {
        let path = &absolute(path)?;
        let connection = open::writing(path, patience, absent)?;
        let in_place = InPlace::of(path).map_err(|fault| fault.opening(path))?;
        let directory = files_directory(path).join("hosts");
        let beside = |error: io::Error| {
            let beside = files_directory(path);
            StoreError::Open(if beside.is_dir() || !beside.exists() {
                format!(
                    "the directory {} can't be used: {error}; give this user the right to write it",
                    directory.display()
                )
            } else {
                format!(
                    "{} is a file, where the state needs a directory: move it away, or name \
                     another file for the state",
                    beside.display()
                )
            })
        };
        let hosts = Hosts::join(directory.clone()).map_err(beside)?;
        let needed = work::owners(&connection).map_err(|fault| fault.opening(path))?;
        hosts
            .tidy(|owner| needed.iter().any(|needed| needed == owner))
            .map_err(beside)?;
        let count = thread::available_parallelism().map_or(1, usize::from);
        let connections = (0..count.clamp(1, READERS))
            .map(|_| open::reading(path, patience))
            .collect::<Result<_, _>>()?;
        // They have opened what the name stands for now.
        in_place.look().map_err(|fault| fault.opening(path))?;
        let file = Arc::from(path.as_path());
        Self::start(file, patience, connection, connections, hosts, in_place)
    }

    /// Starts the threads, with a connection that writes and those that read.
    fn start(
        file: Arc<Path>,
        patience: Duration,
        connection: Connection,
        connections: Vec<Connection>,
        hosts: Hosts,
        in_place: InPlace,
    ) -> Result<Self, StoreError> {
        let (hosts, in_place) = (Arc::new(hosts), Arc::new(in_place));
        let threads = |error| {
            StoreError::Open(format!(
                "the threads of the store can't be started: {error}; see the limits on processes \
                 and memory"
            ))
        };
        Ok(Self {
            readers: Readers::start(connections, Arc::clone(&file), Arc::clone(&in_place))
                .map_err(threads)?,
            writer: Writer::start(
                connection,
                Arc::clone(&file),
                patience,
                Arc::clone(&hosts),
                in_place,
            )
            .map_err(threads)?,
            hosts,
            file,
        })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.file
    }

    /// How many transactions this store has committed: each is one wait for the
    /// disk, however many writes it holds.
    pub fn commits(&self) -> u64 {
        self.writer.commits()
    }

    /// What went wrong before the work reached a thread.
    fn failed<'a>(&'a self, doing: &'a str) -> impl FnOnce(fault::Fault) -> StoreError + 'a {
        move |fault| fault.while_doing(doing, &self.file)
    }
}
