//! What a word without quotes means.
//!
//! The rules are YAML 1.2's core schema cut down to what JSON can say without a
//! change: YAML's other spellings of numbers (`017`, `0x1F`, `1_000`, `.5`,
//! `.inf`) and of booleans (`on`, `yes`) stay the text that they are.

use super::Value;

/// The value of a scalar without quotes and tag.
pub(super) fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ if is_json_number(text) => Value::Number(text.to_owned()),
        _ => Value::String(text.to_owned()),
    }
}

/// The value of a scalar with a tag of YAML's own (`!!str`), `plain` being
/// whether it has no quotes; none if tag and text don't go together.
pub(super) fn tagged(tag: &str, text: &str) -> Option<Value> {
    let value = plain(text);
    let fits = match tag {
        "str" => return Some(Value::String(text.to_owned())),
        "null" => value == Value::Null,
        "bool" => matches!(value, Value::Bool(_)),
        "int" => is_json_number(text) && text.bytes().all(|b| b.is_ascii_digit() || b == b'-'),
        "float" => matches!(value, Value::Number(_)),
        _ => false,
    };
    fits.then_some(value)
}

/// Whether JSON would take the text for a number.
pub(super) fn is_json_number(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(|e| digits(e.strip_prefix(['+', '-']).unwrap_or(e)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_json_calls_a_number_is_a_number_as_it_is_spelled() {
        for text in [
            "0", "-0", "10", "1.10", "-1.5", "1e5", "1E+05", "2.50e-10", "5e99999",
        ] {
            assert_eq!(plain(text), Value::Number(text.into()), "{text}");
            serde_json::from_str::<serde_json::Number>(text).unwrap();
        }
    }

    #[test]
    fn every_other_spelling_stays_the_text_that_was_written() {
        for text in [
            "017",
            "-01",
            "00",
            "1_000",
            "0x1F",
            "0o17",
            "0b1",
            ".5",
            "5.",
            "+1",
            "1.",
            "1e",
            "-",
            ".inf",
            "-.inf",
            ".nan",
            "NaN",
            "Infinity",
            "on",
            "off",
            "yes",
            "no",
            "y",
            "N",
            "Y",
            "2024-01-01",
            "1.32.2",
            "10%",
            "12:30:45",
            "tRUE",
            "1 ",
            "<<",
            "=",
        ] {
            assert_eq!(plain(text), Value::String(text.into()), "{text}");
        }
    }

    #[test]
    fn booleans_and_null_are_those_of_yaml_1_2() {
        for text in ["", "~", "null", "Null", "NULL"] {
            assert_eq!(plain(text), Value::Null);
        }
        assert_eq!(plain("True"), Value::Bool(true));
        assert_eq!(plain("false"), Value::Bool(false));
    }

    #[test]
    fn a_tag_must_go_with_its_text() {
        assert_eq!(tagged("str", "5"), Some(Value::String("5".into())));
        assert_eq!(tagged("int", "5"), Some(Value::Number("5".into())));
        assert_eq!(tagged("int", "5.5"), None);
        assert_eq!(tagged("float", "5.5"), Some(Value::Number("5.5".into())));
        assert_eq!(tagged("bool", "yes"), None);
        assert_eq!(tagged("binary", "aGk="), None);
    }
}
