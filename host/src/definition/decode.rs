//! Strict reading of mappings, so that a definition reads as a table of keys.
//!
//! [`Fields`] hands out the values of a mapping by key and type, tells what is
//! wrong with each, and at the end what nobody asked for: a key that the code
//! does not know can't be overlooked, since it is the reader that knows which
//! keys there are.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroU32;
use std::time::Duration;

use regex::Regex;

use super::diagnostic::{Diagnostics, Severity, nearest};
use super::yaml::{Entry, Mapping, Node, Span, Value, shortened};
use super::{ByteSize, Source, parse_duration, parse_size};

/// A value and where it is written; nowhere, if it was made in code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Located<T> {
    /// The value.
    pub value: T,
    /// Where it is written.
    pub span: Option<Span>,
}

impl<T> From<T> for Located<T> {
    fn from(value: T) -> Self {
        Self { value, span: None }
    }
}

/// A definition without errors, and what is to be said about it.
#[derive(Clone, Debug)]
pub struct Checked<T> {
    /// The definition.
    pub value: T,
    /// What of the file does less than it seems to.
    pub warnings: Diagnostics,
}

/// Where problems of one file go.
pub(super) struct Sink<'s> {
    source: &'s Source,
    diagnostics: RefCell<Diagnostics>,
}

impl<'s> Sink<'s> {
    /// `found` is what is known to be wrong already.
    pub(super) fn new(source: &'s Source, found: Diagnostics) -> Self {
        Self {
            source,
            diagnostics: RefCell::new(found),
        }
    }

    pub(super) fn error(
        &self,
        at: Option<Span>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.diagnostics
            .borrow_mut()
            .push_with(Severity::Error, || self.source.error(at, message, help));
    }

    pub(super) fn warning(
        &self,
        at: Option<Span>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.diagnostics
            .borrow_mut()
            .push_with(Severity::Warning, || self.source.warning(at, message, help));
    }

    /// As [`error`](Self::error), for what is costly to say: the words are made
    /// only if they will be kept.
    pub(super) fn error_with(&self, at: Option<Span>, say: impl FnOnce() -> (String, String)) {
        self.diagnostics
            .borrow_mut()
            .push_with(Severity::Error, || {
                let (message, help) = say();
                self.source.error(at, message, help)
            });
    }

    /// Ends the reading: the value if nothing forbids to use it.
    pub(super) fn finish<T>(self, value: Option<T>) -> Result<Checked<T>, Diagnostics> {
        let diagnostics = self.diagnostics.into_inner();
        match value {
            Some(value) if !diagnostics.has_errors() => Ok(Checked {
                value,
                warnings: diagnostics,
            }),
            _ => Err(diagnostics),
        }
    }
}

/// A value that is being read: the node, its path in words, and where it is.
#[derive(Clone)]
pub(super) struct Field<'n> {
    pub(super) sink: &'n Sink<'n>,
    pub(super) path: String,
    pub(super) node: &'n Node,
    /// The place of the key, if it has one.
    pub(super) key_span: Option<Span>,
}

impl<'n> Field<'n> {
    /// The place to show: the value's, or the key's where there is no value or
    /// the value begins on another line.
    pub(super) fn span(&self) -> Option<Span> {
        match &self.node.value {
            Value::Null | Value::Mapping(_) | Value::Sequence(_) => {
                self.key_span.or(self.node.span)
            }
            _ => self.node.span.or(self.key_span),
        }
    }

    pub(super) fn error(&self, message: impl Into<String>, help: impl Into<String>) {
        self.sink.error(self.span(), message, help);
    }

    /// Tells that the value is of another kind than `expected`.
    pub(super) fn mismatch(&self, expected: &str, help: &str) {
        let message = format!(
            "`{}` must be {expected}, but is {}",
            self.path,
            self.node.describe()
        );
        self.error(message, help);
    }

    /// Reads it as a text.
    pub(super) fn text(&self) -> Option<String> {
        String::decode(self)
    }

