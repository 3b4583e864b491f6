//! Opening the file for whoever only looks at it, where it can't be written: on a
//! read-only file system, or without the right to.
//!
//! With hosts at work, or after one that was killed, its log (`-wal`) and the index of
//! that (`-shm`) lie beside it, and SQLite reads all three without writing any. With no
//! log, or an empty one, all is in the file, which is taken for one that nobody changes;
//! whether that held is looked at after each read. A log without its index can't be read
//! without making one.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;
use rustix::fs::{Access, AtFlags, CWD, accessat};

use super::fault::Fault;
use super::in_place::InPlace;
use super::open::{self, files_directory};
use super::{immutable, schema};
use crate::store::StoreError;

/// Whether a host could work on the state in a file: write it, what lies beside it and
/// where that lies. One that is not there is for others to find out.
pub(super) fn can_be_written(path: &Path) -> bool {
    let beside = files_directory(path);
    let parent = path.parent().unwrap_or(Path::new("/"));
    let [wal, shm] = ["-wal", "-shm"].map(|suffix| with(path, suffix));
    let hosts = beside.join("hosts");
    [path, parent, &wal, &shm, &beside, &hosts]
        .into_iter()
        .all(may_be_written)
        // Even for a user whom the system would let write it.
        && !fs::metadata(path).is_ok_and(|metadata| metadata.permissions().readonly())
}

fn may_be_written(path: &Path) -> bool {
    match accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS).map_err(io::Error::from) {
        Ok(()) => true,
        Err(error) => !matches!(
            error.kind(),
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
        ),
    }
}

/// So many connections that read, and what tells whether all stays as they found it.
pub(super) fn open(
    path: &Path,
    patience: Duration,
    count: usize,
) -> Result<(Vec<Connection>, InPlace), StoreError> {
    let failed = |fault: Fault| fault.opening(path);
    let target = match path.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(StoreError::Missing(path.to_owned()));
        }
        Err(error) => return Err(open::unusable(path, &error)),
        Ok(target) => target,
    };
    if immutable::is_of_another_kind(path) {
        return Err(open::of_another_kind(path));
    }
    let log = fs::metadata(with(&target, "-wal"))
        .ok()
        .map(|log| log.len());
    let has_index = with(&target, "-shm").exists();
    // As it was before anything of it is read.
    let (connect, unchanged): (fn(&Path) -> rusqlite::Result<Connection>, _) =
        match (log, has_index) {
            (Some(_), true) => (open::connect_to_read, None),
            (None | Some(0), _) => {
                let unchanged = InPlace::unchanged(path).map_err(failed)?;
                (immutable::connect, Some(unchanged))
            }
            (Some(_), false) => return Err(no_index(path)),
        };
    let connections: Result<Vec<_>, StoreError> = (0..count)
        .map(|_| {
            let connection = connect(path).map_err(|error| failed(error.into()))?;
            open::set_up_to_read(&connection, patience).map_err(|error| failed(error.into()))?;
            // From the first read on, nobody removes what lies beside it.
            schema::check(&connection, path)?;
            schema::check_is_of_now(&connection, path)?;
            Ok(connection)
        })
        .collect();
    let connections = connections?;
    let in_place = match unchanged {
        Some(unchanged) => unchanged,
        None => InPlace::of(path).map_err(failed)?,
    };
    Ok((connections, in_place))
}

fn no_index(path: &Path) -> StoreError {
    let shown = path.display();
    StoreError::Open(format!(
        "{shown} can't be written by this user, and can't be read without: its log {shown}-wal has \
         to be read too, for which {shown}-shm has to be made; copy {shown} and {shown}-wal to a \
         directory that can be written, and let `stateFile` name the copy"
    ))
}

/// The name of a file beside another one.
fn with(path: &Path, suffix: &str) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
