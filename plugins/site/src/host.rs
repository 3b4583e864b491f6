//! The calls to the host that the work on files needs.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde::de::DeserializeOwned;
use stagewright_sdk::{Timestamp, control, status};

pub(crate) use stagewright_sdk::state::Scope;

use crate::failure::Failure;
use crate::files;

/// Ends the work, between two files, when the stage was cancelled.
pub(crate) fn check_cancelled() -> Result<(), Failure> {
    Ok(control::check()?)
}

/// Shows how far a copy is. Not for each file of many: a person reads this.
pub(crate) fn progress(target: &str, files: usize, of: usize) {
    if files == of || files.is_multiple_of(of.div_ceil(100)) {
        status!("{target}: {files} of {of} files");
    }
}

/// Now, in milliseconds since 1970.
pub(crate) fn now_millis() -> u64 {
    Timestamp::now().as_millis()
}

/// Now.
pub(crate) fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(now_millis())
}

/// The value of a key.
pub(crate) fn get<T: DeserializeOwned>(scope: Scope, key: &str) -> Result<Option<T>, Failure> {
    Ok(scope.get(key)?)
}

/// Sets the value of a key: a change to the outside, like those to files.
pub(crate) fn put<T: Serialize>(scope: Scope, key: &str, value: &T) -> Result<(), Failure> {
    files::step().map_err(|killed| Failure::Because(killed.to_string()))?;
    Ok(scope.put(key, value)?)
}

/// Removes a key.
pub(crate) fn delete(scope: Scope, key: &str) -> Result<(), Failure> {
    files::step().map_err(|killed| Failure::Because(killed.to_string()))?;
    Ok(scope.delete(key)?)
}

/// The keys that start with a prefix.
pub(crate) fn keys(scope: Scope, prefix: &str) -> Result<Vec<String>, Failure> {
    Ok(scope.keys(prefix)?)
}
