//! A clock for the program that a test sets while it runs.

use std::fs;

use tempfile::TempDir;

/// The clock of every program that is given its variable.
#[derive(Debug)]
pub struct Clock {
    directory: TempDir,
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock {
    /// A clock that goes right.
    pub fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let clock = Self { directory };
        clock.set(0);
        clock
    }

    /// Sets it so many seconds ahead of the time that it is, or behind.
    pub fn set(&self, seconds: i64) {
        let written = self.directory.path().join("written");
        fs::write(&written, (seconds * 1000).to_string()).expect("a file");
        // Whoever reads it meanwhile reads all of one of the two.
        fs::rename(written, self.file()).expect("a file");
    }

    /// The variable that gives it to a program.
    pub fn variable(&self) -> String {
        format!("STAGEWRIGHT_CLOCK={}", self.file().display())
    }

    fn file(&self) -> std::path::PathBuf {
        self.directory.path().join("clock")
    }
}
