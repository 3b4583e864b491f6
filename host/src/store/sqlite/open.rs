//! Opening the file: each thing that can be wrong with it is told in one
//! sentence that says what to do.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use rustix::fs::{Access, AtFlags, CWD, accessat};

use super::fault::Fault;
use super::{immutable, schema};
use crate::store::StoreError;

/// How many links are followed, each to the next: as many as the system does.
const MOST_LINKS: usize = 40;

/// Statements that each connection keeps prepared.
const STATEMENTS: usize = 64;

/// The pages, of 4 KiB, that the log beside the file may have before they are
/// moved into it. More than SQLite's thousand: each move waits for the disk
/// twice.
const CHECKPOINT_PAGES: i64 = 4_000;

/// What the log beside the file is cut to after a flood, in bytes.
const LOG_SIZE: i64 = 64 << 20;

/// What becomes of a file that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Absent {
    /// It is made, with the directories above it.
    Made,
    /// It is missed.
    Missed,
}

/// The connection that writes, to a file that is brought to this version if need
/// be.
pub(super) fn writing(
    path: &Path,
    patience: Duration,
    absent: Absent,
) -> Result<Connection, StoreError> {
    prepare(path, absent)?;
    let failed = |error| Fault::from(error).opening(path);
    let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    if absent == Absent::Made {
        flags |= OpenFlags::SQLITE_OPEN_CREATE;
    }
    let mut connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    connection.busy_timeout(patience).map_err(failed)?;
    keep_statements(&connection).map_err(failed)?;
    // Before anything is written to it.
    schema::check(&connection, path)?;
    let mode: String = connection
        .pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))
        .map_err(failed)?;
    if mode != "wal" {
        return Err(StoreError::Open(format!(
            "{} can't be used for the state: its file system does not let processes share memory \
             (SQLite's WAL mode), as network file systems don't; put it on a local disk",
            path.display()
        )));
    }
    connection
        .execute_batch(&format!(
            "PRAGMA synchronous = FULL;
             PRAGMA temp_store = MEMORY;
             PRAGMA cache_size = -16384;
             PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES};
             PRAGMA journal_size_limit = {LOG_SIZE};"
        ))
        .map_err(failed)?;
    schema::migrate(&mut connection, path)?;
    // From here on the writer waits by itself, in smaller steps.
    connection.busy_timeout(Duration::ZERO).map_err(failed)?;
    Ok(connection)
}

/// A connection that reads.
pub(super) fn reading(path: &Path, patience: Duration) -> Result<Connection, StoreError> {
    let failed = |error| Fault::from(error).opening(path);
    let connection = connect_to_read(path).map_err(failed)?;
    set_up_to_read(&connection, patience).map_err(failed)?;
    Ok(connection)
}

pub(super) fn connect_to_read(path: &Path) -> rusqlite::Result<Connection> {
    Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )
}

pub(super) fn set_up_to_read(connection: &Connection, patience: Duration) -> rusqlite::Result<()> {
    connection.busy_timeout(patience)?;
    keep_statements(connection)?;
    connection.execute_batch("PRAGMA query_only = ON; PRAGMA temp_store = MEMORY;")
}

/// Lets each statement be prepared once: SQLite would otherwise make its plan anew
/// whenever another value is bound that it might depend on. None of ours does.
fn keep_statements(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

/// The one name of a state file, whatever it was called by: what is kept beside it
/// lies beside this. Whole, since the process may change its directory later on; and
/// where it is a link, that of what it leads to, which need not be there yet.
///
/// # Errors
/// When the current directory can't be told.
pub fn resolved(path: &Path) -> io::Result<PathBuf> {
    let mut path = std::path::absolute(path)?;
    // A ring of links is left to whoever opens it.
    for _ in 0..MOST_LINKS {
        let Ok(target) = fs::read_link(&path) else {
            break;
        };
        path = path.parent().unwrap_or(Path::new("/")).join(target);
    }
    Ok(path)
}

/// The directory beside a state file that belongs to it: `<file>-files`. The store
/// keeps the locks of its hosts in `hosts`; the rest is for whatever does not
/// belong in a database.
pub fn files_directory(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-files");
    PathBuf::from(name)
}

/// Makes the directories above if need be, and looks at what is there.
fn prepare(path: &Path, absent: Absent) -> Result<(), StoreError> {
    let shown = path.display();
    let names_a_directory = path.as_os_str().as_encoded_bytes().ends_with(b"/");
    if names_a_directory || path.is_dir() {
        return Err(StoreError::Open(format!(
            "{shown} is a directory: name a file for the state, such as {}",
            path.join("state.db").display()
        )));
    }
    if absent == Absent::Made
        && let Some(parent) = path.parent()
    {
        fs::create_dir_all(parent).map_err(|error| {
            StoreError::Open(format!(
                "the directory {} for the state can't be made: {error}; make it, or name another \
                 file",
                parent.display()
            ))
        })?;
    }
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return match absent {
                Absent::Made => Ok(()),
                Absent::Missed => Err(StoreError::Missing(path.to_owned())),
            };
        }
        Err(error) => return Err(unusable(path, &error)),
        // Even for a user whom the system would let write it.
        Ok(metadata) if metadata.permissions().readonly() => return Err(read_only(path)),
        Ok(metadata) if !metadata.is_file() => {
            return Err(StoreError::Open(format!(
                "{shown} is no ordinary file: name another one for the state"
            )));
        }
        Ok(_) => {}
    }
    // Not by opening it: see `immutable`.
    let wanted = Access::READ_OK | Access::WRITE_OK;
    match accessat(CWD, path, wanted, AtFlags::EACCESS).map_err(io::Error::from) {
        Ok(()) if immutable::is_of_another_kind(path) => Err(of_another_kind(path)),
        Ok(()) => Ok(()),
        Err(error) => match error.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Err(read_only(path))
            }
            _ => Err(unusable(path, &error)),
        },
    }
}

pub(super) fn of_another_kind(path: &Path) -> StoreError {
    StoreError::Open(format!(
        "{} is not a SQLite file: name another file for the state, which is then made",
        path.display()
    ))
}

fn read_only(path: &Path) -> StoreError {
    StoreError::Open(format!(
        "{} can't be written: give this user the right to write the file and its directory, or \
         name another file for the state",
        path.display()
    ))
}

pub(super) fn unusable(path: &Path, error: &io::Error) -> StoreError {
    StoreError::Open(format!(
        "{} can't be used for the state: {error}; name another file",
        path.display()
    ))
}
