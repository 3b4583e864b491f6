//! What a person may say of why they do something. It is stored with the deployment
//! and shown wherever that is: so it is a few sentences, and no file.

use std::fmt;

/// How many characters a person's reason may have.
pub const LONGEST_REASON: usize = 1_000;

/// A reason that is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub struct LongReason {
    characters: usize,
}

impl fmt::Display for LongReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the reason has {} characters, and may have {LONGEST_REASON}: say it in fewer, or where \
             the rest is to be read",
            self.characters
        )
    }
}

/// A person's reason as it was given, without the blanks around it; empty if there is
/// none.
///
/// # Errors
/// When it is too long.
pub fn reason(given: &str) -> Result<&str, LongReason> {
    let reason = given.trim();
    let characters = reason.chars().count();
    if characters > LONGEST_REASON {
        return Err(LongReason { characters });
    }
    Ok(reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_has_its_length_in_characters_without_the_blanks_around_it() {
        let longest = "ö".repeat(LONGEST_REASON);
        assert_eq!(reason(&format!(" {longest}\n")), Ok(&*longest));
        assert_eq!(reason(" "), Ok(""));
        assert_eq!(reason("a\nb"), Ok("a\nb"));
        let refused = reason(&format!("{longest}x")).expect_err("too long");
        let told = refused.to_string();
        assert!(told.contains("1001") && told.contains("1000"), "{told}");
    }
}
