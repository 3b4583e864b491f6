//! A look at a file as it stands, without a lock and without what lies beside it.
//!
//! Through SQLite, even for its first bytes: when a process closes a file, the system
//! lets go all locks that the process has on it, also those of another store. SQLite
//! knows of them, and closes it later.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;

use rusqlite::{Connection, ErrorCode, OpenFlags};

/// The first bytes of every SQLite file.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// A connection that takes the file for one that nobody changes.
pub(super) fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let mut address = "file:".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                address.push(char::from(*byte));
            }
            other => write!(address, "%{other:02x}").expect("a string takes all that is written"),
        }
    }
    address.push_str("?immutable=1");
    Connection::open_with_flags(
        address,
        OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_URI,
    )
}

/// Whether a file is no SQLite file at all, whatever lies beside it. One that can't
/// be read is left to whoever opens it to use it.
pub(super) fn is_of_another_kind(path: &Path) -> bool {
    // SQLite takes one byte for nothing.
    let is_cut = |metadata: fs::Metadata| (1..MAGIC.len() as u64).contains(&metadata.len());
    if fs::metadata(path).is_ok_and(is_cut) {
        return true;
    }
    let version = |connection: Connection| {
        connection.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0))
    };
    let refused = connect(path).and_then(version).err();
    let code = refused.and_then(|error| error.sqlite_error_code());
    if code != Some(ErrorCode::NotADatabase) {
        return false;
    }
    // No store can use it, so none has a lock on it. Its beginning says whether it is
    // another program's or damaged.
    let mut start = Vec::new();
    let read =
        File::open(path).and_then(|file| file.take(MAGIC.len() as u64).read_to_end(&mut start));
    read.is_ok() && start != MAGIC
}
