//! The types that a value of a file can be read as, and what each refuses.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use regex::Regex;

use super::{Decode, Field, Located};
use crate::definition::yaml::{Node, Value};
use crate::definition::{ByteSize, parse_duration, parse_size};

impl Decode for Node {
    const MAY_BE_NOTHING: bool = true;

    fn decode(field: &Field<'_>) -> Option<Self> {
        Some(field.node.clone())
    }
}

/// A number is taken as it is spelled, so that `version: 1.10` stays what it is.
/// A boolean has lost its spelling and nothing has none: they are refused.
impl Decode for String {
    fn decode(field: &Field<'_>) -> Option<Self> {
        match &field.node.value {
            Value::String(text) | Value::Number(text) => Some(text.clone()),
            Value::Bool(value) => {
                field.mismatch("a text", &format!("put it in quotes: \"{value}\""));
                None
            }
            _ => {
                field.mismatch("a text", "write it beside the key; \"\" is the empty text");
                None
            }
        }
    }
}

impl Decode for bool {
    fn decode(field: &Field<'_>) -> Option<Self> {
        if let Value::Bool(value) = field.node.value {
            return Some(value);
        }
        let help = match field.node.as_str().map(str::to_lowercase).as_deref() {
            Some("yes" | "on" | "y" | "true") => "write `true`, without quotes",
            Some("no" | "off" | "n" | "false") => "write `false`, without quotes",
            _ => "write `true` or `false`",
        };
        field.mismatch("true or false", help);
        None
    }
}

impl Decode for NonZeroU32 {
    fn decode(field: &Field<'_>) -> Option<Self> {
        let number = match &field.node.value {
            Value::Number(number) => number.parse().ok(),
            _ => None,
        };
        if number.is_none() {
            field.mismatch(
                "a whole number of at least 1",
                "write it without quotes, such as `3`",
            );
        }
        number
    }
}

impl Decode for Duration {
    fn decode(field: &Field<'_>) -> Option<Self> {
        decode_with(
            field,
            "a duration",
            "write it as `10m` or `1h30m`",
            parse_duration,
        )
    }
}

impl Decode for ByteSize {
    fn decode(field: &Field<'_>) -> Option<Self> {
        decode_with(
            field,
            "a size",
            "write it as `64MiB`, or in bytes",
            parse_size,
        )
    }
}

impl Decode for Regex {
    fn decode(field: &Field<'_>) -> Option<Self> {
        let text = String::decode(field)?;
        if text.is_empty() {
            field.error(
                format!("`{}` is empty, and would match everything", field.path),
                "remove the key, or write what is to match",
            );
            return None;
        }
        match Regex::new(&text) {
            Ok(regex) => Some(regex),
            Err(error) => {
                // The last line of the message says what is wrong; the ones above
                // draw the pattern, which the snippet shows already.
                let reason = error.to_string();
                let reason = reason.lines().last().unwrap_or_default().trim();
                field.error(
                    format!(
                        "`{}` is no regular expression: {}",
                        field.path,
                        reason.strip_prefix("error: ").unwrap_or(reason)
                    ),
                    "the syntax is RE2's; put a `\\` before a character that stands for itself",
                );
                None
            }
        }
    }
}

fn decode_with<T>(
    field: &Field<'_>,
    expected: &str,
    form: &str,
    parse: impl Fn(&str) -> Result<T, (String, String)>,
) -> Option<T> {
    let (Value::String(text) | Value::Number(text)) = &field.node.value else {
        field.mismatch(expected, form);
        return None;
    };
    parse(text)
        .map_err(|(what, help)| field.error(format!("`{}`: {what}", field.path), help))
        .ok()
}

impl<T: Decode> Decode for Vec<Located<T>> {
    const MAY_BE_NOTHING: bool = true;

    fn decode(field: &Field<'_>) -> Option<Self> {
        let items = field.items();
        let read = items.iter().filter_map(|item| {
            T::decode(item).map(|value| Located {
                value,
                span: item.span(),
            })
        });
        Some(read.collect())
    }
}

impl Decode for BTreeMap<String, String> {
    const MAY_BE_NOTHING: bool = true;

    fn decode(field: &Field<'_>) -> Option<Self> {
        let entries = field.entries();
        let read = entries.iter().filter_map(|(entry, child)| {
            String::decode(child).map(|value| (entry.key.clone(), value))
        });
        Some(read.collect())
    }
}
