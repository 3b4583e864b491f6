//! What may be a person's name. It is taken on trust, and shown to others: so it is
//! one line that people can read, and the same wherever it is given.

use std::fmt;

/// How many characters a person's name may have.
pub const LONGEST_NAME: usize = 200;

/// A text that is no person's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct NoName(String);

impl fmt::Display for NoName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut start: String = self.0.chars().take(LONGEST_NAME + 1).collect();
        if start.len() < self.0.len() {
            start.push('…');
        }
        write!(
            f,
            "{start:?} is no name: it has from 1 to {LONGEST_NAME} characters, on one line, and \
             no control characters"
        )
    }
}

/// A person's name as it was given, without the blanks around it.
///
/// # Errors
/// When nothing is left, or something that is no name.
pub fn person(given: &str) -> Result<&str, NoName> {
    let name = given.trim();
    let length = name.chars().take(LONGEST_NAME + 1).count();
    if (1..=LONGEST_NAME).contains(&length) && !name.contains(char::is_control) {
        Ok(name)
    } else {
        Err(NoName(given.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_line_of_text_that_people_can_read_without_the_blanks_around_it() {
        let longest = "x".repeat(LONGEST_NAME);
        for (given, name) in [
            ("ann", "ann"),
            (" ann\t\n", "ann"),
            ("Ann de Vries", "Ann de Vries"),
            ("Zoë", "Zoë"),
            (&longest, &longest),
        ] {
            assert_eq!(person(given), Ok(name));
        }
        let longer = format!("{longest}x");
        for given in ["", " ", "a\nb", "a\tb", "\u{1b}[31mann", "a\0", &longer] {
            let refused = person(given).expect_err("no name").to_string();
            assert!(refused.contains("is no name"), "{refused}");
            assert!(!refused.contains(char::is_control), "{refused}");
        }
    }
}
