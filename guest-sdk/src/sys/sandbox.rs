//! The real host, through the contract's imports.
//!
//! A component imports what is called from here and reachable from its exports;
//! the rest is left out when it is linked.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use wasip2::filesystem::{preopens, types::ErrorCode};

use crate::bindings::imports::stagewright::plugin::{commands, control, log, process, state};
use crate::bindings::imports::wasi::io::poll;
use crate::error::Refusal;
use crate::process::{CapturedRecord, CommandRecord, ExitRecord};
use crate::time::Timestamp;

pub(crate) fn log_write(severity: log::Severity, message: &str) {
    log::write(severity, message);
}

pub(crate) fn log_status(text: &str) {
    log::status(text);
}

pub(crate) fn cancelled() -> bool {
    control::cancelled()
}

pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    Timestamp::from_millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

pub(crate) fn state_get(scope: state::Scope, key: &str) -> Result<Option<Vec<u8>>, Refusal> {
    state::get(scope, key)
}

pub(crate) fn state_put(scope: state::Scope, key: &str, value: &[u8]) -> Result<(), Refusal> {
    state::put(scope, key, value)
}

pub(crate) fn state_put_many(
    scope: state::Scope,
    values: &[(String, Vec<u8>)],
) -> Result<(), Refusal> {
    state::put_many(scope, values)
}

pub(crate) fn state_delete(scope: state::Scope, key: &str) -> Result<(), Refusal> {
    state::delete(scope, key)
}

pub(crate) fn state_keys(scope: state::Scope, prefix: &str) -> Result<Vec<String>, Refusal> {
    state::keys(scope, prefix)
}

pub(crate) fn commands_after(number: u64) -> Result<Vec<commands::Command>, Refusal> {
    commands::after(number)
}

#[derive(Debug)]
pub(crate) struct Child(process::Child);

pub(crate) fn spawn(command: &CommandRecord) -> Result<Child, Refusal> {
    process::spawn(command).map(Child)
}

impl Child {
    pub(crate) fn exited(&self) -> Option<ExitRecord> {
        self.0.exited()
    }

    pub(crate) fn wait(&self) -> Result<ExitRecord, Refusal> {
        self.0.wait()
    }

    pub(crate) fn captured(&self) -> CapturedRecord {
        self.0.captured()
    }

    pub(crate) fn kill(&self) {
        self.0.kill();
    }
}

pub(crate) fn wait_any(children: &[&Child]) -> Result<usize, Refusal> {
    let cancel = control::subscribe();
    let ends: Vec<_> = children.iter().map(|child| child.0.subscribe()).collect();
    let all: Vec<&poll::Pollable> = ends.iter().chain([&cancel]).collect();
    loop {
        // What has ended counts before a cancel: its result is not lost.
        if let Some(ended) = children.iter().position(|child| child.0.exited().is_some()) {
            return Ok(ended);
        }
        if control::cancelled() {
            return Err(Refusal::Cancelled);
        }
        poll::poll(&all);
    }
}

pub(crate) fn scratch() -> PathBuf {
    PathBuf::from("/scratch")
}

pub(crate) fn symlink(target: &Path, link: &Path) -> io::Result<()> {
    let utf8 = |path: &Path| -> io::Result<String> {
        path.to_str().map(str::to_owned).ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::InvalidInput,
                "a path must be UTF-8 in the sandbox",
            )
        })
    };
    let target = utf8(target)?;
    // The innermost directory that was handed over and holds the link.
    let (directory, below) = preopens::get_directories()
        .into_iter()
        .filter_map(|(directory, path)| {
            let below = link.strip_prefix(&path).ok()?.to_owned();
            Some((directory, below))
        })
        .min_by_key(|(_, below)| below.components().count())
        .ok_or_else(|| {
            let message = format!("no granted directory holds {}", link.display());
            io::Error::new(io::ErrorKind::PermissionDenied, message)
        })?;
    directory
        .symlink_at(&target, &utf8(&below)?)
        .map_err(|code| {
            let kind = match code {
                ErrorCode::Exist => io::ErrorKind::AlreadyExists,
                ErrorCode::NoEntry => io::ErrorKind::NotFound,
                ErrorCode::Access | ErrorCode::NotPermitted => io::ErrorKind::PermissionDenied,
                ErrorCode::ReadOnly => io::ErrorKind::ReadOnlyFilesystem,
                ErrorCode::InsufficientSpace => io::ErrorKind::StorageFull,
                ErrorCode::NotDirectory => io::ErrorKind::NotADirectory,
                ErrorCode::Unsupported => io::ErrorKind::Unsupported,
                ErrorCode::Invalid => io::ErrorKind::InvalidInput,
                _ => io::ErrorKind::Other,
            };
            io::Error::new(kind, code.message())
        })
}
