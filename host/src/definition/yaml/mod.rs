//! What a YAML document says, with the place of every value.
//!
//! A value must not change on its way to a plugin. So a number keeps its
//! spelling (`1.10` stays `1.10`), only `true`, `false` and `null` mean what
//! they say, and everything else (`017`, `1_000`, `on`, a date) is the text that
//! was written.

mod build;
mod read;
mod repeat;
mod scalar;
#[cfg(test)]
mod tests;

use serde::{Serialize, Serializer};

pub(super) use read::single;
pub use read::{Document, Limits, Reading, read_documents};

/// A place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Span {
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
    /// Where it starts: bytes from the start of the text.
    pub start: u32,
    /// Where it ends: bytes from the start of the text.
    pub end: u32,
}

/// A value and where it is written. A node that was made in code is nowhere.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    /// Where it is written. A value that came through an alias or a merge key is
    /// where its anchor is: that is the line to change.
    pub span: Option<Span>,
    /// The value.
    pub value: Value,
}

/// What a node holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// `null`, `~`, or nothing.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number as JSON knows it, as it is spelled.
    Number(String),
    /// A text.
    String(String),
    /// A list.
    Sequence(Vec<Node>),
    /// Keys and their values.
    Mapping(Mapping),
}

/// Keys and their values, in the order of the file; a key is there once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mapping {
    /// The entries.
    pub entries: Vec<Entry>,
}

/// A key and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Where the key is written.
    pub key_span: Option<Span>,
    /// The value.
    pub value: Node,
}

impl Mapping {
    /// The entry of a key.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.value)
    }
}

impl Node {
    /// An empty mapping, as in `{}`.
    pub fn empty_mapping() -> Self {
        Self {
            span: None,
            value: Value::Mapping(Mapping::default()),
        }
    }

    /// The mapping, if it is one.
    pub fn as_mapping(&self) -> Option<&Mapping> {
        match &self.value {
            Value::Mapping(mapping) => Some(mapping),
            _ => None,
        }
    }

    /// The list, if it is one.
    pub fn as_sequence(&self) -> Option<&[Self]> {
        match &self.value {
            Value::Sequence(items) => Some(items),
            _ => None,
        }
    }

    /// The text, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// Whether it is `null` or nothing.
    pub fn is_null(&self) -> bool {
        self.value == Value::Null
    }

    /// The value of a key, if this is a mapping that has it.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.as_mapping()?.get(key)
    }

    /// What it is, for a message: `a list`, `the number 5`.
    pub fn describe(&self) -> String {
        match &self.value {
            Value::Null => "nothing".into(),
            Value::Bool(value) => format!("`{value}`"),
            Value::Number(number) => format!("the number {}", shortened(number)),
            Value::String(text) => format!("the text `{}`", shortened(text)),
            Value::Sequence(_) => "a list".into(),
            Value::Mapping(_) => "a mapping".into(),
        }
    }

    /// The value as JSON text, every number spelled exactly as in the file: what
    /// a plugin is given.
    pub fn to_json_text(&self) -> String {
        let mut text = String::new();
        self.write_json(&mut text);
        text
    }

    fn write_json(&self, out: &mut String) {
        match &self.value {
            Value::Number(number) if scalar::is_json_number(number) => out.push_str(number),
            Value::Sequence(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    item.write_json(out);
                }
                out.push(']');
            }
            Value::Mapping(mapping) => {
                out.push('{');
                for (index, entry) in mapping.entries.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    write_string(&entry.key, out);
                    out.push(':');
                    entry.value.write_json(out);
                }
                out.push('}');
            }
            Value::Number(text) | Value::String(text) => write_string(text, out),
            Value::Bool(true) => out.push_str("true"),
            Value::Bool(false) => out.push_str("false"),
            Value::Null => out.push_str("null"),
        }
    }

    /// The value as JSON. Numbers are spelled as in the file, but for an
    /// exponent, which serde_json writes its own way: `1E5` as `1e+5`. Where that
    /// matters, as towards a plugin, take [`to_json_text`](Self::to_json_text).
    pub fn to_json(&self) -> serde_json::Value {
        use serde_json::Value as Json;
        match &self.value {
            Value::Null => Json::Null,
            Value::Bool(value) => Json::Bool(*value),
            Value::Number(number) => match serde_json::from_str::<serde_json::Number>(number) {
                Ok(number) => Json::Number(number),
                // Only a node that was made in code can hold what is no number.
                Err(_) => Json::String(number.clone()),
            },
            Value::String(text) => Json::String(text.clone()),
            Value::Sequence(items) => Json::Array(items.iter().map(Self::to_json).collect()),
            Value::Mapping(mapping) => Json::Object(
                mapping
                    .entries
                    .iter()
                    .map(|e| (e.key.clone(), e.value.to_json()))
                    .collect(),
            ),
        }
    }

    /// A node without a place, for definitions that are made in code.
    pub fn from_json(json: &serde_json::Value) -> Self {
        use serde_json::Value as Json;
        let value = match json {
            Json::Null => Value::Null,
            Json::Bool(value) => Value::Bool(*value),
            Json::Number(number) => Value::Number(number.to_string()),
            Json::String(text) => Value::String(text.clone()),
            Json::Array(items) => Value::Sequence(items.iter().map(Self::from_json).collect()),
            Json::Object(fields) => Value::Mapping(Mapping {
                entries: fields
                    .iter()
                    .map(|(key, value)| Entry {
                        key: key.clone(),
                        key_span: None,
                        value: Self::from_json(value),
                    })
                    .collect(),
            }),
        };
        Self { span: None, value }
    }

    /// What a JSON pointer (RFC 6901) leads to.
    pub fn pointer(&self, pointer: &str) -> Option<&Self> {
        let (found, whole) = self.follow(pointer);
        whole.then_some(found.0)
    }

    /// The place that a JSON pointer leads to; where the exact one is missing,
    /// that of the nearest existing ancestor. For a list or a mapping it is the
    /// place of its key, since its own begins a line later.
    pub fn locate(&self, pointer: &str) -> Option<Span> {
        let ((node, key_span), whole) = self.follow(pointer);
        match &node.value {
            Value::Sequence(_) | Value::Mapping(_) => key_span.or(node.span),
            _ if !whole => key_span.or(node.span),
            _ => node.span.or(key_span),
        }
    }

    /// The place of the key that a JSON pointer leads to; where there is none, as
    /// [`locate`](Self::locate).
    pub fn locate_key(&self, pointer: &str) -> Option<Span> {
        let ((_, key_span), whole) = self.follow(pointer);
        key_span.filter(|_| whole).or_else(|| self.locate(pointer))
    }

    /// Goes along a pointer as far as it leads, and says whether to its end.
    fn follow(&self, pointer: &str) -> ((&Self, Option<Span>), bool) {
        let mut at = (self, None);
        if pointer.is_empty() {
            return (at, true);
        }
        let Some(tokens) = pointer.strip_prefix('/') else {
            return (at, false);
        };
        for token in tokens.split('/') {
            let token = token.replace("~1", "/").replace("~0", "~");
            let next = match &at.0.value {
                Value::Mapping(mapping) => mapping.entry(&token).map(|e| (&e.value, e.key_span)),
                Value::Sequence(items) => array_index(&token)
                    .and_then(|index| items.get(index))
                    .map(|item| (item, item.span)),
                _ => None,
            };
            match next {
                Some(next) => at = next,
                None => return (at, false),
            }
        }
        (at, true)
    }
}

