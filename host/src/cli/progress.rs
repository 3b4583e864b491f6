//! What moves at the bottom of a terminal: a line for each stage that is at work
//! or waits.

use std::collections::BTreeMap;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::model::{StageId, StageStatus};

use super::clean::clean;
use super::output::Output;

/// The lines at the bottom; nothing where no person looks.
pub(super) struct Progress {
    lines: MultiProgress,
    stages: BTreeMap<StageId, ProgressBar>,
}

impl Progress {
    pub(super) fn new(output: &Output) -> Self {
        let target = if output.is_terminal() {
            ProgressDrawTarget::stdout()
        } else {
            ProgressDrawTarget::hidden()
        };
        Self {
            lines: MultiProgress::with_draw_target(target),
            stages: BTreeMap::new(),
        }
    }

    /// Shows a stage.
    pub(super) fn begin(&mut self, id: &StageId, label: &str, status: StageStatus) {
        let line = self.stages.entry(id.clone()).or_insert_with(|| {
            let line = self.lines.add(ProgressBar::new_spinner());
            if let Ok(style) = ProgressStyle::with_template("{spinner} {prefix} {msg} {elapsed}") {
                line.set_style(style);
            }
            line.enable_steady_tick(Duration::from_millis(100));
            line
        });
        line.set_prefix(clean(format!("{label} {status}")));
    }

    /// Shows a text beside a stage.
    pub(super) fn note(&self, id: &StageId, text: &str) {
        if let Some(line) = self.stages.get(id) {
            line.set_message(clean(text));
        }
    }

    /// Shows a stage no more.
    pub(super) fn end(&mut self, id: &StageId) {
        if let Some(line) = self.stages.remove(id) {
            line.finish_and_clear();
        }
    }

    /// Prints above the lines.
    pub(super) fn print(&self, print: impl FnOnce()) {
        self.lines.suspend(print);
    }

    /// Removes all lines.
    pub(super) fn clear(&mut self) {
        for line in std::mem::take(&mut self.stages).into_values() {
            line.finish_and_clear();
        }
    }
}
