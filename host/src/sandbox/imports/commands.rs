//! `commands`: what people do to a stage while it is at work.

use super::answer;
use super::wit::commands::{Command, CommandKind, Host};
use super::wit::types::Refusal;
use crate::model;
use crate::sandbox::instance::CallState;

impl Host for CallState {
    async fn after(&mut self, number: u64) -> wasmtime::Result<Result<Vec<Command>, Refusal>> {
        let commands = self.services.commands(number).await;
        answer(commands.map(|commands| commands.into_iter().map(command).collect()))
    }
}

fn command(command: model::Command) -> Command {
    Command {
        number: command.number,
        kind: match command.kind {
            model::CommandKind::Approve => CommandKind::Approve,
            model::CommandKind::Skip => CommandKind::Skip,
        },
        by: command.by,
        at: command.at.0,
    }
}
