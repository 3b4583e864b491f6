//! Whether the files are still where they were opened.
//!
//! Who removes, moves or replaces them under a host that runs takes nothing from
//! it: it would go on writing to a file that no longer has a name, and all that it
//! acknowledges would be gone with it. So the names are looked at before and after
//! each commit, and whenever the commits of other processes are looked for.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use super::fault::Fault;

/// How a file is: its size, and when it was written.
type State = (u64, i64, i64);

/// Which file a name stands for: the device, and the number on it.
type Identity = (u64, u64);

/// The files of one database as they were when it was opened.
#[derive(Debug)]
pub(super) struct InPlace {
    files: Vec<(PathBuf, Identity)>,
    /// How the first of them was, if it is taken for one that nobody changes.
    unchanged: Option<State>,
    /// Found once, this stays: what was read meanwhile may be of another file.
    is_lost: AtomicBool,
}

impl InPlace {
    /// The files of a database that a connection has open and has read from, so
    /// that the two beside it are there.
    pub(super) fn of(path: &Path) -> Result<Self, Fault> {
        let mut files = vec![(path.to_owned(), identity(path).map_err(|_| Fault::Gone)?)];
        // Where the path is a link, they lie beside what it leads to.
        let target = path.canonicalize().map_err(|_| Fault::Gone)?;
        for suffix in ["-wal", "-shm"] {
            let mut beside = target.clone().into_os_string();
            beside.push(suffix);
            let beside = PathBuf::from(beside);
            if let Ok(identity) = identity(&beside) {
                files.push((beside, identity));
            }
        }
        Ok(Self {
            files,
            unchanged: None,
            is_lost: AtomicBool::new(false),
        })
    }

    /// A database without a file.
    pub(super) fn nowhere() -> Self {
        Self {
            files: Vec::new(),
            unchanged: None,
            is_lost: AtomicBool::new(false),
        }
    }

    /// A database that is read as if nobody changed it, with no log beside it: whether
    /// that holds is looked at too.
    pub(super) fn unchanged(path: &Path) -> Result<Self, Fault> {
        Ok(Self {
            files: vec![(path.to_owned(), identity(path).map_err(|_| Fault::Gone)?)],
            unchanged: Some(state(path).map_err(|_| Fault::Gone)?),
            is_lost: AtomicBool::new(false),
        })
    }

    /// Looks whether what was just read is to be trusted.
    pub(super) fn confirm(&self) -> Result<(), Fault> {
        let (Some(known), Some((path, _))) = (&self.unchanged, self.files.first()) else {
            return Ok(());
        };
        match (state(path), log_size(path)) {
            (Ok(now), Ok(0)) if now == *known => Ok(()),
            _ => Err(Fault::Other(
                "a host has begun to write it, which is not seen where the file can't be written: \
                 look again"
                    .to_owned(),
            )),
        }
    }

    /// Looks whether each name still stands for the same file.
    pub(super) fn look(&self) -> Result<(), Fault> {
        let moved = |(path, known): &(PathBuf, Identity)| match identity(path) {
            Ok(now) => now != *known,
            // Whatever else keeps from looking says nothing of the file.
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        if self.files.iter().any(moved) {
            self.is_lost.store(true, Ordering::SeqCst);
        }
        self.known()
    }

    /// What was found so far, without another look.
    pub(super) fn known(&self) -> Result<(), Fault> {
        if self.is_lost.load(Ordering::SeqCst) {
            return Err(Fault::Gone);
        }
        Ok(())
    }
}

fn state(path: &Path) -> io::Result<State> {
    let metadata = fs::metadata(path)?;
    Ok((metadata.len(), metadata.mtime(), metadata.mtime_nsec()))
}

/// The size of the log beside a file; zero without one.
fn log_size(path: &Path) -> io::Result<u64> {
    let mut log = path.canonicalize()?.into_os_string();
    log.push("-wal");
    match fs::metadata(log) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        log => log.map(|log| log.len()),
    }
}

fn identity(path: &Path) -> io::Result<Identity> {
    let metadata = fs::metadata(path)?;
    Ok((metadata.dev(), metadata.ino()))
}