fn write_string(text: &str, out: &mut String) {
    out.push_str(&serde_json::Value::from(text).to_string());
}

fn array_index(token: &str) -> Option<usize> {
    let digits = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit());
    (digits && (token == "0" || !token.starts_with('0'))).then(|| token.parse().ok())?
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(serializer)
    }
}

/// A text for a message: at most 40 characters of its first line.
pub(super) fn shortened(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let mut short: String = line.chars().filter(|c| !c.is_control()).take(40).collect();
    if short.len() < text.trim_end().len() {
        short.push_str("...");
    }
    short
}

#[cfg(test)]
mod node_tests {
    use super::*;
    use crate::definition::Source;

    fn node(text: &str) -> Node {
        let mut reading = read_documents(&Source::from_text("f.yaml", text), &Limits::default());
        assert!(!reading.diagnostics.has_errors(), "{}", reading.diagnostics);
        reading.documents.remove(0).root
    }

    #[test]
    fn json_keeps_the_spelling_of_numbers_and_the_order_of_keys() {
        let node = node("z: 1.10\na: [-0, 1e5, 12345678901234567890123, \"q\\n\", ~, on]\n");
        assert_eq!(
            node.to_json_text(),
            r#"{"z":1.10,"a":[-0,1e5,12345678901234567890123,"q\n",null,"on"]}"#
        );
        assert_eq!(
            node.to_json().to_string(),
            r#"{"z":1.10,"a":[-0,1e+5,12345678901234567890123,"q\n",null,"on"]}"#
        );
    }

    #[test]
    fn a_pointer_leads_to_the_value_and_escapes_are_resolved() {
        let node = node("a/b:\n  - {m~n: 1}\n  - x\n");
        assert_eq!(
            node.pointer("/a~1b/0/m~0n").unwrap().value,
            Value::Number("1".into())
        );
        assert_eq!(node.pointer("").unwrap(), &node);
        for missing in [
            "/a",
            "/a~1b/2",
            "/a~1b/01",
            "/a~1b/-",
            "/a~1b/1/x",
            "no-slash",
        ] {
            assert_eq!(node.pointer(missing), None, "{missing}");
        }
    }

    #[test]
    fn the_place_of_a_missing_value_is_that_of_its_nearest_ancestor() {
        let node = node("input:\n  targets:\n    - name: a\n      port: 80\n");
        let line = |pointer| node.locate(pointer).unwrap().line;
        assert_eq!(line("/input/targets/0/port"), 4);
        assert_eq!(line("/input/targets/0/host"), 3);
        assert_eq!(line("/input/targets/7/port"), 2);
        assert_eq!(line("/input"), 1);
        let port = node.locate("/input/targets/0/port").unwrap();
        assert_eq!((port.column, port.end - port.start), (13, 2));
    }

    #[test]
    fn a_node_made_from_json_gives_the_same_json() {
        let json: serde_json::Value =
            serde_json::from_str(r#"{"a":[1.10,true,null,"x"],"b":{}}"#).unwrap();
        assert_eq!(Node::from_json(&json).to_json(), json);
        assert_eq!(Node::from_json(&json).span, None);
    }
}
