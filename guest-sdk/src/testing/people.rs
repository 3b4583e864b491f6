//! What people do to a stage in a test, and what a host would refuse of it.

use super::current::{Call, World};
use super::{FakeHost, StageRun};
use crate::bindings::imports::stagewright::plugin::commands as contract;
use crate::commands::{Command, CommandKind};
use crate::error::Refusal;
use crate::plan::Operation;
use crate::time::Timestamp;

/// What someone does as soon as a line of the log holds a text.
#[derive(Debug, Clone)]
pub(super) struct Reaction {
    text: String,
    kind: CommandKind,
    by: String,
}

impl FakeHost {
    /// Approves a stage as this person. One that is suspended until a command is
    /// woken by it: see [`wake`](Self::wake).
    ///
    /// # Errors
    /// With the host's sentence when it would not take this: the stage was not
    /// planned with [`Operation::Approve`], has not started or is at its end, the
    /// person is not listed or has approved it already.
    pub fn approve(&mut self, stage: &mut StageRun, by: &str) -> Result<(), String> {
        self.act(stage, CommandKind::Approve, by)
    }

    /// Skips a stage as this person, in the same way.
    ///
    /// # Errors
    /// As [`approve`](Self::approve) does, for [`Operation::Skip`].
    pub fn skip(&mut self, stage: &mut StageRun, by: &str) -> Result<(), String> {
        self.act(stage, CommandKind::Skip, by)
    }

    /// Approves the stage that is executed next as this person, as soon as a line
    /// of the log holds this text: while its plugin is at work.
    ///
    /// The call panics if the host would not take it.
    pub fn approve_on_log(&mut self, text: &str, by: &str) {
        self.act_on_log(text, CommandKind::Approve, by);
    }

    /// Skips the stage that is executed next, in the same way.
    pub fn skip_on_log(&mut self, text: &str, by: &str) {
        self.act_on_log(text, CommandKind::Skip, by);
    }

    fn act(&mut self, stage: &mut StageRun, kind: CommandKind, by: &str) -> Result<(), String> {
        let cancelled = self.world.is_cancelled();
        stage.take(kind, by, self.now(), cancelled)
    }

    fn act_on_log(&mut self, text: &str, kind: CommandKind, by: &str) {
        self.world.facts().reactions.push(Reaction {
            text: text.to_owned(),
            kind,
            by: by.to_owned(),
        });
    }
}

impl StageRun {
    /// Takes what someone does to it, or says why a host would not.
    fn take(
        &mut self,
        kind: CommandKind,
        by: &str,
        at: Timestamp,
        cancelled: bool,
    ) -> Result<(), String> {
        let undoes = if self.rollback { "r" } else { "" };
        let name = format!("stage {undoes}{} ({})", self.index + 1, self.name);
        let by = by.trim();
        if by.is_empty() || by.chars().count() > 200 || by.contains(char::is_control) {
            return Err(format!("{by:?} is no name"));
        }
        let (verb, done, needed) = match kind {
            CommandKind::Approve => ("approve", "approved", Operation::Approve),
            CommandKind::Skip => ("skip", "skipped", Operation::Skip),
        };
        let listed = &self.authorized_operators;
        let again = |old: &Command| old.kind == kind && old.by == by;
        if let Some(status) = self.ended {
            return Err(format!("{name} is {status}, it is too late to {verb} it"));
        }
        if self.operation != needed {
            return Err(format!("{name} is none that people {verb}"));
        }
        if self.first_started_at.is_none() {
            return Err(format!(
                "{name} has not started, it is too early to {verb} it"
            ));
        }
        if cancelled {
            return Err(format!(
                "{name} is being cancelled, it is too late to {verb} it"
            ));
        }
        if !listed.is_empty() && !listed.iter().any(|name| name == by) {
            let listed = listed.join(", ");
            return Err(format!("{by} may not {verb} {name}; these may: {listed}"));
        }
        if self.commands.iter().any(again) {
            return Err(format!("{name} was {done} by {by} already"));
        }
        self.commands.push(Command {
            number: self.commands.last().map_or(0, |last| last.number) + 1,
            kind,
            by: by.to_owned(),
            at,
        });
        Ok(())
    }

    /// Whether it is suspended and a command has come that ends that.
    pub(super) fn has_command(&self) -> bool {
        let after = self.wakes_after_command;
        after.is_some_and(|after| self.commands.iter().any(|command| command.number > after))
    }
}

impl World {
    pub(crate) fn commands_after(&self, number: u64) -> Result<Vec<contract::Command>, Refusal> {
        let facts = self.facts();
        let refused = |when: &str| {
            Err(Refusal::Denied(format!(
                "there are no commands {when}, where there is no stage yet"
            )))
        };
        match &facts.call {
            Call::Describe => refused("in `describe`"),
            Call::Plan => refused("while planning"),
            Call::Stage(_) => {
                let commands = facts.stage.iter().flat_map(|stage| &stage.commands);
                let new = commands.filter(|command| command.number > number);
                Ok(new.cloned().map(Into::into).collect())
            }
        }
    }

    /// Lets those act who waited for this line of the log.
    pub(super) fn react(&self, line: &str) {
        let refused: Vec<String> = {
            let mut guard = self.facts();
            let facts = &mut *guard;
            let (now, cancelled) = (facts.now, facts.cancelled);
            let Some(stage) = &mut facts.stage else {
                return;
            };
            let due: Vec<Reaction> = facts
                .reactions
                .extract_if(.., |reaction| line.contains(&reaction.text))
                .collect();
            due.iter()
                .filter_map(|one| stage.take(one.kind, &one.by, now, cancelled).err())
                .collect()
        };
        // Not under the lock, which the test's own panic would leave poisoned.
        assert!(refused.is_empty(), "{}", refused.join("; "));
    }
}
