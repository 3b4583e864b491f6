//! What a test says of the programs that a plugin may start.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::CommandLine;
use crate::process::Exit;

/// What a scripted program does: what it writes, and how it ends.
#[derive(Debug, Clone)]
#[must_use]
pub struct Answer {
    pub(super) exit: Option<Exit>,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
}

impl Answer {
    /// It ends with this code.
    pub fn exits(code: i32) -> Self {
        Self::ends(Exit::Code(code))
    }

    /// It is ended by this signal.
    pub fn killed_by(signal: i32) -> Self {
        Self::ends(Exit::Signal(signal))
    }

    /// It runs until the stage is cancelled, which happens as soon as the plugin
    /// waits for it.
    pub fn until_cancelled() -> Self {
        Self {
            exit: None,
            stdout: Vec::new(),
            stderr: Vec::new(),
        }
    }

    /// What it writes to its standard output.
    pub fn stdout(mut self, text: impl Into<Vec<u8>>) -> Self {
        self.stdout = text.into();
        self
    }

    /// What it writes to its standard error.
    pub fn stderr(mut self, text: impl Into<Vec<u8>>) -> Self {
        self.stderr = text.into();
        self
    }

    fn ends(exit: Exit) -> Self {
        Self {
            exit: Some(exit),
            ..Self::until_cancelled()
        }
    }
}

type Script = Arc<dyn Fn(&CommandLine) -> Answer + Send + Sync>;

/// What each program that the plugin may start does.
#[derive(Clone, Default)]
pub(super) struct Programs(pub(super) BTreeMap<String, Program>);

#[derive(Clone)]
pub(super) enum Program {
    Scripted(Script),
    Real,
}

impl fmt::Debug for Programs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
