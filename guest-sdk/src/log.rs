//! The log of the stage, or of the plan, that a call belongs to.
//!
//! Use the macros [`info!`](crate::info), [`success!`](crate::success),
//! [`error!`](crate::error!) and [`status!`](crate::status). What a plugin
//! prints to its standard output and error goes to the same log.

pub use crate::bindings::imports::stagewright::plugin::log::Severity;
use crate::sys;

/// Writes a message. Each line of it becomes a line of the log; an empty message
/// is an empty line.
pub fn write(severity: Severity, message: &str) {
    sys::log_write(severity, message);
}

/// Shows a short text beside the stage until the next one, such as
/// `3 of 5 replicas`. At most 120 characters are kept. No effect in a plan.
pub fn set_status(text: &str) {
    sys::log_status(text);
}

/// Writes a message to the log; takes what `format!` takes.
#[macro_export]
macro_rules! info {
    ($($message:tt)*) => {
        $crate::log::write($crate::log::Severity::Info, &::std::format!($($message)*))
    };
}

/// Writes to the log that something was achieved; takes what `format!` takes.
#[macro_export]
macro_rules! success {
    ($($message:tt)*) => {
        $crate::log::write($crate::log::Severity::Success, &::std::format!($($message)*))
    };
}

/// Writes to the log that something went wrong; takes what `format!` takes.
///
/// The stage goes on. To end it, return an [`Error`](crate::Error) or
/// [`Outcome::failed`](crate::Outcome::failed), whose text is shown as the reason.
#[macro_export]
macro_rules! error {
    ($($message:tt)*) => {
        $crate::log::write($crate::log::Severity::Error, &::std::format!($($message)*))
    };
}

/// Shows a short text beside the stage; takes what `format!` takes.
#[macro_export]
macro_rules! status {
    ($($text:tt)*) => {
        $crate::log::set_status(&::std::format!($($text)*))
    };
}
