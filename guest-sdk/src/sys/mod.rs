//! The host as this crate calls it: the real one in the sandbox, the fake one of
//! [`testing`](crate::testing) elsewhere. Both offer the same functions.

#[cfg(target_family = "wasm")]
mod sandbox;
#[cfg(target_family = "wasm")]
pub(crate) use sandbox::*;

#[cfg(not(target_family = "wasm"))]
mod native;
#[cfg(not(target_family = "wasm"))]
pub(crate) use native::*;
