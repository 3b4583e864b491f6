//! A copy of everything as it is at one moment, while others go on writing.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use super::fault::Fault;
use super::hosts::Hosts;
use super::open::files_directory;
use super::work;

/// Copies the database of a connection to a new file, which is whole and durable
/// when it gets its name.
pub(super) fn copy(connection: &Connection, to: &Path) -> Result<(), Fault> {
    let shown = to.display();
    let failed = |error: std::io::Error| Fault::Other(format!("{shown}: {error}"));
    let from = connection
        .path()
        .ok_or_else(|| Fault::Other("the database has no file".to_owned()))?;
    let unfinished = unfinished(to);
    match fs::remove_file(&unfinished) {
        // What an earlier copy left that did not come to its end.
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    // A connection of its own: those that read are barred from writing anything,
    // be it elsewhere.
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let source = Connection::open_with_flags(from, flags)?;
    source.execute("VACUUM INTO ?1", [unfinished.to_string_lossy()])?;
    let_go(&unfinished, to)?;
    File::open(&unfinished)
        .and_then(|file| file.sync_all())
        .map_err(failed)?;
    // A hard link, unlike a rename, never replaces what is there.
    fs::hard_link(&unfinished, to).map_err(failed)?;
    fs::remove_file(&unfinished).map_err(failed)?;
    let directory = to.parent().unwrap_or(Path::new("."));
    File::open(directory)
        .and_then(|directory| directory.sync_all())
        .map_err(failed)
}

/// Lets whoever opens the copy see that the hosts whose leases are in it have no
/// part in it: their locks are there, and nobody holds them.
fn let_go(copied: &Path, to: &Path) -> Result<(), Fault> {
    let hosts = files_directory(to).join("hosts");
    let failed = |error: std::io::Error| Fault::Other(format!("{}: {error}", hosts.display()));
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    for owner in work::owners(&Connection::open_with_flags(copied, flags)?)? {
        Hosts::leave(&hosts, &owner).map_err(failed)?;
    }
    Ok(())
}

fn unfinished(to: &Path) -> PathBuf {
    let mut name = to.as_os_str().to_owned();
    name.push(".unfinished");
    PathBuf::from(name)
}
