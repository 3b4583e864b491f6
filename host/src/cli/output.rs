//! Where and how the program prints: text or JSON, with or without colour,
//! results to the standard output, everything else to the standard error.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use crate::definition::{Diagnostic, Diagnostics, Severity};
use crate::model::{self, DeploymentStatus, StageStatus};
use crate::{Error, PlanFailure};

use super::clean::{clean, harmless, harmless_json, plain};
use super::{Exit, Format, When};

/// A colour of the terminal's own palette, so that it fits light and dark.
#[derive(Clone, Copy, Debug)]
pub(super) enum Colour {
    Red,
    Green,
    Yellow,
    Cyan,
    Dim,
    Bold,
}

impl Colour {
    fn code(self) -> &'static str {
        match self {
            Self::Red => "31",
            Self::Green => "32",
            Self::Yellow => "33",
            Self::Cyan => "36",
            Self::Dim => "2",
            Self::Bold => "1",
        }
    }
}

/// The program's two outputs.
#[derive(Clone, Debug)]
pub(super) struct Output {
    json: bool,
    colour: bool,
    colour_errors: bool,
    terminal: bool,
    /// How this program is called, for advice.
    command: String,
    /// Whoever read the standard output has gone, as `head` does.
    closed: Arc<AtomicBool>,
    /// The standard output could not be written.
    failed: Arc<AtomicBool>,
}

impl Output {
    pub(super) fn new(format: Format, when: When, config: Option<&Path>) -> Self {
        let json = format == Format::Json;
        let wanted = |terminal: bool| match when {
            When::Always => true,
            When::Never => false,
            When::Auto => terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
        };
        let terminal = io::stdout().is_terminal();
        Self {
            json,
            colour: !json && wanted(terminal),
            colour_errors: wanted(io::stderr().is_terminal()),
            terminal: terminal && !json,
            command: match config {
                Some(file) => format!("stagewright --config {}", as_argument(file)),
                None => "stagewright".to_owned(),
            },
            closed: Arc::default(),
            failed: Arc::default(),
        }
    }

    /// How this program is called with the same configuration.
    pub(super) fn command(&self) -> &str {
        &self.command
    }

    /// Whether nobody reads the standard output any more.
    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// How the program ends: as it would, unless something that was to be printed
    /// is lost.
    pub(super) fn exit(&self, exit: Exit) -> Exit {
        if self.failed.load(Ordering::Relaxed) {
            Exit::HostFailed
        } else {
            exit
        }
    }

    pub(super) fn is_json(&self) -> bool {
        self.json
    }

    /// Whether a person looks at the standard output as it comes.
    pub(super) fn is_terminal(&self) -> bool {
        self.terminal
    }

    pub(super) fn colours_errors(&self) -> bool {
        self.colour_errors
    }

    pub(super) fn paint(&self, colour: Colour, text: impl Display) -> String {
        paint(self.colour, colour, text)
    }

    /// Prints a line of text.
    pub(super) fn line(&self, text: impl Display) {
        if self.is_closed() {
            return;
        }
        let text = format!("{text}\n");
        let shown = if self.colour {
            harmless(&text)
        } else {
            plain(&text)
        };
        let written = io::stdout().lock().write_all(shown.as_bytes());
        self.judge(written);
    }

