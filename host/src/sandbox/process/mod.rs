//! Programs of the host that a plugin starts: outside the sandbox, with the
//! rights of the host's user, and gone with the call that started them.

mod child;
mod directory;
mod output;
mod private_copy;
mod set;

// As public as the bindings that wasmtime makes, which re-export it.
#[allow(unreachable_pub)]
pub use child::Child;
pub(super) use child::{Captured, Exit, Order};
pub(super) use directory::{Places, resolve};
pub(super) use set::Processes;