    /// Reads it as a mapping; nothing counts as an empty one.
    pub(super) fn fields(&self) -> Option<Fields<'n>> {
        static EMPTY: Mapping = Mapping {
            entries: Vec::new(),
        };
        let mapping = match &self.node.value {
            Value::Mapping(mapping) => mapping,
            Value::Null => &EMPTY,
            _ => {
                self.mismatch(
                    "a mapping",
                    "write its keys below it, indented: `key: value`",
                );
                return None;
            }
        };
        Some(Fields {
            field: self.clone(),
            mapping,
            known: Vec::new(),
        })
    }

    /// Reads it as a list; nothing counts as an empty one.
    pub(super) fn items(&self) -> Vec<Field<'n>> {
        match &self.node.value {
            Value::Sequence(items) => items
                .iter()
                .enumerate()
                .map(|(index, node)| Field {
                    sink: self.sink,
                    path: format!("{}[{index}]", self.path),
                    node,
                    key_span: node.span,
                })
                .collect(),
            Value::Null => Vec::new(),
            _ => {
                self.mismatch("a list", "write each item on a line of its own, after `- `");
                Vec::new()
            }
        }
    }

    /// Reads it as a mapping whose keys are the user's own names.
    pub(super) fn entries(&self) -> Vec<(&'n Entry, Field<'n>)> {
        let Some(fields) = self.fields() else {
            return Vec::new();
        };
        fields
            .mapping
            .entries
            .iter()
            .map(|entry| (entry, fields.child(entry)))
            .collect()
    }
}

/// A mapping that is being read.
pub(super) struct Fields<'n> {
    field: Field<'n>,
    mapping: &'n Mapping,
    known: Vec<&'static str>,
}

impl<'n> Fields<'n> {
    fn child(&self, entry: &'n Entry) -> Field<'n> {
        let path = match self.field.path.as_str() {
            "" => shortened(&entry.key),
            path => format!("{path}.{}", shortened(&entry.key)),
        };
        Field {
            sink: self.field.sink,
            path,
            node: &entry.value,
            key_span: entry.key_span,
        }
    }

    /// The value of a key, whatever it is.
    pub(super) fn field(&mut self, key: &'static str) -> Option<Field<'n>> {
        self.known.push(key);
        self.mapping.entry(key).map(|entry| self.child(entry))
    }

    /// The value of a key that may be left out. A key without a value counts as
    /// left out, and a warning says so.
    pub(super) fn take<T: Decode>(&mut self, key: &'static str) -> Option<Located<T>> {
        let field = self.field(key)?;
        if field.node.is_null() && !T::MAY_BE_NOTHING {
            field.sink.warning(
                field.span(),
                format!("`{}` has no value and counts as left out", field.path),
                "give it a value or remove the key",
            );
            return None;
        }
        let value = T::decode(&field)?;
        Some(Located {
            value,
            span: field.span(),
        })
    }

    /// The value of a key that must be there.
    pub(super) fn require<T: Decode>(
        &mut self,
        key: &'static str,
        help: &str,
    ) -> Option<Located<T>> {
        match self.mapping.get(key) {
            Some(node) if !node.is_null() => self.take(key),
            _ => {
                let at = self
                    .field(key)
                    .and_then(|field| field.span())
                    .or(self.field.span());
                let what = match self.field.path.as_str() {
                    "" => format!("`{key}` is missing"),
                    path => format!("`{path}` has no `{key}`"),
                };
                self.field.sink.error(at, what, help);
                None
            }
        }
    }

    /// Reports every key that nobody asked for.
    pub(super) fn finish(self) {
        self.finish_with(|_| None);
    }

    /// As [`finish`](Self::finish), with words of one's own for some keys.
    pub(super) fn finish_with(self, help: impl Fn(&str) -> Option<String>) {
        for entry in &self.mapping.entries {
            if self.known.contains(&entry.key.as_str()) {
                continue;
            }
            self.field.sink.error_with(entry.key_span, || {
                let help = help(&entry.key).unwrap_or_else(|| {
                    match nearest(&entry.key, self.known.iter().copied()) {
                        Some(known) => format!("did you mean `{known}`?"),
                        None => format!("the keys known here are {}", listed(&self.known)),
                    }
                });
                let message = match self.field.path.as_str() {
                    "" => format!("unknown key `{}`", shortened(&entry.key)),
                    path => format!("unknown key `{}` in `{path}`", shortened(&entry.key)),
                };
                (message, help)
            });
        }
    }
}

/// Names that must be unique, and where each stood first.
#[derive(Default)]
pub(super) struct FirstSeen(HashMap<String, Option<Span>>);

impl FirstSeen {
    /// Takes a name; if it was there before, gives the place of the first in
    /// words.
    pub(super) fn insert(&mut self, name: &str, at: Option<Span>) -> Option<String> {
        match self.0.get(name) {
            Some(Some(first)) => Some(format!("on line {}", first.line)),
            Some(None) => Some("above".into()),
            None => {
                self.0.insert(name.to_owned(), at);
                None
            }
        }
    }
}

/// `` `a`, `b` and `c` ``
pub(super) fn listed<S: AsRef<str>>(names: &[S]) -> String {
    let quoted: Vec<_> = names
        .iter()
        .map(|name| format!("`{}`", name.as_ref()))
        .collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        Some((last, _)) => last.clone(),
        None => String::new(),
    }
}

/// A type that a value of a file can be read as.
pub(super) trait Decode: Sized {
    /// Whether nothing (`key:`) is a value of it, such as an empty list.
    const MAY_BE_NOTHING: bool = false;

