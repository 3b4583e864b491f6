//! Text to documents, through the one YAML parser of the host.
//!
//! It is serde-saphyr's, taken below serde: the events carry what deserializing
//! into values would lose, the text of a plain scalar as it was written and the
//! place of everything. What serde-saphyr does above them (strict booleans,
//! duplicate keys, merge keys, budgets) is done here by rules of our own, so that
//! all problems of a file are told and not only the first.

use serde_saphyr::granit_parser::{
    self, ErrorKind, Event, Marker, Parser, ScalarStyle, ScanError, Span as ParserSpan,
    StructureStyle, Tag as ParserTag,
};

use super::build::{Builder, Scalar, Stop, Tag};
use super::{Node, Span, shortened};
use crate::definition::{Diagnostics, Source};

/// How much a file may make the reader do.
#[derive(Clone, Debug)]
pub struct Limits {
    /// How deep values may be nested.
    pub depth: usize,
    /// How many values a file may hold, those that aliases repeat included.
    pub nodes: usize,
    /// How many bytes of text aliases may repeat.
    pub copied_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            depth: 100,
            nodes: 250_000,
            copied_bytes: 16 << 20,
        }
    }
}

/// One document of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The line of its first value, from 1.
    pub first_line: u32,
    /// What it holds.
    pub root: Node,
}

/// What a file says, and what is wrong with it.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The documents that could be read. One without any value, as between two
    /// `---`, is none.
    pub documents: Vec<Document>,
    /// The problems.
    pub diagnostics: Diagnostics,
    /// Whether a document is missing, because it is no YAML or a limit was
    /// passed. After other errors, such as a duplicate key, what is there can be
    /// read on for its own problems.
    pub broken: bool,
}

/// Reads all documents of a file.
pub fn read_documents(source: &Source, limits: &Limits) -> Reading {
    let options = granit_parser::options! {
        emit_comments: false,
        emit_unresolved_aliases: true,
        // A document with a syntax error is told by one diagnostic; the depth is
        // counted by the builder, which knows aliases too.
        flow_nesting_limit: limits.depth + 1,
        block_nesting_limit: limits.depth + 1,
    };
    let mut parser = Parser::new_from_str_with_options(source.text(), options);
    let mut builder = Builder::new(source, limits);
    let mut documents = Vec::new();
    let mut broken = false;
    while let Some(next) = parser.next_event() {
        let step = match next {
            Ok((Event::StreamEnd, _)) => break,
            Ok((Event::DocumentEnd, _)) => {
                if let Some(root) = builder
                    .take_document()
                    .filter(|root| !is_nothing(root, source))
                {
                    let first_line = root.span.map_or(1, |span| span.line);
                    documents.push(Document { first_line, root });
                }
                Ok(())
            }
            Ok((event, at)) => take(&mut builder, event, at),
            Err(error) => {
                broken = true;
                builder.take_document();
                refuse(&mut builder, &error);
                // The other documents of the file are read for their problems.
                match parser.proceed_next_document() {
                    Ok(true) => Ok(()),
                    Ok(false) | Err(_) => Err(Stop),
                }
            }
        };
        if step.is_err() {
            broken = true;
            break;
        }
    }
    let mut diagnostics = builder.diagnostics;
    if documents.is_empty() && diagnostics.is_empty() {
        diagnostics.push(source.error(
            None,
            "this file is empty: it has no value in it",
            "write its keys, or name the file that was meant; a comment is no value",
        ));
    }
    Reading {
        documents,
        diagnostics,
        broken,
    }
}

/// The only document of a file that must have one; `what` the file is and `help`
/// against several are for the messages.
pub(in crate::definition) fn single<'r>(
    source: &Source,
    reading: &'r Reading,
    what: &str,
    help: &str,
) -> Result<&'r Document, Diagnostics> {
    match reading.documents.as_slice() {
        [only] if !reading.broken => Ok(only),
        [first, second, ..] => {
            let mut diagnostics = reading.diagnostics.clone();
            diagnostics.push(source.error(
                second.root.span,
                format!(
                    "{what} is one document, but this file holds {}: the first begins on \
                     line {}, the second on line {}",
                    reading.documents.len(),
                    first.first_line,
                    second.first_line,
                ),
                help,
            ));
            Err(diagnostics)
        }
        _ => Err(reading.diagnostics.clone()),
    }
}

fn take(builder: &mut Builder<'_>, event: Event<'_>, at: ParserSpan) -> Result<(), Stop> {
    let span = span_of(&at);
    match event {
        Event::Scalar(text, style, anchor, tag) => {
            let quoted = style != ScalarStyle::Plain;
            let tag = tag_of(tag.as_deref());
            builder.scalar(Scalar {
                text,
                quoted,
                tag,
                anchor,
                span,
            })
        }
        Event::SequenceStart(style, anchor, tag) => {
            check_tab(builder, style, span);
            builder.start_sequence(span, anchor, &tag_of(tag.as_deref()))
        }
        Event::MappingStart(style, anchor, tag) => {
            check_tab(builder, style, span);
            builder.start_mapping(span, anchor, &tag_of(tag.as_deref()))
        }
        Event::SequenceEnd | Event::MappingEnd => builder.end(),
        Event::Alias(id) => builder.alias(id, span),
        Event::UnresolvedAlias(name) => builder.unknown_alias(&name, span),
        _ => Ok(()),
    }
}

/// The parser lets a tab pass before the first line of a document.
fn check_tab(builder: &mut Builder<'_>, style: StructureStyle, span: Span) {
    if style == StructureStyle::Block
        && let Some(tab) = indenting_tab(builder.source.text(), span)
    {
        builder.error(tab, TAB.0.to_owned(), TAB.1);
    }
}

