//! Strict reading of mappings, so that a definition reads as a table of keys.
//!
//! [`Fields`] hands out the values of a mapping by key and type, tells what is
//! wrong with each, and at the end what nobody asked for: a key that the code
//! does not know can't be overlooked, since it is the reader that knows which
//! keys there are.

#[cfg(test)]
mod tests;
mod types;

use std::cell::RefCell;
use std::collections::HashMap;

use super::Source;
use super::diagnostic::{Diagnostics, Severity, nearest};
use super::yaml::{Entry, Mapping, Node, Span, Value, shortened};

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
pub(in crate::definition) struct Sink<'s> {
    source: &'s Source,
    diagnostics: RefCell<Diagnostics>,
}

impl<'s> Sink<'s> {
    /// `found` is what is known to be wrong already.
    pub(in crate::definition) fn new(source: &'s Source, found: Diagnostics) -> Self {
        Self {
            source,
            diagnostics: RefCell::new(found),
        }
    }

    pub(in crate::definition) fn error(
        &self,
        at: Option<Span>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.diagnostics
            .borrow_mut()
            .push_with(Severity::Error, || self.source.error(at, message, help));
    }

    pub(in crate::definition) fn warning(
        &self,
        at: Option<Span>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.diagnostics
            .borrow_mut()
            .push_with(Severity::Warning, || self.source.warning(at, message, help));
    }

    /// Whether anything was refused so far.
    pub(in crate::definition) fn has_errors(&self) -> bool {
        self.diagnostics.borrow().has_errors()
    }

    /// As [`error`](Self::error), for what is costly to say: the words are made
    /// only if they will be kept.
    pub(in crate::definition) fn error_with(
        &self,
        at: Option<Span>,
        say: impl FnOnce() -> (String, String),
    ) {
        self.diagnostics
            .borrow_mut()
            .push_with(Severity::Error, || {
                let (message, help) = say();
                self.source.error(at, message, help)
            });
    }

    /// Ends the reading: the value if nothing forbids to use it.
    pub(in crate::definition) fn finish<T>(
        self,
        value: Option<T>,
    ) -> Result<Checked<T>, Diagnostics> {
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
pub(in crate::definition) struct Field<'n> {
    pub(in crate::definition) sink: &'n Sink<'n>,
    pub(in crate::definition) path: String,
    pub(in crate::definition) node: &'n Node,
    /// The place of the key, if it has one.
    pub(in crate::definition) key_span: Option<Span>,
}

impl<'n> Field<'n> {
    /// The place to show: the value's, or the key's where there is no value or
    /// the value begins on another line.
    pub(in crate::definition) fn span(&self) -> Option<Span> {
        match &self.node.value {
            Value::Null | Value::Mapping(_) | Value::Sequence(_) => {
                self.key_span.or(self.node.span)
            }
            _ => self.node.span.or(self.key_span),
        }
    }

    pub(in crate::definition) fn error(&self, message: impl Into<String>, help: impl Into<String>) {
        self.sink.error(self.span(), message, help);
    }

    /// Tells that the value is of another kind than `expected`.
    pub(in crate::definition) fn mismatch(&self, expected: &str, help: &str) {
        let message = format!(
            "`{}` must be {expected}, but is {}",
            self.path,
            self.node.describe()
        );
        self.error(message, help);
    }

    /// Reads it as a text.
    pub(in crate::definition) fn text(&self) -> Option<String> {
        String::decode(self)
    }

    /// Reads it as a mapping; nothing counts as an empty one.
    pub(in crate::definition) fn fields(&self) -> Option<Fields<'n>> {
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
    pub(in crate::definition) fn items(&self) -> Vec<Field<'n>> {
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
    pub(in crate::definition) fn entries(&self) -> Vec<(&'n Entry, Field<'n>)> {
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
pub(in crate::definition) struct Fields<'n> {
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
    pub(in crate::definition) fn field(&mut self, key: &'static str) -> Option<Field<'n>> {
        self.known.push(key);
        self.mapping.entry(key).map(|entry| self.child(entry))
    }

    /// The value of a key that may be left out. A key without a value counts as
    /// left out, and a warning says so.
    pub(in crate::definition) fn take<T: Decode>(
        &mut self,
        key: &'static str,
    ) -> Option<Located<T>> {
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
    pub(in crate::definition) fn require<T: Decode>(
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
    pub(in crate::definition) fn finish(self) {
        self.finish_with(|_| None);
    }

    /// As [`finish`](Self::finish), with words of one's own for some keys.
    pub(in crate::definition) fn finish_with(self, help: impl Fn(&str) -> Option<String>) {
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
pub(in crate::definition) struct FirstSeen(HashMap<String, Option<Span>>);

impl FirstSeen {
    /// Takes a name; if it was there before, gives the place of the first in
    /// words.
    pub(in crate::definition) fn insert(&mut self, name: &str, at: Option<Span>) -> Option<String> {
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
pub(in crate::definition) fn listed<S: AsRef<str>>(names: &[S]) -> String {
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
pub(in crate::definition) trait Decode: Sized {
    /// Whether nothing (`key:`) is a value of it, such as an empty list.
    const MAY_BE_NOTHING: bool = false;

    /// Reads the value, or tells what is wrong with it.
    fn decode(field: &Field<'_>) -> Option<Self>;
}