    /// Reads the value, or tells what is wrong with it.
    fn decode(field: &Field<'_>) -> Option<Self>;
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::yaml::{Limits, read_documents};

    fn told(text: &str, read: impl FnOnce(&mut Fields<'_>)) -> String {
        let source = Source::from_text("f.yaml", text);
        let root = read_documents(&source, &Limits::default())
            .documents
            .remove(0)
            .root;
        let sink = Sink::new(&source, Diagnostics::new());
        let field = Field {
            sink: &sink,
            path: String::new(),
            node: &root,
            key_span: None,
        };
        let mut fields = field.fields().unwrap();
        read(&mut fields);
        fields.finish();
        match sink.finish(Some(())) {
            Ok(checked) => checked.warnings.to_string(),
            Err(diagnostics) => diagnostics.to_string(),
        }
    }

    #[test]
    fn an_unknown_key_is_told_with_its_place_and_the_nearest_name() {
        let text = told("name: a\ntimeuot: 5m\n", |fields| {
            fields.take::<String>("name");
            fields.take::<Duration>("timeout");
        });
        assert!(
            text.contains("f.yaml:2:1: error: unknown key `timeuot`"),
            "{text}"
        );
        assert!(text.contains("did you mean `timeout`?"), "{text}");
    }

    #[test]
    fn all_problems_of_a_mapping_are_told_at_once() {
        let text = told("a: yes\nb: 300\nc: (\nd: true\ne: 0\nf: x\n", |fields| {
            fields.take::<bool>("a");
            fields.take::<Duration>("b");
            fields.take::<Regex>("c");
            fields.take::<String>("d");
            fields.take::<NonZeroU32>("e");
            fields.require::<String>("g", "give one");
        });
        for part in [
            "f.yaml:1:4: error: `a` must be true or false, but is the text `yes`",
            "write `true`, without quotes",
            "f.yaml:2:4: error: `b`: `300` has no unit",
            "f.yaml:3:4: error: `c` is no regular expression: unclosed group",
            "f.yaml:4:4: error: `d` must be a text, but is `true`",
            "put it in quotes: \"true\"",
            "f.yaml:5:4: error: `e` must be a whole number of at least 1, but is the number 0",
            "unknown key `f`",
            "`g` is missing",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }

    #[test]
    fn a_number_where_a_text_is_wanted_keeps_its_spelling() {
        let text = told("a: 1.10\n", |fields| {
            assert_eq!(fields.take::<String>("a").unwrap().value, "1.10");
        });
        assert_eq!(text, "");
    }

    #[test]
    fn a_key_without_a_value_counts_as_left_out_and_says_so() {
        let text = told("a:\nb:\n", |fields| {
            assert_eq!(fields.take::<bool>("a"), None);
            assert_eq!(fields.take::<Vec<Located<String>>>("b").unwrap().value, []);
        });
        assert!(
            text.contains("f.yaml:1:1: warning: `a` has no value"),
            "{text}"
        );
        assert!(!text.contains("`b`"), "{text}");
    }
}