const TAB: (&str, &str) = (
    "a tab indents this line",
    "YAML is indented with spaces: replace the tab",
);

/// The first tab that indents the line of a place, if one does.
fn indenting_tab(text: &str, at: Span) -> Option<Span> {
    let before = text.get(..at.start as usize)?;
    let line = before.rfind(['\n', '\r']).map_or(0, |at| at + 1);
    let spaces = text[line..]
        .bytes()
        .take_while(|byte| *byte == b' ')
        .count();
    let tab = line + spaces;
    (text.as_bytes().get(tab) == Some(&b'\t')).then(|| one_byte(at.line, spaces, tab))
}

/// The tab that the parser complains of: it stands where the parser is, or right
/// before; or the parser is at the start of a text that goes on over lines, and
/// one of those is indented with it.
fn tab_at(text: &str, at: Span) -> Span {
    let here = at.start as usize;
    let is_tab = |place: usize| text.as_bytes().get(place) == Some(&b'\t');
    if is_tab(here) {
        return at;
    }
    if let Some(past) = here.checked_sub(1).filter(|past| is_tab(*past))
        && at.column > 1
    {
        return one_byte(at.line, at.column as usize - 2, past);
    }
    let rest = text.get(here..).unwrap_or_default();
    let lines = (at.line..).zip(rest.split_inclusive('\n'));
    let starts = lines.scan(here, |start, (line, text)| {
        let this = *start;
        *start += text.len();
        Some((line, this))
    });
    let mut tabs = starts.skip(1).filter_map(|(line, start)| {
        let start = narrow(start);
        indenting_tab(text, Span { line, start, ..at })
    });
    tabs.next().unwrap_or(at)
}

/// A character of one byte, so many columns from the start of its line.
fn one_byte(line: u32, columns: usize, start: usize) -> Span {
    Span {
        line,
        column: narrow(columns).saturating_add(1),
        start: narrow(start),
        end: narrow(start + 1),
    }
}

fn tag_of(tag: Option<&ParserTag>) -> Tag<'_> {
    match tag {
        None => Tag::None,
        Some(tag) => match tag.core_suffix() {
            Some(name) => Tag::Core(name),
            None if tag.original() == "!" => Tag::Plain,
            None => Tag::Other(tag.original()),
        },
    }
}

/// Whether a document has no value: not even a `null` that someone wrote.
fn is_nothing(root: &Node, source: &Source) -> bool {
    let written = |span: Span| source.text().get(span.start as usize..span.end as usize);
    root.is_null()
        && root
            .span
            .and_then(written)
            .is_none_or(|text| text.trim().is_empty())
}

fn span_of(span: &ParserSpan) -> Span {
    place(&span.start, &span.end)
}

fn place(start: &Marker, end: &Marker) -> Span {
    let byte = |marker: &Marker| narrow(marker.byte_offset().unwrap_or_default());
    Span {
        line: narrow(start.line()),
        column: narrow(start.col()).saturating_add(1),
        start: byte(start),
        end: byte(end).max(byte(start)),
    }
}

/// A place in a source, which has at most 4 MiB.
fn narrow(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Tells a syntax error in the words of someone who looks at the file.
fn refuse(builder: &mut Builder<'_>, error: &ScanError) {
    let at = place(error.marker(), error.marker());
    if let Some(tab) = indenting_tab(builder.source.text(), at)
        && !matches!(error.kind(), ErrorKind::RecursionLimitExceeded)
    {
        builder.error(tab, TAB.0.to_owned(), TAB.1);
        return;
    }
    let (message, help) = match error.kind() {
        ErrorKind::RecursionLimitExceeded => {
            // Stopping is the caller's affair; here it is only told.
            let _: Result<(), Stop> = builder.too_deep(at);
            return;
        }
        ErrorKind::TabNotAllowed
        | ErrorKind::TabInBlockIndentation
        | ErrorKind::TabInIndentation
        | ErrorKind::TabInPlainScalar
        | ErrorKind::TabAtBlockScalarStart
        | ErrorKind::UnexpectedCharacter { character: '\t' } => {
            let tab = tab_at(builder.source.text(), at);
            builder.error(tab, TAB.0.to_owned(), TAB.1);
            return;
        }
        ErrorKind::UnexpectedCharacter { character } => (
            format!("a value can't begin with `{}`", character.escape_debug()),
            "put quotes around the value",
        ),
        ErrorKind::UnclosedQuotedScalar => (
            "a quote that is opened here is never closed".to_owned(),
            "close the quote",
        ),
        ErrorKind::UnclosedFlowCollection { open } => (
            format!("the `{open}` that is opened here is never closed"),
            "close it; put quotes around a text that begins with `[` or `{`",
        ),
        ErrorKind::MappingValueNotAllowed => (
            "there is a `:` here where no key can be".to_owned(),
            "put quotes around a text that contains `: `; check the indentation",
        ),
        ErrorKind::SimpleKeyExpected | ErrorKind::InvalidSimpleKey => (
            "this line is neither a `key: value` nor the continuation of the one above".to_owned(),
            "add the `:`, or indent the line as the one above",
        ),
        ErrorKind::ExpectedBlockMappingKey => (
            "a key is expected here".to_owned(),
            "check the indentation: keys of one mapping stand in the same column",
        ),
        ErrorKind::ExpectedBlockSequenceEntry => (
            "a `- ` is expected here".to_owned(),
            "check the indentation: items of one list stand in the same column",
        ),
        kind => (
            format!("this is not YAML: {}", shortened_kind(kind)),
            "check the quotes, brackets and indentation of this line and the one above",
        ),
    };
    builder.error(at, message, help);
}

fn shortened_kind(kind: &ErrorKind) -> String {
    match kind {
        ErrorKind::Custom(text) => shortened(text),
        kind => kind.to_string(),
    }
}
