//! How a stage ended.

use crate::bindings::executor as contract;
use crate::time::Timestamp;

pub use crate::bindings::executor::{TargetResult, TargetStatus};

/// How a stage ended, or what it waits for.
///
/// ```
/// use stagewright_sdk::Outcome;
/// # fn upload() -> i32 { 3 }
///
/// let code = upload();
/// let outcome = Outcome::failed("the upload was refused").exit_code(code);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// How it ended.
    pub status: Status,
    /// The results of the deploy targets; may be empty.
    pub targets: Vec<TargetResult>,
    /// The exit code of the program that decided it, if one did.
    pub exit_code: Option<i32>,
}

/// How a stage ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// It did what it is for.
    Succeeded,
    /// It did not; why.
    Failed(String),
    /// There was nothing to do; why.
    Skipped(String),
    /// The pipeline ends here, as a success; why.
    Exited(String),
    /// It waits until one of these comes true. The instance is dropped and the
    /// stage called again in its next turn.
    Suspended(Vec<Wake>),
}

/// What ends a suspension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// A time.
    At(Timestamp),
    /// The first command to the stage with a greater number than this: see
    /// [`commands`](crate::commands). Needs a stage that was planned with an
    /// operation.
    Command(u64),
}

impl Outcome {
    /// The stage did what it is for.
    pub fn succeeded() -> Self {
        Self::from(Status::Succeeded)
    }

    /// The stage did not do what it is for; why.
    pub fn failed(reason: impl Into<String>) -> Self {
        Self::from(Status::Failed(reason.into()))
    }

    /// There was nothing to do; why.
    pub fn skipped(reason: impl Into<String>) -> Self {
        Self::from(Status::Skipped(reason.into()))
    }

    /// The pipeline ends here, as a success; why.
    pub fn exited(reason: impl Into<String>) -> Self {
        Self::from(Status::Exited(reason.into()))
    }

    /// The stage waits until then. It costs nothing meanwhile, and is called again
    /// from its beginning: keep in [`state`](crate::state) what it must remember.
    /// A time that is past is due a second after this turn.
    pub fn suspend_until(at: Timestamp) -> Self {
        Self::suspend([Wake::At(at)])
    }

    /// The stage waits until someone approves or skips it: for the first command
    /// with a greater number than this, that of the last one seen or 0. See
    /// [`commands`](crate::commands).
    pub fn suspend_until_command(after: u64) -> Self {
        Self::suspend([Wake::Command(after)])
    }

    /// The stage waits until the first of these; at least one.
    pub fn suspend(wakes: impl IntoIterator<Item = Wake>) -> Self {
        Self::from(Status::Suspended(wakes.into_iter().collect()))
    }

    /// The same, for so long from now.
    pub fn suspend_for(duration: std::time::Duration) -> Self {
        Self::suspend_until(Timestamp::now() + duration)
    }

    /// Adds how one deploy target fared.
    pub fn target(
        mut self,
        name: impl Into<String>,
        status: TargetStatus,
        message: impl Into<String>,
    ) -> Self {
        self.targets.push(TargetResult {
            name: name.into(),
            status,
            message: message.into(),
        });
        self
    }

    /// Adds how several deploy targets fared.
    pub fn targets(mut self, results: impl IntoIterator<Item = TargetResult>) -> Self {
        self.targets.extend(results);
        self
    }

    /// Says the exit code of the program that decided the outcome.
    pub fn exit_code(mut self, code: i32) -> Self {
        self.exit_code = Some(code);
        self
    }
}

impl From<Status> for Outcome {
    fn from(status: Status) -> Self {
        Self {
            status,
            targets: Vec::new(),
            exit_code: None,
        }
    }
}

impl From<Wake> for contract::Wake {
    fn from(wake: Wake) -> Self {
        match wake {
            Wake::At(at) => Self::At(at.as_millis()),
            Wake::Command(after) => Self::Command(after),
        }
    }
}

impl From<contract::Wake> for Wake {
    fn from(wake: contract::Wake) -> Self {
        match wake {
            contract::Wake::At(at) => Self::At(Timestamp::from_millis(at)),
            contract::Wake::Command(after) => Self::Command(after),
        }
    }
}

impl From<Outcome> for contract::Outcome {
    fn from(outcome: Outcome) -> Self {
        Self {
            status: match outcome.status {
                Status::Succeeded => contract::Status::Succeeded,
                Status::Failed(reason) => contract::Status::Failed(reason),
                Status::Skipped(reason) => contract::Status::Skipped(reason),
                Status::Exited(reason) => contract::Status::Exited(reason),
                Status::Suspended(wakes) => {
                    contract::Status::Suspended(wakes.into_iter().map(Into::into).collect())
                }
            },
            targets: outcome.targets,
            exit_code: outcome.exit_code,
        }
    }
}
