//! What the host answers a plugin: a file an interface.

mod commands;
mod control;
mod log;
mod process;
mod state;

use wasmtime::component::{HasSelf, Linker};

use super::bindings::imports::stagewright::plugin as wit;
use super::failure::Ended;
use super::instance::CallState;
use crate::model::Refusal;

/// Adds everything that a plugin may import beside WASI.
pub(super) fn add_to_linker(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    type Own = HasSelf<CallState>;
    wit::types::add_to_linker::<CallState, Own>(linker, |state| state)?;
    wit::log::add_to_linker::<CallState, Own>(linker, |state| state)?;
    wit::state::add_to_linker::<CallState, Own>(linker, |state| state)?;
    wit::control::add_to_linker::<CallState, Own>(linker, |state| state)?;
    wit::commands::add_to_linker::<CallState, Own>(linker, |state| state)?;
    wit::process::add_to_linker::<CallState, Own>(linker, |state| state)
}

impl wit::types::Host for CallState {}

/// An import's answer: a refusal goes to the guest, a failure of the host itself
/// ends the call.
fn answer<T>(result: Result<T, Refusal>) -> wasmtime::Result<Result<T, wit::types::Refusal>> {
    use wit::types::Refusal as Wit;
    Ok(Err(match result {
        Ok(value) => return Ok(Ok(value)),
        Err(Refusal::Denied(text)) => Wit::Denied(text),
        Err(Refusal::QuotaExceeded(text)) => Wit::QuotaExceeded(text),
        Err(Refusal::StaleAttempt) => Wit::StaleAttempt,
        Err(Refusal::Cancelled) => Wit::Cancelled,
        Err(Refusal::Invalid(text)) => Wit::Invalid(text),
        Err(Refusal::Host(text)) => return Err(Ended::Host(text).into()),
    }))
}
