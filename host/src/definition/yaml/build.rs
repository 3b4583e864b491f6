//! From the parser's events to trees of nodes.
//!
//! It goes along the events with a stack of its own rather than by recursion, so
//! that a hostile file can't overflow the machine's; and it counts what it makes,
//! copies through aliases included, so that such a file can't fill the memory.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;

use super::read::Limits;
use super::repeat::{Cost, cost_of, merged};
use super::{Entry, Mapping, Node, Span, Value, scalar, shortened};
use crate::definition::{Diagnostics, Severity, Source};

/// Nothing more of this file may be read: a limit was passed.
pub(super) struct Stop;

/// The tag of a node, taken apart.
pub(super) enum Tag<'a> {
    None,
    /// `!`: not to be interpreted.
    Plain,
    /// One of YAML's own, without its `!!`.
    Core(&'a str),
    /// Any other, as it is written.
    Other(String),
}

/// What is known of a scalar.
pub(super) struct Scalar<'a> {
    pub(super) text: Cow<'a, str>,
    pub(super) quoted: bool,
    pub(super) tag: Tag<'a>,
    pub(super) anchor: usize,
    pub(super) span: Span,
}

/// A list or mapping that is not closed yet.
struct Open {
    span: Span,
    anchor: usize,
    what: Collection,
}

enum Collection {
    Sequence(Vec<Node>),
    Mapping {
        slots: Vec<Filled>,
        seen: HashMap<String, Span>,
        key: Option<Key>,
    },
}

enum Filled {
    Entry(Entry),
    Merged(Vec<Entry>),
}

enum Key {
    Named(String, Span),
    Merge(Span),
    /// Told already as wrong; its value is dropped.
    Refused,
}

/// A node that aliases may repeat, with what a copy of it costs.
struct Anchored {
    node: Node,
    cost: Cost,
}

/// Builds the documents of one file.
pub(super) struct Builder<'s> {
    pub(super) source: &'s Source,
    limits: &'s Limits,
    pub(super) diagnostics: Diagnostics,
    open: Vec<Open>,
    anchors: HashMap<usize, Anchored>,
    root: Option<Node>,
    nodes: usize,
    copied_bytes: usize,
}

impl<'s> Builder<'s> {
    pub(super) fn new(source: &'s Source, limits: &'s Limits) -> Self {
        Self {
            source,
            limits,
            diagnostics: Diagnostics::new(),
            open: Vec::new(),
            anchors: HashMap::new(),
            root: None,
            nodes: 0,
            copied_bytes: 0,
        }
    }

    /// Forgets the document at hand and gives what was read of it.
    pub(super) fn take_document(&mut self) -> Option<Node> {
        self.open.clear();
        self.anchors.clear();
        self.root.take()
    }

    pub(super) fn scalar(&mut self, scalar: Scalar<'_>) -> Result<(), Stop> {
        let Scalar {
            text,
            quoted,
            tag,
            anchor,
            span,
        } = scalar;
        let value = match &tag {
            Tag::None if !quoted => scalar::plain(&text),
            Tag::None | Tag::Plain => Value::String(text.to_string()),
            Tag::Core(name) => scalar::tagged(name, &text).unwrap_or_else(|| {
                self.error(
                    span,
                    format!("the tag `!!{name}` does not go with `{}`", shortened(&text)),
                    "leave out the tag: quotes make a text, their absence a number or boolean",
                );
                Value::String(text.to_string())
            }),
            Tag::Other(name) => {
                self.unknown_tag(span, name);
                Value::String(text.to_string())
            }
        };
        let merges = !quoted && matches!(tag, Tag::None) && text == "<<";
        let node = Node {
            span: Some(span),
            value,
        };
        self.finished(node, anchor, Some((text, merges)), span)
    }

