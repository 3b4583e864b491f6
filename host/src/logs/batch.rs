//! What waits to be stored, and when it is to be: without a task, a timer or a
//! clock of its own.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::model::LogLine;

/// How long the first line of a batch waits for others. A line must be stored
/// 100 ms after it was written; this leaves half of that for storing.
pub(super) const DELAY: Duration = Duration::from_millis(50);

/// The size from which a batch does not wait, and at which it ends. Each waits for
/// the disk once: smaller ones would make that the limit of a flood.
pub(super) const LARGE: usize = 1 << 20;

/// How much may wait, or be on its way, before writers are to wait.
pub(super) const ROOM: usize = 4 * LARGE;

/// What a line costs beside its text.
const COST: usize = size_of::<LogLine>();

/// Lines in order.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    lines: VecDeque<LogLine>,
    /// The size of the waiting lines.
    size: usize,
    /// The size of the lines that were taken and are not yet stored.
    taken: usize,
    /// When the first of the waiting lines came.
    since: Option<Instant>,
}

impl Waiting {
    /// Adds a line.
    pub(super) fn push(&mut self, line: LogLine, now: Instant) {
        self.size += size(&line);
        self.lines.push_back(line);
        self.since.get_or_insert(now);
    }

    /// When the next batch is to be taken: none if nothing waits.
    pub(super) fn due(&self) -> Option<Instant> {
        let since = self.since?;
        Some(if self.size >= LARGE {
            since
        } else {
            since + DELAY
        })
    }

    /// Takes the next batch, out of what waits.
    pub(super) fn take(&mut self) -> Vec<LogLine> {
        let mut taken = 0;
        let mut count = 0;
        while let Some(line) = self.lines.get(count)
            && taken < LARGE
        {
            taken += size(line);
            count += 1;
        }
        self.size -= taken;
        self.taken += taken;
        if count == self.lines.len() {
            self.since = None;
        }
        self.lines.drain(..count).collect()
    }

    /// What was taken is stored, or given up.
    pub(super) fn settle(&mut self) {
        self.taken = 0;
    }

    /// Gives up all that waits; how many lines that were.
    pub(super) fn clear(&mut self) -> usize {
        let lines = self.lines.len();
        *self = Self::default();
        lines
    }

    /// Whether writers should wait.
    pub(super) fn is_full(&self) -> bool {
        self.size + self.taken > ROOM
    }
}

fn size(line: &LogLine) -> usize {
    line.text.len() + COST
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Severity, Timestamp};

    fn line(number: u64, length: usize) -> LogLine {
        LogLine {
            number,
            attempt: 1,
            at: Timestamp(0),
            severity: Severity::Info,
            text: "x".repeat(length),
        }
    }

    #[test]
    fn a_batch_is_due_a_fixed_time_after_its_first_line_however_many_follow() {
        let start = Instant::now();
        let mut waiting = Waiting::default();
        assert_eq!(waiting.due(), None);
        waiting.push(line(0, 1), start);
        waiting.push(line(1, 1), start + Duration::from_millis(40));
        assert_eq!(waiting.due(), Some(start + DELAY));
        assert!(DELAY < Duration::from_millis(100));
        waiting.take();
        assert_eq!(waiting.due(), None);
        let later = start + Duration::from_secs(1);
        waiting.push(line(2, 1), later);
        assert_eq!(waiting.due(), Some(later + DELAY));
    }

    #[test]
    fn a_large_batch_is_due_at_once_and_a_larger_one_is_taken_in_parts_in_order() {
        let start = Instant::now();
        let mut waiting = Waiting::default();
        let mut count = 0;
        while waiting.size < 3 * LARGE {
            waiting.push(line(count, 1_000), start);
            count += 1;
        }
        assert_eq!(waiting.due(), Some(start));
        let mut numbers = Vec::new();
        let mut parts = 0;
        while waiting.due().is_some() {
            let part = waiting.take();
            assert!(part.iter().map(size).sum::<usize>() < LARGE + size(&part[0]));
            numbers.extend(part.iter().map(|line| line.number));
            parts += 1;
        }
        assert_eq!(parts, 3);
        assert_eq!(numbers, (0..count).collect::<Vec<_>>());
    }

    #[test]
    fn there_is_room_again_when_what_was_taken_is_stored_and_not_before() {
        let start = Instant::now();
        let mut waiting = Waiting::default();
        while !waiting.is_full() {
            waiting.push(line(0, 100_000), start);
        }
        while waiting.due().is_some() {
            waiting.take();
        }
        assert!(waiting.is_full());
        waiting.settle();
        assert!(!waiting.is_full());
    }
}
