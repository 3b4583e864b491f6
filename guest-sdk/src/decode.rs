//! From the host's JSON text to the author's own types.
//!
//! Every configuration takes this way, in the sandbox and in tests, so that a
//! mistake always comes back with the place it is at.

use serde::de::DeserializeOwned;
use serde_path_to_error::{Path, Segment};

use crate::error::{ConfigKind, Error, Result};

/// Reads a configuration. `name` says which, where there are several of a kind.
pub(crate) fn decode<T: DeserializeOwned>(kind: ConfigKind, name: &str, json: &str) -> Result<T> {
    // serde would take a list for a struct, its fields in order: nobody means that.
    if let Some(found) = no_mapping(json) {
        let message = format!("a mapping is expected here, not {found}");
        return Err(Error::invalid(kind, name, "", message));
    }
    let mut reader = serde_json::Deserializer::from_str(json);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        Error::invalid(
            kind,
            name,
            &pointer(error.path()),
            without_position(error.inner()),
        )
    })?;
    reader
        .end()
        .map_err(|error| Error::invalid(kind, name, "", without_position(&error)))?;
    Ok(value)
}

/// What a configuration is, if it is no mapping.
fn no_mapping(json: &str) -> Option<&'static str> {
    match json.trim_start().as_bytes().first()? {
        b'[' => Some("a list"),
        b'"' => Some("a text"),
        b'n' => Some("null"),
        b't' | b'f' => Some("`true` or `false`"),
        b'-' | b'0'..=b'9' => Some("a number"),
        _ => None,
    }
}

/// A path as a JSON pointer (RFC 6901).
fn pointer(path: &Path) -> String {
    let mut pointer = String::new();
    for segment in path {
        let key = match segment {
            Segment::Seq { index } => index.to_string(),
            Segment::Map { key } => key.replace('~', "~0").replace('/', "~1"),
            Segment::Enum { variant } => variant.replace('~', "~0").replace('/', "~1"),
            // Below here serde does not know where it is: the place above is true.
            Segment::Unknown => break,
        };
        pointer.push('/');
        pointer.push_str(&key);
    }
    pointer
}

/// The text of an error without its place in the JSON text, which nobody wrote:
/// the host shows the place in the file.
fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    match text.strip_suffix(&position) {
        Some(message) => message.to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;
    use crate::InvalidConfig;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Options {
        #[allow(dead_code, reason = "only read by serde")]
        hosts: Vec<Host>,
        #[allow(dead_code, reason = "only read by serde")]
        #[serde(default)]
        labels: BTreeMap<String, u32>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Host {
        #[allow(dead_code, reason = "only read by serde")]
        port: u16,
    }

    fn wrong(json: &str) -> InvalidConfig {
        match decode::<Options>(ConfigKind::Application, "", json) {
            Err(Error::InvalidConfig(wrong)) => wrong,
            other => panic!("expected a refusal of {json}, got {other:?}"),
        }
    }

    #[test]
    fn a_mistake_is_pointed_at_where_it_stands() {
        let wrong = wrong(r#"{"hosts": [{"port": 1}, {"port": "eighty"}]}"#);
        assert_eq!(wrong.path, "/hosts/1/port");
        assert_eq!(
            wrong.message,
            "invalid type: string \"eighty\", expected u16"
        );
        assert_eq!(wrong.kind, ConfigKind::Application);
    }

    #[test]
    fn an_unknown_key_is_pointed_at_itself_and_the_known_ones_are_named() {
        let wrong = wrong(r#"{"hosts": [{"port": 1, "name": "a"}]}"#);
        assert_eq!(wrong.path, "/hosts/0/name");
        assert_eq!(wrong.message, "unknown field `name`, expected `port`");
    }

    #[test]
    fn a_missing_key_is_pointed_at_by_the_object_that_lacks_it() {
        let wrong = wrong(r#"{"hosts": [{}]}"#);
        assert_eq!(wrong.path, "/hosts/0");
        assert_eq!(wrong.message, "missing field `port`");
    }

    #[test]
    fn slashes_and_tildes_in_keys_are_escaped_in_the_pointer() {
        let wrong = wrong(r#"{"hosts": [], "labels": {"app.kubernetes.io/name~1": "x"}}"#);
        assert_eq!(wrong.path, "/labels/app.kubernetes.io~1name~01");
    }

    #[test]
    fn a_whole_that_is_no_mapping_is_pointed_at_by_the_empty_pointer() {
        for (json, found) in [
            ("[[]]", "a list"),
            ("true", "`true` or `false`"),
            (" 1", "a number"),
        ] {
            let wrong = wrong(json);
            assert_eq!(wrong.path, "");
            assert_eq!(
                wrong.message,
                format!("a mapping is expected here, not {found}")
            );
        }
    }

    #[test]
    fn text_after_the_configuration_is_refused() {
        assert_eq!(wrong(r#"{"hosts": []} {}"#).message, "trailing characters");
    }
}