    pub(super) fn start_sequence(
        &mut self,
        span: Span,
        anchor: usize,
        tag: &Tag<'_>,
    ) -> Result<(), Stop> {
        self.check_collection_tag(span, tag, "seq");
        self.start(span, anchor, Collection::Sequence(Vec::new()))
    }

    pub(super) fn start_mapping(
        &mut self,
        span: Span,
        anchor: usize,
        tag: &Tag<'_>,
    ) -> Result<(), Stop> {
        self.check_collection_tag(span, tag, "map");
        let what = Collection::Mapping {
            slots: Vec::new(),
            seen: HashMap::new(),
            key: None,
        };
        self.start(span, anchor, what)
    }

    fn start(&mut self, span: Span, anchor: usize, what: Collection) -> Result<(), Stop> {
        if self.open.len() >= self.limits.depth {
            return self.too_deep(span);
        }
        self.open.push(Open { span, anchor, what });
        Ok(())
    }

    /// Closes the list or mapping that was opened last.
    pub(super) fn end(&mut self) -> Result<(), Stop> {
        let Some(Open { span, anchor, what }) = self.open.pop() else {
            return Ok(());
        };
        let value = match what {
            Collection::Sequence(items) => Value::Sequence(items),
            Collection::Mapping {
                slots, mut seen, ..
            } => {
                let mut entries = Vec::with_capacity(slots.len());
                for slot in slots {
                    match slot {
                        Filled::Entry(entry) => entries.push(entry),
                        // What is written beside the merge key wins over it.
                        Filled::Merged(merged) => {
                            for entry in merged {
                                if let Slot::Vacant(slot) = seen.entry(entry.key.clone()) {
                                    slot.insert(span);
                                    entries.push(entry);
                                }
                            }
                        }
                    }
                }
                Value::Mapping(Mapping { entries })
            }
        };
        self.finished(
            Node {
                span: Some(span),
                value,
            },
            anchor,
            None,
            span,
        )
    }

    pub(super) fn alias(&mut self, id: usize, span: Span) -> Result<(), Stop> {
        let Some(anchored) = self.anchors.get(&id) else {
            self.error(
                span,
                "this alias stands inside the value that it repeats".into(),
                "an alias can only repeat a value that has ended before it",
            );
            return self.finished(
                Node {
                    span: Some(span),
                    value: Value::Null,
                },
                0,
                None,
                span,
            );
        };
        let cost = anchored.cost;
        if self.open.len() + cost.depth > self.limits.depth {
            return self.too_deep(span);
        }
        self.spend(cost, span)?;
        let node = self.anchors[&id].node.clone();
        let text = match &node.value {
            Value::String(text) | Value::Number(text) => Some((Cow::Owned(text.clone()), false)),
            Value::Bool(value) => Some((Cow::Owned(value.to_string()), false)),
            _ => None,
        };
        self.finished(node, 0, text, span)
    }

    pub(super) fn unknown_alias(&mut self, name: &str, span: Span) -> Result<(), Stop> {
        self.error(
            span,
            format!(
                "there is no anchor `&{}` before this alias",
                shortened(name)
            ),
            "an alias repeats a value marked `&name` earlier in the same document; \
             put quotes around a text that begins with `*`",
        );
        self.finished(
            Node {
                span: Some(span),
                value: Value::Null,
            },
            0,
            None,
            span,
        )
    }

