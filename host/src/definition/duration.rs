//! Durations as people write them: `10m`, `1h30m`, `500ms`.
//!
//! The units are Go's, since that is what PipeCD's files carry. A number without
//! a unit is refused: PipeCD takes it for nanoseconds, so that `timeout: 300`
//! there is over before it starts.

use std::time::Duration;

const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60 * 1_000_000_000),
    ("h", 3600 * 1_000_000_000),
];

/// Reads a duration of more than zero, such as `10m`, `1h30m`, `1.5h`, `500ms`.
///
/// # Errors
/// Says what is wrong and what would be right: two sentences without an end.
pub fn parse_duration(text: &str) -> Result<Duration, (String, String)> {
    const FORM: &str = "write a number and its unit (ms, s, m or h), such as `10m` or `1h30m`";
    let bad = |message: String| Err((message, FORM.to_owned()));
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return bad("a duration is missing here".into());
    }
    if trimmed.starts_with('-') {
        return bad(format!(
            "`{trimmed}` is negative; a duration is more than zero"
        ));
    }
    if trimmed
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.' || byte == b'_')
    {
        return Err((
            format!("`{trimmed}` has no unit"),
            format!(
                "write `{trimmed}s` for seconds, `{trimmed}m` for minutes or `{trimmed}h` for hours"
            ),
        ));
    }
    let mut nanos: u128 = 0;
    let mut rest = trimmed.strip_prefix('+').unwrap_or(trimmed);
    while !rest.is_empty() {
        let end = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let (number, tail) = rest.split_at(end);
        let unit_end = tail
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_end);
        if number.is_empty() {
            return bad(format!("`{text}` is not a duration"));
        }
        if unit.is_empty() {
            return bad(format!(
                "in `{text}` the last number, {number}, has no unit"
            ));
        }
        let Some((_, scale)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            if unit == "d" || unit == "w" {
                let hours = if unit == "d" { 24 } else { 168 };
                return Err((
                    format!("`{text}` uses the unit `{unit}`, whose length depends on the clock"),
                    format!("write hours: 1{unit} is `{hours}h`"),
                ));
            }
            return bad(format!("`{text}` has an unknown unit, `{unit}`"));
        };
        match scaled(number, u128::from(*scale)) {
            Some(part) => nanos += part,
            None => return bad(format!("`{number}{unit}` is not a duration")),
        }
        rest = tail;
    }
    if nanos == 0 {
        return bad(format!("`{text}` is zero; a duration is more than zero"));
    }
    // Go's limit; a file that passes there passes here.
    match i64::try_from(nanos) {
        Ok(nanos) => Ok(Duration::from_nanos(nanos.unsigned_abs())),
        Err(_) => Err((
            format!("`{text}` is too long"),
            "292 years are the limit".into(),
        )),
    }
}

/// `number` (digits, at most one point) times `scale`, rounded down.
fn scaled(number: &str, scale: u128) -> Option<u128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || number.len() > 32 || fraction.contains('.') {
        return None;
    }
    let digits = |text: &str| {
        if text.is_empty() {
            Some(0)
        } else {
            text.parse::<u64>().ok()
        }
    };
    let fraction = &fraction[..fraction.len().min(15)];
    let part =
        u128::from(digits(fraction)?) * scale / 10_u128.pow(u32::try_from(fraction.len()).ok()?);
    Some(u128::from(digits(whole)?) * scale + part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::format_duration;

    fn seconds(text: &str) -> f64 {
        parse_duration(text).unwrap().as_secs_f64()
    }

    fn refused(text: &str) -> String {
        let (message, help) = parse_duration(text).unwrap_err();
        format!("{message}; {help}")
    }

    #[test]
    fn durations_are_read_as_go_reads_them() {
        assert_eq!(seconds("10m"), 600.0);
        assert_eq!(seconds("1h30m"), 5400.0);
        assert_eq!(seconds("30s"), 30.0);
        assert_eq!(seconds("500ms"), 0.5);
        assert_eq!(seconds("1.5h"), 5400.0);
        assert_eq!(seconds("1h0.5s"), 3600.5);
        assert_eq!(seconds("250us"), 0.000_25);
        assert_eq!(seconds("250µs"), 0.000_25);
    }

    #[test]
    fn a_bare_number_is_refused_and_the_message_names_the_missing_unit() {
        let message = refused("300");
        assert!(
            message.contains("no unit") && message.contains("`300s`"),
            "{message}"
        );
        assert!(refused("1h30").contains("the last number, 30, has no unit"));
        assert!(refused("0").contains("no unit"));
    }

    #[test]
    fn zero_negative_and_endless_durations_are_refused() {
        assert!(refused("0s").contains("zero"));
        assert!(refused("-5m").contains("negative"));
        assert!(refused("9999999999h").contains("too long"));
        assert!(refused("99999999999999999999999999999999999h").contains("not a duration"));
    }

    #[test]
    fn other_texts_are_refused_with_the_right_form() {
        for text in [
            "",
            "  ",
            "soon",
            "5 m",
            "m5",
            "1..2s",
            ".s",
            "10 minutes",
            "1hh",
        ] {
            assert!(refused(text).contains("`10m`"), "{text}");
        }
        assert!(refused("2d").contains("`24h`"));
    }

    #[test]
    fn a_written_duration_is_read_back() {
        for text in ["1h30m", "500ms", "6h", "1s500ms", "3us7ns"] {
            assert_eq!(format_duration(parse_duration(text).unwrap()), text);
        }
    }
}
