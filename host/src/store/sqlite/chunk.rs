//! Log lines as the bytes of one row.
//!
//! A row for each line would cost more than the line. A chunk begins with the
//! number of its form; then, for each line: the severity, the attempt, the
//! milliseconds since the line before (as a signed number: clocks go back), the
//! length of the text, and the text. Numbers are of variable length, so that a
//! line costs some five bytes more than its text. The lines' own numbers follow
//! from the row.

use super::fault::Fault;
use crate::model::{LogLine, Severity, Timestamp};

/// The form described above.
const FORM: u8 = 1;

/// The bytes for some lines.
pub(super) fn encode(lines: &[LogLine]) -> Vec<u8> {
    let texts: usize = lines.iter().map(|line| line.text.len() + 8).sum();
    let mut bytes = Vec::with_capacity(texts + 8);
    bytes.push(FORM);
    let mut before = 0;
    for line in lines {
        bytes.push(match line.severity {
            Severity::Info => 0,
            Severity::Success => 1,
            Severity::Error => 2,
        });
        push(&mut bytes, u64::from(line.attempt));
        // Wraps around where a time is further away than a signed number goes,
        // and back again when it is read.
        let step = line.at.0.wrapping_sub(before).cast_signed();
        push(&mut bytes, ((step << 1) ^ (step >> 63)).cast_unsigned());
        push(&mut bytes, line.text.len() as u64);
        bytes.extend_from_slice(line.text.as_bytes());
        before = line.at.0;
    }
    bytes
}

/// The lines of a chunk, of which the first has the number `first`.
pub(super) fn decode(bytes: &[u8], first: u64) -> Result<Vec<LogLine>, Fault> {
    Reader { bytes }
        .lines(first)
        .ok_or_else(|| Fault::Other(format!("the stored log is damaged at line {first}")))
}

fn push(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push((number as u8) | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl Reader<'_> {
    /// None if the bytes aren't those of a chunk.
    fn lines(&mut self, first: u64) -> Option<Vec<LogLine>> {
        if self.byte()? != FORM {
            return None;
        }
        let mut lines: Vec<LogLine> = Vec::new();
        let mut before = 0;
        while !self.bytes.is_empty() {
            let severity = match self.byte()? {
                0 => Severity::Info,
                1 => Severity::Success,
                2 => Severity::Error,
                _ => return None,
            };
            let attempt = u32::try_from(self.number()?).ok()?;
            let step = self.number()?;
            let step = (step >> 1) ^ 0_u64.wrapping_sub(step & 1);
            before = step.wrapping_add(before);
            let length = usize::try_from(self.number()?).ok()?;
            let (text, rest) = self.bytes.split_at_checked(length)?;
            self.bytes = rest;
            lines.push(LogLine {
                number: first + lines.len() as u64,
                attempt,
                at: Timestamp(before),
                severity,
                text: std::str::from_utf8(text).ok()?.to_owned(),
            });
        }
        Some(lines)
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*first)
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines() -> impl Strategy<Value = Vec<LogLine>> {
        let severity = prop_oneof![
            Just(Severity::Info),
            Just(Severity::Success),
            Just(Severity::Error)
        ];
        let line = (any::<u32>(), any::<u64>(), severity, any::<String>()).prop_map(
            |(attempt, at, severity, text)| LogLine {
                number: 0,
                attempt,
                at: Timestamp(at),
                severity,
                text,
            },
        );
        prop::collection::vec(line, 0..20)
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again_with_the_row_s_numbers(mut lines in lines(), first in 0..u64::MAX / 2) {
            for (number, line) in (first..).zip(&mut lines) {
                line.number = number;
            }
            prop_assert_eq!(decode(&encode(&lines), first).unwrap(), lines);
        }

        #[test]
        fn any_bytes_at_all_are_read_or_refused(mut bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&bytes, 0);
            bytes.insert(0, FORM);
            let _ = decode(&bytes, 0);
        }

        #[test]
        fn a_chunk_that_was_cut_short_within_a_line_is_refused(text in ".+", at: u64) {
            let line = LogLine { number: 0, attempt: 1, at: Timestamp(at), severity: Severity::Info, text };
            let bytes = encode(&[line]);
            for end in 2..bytes.len() {
                prop_assert!(decode(&bytes[..end], 0).is_err());
            }
        }
    }

    #[test]
    fn a_line_costs_a_few_bytes_more_than_its_text() {
        let line = |at| LogLine {
            number: 0,
            attempt: 1,
            at: Timestamp(at),
            severity: Severity::Info,
            text: "x".repeat(80),
        };
        let lines: Vec<LogLine> = (0..1000).map(|n| line(1_700_000_000_000 + n)).collect();
        assert!(encode(&lines).len() < 1000 * 84 + 16);
    }
}
