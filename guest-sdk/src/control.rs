//! Whether the call should end.
//!
//! A plugin that works for long should ask between its steps. After a grace
//! period the host drops the call wherever it is.

use crate::error::{Error, Result};
use crate::sys;

/// Whether the stage was cancelled or has timed out. Once true, it stays true.
pub fn cancelled() -> bool {
    sys::cancelled()
}

/// An error if the stage was cancelled or has timed out, to be passed on with `?`.
pub fn check() -> Result<()> {
    if cancelled() {
        Err(Error::Cancelled)
    } else {
        Ok(())
    }
}