    /// Notes what became of something that was written to the standard output.
    pub(super) fn judge(&self, written: io::Result<()>) {
        match written {
            Ok(()) => {}
            // Whoever read the output has what it wanted; what is being done is
            // done all the same.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.closed.store(true, Ordering::Relaxed);
            }
            Err(error) => {
                if !self.failed.swap(true, Ordering::Relaxed) {
                    self.error(&format!("the standard output can't be written: {error}"));
                }
            }
        }
    }

    /// Prints a value as one line of JSON.
    pub(super) fn json(&self, value: &impl Serialize) {
        match serde_json::to_string(value) {
            Ok(text) => self.line(harmless_json(&text)),
            Err(error) => self.error(&format!("a result could not be written as JSON: {error}")),
        }
    }

    /// Prints a table: the columns as wide as they need to be.
    pub(super) fn table(&self, head: &[&str], rows: &[Vec<Cell>]) {
        let mut widths: Vec<usize> = head.iter().map(|text| text.chars().count()).collect();
        for row in rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.text.chars().count());
            }
        }
        let head: Vec<Cell> = head
            .iter()
            .map(|text| Cell::painted(Colour::Dim, text))
            .collect();
        for row in std::iter::once(&head).chain(rows) {
            let mut line = String::new();
            for (place, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let last = place + 1 == row.len();
                let pad = if last {
                    0
                } else {
                    width - cell.text.chars().count() + 2
                };
                match cell.colour {
                    Some(colour) => line.push_str(&self.paint(colour, &cell.text)),
                    None => line.push_str(&cell.text),
                }
                line.extend(std::iter::repeat_n(' ', pad));
            }
            self.line(line.trim_end());
        }
    }

    /// Says something beside the result.
    pub(super) fn remark(&self, message: &str) {
        let message = plain(message);
        complain(&format!(
            "{}\n",
            paint(self.colour_errors, Colour::Dim, message)
        ));
    }

    /// Says what an operator should see to.
    pub(super) fn warning(&self, message: &str) {
        let word = paint(self.colour_errors, Colour::Yellow, "warning:");
        complain(&format!("{word} {}\n", plain(message)));
    }

    /// Says what went wrong.
    pub(super) fn error(&self, message: &str) {
        let word = paint(self.colour_errors, Colour::Red, "error:");
        complain(&format!("{word} {}\n", plain(message)));
    }

    /// Says why a command failed; as JSON on the standard output too, if that is
    /// what a program reads.
    pub(super) fn failure(&self, error: &Error) {
        match error {
            Error::Definition(problems) | Error::Plan(PlanFailure::Definition(problems)) => {
                self.diagnostics(problems);
            }
            error => {
                if self.json {
                    let message = error.to_string();
                    self.json(&json!({ "error": { "message": message } }));
                } else {
                    self.error(&error.to_string());
                }
            }
        }
    }

    /// Shows the problems of a file.
    pub(super) fn diagnostics(&self, problems: &Diagnostics) {
        if self.json {
            self.json(&json!({ "error": list(problems, "problems", json!({})) }));
            return;
        }
        self.show(problems);
    }

    /// Shows what is no error beside the result; for a program, in a line of its
    /// own.
    pub(super) fn warnings(&self, warnings: &Diagnostics) {
        if warnings.is_empty() {
            return;
        }
        if self.json {
            self.json(&list(warnings, "warnings", json!({})));
        } else {
            self.show(warnings);
        }
    }

    /// Shows problems on the standard error, as text.
    pub(super) fn show(&self, problems: &Diagnostics) {
        for problem in problems {
            complain(&self.diagnostic(problem));
        }
        if problems.left_out() > 0 {
            complain(&format!("and {} more\n", problems.left_out()));
        }
    }

    fn diagnostic(&self, problem: &Diagnostic) -> String {
        // Whatever it quotes of the file has no colour.
        let text = problem.to_string();
        let text = plain(&text);
        let (word, colour) = match problem.severity {
            Severity::Error => ("error:", Colour::Red),
            Severity::Warning => ("warning:", Colour::Yellow),
        };
        // The first such word is the one that the text begins with, after the
        // place.
        text.replacen(word, &paint(self.colour_errors, colour, word), 1)
    }
}

/// Puts problems under a key of an object, and under `leftOut` how many more there
/// were, if there were more than are kept.
pub(super) fn list(problems: &Diagnostics, key: &str, mut object: Value) -> Value {
    object[key] = json!(problems);
    if problems.left_out() > 0 {
        object["leftOut"] = json!(problems.left_out());
    }
    object
}

/// A cell of a table.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    text: String,
    colour: Option<Colour>,
}

impl Cell {
    pub(super) fn painted(colour: Colour, text: impl Display) -> Self {
        Self {
            text: clean(text),
            colour: Some(colour),
        }
    }
}

impl<T: Display> From<T> for Cell {
    fn from(text: T) -> Self {
        Self {
            text: clean(text),
            colour: None,
        }
    }
}

/// How a stage's status is painted.
pub(super) fn stage_colour(status: StageStatus) -> Colour {
    match status {
        StageStatus::Succeeded | StageStatus::Exited => Colour::Green,
        StageStatus::Failed
        | StageStatus::TimedOut
        | StageStatus::Lost
        | StageStatus::Cancelled => Colour::Red,
        StageStatus::Running => Colour::Cyan,
        StageStatus::Suspended => Colour::Yellow,
        StageStatus::Waiting | StageStatus::Skipped | StageStatus::NotRun => Colour::Dim,
    }
}

/// How a deployment's status is painted.
pub(super) fn deployment_colour(status: DeploymentStatus) -> Colour {
    match status {
        DeploymentStatus::Succeeded => Colour::Green,
        DeploymentStatus::Failed | DeploymentStatus::Cancelled | DeploymentStatus::TimedOut => {
            Colour::Red
        }
        DeploymentStatus::RollingBack => Colour::Yellow,
        DeploymentStatus::Queued => Colour::Dim,
        DeploymentStatus::Planning | DeploymentStatus::Planned | DeploymentStatus::Running => {
            Colour::Cyan
        }
    }
}

/// How a log line is painted, if it is.
pub(super) fn line_colour(severity: model::Severity) -> Option<Colour> {
    match severity {
        model::Severity::Info => None,
        model::Severity::Success => Some(Colour::Green),
        model::Severity::Error => Some(Colour::Red),
    }
}

/// A duration for people: its two largest units.
pub(super) fn short(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0 => format!("{}ms", duration.as_millis()),
        1..60 => format!("{:.1}s", duration.as_secs_f64()),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        3600..86400 => format!("{}h{:02}m", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{}d{:02}h", seconds / 86400, seconds % 86400 / 3600),
    }
}

fn paint(colours: bool, colour: Colour, text: impl Display) -> String {
    if colours {
        format!("\x1b[{}m{text}\x1b[0m", colour.code())
    } else {
        text.to_string()
    }
}

/// A path as one argument of a shell.
fn as_argument(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "-_./+,:@%=".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn complain(text: &str) {
    // There is nowhere left to say that this failed.
    let _ = io::stderr().lock().write_all(harmless(text).as_bytes());
}
