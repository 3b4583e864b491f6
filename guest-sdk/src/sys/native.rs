//! The fake host that is set on this thread, where there is one.
//!
//! Without one, only what needs no host works: the log goes to the standard error
//! stream and the clock is the system's. The rest says what is missing, since a
//! plugin's logic outside of a fake host is a test that forgot it.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::bindings::imports::stagewright::plugin::{commands, log, state};
use crate::error::Refusal;
use crate::process::{CapturedRecord, CommandRecord, ExitRecord};
use crate::testing::current;
use crate::time::Timestamp;

pub(crate) use crate::testing::current::Child;

pub(crate) fn log_write(severity: log::Severity, message: &str) {
    match current::get() {
        Some(host) => host.log(severity, message),
        None => eprintln!("{message}"),
    }
}

pub(crate) fn log_status(text: &str) {
    if let Some(host) = current::get() {
        host.status(text);
    }
}

pub(crate) fn cancelled() -> bool {
    current::get().is_some_and(|host| host.is_cancelled())
}

pub(crate) fn now() -> Timestamp {
    current::get().map_or_else(system_time, |host| host.now())
}

pub(crate) fn system_time() -> Timestamp {
    let since = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    Timestamp::from_millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

pub(crate) fn state_get(scope: state::Scope, key: &str) -> Result<Option<Vec<u8>>, Refusal> {
    current::need("state").state_get(scope, key)
}

pub(crate) fn state_put(scope: state::Scope, key: &str, value: &[u8]) -> Result<(), Refusal> {
    current::need("state").state_put_many(scope, &[(key.to_owned(), value.to_vec())])
}

pub(crate) fn state_put_many(
    scope: state::Scope,
    values: &[(String, Vec<u8>)],
) -> Result<(), Refusal> {
    current::need("state").state_put_many(scope, values)
}

pub(crate) fn state_delete(scope: state::Scope, key: &str) -> Result<(), Refusal> {
    current::need("state").state_delete(scope, key)
}

pub(crate) fn state_keys(scope: state::Scope, prefix: &str) -> Result<Vec<String>, Refusal> {
    current::need("state").state_keys(scope, prefix)
}

pub(crate) fn commands_after(number: u64) -> Result<Vec<commands::Command>, Refusal> {
    current::need("commands").commands_after(number)
}

pub(crate) fn spawn(command: &CommandRecord) -> Result<Child, Refusal> {
    current::need("process").spawn(command)
}

impl Child {
    pub(crate) fn exited(&self) -> Option<ExitRecord> {
        self.how_it_ended()
    }

    pub(crate) fn wait(&self) -> Result<ExitRecord, Refusal> {
        wait_any(&[self])?;
        Ok(self.how_it_ended().expect("it was waited for"))
    }

    pub(crate) fn captured(&self) -> CapturedRecord {
        self.what_it_wrote()
    }

    pub(crate) fn kill(&self) {
        self.end();
    }
}

pub(crate) fn wait_any(children: &[&Child]) -> Result<usize, Refusal> {
    current::need("process").wait_any(children)
}

pub(crate) fn scratch() -> PathBuf {
    current::need("scratch directory").scratch()
}

#[cfg(unix)]
pub(crate) fn symlink(target: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

#[cfg(not(unix))]
pub(crate) fn symlink(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
