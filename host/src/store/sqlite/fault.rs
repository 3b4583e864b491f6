//! What goes wrong inside, and how it is told: with the file, what was being
//! done, and what a person can do about it.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use rusqlite::{ErrorCode, ffi};

use crate::store::StoreError;

/// Why a piece of work in the database did not succeed.
#[derive(Clone, Debug)]
pub(super) enum Fault {
    /// The deployment has another version, or is not there.
    Conflict,
    /// The fence does not hold.
    Stale,
    /// The file, or one of those beside it, is no longer the one that was opened.
    Gone,
    /// SQLite refused or failed.
    Sql(Arc<rusqlite::Error>),
    /// What is stored can't be read.
    Unreadable(String),
    /// What was asked for, or what is stored, makes no sense.
    Other(String),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(Arc::new(error))
    }
}

impl Fault {
    /// Stored JSON that can't be read.
    pub(super) fn unreadable(what: &str, error: &serde_json::Error) -> Self {
        Self::Unreadable(format!("the stored {what} can't be read: {error}"))
    }

    /// Whether another connection has the lock that was wanted.
    pub(super) fn is_busy(&self) -> bool {
        matches!(
            self.code(),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
        )
    }

    /// Whether the system would not take what was to be written.
    fn is_of_writing(&self) -> bool {
        let Self::Sql(error) = self else { return false };
        let extended = error.sqlite_error().map(|error| error.extended_code);
        extended.is_some_and(|code| {
            [
                ffi::SQLITE_IOERR_WRITE,
                ffi::SQLITE_IOERR_FSYNC,
                ffi::SQLITE_IOERR_DIR_FSYNC,
                ffi::SQLITE_IOERR_TRUNCATE,
                ffi::SQLITE_IOERR_SHMSIZE,
            ]
            .contains(&code)
        })
    }

    /// As the store's error.
    pub(super) fn while_doing(self, doing: &str, file: &Path) -> StoreError {
        match self {
            Self::Conflict => StoreError::Conflict,
            Self::Stale => StoreError::Stale,
            Self::Gone => StoreError::Gone(file.to_owned()),
            fault => StoreError::Failed {
                doing: format!("{doing} in {}", file.display()),
                source: Box::new(Cause(fault)),
            },
        }
    }

    /// As the reason why the store can't be opened.
    pub(super) fn opening(self, file: &Path) -> StoreError {
        StoreError::Open(format!(
            "{} can't be used for the state: {}",
            file.display(),
            Cause(self)
        ))
    }

    fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Sql(error) => error.sqlite_error_code(),
            _ => None,
        }
    }
}

/// A fault in words.
#[derive(Debug)]
struct Cause(Fault);

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error = match &self.0 {
            Fault::Conflict => return write!(f, "{}", StoreError::Conflict),
            Fault::Stale => return write!(f, "{}", StoreError::Stale),
            Fault::Gone => {
                return f.write_str("it was removed or replaced while it was opened: try again");
            }
            Fault::Unreadable(text) | Fault::Other(text) => return f.write_str(text),
            Fault::Sql(error) => error,
        };
        match self.0.code() {
            Some(ErrorCode::DiskFull) => {
                f.write_str("the disk is full: nothing was stored; free some space and try again")
            }
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => f.write_str(
                "it is read-only: give this user the right to write the file and its directory",
            ),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => f.write_str(
                "another process has kept the file locked for too long: see which one has it \
                 open, and try again",
            ),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => write!(
                f,
                "the file is damaged ({error}): restore it from a backup, or move it away to \
                 start with an empty one"
            ),
            Some(ErrorCode::SystemIoFailure) if self.0.is_of_writing() => write!(
                f,
                "writing to the disk failed ({error}): see whether it is full, or this user may \
                 write no larger files, and the system's log"
            ),
            Some(ErrorCode::SystemIoFailure) => {
                write!(f, "the disk failed: {error}; see the system's log")
            }
            Some(ErrorCode::CannotOpen) => write!(
                f,
                "it can't be opened ({error}): see whether its directory is there and may be \
                 written, or name another file"
            ),
            _ => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for Cause {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0 {
            Fault::Sql(error) => Some(error.as_ref()),
            _ => None,
        }
    }
}
