//! From wasmtime's errors to those of the model: which limit, which panic, which
//! exit, in one sentence and without a dump.

use std::fmt;
use std::time::Duration;

use wasmtime::{Error, Trap};
use wasmtime_wasi::{I32Exit, ResourceTableError};

use super::limits::{Denied, Limiter, PluginLimits, bytes};
use crate::model::{PluginError, PluginKey};

/// Why the host itself ended a call from within.
#[derive(Debug)]
pub(super) enum Ended {
    /// Its time is over.
    TimedOut(Duration),
    /// It was cancelled, and its grace period is over.
    Cancelled,
    /// The host could not answer an import.
    Host(String),
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimedOut(timeout) => write!(f, "no answer within {timeout:?}"),
            Self::Cancelled => f.write_str("cancelled"),
            Self::Host(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Ended {}

/// What is known of a call that broke down.
pub(super) struct Scene<'a> {
    pub(super) key: &'a PluginKey,
    pub(super) limits: &'a PluginLimits,
    pub(super) limiter: &'a Limiter,
    /// The last lines on standard error.
    pub(super) tail: Vec<String>,
}

/// Says why a call broke down.
pub(super) fn explain(error: &Error, scene: &Scene<'_>) -> PluginError {
    if let Some(ended) = error.downcast_ref::<Ended>() {
        return match ended {
            Ended::TimedOut(timeout) => PluginError::TimedOut(*timeout),
            Ended::Cancelled => PluginError::Cancelled,
            Ended::Host(text) => PluginError::Host(text.clone()),
        };
    }
    if let Some(denied) = scene.limiter.denied() {
        return match denied {
            Denied::Memory(wanted) => limit(
                scene,
                "memory",
                bytes(scene.limits.memory),
                bytes(wanted),
                "memory",
            ),
            Denied::Tables(wanted) => limit(
                scene,
                "the number of table elements",
                scene.limits.table_elements.to_string(),
                wanted.to_string(),
                "tableElements",
            ),
        };
    }
    if let Some(exit) = error.downcast_ref::<I32Exit>() {
        // WASI 0.2 tells a success from a failure; only newer guests give a code.
        let how = match exit.0 {
            0 => "as a success".to_owned(),
            1 => "as a failure".to_owned(),
            code => format!("with code {code}"),
        };
        return PluginError::Trap(format!("it exited {how} instead of returning"));
    }
    let text = format!("{error:#}");
    // These two have no type that could be asked for.
    if text.contains("fuel allocated for hostcalls") {
        return limit(
            scene,
            "what one call may hand to the host",
            bytes(scene.limits.output as u64),
            "more".to_owned(),
            "output",
        );
    }
    let table_full = matches!(
        error.downcast_ref::<ResourceTableError>(),
        Some(ResourceTableError::Full)
    );
    if table_full || text.contains("handle limit exceeded") {
        return limit(
            scene,
            "the number of handles",
            scene.limits.handles.to_string(),
            "one more".to_owned(),
            "handles",
        );
    }
    let trap = error.downcast_ref::<Trap>();
    match trap {
        Some(Trap::StackOverflow) => {
            return PluginError::Trap(
                "its call stack is exhausted, as by an endless recursion".to_owned(),
            );
        }
        // Compiled languages keep part of their stack in memory, at its start.
        Some(Trap::MemoryOutOfBounds) => {
            return PluginError::Trap(
                "it reached outside of its memory, as by an endless recursion or a wrong pointer"
                    .to_owned(),
            );
        }
        _ => {}
    }
    PluginError::Trap(match (panic_text(&scene.tail), trap) {
        (Some(panic), _) => panic,
        (None, Some(trap)) => trap.to_string(),
        (None, None) => error.root_cause().to_string(),
    })
}

fn limit(scene: &Scene<'_>, limit: &str, value: String, wanted: String, key: &str) -> PluginError {
    PluginError::Limit {
        limit: limit.to_owned(),
        value,
        wanted,
        key: format!("plugins.{}.limits.{key}", scene.key),
    }
}

/// What a panic said on standard error: from the line that says where on, without
/// the hints on how to run the program again. Else the last line, if there is one.
fn panic_text(tail: &[String]) -> Option<String> {
    let start = tail
        .iter()
        .rposition(|line| line.contains("panicked at "))
        .or_else(|| tail.iter().rposition(|line| !line.trim().is_empty()))?;
    let lines: Vec<&str> = tail[start..]
        .iter()
        .map(|line| line.trim())
        .filter(|line| !line.is_empty() && !line.starts_with("note: run with `RUST_BACKTRACE"))
        .collect();
    let text = lines.join(" ");
    // `thread '<unnamed>' (1) panicked at …`: a plugin has one thread.
    Some(match text.find("panicked at ") {
        Some(at) if text.starts_with("thread ") => format!("it {}", &text[at..]),
        _ => text,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|&line| line.to_owned()).collect()
    }

    #[test]
    fn a_panic_is_told_by_its_place_and_its_message_alone() {
        let tail = tail(&[
            "before",
            "",
            "thread 'main' (1) panicked at src/lib.rs:7:5:",
            "boom",
            "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace",
        ]);
        assert_eq!(
            panic_text(&tail).as_deref(),
            Some("it panicked at src/lib.rs:7:5: boom")
        );
    }

    #[test]
    fn without_a_panic_the_last_words_are_the_reason() {
        assert_eq!(
            panic_text(&tail(&["one", "two", ""])).as_deref(),
            Some("two")
        );
        assert_eq!(panic_text(&[]), None);
    }
}
