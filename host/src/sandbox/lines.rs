//! Bytes in as they come, lines out: what a guest prints and what a program
//! writes, made fit for a log.

/// The longest line, the mark included. What is longer goes on in the next one,
/// marked. It is as long as the log's own lines may be, which cuts no piece again.
pub(super) const LONGEST_LINE: usize = 64 * 1024;

/// What a continued line starts with.
const CONTINUATION: &str = "… ";

/// Collects the bytes of one stream until they make a line.
#[derive(Debug, Default)]
pub(super) struct Lines {
    rest: Vec<u8>,
    continued: bool,
}

impl Lines {
    /// Takes more bytes, and gives the lines that they complete.
    pub(super) fn push(&mut self, mut bytes: &[u8], mut emit: impl FnMut(&str)) {
        while !bytes.is_empty() {
            match bytes.iter().position(|byte| *byte == b'\n') {
                Some(end) => {
                    self.fill(&bytes[..end], &mut emit);
                    self.emit(&mut emit);
                    self.continued = false;
                    bytes = &bytes[end + 1..];
                }
                None => {
                    self.fill(bytes, &mut emit);
                    break;
                }
            }
        }
    }

    /// Gives the last line, if it has no end.
    pub(super) fn finish(&mut self, mut emit: impl FnMut(&str)) {
        if !self.rest.is_empty() {
            self.emit(&mut emit);
        }
        self.continued = false;
    }

    fn fill(&mut self, mut bytes: &[u8], emit: &mut impl FnMut(&str)) {
        while self.rest.len() + bytes.len() > self.most() {
            let (now, later) = bytes.split_at(self.most() - self.rest.len());
            self.rest.extend_from_slice(now);
            // A character that the cut would tear apart goes to the next line.
            let cut = char_boundary(&self.rest);
            let torn = self.rest.split_off(cut);
            self.emit(emit);
            self.continued = true;
            self.rest = torn;
            bytes = later;
        }
        self.rest.extend_from_slice(bytes);
    }

    /// How many bytes the present line may have.
    fn most(&self) -> usize {
        if self.continued {
            LONGEST_LINE - CONTINUATION.len()
        } else {
            LONGEST_LINE
        }
    }

    fn emit(&mut self, emit: &mut impl FnMut(&str)) {
        if self.rest.last() == Some(&b'\r') {
            self.rest.pop();
        }
        let text = String::from_utf8_lossy(&self.rest);
        if self.continued {
            emit(&format!("{CONTINUATION}{text}"));
        } else {
            emit(&text);
        }
        self.rest.clear();
    }
}

/// Where the bytes can be cut without tearing the last character apart; the end,
/// if that is no UTF-8 anyway.
fn char_boundary(bytes: &[u8]) -> usize {
    for back in 1..=3.min(bytes.len()) {
        let at = bytes.len() - back;
        let length = match bytes[at] {
            0xc0..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf7 => 4,
            0x80..=0xbf => continue,
            _ => 1,
        };
        return if length > back { at } else { bytes.len() };
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(writes: &[&[u8]]) -> Vec<String> {
        let mut out = Vec::new();
        let mut lines = Lines::default();
        for write in writes {
            lines.push(write, |line| out.push(line.to_owned()));
        }
        lines.finish(|line| out.push(line.to_owned()));
        out
    }

    #[test]
    fn a_line_is_framed_over_the_boundaries_of_writes() {
        assert_eq!(
            lines(&[b"on", b"e\ntw", b"o\r\n", b"\n", b"rest"]),
            ["one", "two", "", "rest"]
        );
    }

    #[test]
    fn what_ends_with_a_line_end_has_no_empty_line_after_it() {
        assert_eq!(lines(&[b"one\n"]), ["one"]);
        assert_eq!(lines(&[]), [""; 0]);
    }

    #[test]
    fn invalid_utf8_is_replaced_and_a_character_over_two_writes_is_whole() {
        assert_eq!(lines(&[b"a\xffb\n"]), ["a\u{fffd}b"]);
        assert_eq!(lines(&["é".as_bytes().split_at(1).0, b"\xa9\n"]), ["é"]);
    }

    #[test]
    fn a_line_beyond_the_cap_goes_on_in_a_marked_one_and_tears_no_character_apart() {
        let mut text = vec![b'x'; LONGEST_LINE - 1];
        text.extend_from_slice("é!\nnext\n".as_bytes());
        let out = lines(&[&text]);
        assert_eq!(out.len(), 3);
        assert_eq!(out[0].len(), LONGEST_LINE - 1);
        assert_eq!(out[1], "… é!");
        assert_eq!(out[2], "next");
    }

    #[test]
    fn no_line_is_longer_than_the_cap_with_its_mark() {
        let text = vec![b'x'; 3 * LONGEST_LINE];
        for pieces in [text.chunks(text.len()), text.chunks(1000)] {
            let out = lines(&pieces.collect::<Vec<_>>());
            let lengths: Vec<usize> = out.iter().map(String::len).collect();
            assert_eq!(lengths[..3], [LONGEST_LINE; 3]);
            let marks = CONTINUATION.len();
            assert_eq!(lengths[3..], [2 * marks + marks]);
            assert!(out[1..].iter().all(|line| line.starts_with(CONTINUATION)));
        }
    }

    #[test]
    fn a_line_of_exactly_the_cap_is_one_line() {
        let mut text = vec![b'x'; LONGEST_LINE];
        text.push(b'\n');
        assert_eq!(lines(&[&text]).len(), 1);
    }
}
