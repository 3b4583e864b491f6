//! What strict reading promises.

use std::num::NonZeroU32;
use std::time::Duration;

use regex::Regex;

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
