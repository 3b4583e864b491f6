//! Lengths of time as files spell them.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use serde::{Serialize, Serializer};

/// A length of time as it is written in files: `10m`, `1h30m`, `500ms`.
///
/// For the author's own options: it is read from text with units (`h`, `m`, `s`,
/// `ms`, each at most once or as often as wished, added up; decimals as in `1.5h`)
/// and refuses a bare number, naming the missing unit. It is a
/// [`std::time::Duration`] by `*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(pub std::time::Duration);

impl Deref for Duration {
    type Target = std::time::Duration;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl From<std::time::Duration> for Duration {
    fn from(duration: std::time::Duration) -> Self {
        Self(duration)
    }
}

impl From<Duration> for std::time::Duration {
    fn from(duration: Duration) -> Self {
        duration.0
    }
}

/// Why a text is no length of time: a sentence that says what would be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidDuration(String);

impl fmt::Display for InvalidDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for InvalidDuration {}

const UNITS: [(&str, u64); 6] = [
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

impl FromStr for Duration {
    type Err = InvalidDuration;

    fn from_str(text: &str) -> Result<Self, InvalidDuration> {
        let wrong = |why: &str| {
            InvalidDuration(format!(
                "`{text}` is no duration: {why}; write it like `30s`, `10m` or `1h30m`"
            ))
        };
        if text.starts_with('-') {
            return Err(wrong("it is negative"));
        }
        if text.is_empty() {
            return Err(wrong("it is empty"));
        }
        if text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.')
            && text.bytes().any(|byte| byte.is_ascii_digit())
        {
            return Err(missing_unit(text));
        }
        let mut nanos: u128 = 0;
        let mut rest = text;
        while !rest.is_empty() {
            let end = rest
                .find(|c: char| !c.is_ascii_digit() && c != '.')
                .ok_or_else(|| wrong(&format!("`{rest}` has no unit (`h`, `m`, `s` or `ms`)")))?;
            let (number, tail) = rest.split_at(end);
            let end = tail
                .find(|c: char| c.is_ascii_digit() || c == '.')
                .unwrap_or(tail.len());
            let (unit, tail) = tail.split_at(end);
            let (_, factor) = UNITS
                .iter()
                .find(|(name, _)| *name == unit)
                .ok_or_else(|| {
                    wrong(&format!(
                        "`{unit}` is none of the units `h`, `m`, `s` and `ms`"
                    ))
                })?;
            nanos = scaled(number, *factor)
                .and_then(|part| nanos.checked_add(part))
                .ok_or_else(|| wrong(&format!("`{number}` is no number, or too long")))?;
            rest = tail;
        }
        // The host's own limit, which is Go's: what is longer ends beyond any calendar.
        if i64::try_from(nanos).is_err() {
            return Err(wrong("it is too long, 292 years are the limit"));
        }
        let secs = u64::try_from(nanos / 1_000_000_000).map_err(|_| wrong("it is too long"))?;
        let part = u32::try_from(nanos % 1_000_000_000).expect("less than a second");
        Ok(Self(std::time::Duration::new(secs, part)))
    }
}

fn missing_unit(number: &str) -> InvalidDuration {
    InvalidDuration(format!(
        "`{number}` has no unit; write `{number}s` for seconds, `{number}m` for minutes or `{number}h` for hours"
    ))
}

/// A decimal number times a factor, without a float's rounding.
fn scaled(number: &str, factor: u64) -> Option<u128> {
    let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && decimals.is_empty() {
        return None;
    }
    let digits = |text: &str| -> Option<u128> {
        if text.is_empty() {
            Some(0)
        } else {
            text.parse().ok()
        }
    };
    // Beyond nanoseconds nothing counts; `get` keeps the power small.
    let decimals = decimals.get(..15).unwrap_or(decimals);
    let power = 10u128.pow(u32::try_from(decimals.len()).ok()?);
    digits(whole)?
        .checked_mul(u128::from(factor))?
        .checked_add(digits(decimals)?.checked_mul(u128::from(factor))? / power)
}

/// As it would be written in a file: `1h30m`, `45s`, `500ms`, `0s`.
impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0.as_nanos();
        if rest == 0 {
            return f.write_str("0s");
        }
        for (unit, size) in UNITS {
            let size = u128::from(size);
            if rest >= size {
                write!(f, "{}{unit}", rest / size)?;
                rest %= size;
            }
        }
        Ok(())
    }
}

impl Serialize for Duration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Duration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DurationVisitor)
    }
}

struct DurationVisitor;

impl<'de> Visitor<'de> for DurationVisitor {
    type Value = Duration;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a duration like `30s`, `10m` or `1h30m`")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Duration, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Duration, E> {
        Err(E::custom(missing_unit(&number.to_string())))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Duration, E> {
        Err(E::custom(InvalidDuration(format!(
            "`{number}` is negative and has no unit; write it like `30s`"
        ))))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Duration, E> {
        Err(E::custom(missing_unit(&number.to_string())))
    }

    /// A number arrives as a map of one entry where serde_json keeps the spelling
    /// of numbers (its feature `arbitrary_precision`, which another crate of the
    /// same build may switch on).
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Duration, A::Error> {
        match map.next_key::<Cow<'de, str>>()? {
            Some(key) if key == "$serde_json::private::Number" => {
                let number: String = map.next_value()?;
                Err(de::Error::custom(missing_unit(&number)))
            }
            _ => Err(de::Error::invalid_type(de::Unexpected::Map, &self)),
        }
    }
}

impl schemars::JsonSchema for Duration {
    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "A duration: `30s`, `10m`, `1h30m`, `500ms`.",
            "pattern": r"^([0-9]+(\.[0-9]*)?(h|m|s|ms|us|ns))+$",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(text: &str) -> u128 {
        text.parse::<Duration>()
            .unwrap_or_else(|error| panic!("{text}: {error}"))
            .as_millis()
    }

    #[test]
    fn durations_are_read_with_their_units() {
        for (text, expected) in [
            ("10m", 600_000),
            ("1h30m", 5_400_000),
            ("500ms", 500),
            ("1.5h", 5_400_000),
            ("0s", 0),
            ("90s", 90_000),
            ("1m1m", 120_000),
            ("0.1s", 100),
        ] {
            assert_eq!(millis(text), expected, "{text}");
        }
    }

    #[test]
    fn a_bare_number_is_refused_and_the_message_names_the_missing_unit() {
        for json in ["300", "\"300\"", "0", "1.5"] {
            let error = serde_json::from_str::<Duration>(json)
                .expect_err(json)
                .to_string();
            assert!(error.contains("has no unit; write `"), "{json}: {error}");
        }
    }

    #[test]
    fn what_is_no_duration_is_refused_with_an_example_of_one() {
        for text in [
            "",
            "-5s",
            "5 s",
            "5x",
            "s",
            ".",
            "5s3",
            "1.2.3s",
            "99999999999999999999999h",
            "9999999999h",
            "2562048h",
            "５s",
        ] {
            let error = text.parse::<Duration>().expect_err(text).to_string();
            assert!(error.contains("write it like `30s`"), "{text}: {error}");
        }
        for json in ["null", "true", "[]", "{}", "{\"a\": 1}", "-5"] {
            let error = serde_json::from_str::<Duration>(json)
                .expect_err(json)
                .to_string();
            assert!(error.contains("`30s`"), "{json}: {error}");
        }
    }

    #[test]
    fn a_duration_is_shown_as_it_would_be_written() {
        for text in ["1h30m", "45s", "500ms", "0s", "1h1s", "26h"] {
            assert_eq!(text.parse::<Duration>().expect(text).to_string(), text);
        }
    }
}
