//! A message as lines of a log: without line ends, without what would disturb a
//! terminal, none longer than a limit.

use std::borrow::Cow;

/// The longest line, in bytes, the mark included; what is longer goes on in the
/// next line, marked.
pub(super) const LONGEST: usize = 64 << 10;

/// What a continued line starts with.
const CONTINUATION: &str = "… ";

/// The lines of a message, from the first. A line ends with `\n` or `\r\n`; an
/// end after the last line makes no further one; an empty message is an empty
/// line.
pub(super) fn split(message: &str) -> impl Iterator<Item = String> {
    let message = message.strip_suffix('\n').unwrap_or(message);
    message.split('\n').flat_map(|line| {
        let line = line.strip_suffix('\r').unwrap_or(line);
        cut(clean(line))
    })
}

/// A line in pieces that are not too long, cut between characters.
fn cut(line: Cow<'_, str>) -> impl Iterator<Item = String> {
    let mut rest = Some(line.into_owned());
    std::iter::from_fn(move || {
        let mut piece = rest.take()?;
        if piece.len() > LONGEST {
            let further = &piece[piece.floor_char_boundary(LONGEST)..];
            rest = Some(format!("{CONTINUATION}{further}"));
            piece.truncate(piece.floor_char_boundary(LONGEST));
            piece.shrink_to_fit();
        }
        Some(piece)
    })
}

/// A line without its control characters but tabs, and without escape sequences
/// but those for colours.
fn clean(line: &str) -> Cow<'_, str> {
    // The controls beyond ASCII are the two bytes C2 80 to C2 9F.
    let is_suspect = |byte: u8| (byte < b' ' && byte != b'\t') || byte == 0x7f || byte == 0xc2;
    if !line.bytes().any(is_suspect) {
        return Cow::Borrowed(line);
    }
    let mut clean = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(character) = rest.chars().next() {
        let length = if character == '\x1b' {
            let (length, is_colour) = escape_sequence(rest);
            if is_colour {
                clean.push_str(&rest[..length]);
            }
            length
        } else {
            if character == '\t' || !character.is_control() {
                clean.push(character);
            }
            character.len_utf8()
        };
        rest = &rest[length..];
    }
    Cow::Owned(clean)
}

/// How long the escape sequence at the start of a text is, in bytes, and whether
/// it sets colours (SGR). One that doesn't end ends with the text.
fn escape_sequence(text: &str) -> (usize, bool) {
    let bytes = text.as_bytes();
    let from = |start: usize| bytes.iter().enumerate().skip(start);
    match bytes.get(1) {
        // CSI: parameters and intermediates, then a final byte.
        Some(b'[') => match from(2).find(|(_, byte)| !(0x20..=0x3f).contains(*byte)) {
            Some((end, b'm')) => {
                let parameters = &bytes[2..end];
                let is_plain = |byte: &u8| byte.is_ascii_digit() || b";:".contains(byte);
                (end + 1, parameters.iter().all(is_plain))
            }
            Some((end, 0x40..=0x7e)) => (end + 1, false),
            // Something that does not belong there: it is looked at by itself.
            Some((end, _)) => (end, false),
            None => (bytes.len(), false),
        },
        // OSC, DCS, SOS, PM, APC: a text up to BEL or ESC \.
        Some(b']' | b'P' | b'X' | b'^' | b'_') => {
            let end = from(2).find_map(|(at, byte)| match byte {
                0x07 => Some(at + 1),
                0x1b if bytes.get(at + 1) == Some(&b'\\') => Some(at + 2),
                _ => None,
            });
            (end.unwrap_or(bytes.len()), false)
        }
        // Two or, with an intermediate, three bytes.
        Some(0x20..=0x2f) if bytes.get(2).is_some_and(u8::is_ascii_graphic) => (3, false),
        Some(0x30..=0x7e) => (2, false),
        _ => (1, false),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(message: &str) -> Vec<String> {
        split(message).collect()
    }

    #[test]
    fn both_line_ends_split_and_the_last_one_makes_no_further_line() {
        assert_eq!(lines("one\ntwo\r\nthree"), ["one", "two", "three"]);
        assert_eq!(lines("one\n"), ["one"]);
        assert_eq!(lines("one\r\n"), ["one"]);
        assert_eq!(lines("one\n\n"), ["one", ""]);
        assert_eq!(lines("\n\none"), ["", "", "one"]);
    }

    #[test]
    fn an_empty_message_is_an_empty_line_and_so_is_a_lone_line_end() {
        for message in ["", "\n", "\r\n", "\r"] {
            assert_eq!(lines(message), [""], "{message:?}");
        }
    }

    #[test]
    fn a_line_that_is_too_long_goes_on_in_the_next_and_no_character_is_cut() {
        assert_eq!(lines(&"x".repeat(LONGEST)), ["x".repeat(LONGEST)]);
        let long = format!("x{}\nlast", "ä".repeat(LONGEST));
        let lines = lines(&long);
        assert_eq!(lines.len(), 4);
        assert_eq!(lines[0].len(), LONGEST - 1);
        assert_eq!(lines[3], "last");
        let rest = lines[1..3]
            .iter()
            .map(|line| line.strip_prefix("… ").unwrap());
        let whole = format!("{}{}", lines[0], rest.collect::<String>());
        assert_eq!(whole, long.strip_suffix("\nlast").unwrap());
    }

    #[test]
    fn control_characters_are_removed_but_tabs() {
        assert_eq!(lines("a\tb\x00c\x08d\x7fe\u{85}f\u{9b}g"), ["a\tbcdefg"]);
        assert_eq!(lines("10%\r20%\r\nä©"), ["10%20%", "ä©"]);
    }

    #[test]
    fn colours_stay_and_every_other_escape_sequence_goes() {
        let coloured = "\x1b[1;31mred\x1b[0m \x1b[38:5:1mred\x1b[m";
        assert_eq!(lines(coloured), [coloured]);
        for (message, expected) in [
            ("\x1b[2J\x1b[1;1Hclear", "clear"),
            ("\x1b[?25lhidden", "hidden"),
            ("\x1b[>4;2mkeys", "keys"),
            ("\x1b]0;title\x07text", "text"),
            (
                "\x1b]8;;https://example.com\x1b\\link\x1b]8;;\x1b\\",
                "link",
            ),
            ("\x1b(Btext\x1bc", "text"),
            ("\x1b[12ätext", "ätext"),
            ("a\x1b[31", "a"),
            ("a\x1b]title", "a"),
            ("a\x1b", "a"),
            ("\x1bä", "ä"),
            ("\x1b[\x1b[31mred", "\x1b[31mred"),
        ] {
            assert_eq!(lines(message), [expected], "{message:?}");
        }
    }

    proptest! {
        #[test]
        fn of_whatever_message_the_lines_are_clean_and_what_is_clean_is_kept(message in "(\\PC|\x1b|\\[|m|\n|\r|\t)*") {
            let lines = lines(&message);
            for line in &lines {
                prop_assert!(line.len() <= LONGEST);
                prop_assert!(!line.contains(['\n', '\r', '\0']));
                let again = clean(line);
                prop_assert_eq!(again.as_ref(), line.as_str());
            }
            if !message.contains(['\x1b', '\r']) && !message.is_empty() {
                let expected: Vec<&str> = message.lines().collect();
                prop_assert_eq!(lines, expected);
            }
        }
    }
}
