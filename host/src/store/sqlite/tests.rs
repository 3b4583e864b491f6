//! What only this store promises, beside what every store does.

use tempfile::TempDir;

use super::*;
use crate::store::conformance::every_promise;

every_promise!(store);

fn store() -> (SqliteStore, TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path().join("state.db")).unwrap();
    (store, directory)
}