    /// Puts a complete node where it belongs. `text` is what it says as a key,
    /// and whether as such it is a merge key; `at` is where it stands, which for
    /// an alias is not where it is written.
    fn finished(
        &mut self,
        node: Node,
        anchor: usize,
        text: Option<(Cow<'_, str>, bool)>,
        at: Span,
    ) -> Result<(), Stop> {
        self.nodes += 1;
        if self.nodes > self.limits.nodes {
            return self.too_many(at);
        }
        if anchor != 0 {
            let cost = cost_of(&node);
            self.spend(cost, at)?;
            self.anchors.insert(
                anchor,
                Anchored {
                    node: node.clone(),
                    cost,
                },
            );
        }
        let Some(Open { what, .. }) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match what {
            Collection::Sequence(items) => items.push(node),
            Collection::Mapping { slots, key, seen } => match key.take() {
                None => {
                    let first = match &text {
                        Some((name, _)) => seen.get(name.as_ref()).copied(),
                        None => None,
                    };
                    *key = Some(match (text, first) {
                        (None, _) => Key::Refused,
                        (Some(_), Some(_)) => Key::Refused,
                        (Some((name, merges)), None) => {
                            seen.insert(name.to_string(), at);
                            if merges {
                                Key::Merge(at)
                            } else {
                                Key::Named(name.into_owned(), at)
                            }
                        }
                    });
                    if matches!(key, Some(Key::Refused)) {
                        self.refuse_key(&node, first, at);
                    }
                }
                Some(Key::Named(key, span)) => {
                    slots.push(Filled::Entry(Entry {
                        key,
                        key_span: Some(span),
                        value: node,
                    }));
                }
                Some(Key::Merge(span)) => match merged(node) {
                    Ok(entries) => slots.push(Filled::Merged(entries)),
                    Err(node) => self.error(
                        span,
                        format!(
                            "`<<` merges mappings into a mapping, but this is {}",
                            node.describe()
                        ),
                        "a list can't be merged: write its items out, or use the alias alone",
                    ),
                },
                Some(Key::Refused) => {}
            },
        }
        Ok(())
    }

    fn refuse_key(&mut self, key: &Node, first: Option<Span>, at: Span) {
        match first {
            Some(first) => {
                let name = match &key.value {
                    Value::String(text) | Value::Number(text) => shortened(text),
                    other => format!("{other:?}").to_lowercase(),
                };
                self.error(
                    at,
                    format!(
                        "the key `{name}` is here for the second time; the first is on line {}, column {}",
                        first.line, first.column
                    ),
                    "keep one of the two",
                );
            }
            None => self.error(
                at,
                format!("a key must be a text, but this is {}", key.describe()),
                "put quotes around a value that begins with `{` or `[`, such as \"{{ .Name }}\"",
            ),
        }
    }

    fn check_collection_tag(&mut self, span: Span, tag: &Tag<'_>, expected: &str) {
        match tag {
            Tag::None | Tag::Plain => {}
            Tag::Core(name) if *name == expected => {}
            Tag::Core(name) => self.unknown_tag(span, &format!("!!{name}")),
            Tag::Other(name) => self.unknown_tag(span, name),
        }
    }

    fn unknown_tag(&mut self, span: Span, name: &str) {
        self.error(
            span,
            format!("the tag `{}` means nothing here", shortened(name)),
            "leave it out; put quotes around a text that begins with `!`",
        );
    }

    fn spend(&mut self, cost: Cost, at: Span) -> Result<(), Stop> {
        self.nodes += cost.nodes;
        self.copied_bytes += cost.bytes;
        if self.nodes > self.limits.nodes || self.copied_bytes > self.limits.copied_bytes {
            return self.too_many(at);
        }
        Ok(())
    }

    fn too_many(&mut self, at: Span) -> Result<(), Stop> {
        self.error(
            at,
            format!(
                "this file holds too much: more than {} values, or {} MiB in what its aliases repeat",
                self.limits.nodes,
                self.limits.copied_bytes >> 20
            ),
            "split the file, or repeat less with aliases",
        );
        Err(Stop)
    }

    pub(super) fn too_deep(&mut self, at: Span) -> Result<(), Stop> {
        self.error(
            at,
            format!("this is nested more than {} levels deep", self.limits.depth),
            "nest less; aliases count with what they repeat",
        );
        Err(Stop)
    }

    pub(super) fn error(&mut self, at: Span, message: String, help: &str) {
        let source = self.source;
        self.diagnostics
            .push_with(Severity::Error, || source.error(Some(at), message, help));
    }
}
