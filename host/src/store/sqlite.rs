//! The store that comes with the host: one SQLite file.

/// Keeps everything in one SQLite file.
#[derive(Debug)]
pub struct SqliteStore;
