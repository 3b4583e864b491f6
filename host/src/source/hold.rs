//! Holding a tree of files: as long as someone does, in whatever process, it is not
//! removed. Between fetching a tree and storing the deployment that needs it,
//! nothing else says that it is needed.
//!
//! A hold is a lock of the system's on the tree's directory. It ends with its
//! process at the latest, however that ends.

use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use super::SourceError;

/// As long as it lives, the files that were fetched stay. The default holds
/// nothing, for files that are never removed.
#[derive(Clone, Debug, Default)]
pub struct Hold {
    _lock: Option<Arc<File>>,
}

impl Hold {
    /// Holds a directory; none if it is not there, or is just being removed.
    pub(super) fn of(directory: &Path) -> Result<Option<Self>, SourceError> {
        let Some(lock) = open(directory)? else {
            return Ok(None);
        };
        lock.lock_shared()
            .map_err(SourceError::io("could not lock", directory))?;
        // Whoever removes it takes its name away before letting go of it.
        let is_it = is_still(&lock, directory)?;
        Ok(is_it.then(|| Self {
            _lock: Some(Arc::new(lock)),
        }))
    }
}

/// A directory that nobody holds or begins to hold while this lives.
#[derive(Debug)]
pub(super) struct Unheld {
    _lock: File,
}

impl Unheld {
    /// None if someone holds it, or if it is not there.
    pub(super) fn of(directory: &Path) -> Result<Option<Self>, SourceError> {
        let Some(lock) = open(directory)? else {
            return Ok(None);
        };
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => {
                return Err(SourceError::io("could not lock", directory)(error));
            }
        }
        let is_it = is_still(&lock, directory)?;
        Ok(is_it.then_some(Self { _lock: lock }))
    }
}

/// A directory's handle; none if it is not there.
pub(super) fn open(directory: &Path) -> Result<Option<File>, SourceError> {
    match File::open(directory) {
        Ok(handle) => Ok(Some(handle)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(SourceError::io("could not open", directory)(error)),
    }
}

/// Whether a path still leads to what was opened by it.
fn is_still(handle: &File, path: &Path) -> Result<bool, SourceError> {
    let opened = handle
        .metadata()
        .map_err(SourceError::io("could not look at", path))?;
    match fs::metadata(path) {
        Ok(now) => Ok((now.dev(), now.ino()) == (opened.dev(), opened.ino())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(SourceError::io("could not look at", path)(error)),
    }
}
