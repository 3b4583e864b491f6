//! Programs of the host that the operator granted (`allow.commands`).
//!
//! A program runs outside the sandbox, with the rights of the host's user.
//!
//! ```no_run
//! # fn example() -> stagewright_sdk::Result<()> {
//! use stagewright_sdk::process::Command;
//!
//! let version = Command::new("git").args(["describe", "--tags"]).output()?;
//! if !version.exit.success() {
//!     stagewright_sdk::error!("git {}", version.exit);
//! }
//! # Ok(()) }
//! ```

use std::fmt;
use std::path::Path;

use crate::bindings::types::Entry;
use crate::error::Result;
use crate::sys;

pub(crate) use crate::bindings::imports::stagewright::plugin::process::{
    Captured as CapturedRecord, Command as CommandRecord, Exit as ExitRecord,
};

/// A program to start.
///
/// Its arguments reach it one by one: no shell takes them apart. Of the
/// environment it inherits nothing but `PATH` and the variables that the operator
/// granted (`allow.env`).
#[derive(Debug, Clone)]
#[must_use = "nothing is started before `run`, `output` or `spawn`"]
pub struct Command(CommandRecord);

impl Command {
    /// A program: an absolute path or a name, as the operator granted it.
    pub fn new(program: impl Into<String>) -> Self {
        Self(CommandRecord {
            program: program.into(),
            arguments: Vec::new(),
            environment: Vec::new(),
            directory: None,
            stdin: Vec::new(),
            capture: false,
            to_log: true,
        })
    }

    /// Adds an argument.
    pub fn arg(mut self, argument: impl Into<String>) -> Self {
        self.0.arguments.push(argument.into());
        self
    }

    /// Adds arguments.
    pub fn args<S: Into<String>>(mut self, arguments: impl IntoIterator<Item = S>) -> Self {
        self.0
            .arguments
            .extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Sets a variable of its environment; a later value replaces an earlier one.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let (key, value) = (name.into(), value.into());
        match self.0.environment.iter_mut().find(|entry| entry.key == key) {
            Some(entry) => entry.value = value,
            None => self.0.environment.push(Entry { key, value }),
        }
        self
    }

    /// Sets variables of its environment.
    pub fn envs<K: Into<String>, V: Into<String>>(
        self,
        variables: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        variables
            .into_iter()
            .fold(self, |command, (name, value)| command.env(name, value))
    }

    /// Where it runs: a path in the sandbox. Below a source, the program sees a
    /// private writable copy of that source. By default the plugin's scratch
    /// directory.
    pub fn current_dir(mut self, directory: impl AsRef<Path>) -> Self {
        self.0.directory = Some(directory.as_ref().to_string_lossy().into_owned());
        self
    }

    /// What it reads from its standard input; by default nothing.
    pub fn stdin(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.0.stdin = input.into();
        self
    }

    /// Keeps its output out of the log.
    pub fn quiet(mut self) -> Self {
        self.0.to_log = false;
        self
    }

    /// Runs it to its end; its output goes to the log as it comes.
    ///
    /// A program that ends with a code other than 0 is no error here: look at the
    /// [`Exit`]. [`Error::Cancelled`](crate::Error::Cancelled) when the stage was
    /// cancelled meanwhile; the program and all that it started are then gone.
    pub fn run(self) -> Result<Exit> {
        self.spawn()?.wait()
    }

    /// Runs it to its end and keeps what it wrote, up to the host's limit. The
    /// output goes to the log too, unless [`quiet`](Self::quiet).
    pub fn output(mut self) -> Result<Output> {
        self.0.capture = true;
        let child = self.spawn()?;
        let exit = child.wait()?;
        let captured = child.0.captured();
        Ok(Output {
            exit,
            stdout: captured.stdout,
            stderr: captured.stderr,
            truncated: captured.truncated,
        })
    }

    /// Starts it. Dropping the handle kills the program and all that it started.
    pub fn spawn(self) -> Result<Child> {
        Ok(Child(sys::spawn(&self.0)?))
    }
}

/// A started program. Dropping it kills the program and all that it started.
#[derive(Debug)]
pub struct Child(sys::Child);

impl Child {
    /// Waits for its end. [`Error::Cancelled`](crate::Error::Cancelled) when the
    /// stage was cancelled meanwhile.
    pub fn wait(&self) -> Result<Exit> {
        Ok(self.0.wait()?.into())
    }

    /// How it ended; none while it runs.
    pub fn exited(&self) -> Option<Exit> {
        self.0.exited().map(Into::into)
    }

    /// Ends the program and all that it started.
    pub fn kill(&self) {
        self.0.kill();
    }
}

/// Waits until one of the programs has ended, and says which: its place in
/// `children`. [`Error::Cancelled`](crate::Error::Cancelled) when the stage was
/// cancelled meanwhile.
///
/// One that has ended already counts at once, so take it out before waiting again.
///
/// # Panics
/// If there are no children: nothing would ever end the wait.
pub fn wait_any(children: &[&Child]) -> Result<usize> {
    assert!(!children.is_empty(), "wait_any needs a program to wait for");
    let children: Vec<&sys::Child> = children.iter().map(|child| &child.0).collect();
    Ok(sys::wait_any(&children)?)
}

/// What a program wrote, and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// How it ended.
    pub exit: Exit,
    /// What it wrote to its standard output.
    pub stdout: Vec<u8>,
    /// What it wrote to its standard error.
    pub stderr: Vec<u8>,
    /// Whether more came than was kept.
    pub truncated: bool,
}

impl Output {
    /// What it wrote to its standard output as text, without the line breaks at the
    /// end.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout)
            .trim_end_matches(['\r', '\n'])
            .to_owned()
    }
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

impl Exit {
    /// Whether it ended by itself with code 0.
    pub fn success(self) -> bool {
        self == Self::Code(0)
    }

    /// The code, if it ended by itself.
    pub fn code(self) -> Option<i32> {
        match self {
            Self::Code(code) => Some(code),
            Self::Signal(_) => None,
        }
    }
}

/// To be put behind a name: `exited with code 2`, `was ended by signal 9`.
impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exited with code {code}"),
            Self::Signal(signal) => write!(f, "was ended by signal {signal}"),
        }
    }
}

impl From<ExitRecord> for Exit {
    fn from(exit: ExitRecord) -> Self {
        match exit {
            ExitRecord::Code(code) => Self::Code(code),
            ExitRecord::Signal(signal) => Self::Signal(signal),
        }
    }
}
