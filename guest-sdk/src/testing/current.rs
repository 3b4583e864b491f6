//! The fake host's insides: what the functions of the contract's imports do in a
//! test, and which fake host the calling thread belongs to.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use tempfile::TempDir;

use super::answer::Programs;
use super::people::Reaction;
use super::process::Running;
use super::{CommandLine, LogLine, StageRun};
use crate::error::Refusal;
use crate::log::Severity;
use crate::state::Scope;
use crate::time::Timestamp;

pub(crate) use super::process::Child;

thread_local! {
    static CURRENT: RefCell<Option<Arc<World>>> = const { RefCell::new(None) };
}

/// The fake host whose call runs on this thread.
pub(crate) fn get() -> Option<Arc<World>> {
    CURRENT.with_borrow(Clone::clone)
}

/// The same, where nothing can be done without.
pub(crate) fn need(what: &str) -> Arc<World> {
    get().unwrap_or_else(|| {
        panic!("there is no host here, so no {what}: call the plugin through `testing::FakeHost`")
    })
}

/// Makes this the thread's fake host until the guard is dropped.
pub(super) fn enter(world: &Arc<World>) -> Entered {
    Entered(CURRENT.replace(Some(Arc::clone(world))))
}

pub(super) struct Entered(Option<Arc<World>>);

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// What a fake host is shared as: with the thread that runs the plugin, and those
/// that read what its programs write.
#[derive(Debug)]
pub(crate) struct World {
    facts: Mutex<Facts>,
    /// Told of each end of a program and of the cancel.
    pub(super) changed: Condvar,
}

#[derive(Debug)]
pub(super) struct Facts {
    pub(super) now: Timestamp,
    pub(super) cancelled: bool,
    pub(super) cancel_on_log: Option<String>,
    pub(super) log: Vec<LogLine>,
    pub(super) statuses: Vec<String>,
    pub(super) state: BTreeMap<(Owner, String), Vec<u8>>,
    pub(super) call: Call,
    /// The stage that is executed, with what people do to it meanwhile.
    pub(super) stage: Option<StageRun>,
    pub(super) reactions: Vec<Reaction>,
    pub(super) deployment: String,
    pub(super) programs: Programs,
    pub(super) commands: Vec<CommandLine>,
    pub(super) running: Vec<Running>,
    /// The sources, and the private copies of them that programs got in this
    /// deployment.
    pub(super) sources: Vec<PathBuf>,
    pub(super) copies: BTreeMap<PathBuf, TempDir>,
    pub(super) scratch: TempDir,
}

/// What kind of call the plugin is in, which decides what it may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Call {
    Describe,
    Plan,
    Stage(String),
}

/// Whom a value of the state belongs to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Owner {
    Stage(String),
    Deployment(String),
    Application,
    Shared(String),
}

impl World {
    pub(super) fn new() -> Self {
        Self {
            facts: Mutex::new(Facts {
                now: Timestamp::from_millis(1_767_225_600_000), // 2026-01-01T00:00:00Z
                cancelled: false,
                cancel_on_log: None,
                log: Vec::new(),
                statuses: Vec::new(),
                state: BTreeMap::new(),
                call: Call::Describe,
                stage: None,
                reactions: Vec::new(),
                deployment: String::new(),
                programs: Programs::default(),
                commands: Vec::new(),
                running: Vec::new(),
                sources: Vec::new(),
                copies: BTreeMap::new(),
                scratch: tempfile::tempdir().expect("a temporary directory"),
            }),
            changed: Condvar::new(),
        }
    }

    /// Takes away what belonged to a deployment that is over: the state of each scope
    /// is kept under its own id, so only the files.
    pub(super) fn end_deployment(&self) {
        let mut facts = self.facts();
        facts.copies.clear();
        facts.scratch = tempfile::tempdir().expect("a temporary directory");
    }

    /// A plugin that panicked under the lock is the test's own failure, which must
    /// not hide behind a second one.
    pub(super) fn facts(&self) -> MutexGuard<'_, Facts> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.facts().now
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.facts().cancelled
    }

    pub(crate) fn cancel(&self) {
        self.facts().cancelled = true;
        self.changed.notify_all();
    }

    pub(crate) fn scratch(&self) -> PathBuf {
        self.facts().scratch.path().to_owned()
    }

    pub(crate) fn log(&self, severity: Severity, message: &str) {
        let mut facts = self.facts();
        let lines: Vec<&str> = match message {
            "" => vec![""],
            _ => message.lines().collect(),
        };
        let mut cancel = false;
        for line in lines {
            cancel |= facts
                .cancel_on_log
                .as_ref()
                .is_some_and(|text| line.contains(text));
            facts.log.push(LogLine {
                severity,
                text: line.to_owned(),
            });
        }
        drop(facts);
        for line in message.lines() {
            self.react(line);
        }
        if cancel {
            self.cancel();
        }
    }

    pub(crate) fn status(&self, text: &str) {
        let mut facts = self.facts();
        if matches!(facts.call, Call::Stage(_)) {
            facts.statuses.push(text.chars().take(120).collect());
        }
    }

    pub(crate) fn state_get(&self, scope: Scope, key: &str) -> Result<Option<Vec<u8>>, Refusal> {
        let facts = self.facts();
        let owner = facts.owner(scope, false)?;
        Ok(facts.state.get(&(owner, key.to_owned())).cloned())
    }

    pub(crate) fn state_put_many(
        &self,
        scope: Scope,
        values: &[(String, Vec<u8>)],
    ) -> Result<(), Refusal> {
        let mut facts = self.facts();
        let owner = facts.owner(scope, true)?;
        for (key, value) in values {
            facts
                .state
                .insert((owner.clone(), key.clone()), value.clone());
        }
        Ok(())
    }

    pub(crate) fn state_delete(&self, scope: Scope, key: &str) -> Result<(), Refusal> {
        let mut facts = self.facts();
        let owner = facts.owner(scope, true)?;
        facts.state.remove(&(owner, key.to_owned()));
        Ok(())
    }

    pub(crate) fn state_keys(&self, scope: Scope, prefix: &str) -> Result<Vec<String>, Refusal> {
        let facts = self.facts();
        let owner = facts.owner(scope, false)?;
        Ok(facts
            .state
            .keys()
            .filter(|(of, key)| *of == owner && key.starts_with(prefix))
            .map(|(_, key)| key.clone())
            .collect())
    }
}

impl Facts {
    /// Whose values a scope means in this call; a refusal if it may not be used.
    fn owner(&self, scope: Scope, write: bool) -> Result<Owner, Refusal> {
        let refused = |why: &str| Err(Refusal::Denied(why.to_owned()));
        match (&self.call, scope) {
            (Call::Describe, _) => refused("there is no state in `describe`"),
            (Call::Plan, _) if write => refused("the state can only be read while planning"),
            (Call::Plan, Scope::Stage | Scope::Deployment | Scope::Shared) => {
                refused("only the scope `application` can be read while planning")
            }
            (_, Scope::Shared) if write => refused("the scope `shared` can only be read"),
            (_, Scope::Application) => Ok(Owner::Application),
            (_, Scope::Deployment) => Ok(Owner::Deployment(self.deployment.clone())),
            (_, Scope::Shared) => Ok(Owner::Shared(self.deployment.clone())),
            (Call::Stage(id), Scope::Stage) => Ok(Owner::Stage(id.clone())),
        }
    }
}
