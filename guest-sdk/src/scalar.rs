//! A plain value as the file spells it.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use serde::de::{Deserialize, Deserializer, Error as _};
use serde_json::value::RawValue;

/// A text, or a number or a boolean taken as the text that the file spells:
/// `1.10` is `1.10`, not `1.1`. Null, lists and mappings are refused.
///
/// For options such as environment variables, where a file's author means text
/// and forgets the quotes. It can't stand in an untagged or flattened type: serde
/// has read the number by then.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scalar(pub String);

impl Deref for Scalar {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let text = raw.get();
        let found = match text.as_bytes().first() {
            Some(b'"') => {
                return serde_json::from_str(text)
                    .map(Self)
                    .map_err(D::Error::custom);
            }
            Some(b't' | b'f' | b'-' | b'0'..=b'9') => return Ok(Self(text.to_owned())),
            Some(b'n') => "null",
            Some(b'[') => "a list",
            _ => "a mapping",
        };
        Err(D::Error::custom(format_args!(
            "{found} is no text; a text, a number, `true` or `false` is expected"
        )))
    }
}

impl schemars::JsonSchema for Scalar {
    fn schema_name() -> Cow<'static, str> {
        "Scalar".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": ["string", "number", "boolean"] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_booleans_are_taken_as_they_are_spelled() {
        for (json, expected) in [
            ("1.10", "1.10"),
            ("-0", "-0"),
            ("1e3", "1e3"),
            ("12345678901234567890123", "12345678901234567890123"),
            ("true", "true"),
            ("\"on\"", "on"),
            ("\"a\\nb\\u00e9\"", "a\nb\u{e9}"),
            ("\"\"", ""),
        ] {
            let scalar: Scalar = serde_json::from_str(json).expect(json);
            assert_eq!(&*scalar, expected, "{json}");
        }
    }

    #[test]
    fn what_is_no_text_is_refused_and_named() {
        for (json, found) in [("null", "null"), ("[1]", "a list"), ("{}", "a mapping")] {
            let error = serde_json::from_str::<Scalar>(json)
                .expect_err(json)
                .to_string();
            assert!(
                error.starts_with(&format!("{found} is no text")),
                "{json}: {error}"
            );
        }
    }
}
