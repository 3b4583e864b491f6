//! Sizes as people write them: `1GiB`, `64MiB`, or a plain number of bytes.

use std::fmt;

/// A number of bytes, more than zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteSize(pub u64);

const UNITS: [(&str, u64); 8] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("B", 1),
];

impl ByteSize {
    /// So many mebibytes.
    pub const fn mib(count: u64) -> Self {
        Self(count << 20)
    }

    /// The number of bytes.
    pub const fn bytes(self) -> u64 {
        self.0
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = UNITS[..4]
            .iter()
            .rev()
            .find(|(_, scale)| self.0 > 0 && self.0.is_multiple_of(*scale));
        match whole {
            Some((unit, scale)) => write!(f, "{}{unit}", self.0 / scale),
            None => write!(f, "{} bytes", self.0),
        }
    }
}

/// Reads a size of more than zero: `1GiB`, `500MB`, `1048576`.
///
/// # Errors
/// Says what is wrong and what would be right: two sentences without an end.
pub fn parse_size(text: &str) -> Result<ByteSize, (String, String)> {
    const FORM: &str =
        "write a whole number with KiB, MiB or GiB, such as `64MiB`, or one of bytes";
    let bad = |message: String| Err((message, FORM.to_owned()));
    let trimmed = text.trim();
    let end = trimmed
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(end);
    let unit = unit.trim();
    if number.is_empty() {
        return bad(format!("`{text}` is not a size"));
    }
    let scale = match UNITS.iter().find(|(name, _)| *name == unit) {
        Some((_, scale)) => *scale,
        None if unit.is_empty() => 1,
        None => return bad(format!("`{text}` is not a size: `{unit}` is no unit")),
    };
    match number
        .parse::<u64>()
        .ok()
        .and_then(|count| count.checked_mul(scale))
    {
        Some(0) => bad(format!("`{text}` is zero; a limit is more than zero")),
        Some(bytes) => Ok(ByteSize(bytes)),
        None => bad(format!("`{text}` is too large")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_a_unit_or_as_bytes() {
        assert_eq!(parse_size("1GiB"), Ok(ByteSize(1 << 30)));
        assert_eq!(parse_size("64 MiB"), Ok(ByteSize::mib(64)));
        assert_eq!(parse_size("500MB"), Ok(ByteSize(500_000_000)));
        assert_eq!(parse_size("4096"), Ok(ByteSize(4096)));
    }

    #[test]
    fn other_texts_are_refused_with_the_right_form() {
        for text in [
            "",
            "GiB",
            "1.5GiB",
            "-1",
            "0",
            "0MiB",
            "1G",
            "99999999999TiB",
            "1 GiB x",
        ] {
            let (_, help) = parse_size(text).unwrap_err();
            assert!(help.contains("`64MiB`"), "{text}");
        }
    }

    #[test]
    fn a_size_is_shown_in_the_largest_unit_that_fits_without_a_rest() {
        assert_eq!(ByteSize(1 << 30).to_string(), "1GiB");
        assert_eq!(ByteSize(1536 << 20).to_string(), "1536MiB");
        assert_eq!(ByteSize(1000).to_string(), "1000 bytes");
    }
}
