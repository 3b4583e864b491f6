//! What others wrote, made harmless for a terminal. Who may commit, or write a
//! plugin, may not move the operator's cursor, clear the screen, set a title, or
//! make a text look like another by turning its direction.

use std::borrow::Cow;
use std::fmt::Display;
use std::fmt::Write as _;

/// Whether a character does something to a terminal rather than stand on it: the
/// controls, those that turn the direction of text, and the separators that some
/// programs take for a line's end.
fn steers(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{61c}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2066}'..='\u{2069}'
        )
}

/// A text that others wrote, on one line: each character that would steer a
/// terminal is a space.
pub(super) fn clean(text: impl Display) -> String {
    let text = text.to_string();
    let shown = |c: char| if steers(c) { ' ' } else { c };
    text.chars().map(shown).collect()
}

/// A text of several lines that others wrote, each [`clean`]: those after the first
/// stand further right, so that none looks like a line of the program's own.
pub(super) fn indented(text: impl Display) -> String {
    let text = text.to_string();
    let lines: Vec<String> = text.lines().map(clean).collect();
    lines.join("\n    ")
}

/// A text on its way to a terminal, whoever wrote it: as [`clean`], but that line
/// ends, tabs and colours stay.
pub(super) fn harmless(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| steers(c) && c != '\n') {
        return Cow::Borrowed(text);
    }
    let mut harmless = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let length = match colour(rest) {
            Some(length) => {
                harmless.push_str(&rest[..length]);
                length
            }
            None => {
                let stays = matches!(character, '\n' | '\t') || !steers(character);
                harmless.push(if stays { character } else { ' ' });
                character.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    Cow::Owned(harmless)
}

/// A text on its way to where no colour is wanted: as [`harmless`], without them.
pub(super) fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains('\x1b') {
        return harmless(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('\x1b') {
        plain.push_str(&rest[..start]);
        rest = &rest[start..];
        // What begins no colour must not begin one with what comes after the next.
        let length = colour(rest).unwrap_or_else(|| {
            plain.push(' ');
            1
        });
        rest = &rest[length..];
    }
    plain.push_str(rest);
    Cow::Owned(harmless(&plain).into_owned())
}

/// A line of a log, whose colours end with it.
pub(super) fn closed(line: &str) -> Cow<'_, str> {
    let open = line.rfind('\x1b').is_some_and(|start| {
        let last = &line[start..];
        colour(last).is_some_and(|length| !matches!(&last[..length], "\x1b[0m" | "\x1b[m"))
    });
    if open {
        Cow::Owned(format!("{line}\x1b[0m"))
    } else {
        Cow::Borrowed(line)
    }
}

/// How long the sequence is that sets colours at the start of a text, if it
/// begins with one.
fn colour(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix("\x1b[")?;
    let end = parameters.find(|c: char| !c.is_ascii_digit() && c != ';' && c != ':')?;
    parameters[end..].starts_with('m').then_some(2 + end + 1)
}

/// JSON whose texts are escaped where they would steer a terminal: JSON itself
/// demands that only of a part of them.
pub(super) fn harmless_json(json: &str) -> Cow<'_, str> {
    if !json.chars().any(steers) {
        return Cow::Borrowed(json);
    }
    let mut harmless = String::with_capacity(json.len());
    for character in json.chars() {
        if steers(character) {
            // None of them needs a second unit.
            let unit = u32::from(character);
            write!(harmless, "\\u{unit:04x}").expect("a string takes all that is written");
        } else {
            harmless.push(character);
        }
    }
    Cow::Owned(harmless)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "a\x1b[2Jb\r\x07\u{9b}1Ac\u{202e}d\u{2066}e\u{200f}f\u{2028}g";

    #[test]
    fn on_one_line_nothing_steers_and_each_place_keeps_its_width() {
        let cleaned = clean(format!("{HOSTILE}\nh\ti"));
        assert_eq!(cleaned, "a [2Jb   1Ac d e f g h i");
        assert_eq!(clean("Größe \u{1f600} 漢字"), "Größe \u{1f600} 漢字");
    }

    #[test]
    fn lines_tabs_and_colours_reach_the_terminal_and_nothing_else_that_steers() {
        assert_eq!(harmless(HOSTILE), "a [2Jb   1Ac d e f g");
        let fine = "\x1b[1;38:5:1mred\x1b[0m\n\tnext\x1b[m";
        assert_eq!(harmless(fine), fine);
        for (text, shown) in [
            ("\x1b[?25lx", " [?25lx"),
            ("\x1b[31", " [31"),
            ("\x1b", " "),
            ("\x1b]0;title\x07", " ]0;title "),
            ("\x1b[3\x1b[31mx", " [3\x1b[31mx"),
        ] {
            assert_eq!(harmless(text), shown, "{text:?}");
        }
    }

    #[test]
    fn where_no_colour_is_wanted_none_passes_not_even_one_that_is_pieced_together() {
        for (text, shown) in [
            ("\x1b[1;38:5:1mred\x1b[0m\n\tnext\x1b[m", "red\n\tnext"),
            ("\x1b[\x1b[31m1mx", " [1mx"),
            ("\x1b\x1b[0m[31mx", " [31mx"),
            ("\x1b]0;title\x07", " ]0;title "),
            ("none", "none"),
        ] {
            assert_eq!(plain(text), shown, "{text:?}");
        }
    }

    #[test]
    fn a_line_that_is_left_coloured_ends_so_and_others_stay_as_they_are() {
        assert_eq!(closed("\x1b[31mred"), "\x1b[31mred\x1b[0m");
        assert_eq!(closed("\x1b[0m\x1b[1mbold"), "\x1b[0m\x1b[1mbold\x1b[0m");
        for line in [
            "plain",
            "\x1b[31mred\x1b[0m",
            "\x1b[31mred\x1b[m.",
            "\x1b[3",
        ] {
            assert_eq!(closed(line), line);
        }
    }

    #[test]
    fn json_is_the_same_value_without_what_steers() {
        let value = serde_json::json!({ "text": HOSTILE, "plain": "é" });
        let text = value.to_string();
        let harmless = harmless_json(&text);
        assert!(!harmless.chars().any(steers), "{harmless}");
        let read: serde_json::Value = serde_json::from_str(&harmless).expect("JSON");
        assert_eq!(read, value);
    }
}
