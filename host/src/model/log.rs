//! A line of a log.

use serde::{Deserialize, Serialize};

use super::Timestamp;

/// How a line is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// An ordinary line.
    Info,
    /// Something was achieved.
    Success,
    /// Something went wrong.
    Error,
}

/// A line of a stage's log, or of a plan's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LogLine {
    /// Its place in the log, from 0, over all attempts and turns.
    pub number: u64,
    /// The attempt that wrote it; 0 for a plan's.
    pub attempt: u32,
    /// When it was written.
    pub at: Timestamp,
    /// How it is shown.
    pub severity: Severity,
    /// The text, without a line end.
    pub text: String,
}
