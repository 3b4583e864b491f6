//! What people do to a stage while it is at work: approve it, skip it.
//!
//! A stage gets commands if it was planned with an operation
//! ([`PlannedStage::operated_by`](crate::PlannedStage::operated_by)). The host
//! refuses whoever may not give one, and keeps what was given over turns and
//! attempts: so read all of them each time, rather than note what was seen.
//!
//! To wait for the next one, suspend with the number of the last one that was
//! seen. One that comes between the two is not missed:
//!
//! ```
//! use stagewright_sdk::{Outcome, Result, commands};
//!
//! fn execute() -> Result<Outcome> {
//!     let given = commands::after(0)?;
//!     match given.last() {
//!         Some(last) => Ok(Outcome::skipped(format!("skipped by {}", last.by))),
//!         None => Ok(Outcome::suspend_until_command(0)),
//!     }
//! }
//! ```

use crate::bindings::imports::stagewright::plugin::commands as contract;
use crate::error::Result;
use crate::sys;
use crate::time::Timestamp;

pub use crate::bindings::imports::stagewright::plugin::commands::CommandKind;

/// What a person did to the stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// Its place among the stage's commands, from 1.
    pub number: u64,
    /// What was done.
    pub kind: CommandKind,
    /// Who did it. A person approves or skips a stage once.
    pub by: String,
    /// When.
    pub at: Timestamp,
}

/// The commands to this stage, over its attempts and turns, with a greater number
/// than this; in order, 0 for all. Refused while planning, where there is no stage
/// yet.
pub fn after(number: u64) -> Result<Vec<Command>> {
    let commands = sys::commands_after(number)?;
    Ok(commands.into_iter().map(Command::from).collect())
}

impl From<contract::Command> for Command {
    fn from(command: contract::Command) -> Self {
        Self {
            number: command.number,
            kind: command.kind,
            by: command.by,
            at: Timestamp::from_millis(command.at),
        }
    }
}

impl From<Command> for contract::Command {
    fn from(command: Command) -> Self {
        Self {
            number: command.number,
            kind: command.kind,
            by: command.by,
            at: command.at.as_millis(),
        }
    }
}
