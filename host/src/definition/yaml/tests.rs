//! What the reader promises about files, good and bad.

use proptest::prelude::*;

use super::{Limits, Reading, read_documents};
use crate::definition::{Application, HostConfig, Source, application, host_config};

fn read(text: &str) -> Reading {
    read_documents(&Source::from_text("f.yaml", text), &Limits::default())
}

fn json(text: &str) -> String {
    let reading = read(text);
    assert!(reading.diagnostics.is_empty(), "{}", reading.diagnostics);
    let documents: Vec<_> = reading
        .documents
        .iter()
        .map(|document| document.root.to_json_text())
        .collect();
    documents.join(" ")
}

fn refused(text: &str) -> String {
    let reading = read(text);
    assert!(reading.diagnostics.has_errors(), "{reading:?}");
    reading.diagnostics.to_string()
}

#[track_caller]
fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "missing: {part}\n{text}");
    }
}

#[test]
fn words_that_other_parsers_take_for_booleans_stay_texts() {
    assert_eq!(
        json("GO111MODULE: on\nEMPTY: yes\nEULA: Y\nreal: true\n"),
        r#"{"GO111MODULE":"on","EMPTY":"yes","EULA":"Y","real":true}"#
    );
}

#[test]
fn plain_scalars_reach_a_plugin_as_they_were_written() {
    assert_eq!(
        json("[1.10, 1E5, 017, 1_000, 0x1F, .5, .inf, .nan, 2024-01-01, 1.32.2, 50%, -1, ~, ]"),
        concat!(
            r#"[1.10,1E5,"017","1_000","0x1F",".5",".inf",".nan","#,
            r#""2024-01-01","1.32.2","50%",-1,null]"#
        )
    );
}

#[test]
fn quotes_always_make_a_text() {
    assert_eq!(
        json("a: '1.10'\nb: \"true\"\nc: 'null'\nd: \"\"\ne: |\n  1\nf: >-\n  2\n"),
        r#"{"a":"1.10","b":"true","c":"null","d":"","e":"1\n","f":"2"}"#
    );
}

#[test]
fn keys_are_the_text_that_was_written() {
    assert_eq!(
        json("1.10: a\ntrue: b\n'x y': c\non: d\n"),
        r#"{"1.10":"a","true":"b","x y":"c","on":"d"}"#
    );
}

#[test]
fn every_value_and_key_knows_its_place() {
    let reading = read("a:\n  bé: [x, 12]\n");
    let inner = reading.documents[0].root.get("a").unwrap();
    let entry = inner.as_mapping().unwrap().entry("bé").unwrap();
    let key = entry.key_span.unwrap();
    assert_eq!((key.line, key.column, key.start, key.end), (2, 3, 5, 8));
    let item = entry.value.as_sequence().unwrap()[1].span.unwrap();
    assert_eq!((item.line, item.column), (2, 11));
    assert_eq!((item.start, item.end), (14, 16), "in bytes");
}

#[test]
fn a_byte_order_mark_and_windows_line_ends_change_nothing() {
    let bytes = b"\xEF\xBB\xBFa: 1\r\nb:\r\n  - x\r\nc: |\r\n  t\r\n";
    let source = Source::from_bytes("f.yaml", bytes).unwrap();
    let reading = read_documents(&source, &Limits::default());
    assert!(reading.diagnostics.is_empty(), "{}", reading.diagnostics);
    let root = &reading.documents[0].root;
    assert_eq!(root.to_json_text(), r#"{"a":1,"b":["x"],"c":"t\n"}"#);
    assert_eq!(root.get("a").unwrap().span.unwrap().column, 4);
}

#[test]
fn documents_are_told_apart_and_know_their_first_line() {
    let reading = read("# c\n---\nkind: a\n---\n\nkind: b\n---\n# nothing\n...\n---\nc\n...\n");
    assert!(reading.diagnostics.is_empty(), "{}", reading.diagnostics);
    let lines: Vec<_> = reading.documents.iter().map(|d| d.first_line).collect();
    assert_eq!(lines, [3, 6, 11]);
    // A null that someone wrote is a document.
    assert_eq!(json("--- ~\n--- a\n"), r#"null "a""#);
}

#[test]
fn aliases_and_merge_keys_are_resolved_and_what_is_written_beside_them_wins() {
    assert_eq!(
        json("x: &x {a: 1, b: 2}\ny: {<<: *x, b: 3}\nz: {b: 4, <<: *x}\nw: *x\n"),
        r#"{"x":{"a":1,"b":2},"y":{"a":1,"b":3},"z":{"b":4,"a":1},"w":{"a":1,"b":2}}"#
    );
    assert_eq!(
        json("- &x {a: 1}\n- &y {a: 2, b: 2}\n- {<<: [*x, *y], c: 3}\n- &z name\n- {*z : 1}\n"),
        r#"[{"a":1},{"a":2,"b":2},{"a":1,"b":2,"c":3},"name",{"name":1}]"#
    );
}

#[test]
fn a_value_that_came_through_an_alias_is_where_it_is_written() {
    let reading = read("x: &x {a: bad}\ny:\n  <<: *x\nz: *x\n");
    let root = &reading.documents[0].root;
    for pointer in ["/y/a", "/z/a"] {
        assert_eq!(root.locate(pointer).unwrap().line, 1, "{pointer}");
    }
}

#[test]
fn a_quoted_merge_key_is_an_ordinary_one() {
    assert_eq!(json("'<<': 1\n"), r#"{"<<":1}"#);
}

#[test]
fn a_merge_of_what_is_no_mapping_is_refused() {
    let text = refused("x: &x [a, b]\ny:\n  - <<: *x\n  - c\n");
    has(
        &text,
        &[
            "f.yaml:3:5: error: `<<` merges mappings",
            "but this is a list",
        ],
    );
}

#[test]
fn a_duplicate_key_is_refused_naming_both_places() {
    let text = refused("spec:\n  name: a\n  labels: {}\n  name: b\n");
    has(
        &text,
        &[
            "f.yaml:4:3: error: the key `name` is here for the second time",
            "the first is on line 2, column 3",
            "4 |   name: b",
            "keep one",
        ],
    );
    has(&refused("'a': 1\na: 2\n"), &["the key `a`"]);
    has(&refused("<<: {a: 1}\n<<: {b: 1}\n"), &["the key `<<`"]);
}

#[test]
fn all_problems_that_are_no_syntax_errors_are_told_in_one_go() {
    let text = refused("a: 1\na: 2\nb: *nowhere\nc: !secret x\n? [k]\n: v\nd: !!int x\n");
    has(
        &text,
        &[
            "f.yaml:2:1: error: the key `a`",
            "f.yaml:3:4: error: there is no anchor `&nowhere`",
            "error: the tag `!secret` means nothing here",
            "error: a key must be a text, but this is a list",
            "error: the tag `!!int` does not go with `x`",
        ],
    );
    assert!(!read("a: 1\na: 2\n").broken);
}

#[test]
fn a_template_in_braces_is_refused_with_the_quotes_it_needs() {
    has(
        &refused("name: {{ .Name }}\n"),
        &["f.yaml:1:", "\"{{ .Name }}\""],
    );
}

#[test]
fn a_tab_as_indentation_is_refused_as_such() {
    for (text, place, shown) in [
        ("a:\n\tb: 1\n", "f.yaml:2:1:", "2 |  b: 1\n  | ^\n"),
        (
            "a:\n  b:\n  \tc: 1\n",
            "f.yaml:3:3:",
            "3 |    c: 1\n  |   ^\n",
        ),
        ("a:\n\t\t- b\n", "f.yaml:2:1:", "2 |   - b\n  | ^\n"),
        ("\ta: 1\n", "f.yaml:1:1:", "1 |  a: 1\n  | ^\n"),
        ("a: 1\n\tb: 2\n", "f.yaml:2:1:", "2 |  b: 2\n  | ^\n"),
        ("ä: 1\r\n \tb: 2\r\n", "f.yaml:2:2:", "2 |   b: 2\n  |  ^\n"),
    ] {
        let told = refused(text);
        has(&told, &["a tab indents this line", "replace the tab"]);
        has(&told, &[place, shown]);
    }
    // After an item a tab is only space.
    assert_eq!(json("- a\t\n- b\t# c\n"), r#"["a","b"]"#);
}

#[test]
fn a_syntax_error_is_told_with_its_line_and_what_to_look_at() {
    for (text, place, message) in [
        ("a: \"x\nb: 1\n", "f.yaml:1:4", "never closed"),
        ("a: [1, 2\nb: 1\n", "f.yaml:2:2", "brackets"),
        ("a: [1, 2\n", "f.yaml:1:4", "`[`"),
        ("a: b: c\n", "f.yaml:1:5", "no key can be"),
        ("a: 1\n b: 2\n", "f.yaml:2:", ""),
        ("a: 1\nb\n", "f.yaml:2:1", "neither a `key: value`"),
        ("a: @x\n", "f.yaml:1:4", "can't begin with `@`"),
        ("a: [1}\n", "f.yaml:1:", ""),
    ] {
        let told = refused(text);
        has(&told, &[place, message, "= help: "]);
        assert!(read(text).broken);
    }
}

#[test]
fn after_a_broken_document_the_others_are_read_for_their_problems() {
    let text = refused("a: [\n---\nb: 1\nb: 2\n---\nc: @\n");
    has(
        &text,
        &["f.yaml:1:", "f.yaml:4:1: error: the key `b`", "f.yaml:6:4"],
    );
}

#[test]
fn a_file_without_a_value_is_empty_whatever_else_is_in_it() {
    for text in [
        "",
        "\n\n",
        "# only a comment\n",
        "---\n",
        "---\n...\n---\n",
        "   \n",
    ] {
        has(&refused(text), &["this file is empty", "write its keys"]);
    }
}

#[test]
fn nesting_has_a_limit_in_every_form() {
    for text in [
        "[".repeat(20_000),
        "{a: ".repeat(20_000),
        "- ".repeat(20_000),
        "? ".repeat(20_000),
        (0..2_000)
            .map(|depth| format!("{}a:\n", " ".repeat(depth)))
            .collect(),
    ] {
        let told = refused(&text);
        has(&told, &["nested more than 100 levels deep"]);
        assert_eq!(told.matches("error:").count(), 1, "{told}");
    }
    assert_eq!(
        json(&format!("{}{}", "[".repeat(100), "]".repeat(100))).len(),
        200
    );
}

#[test]
fn aliases_that_nest_each_other_count_towards_the_depth() {
    let chain: String = (1..200)
        .map(|i| format!("a{i}: &a{i} [*a{}]\n", i - 1))
        .collect();
    has(
        &refused(&format!("a0: &a0 [x]\n{chain}")),
        &["nested more than 100 levels deep"],
    );
    has(&refused("a: &a [*a]\n"), &["stands inside the value"]);
}

#[test]
fn alias_bombs_are_refused_before_they_unfold() {
    let nine = |name: char| vec![format!("*{name}"); 9].join(",");
    let laughs: String = ('a'..'k')
        .zip('b'..)
        .map(|(of, name)| format!("{name}: &{name} [{}]\n", nine(of)))
        .collect();
    has(
        &refused(&format!("a: &a [x]\n{laughs}")),
        &["holds too much", "250000 values"],
    );

    let long = format!(
        "a: &a {}\nb: [{}]\n",
        "x".repeat(1_000_000),
        vec!["*a"; 1_000].join(",")
    );
    has(&refused(&long), &["holds too much", "16 MiB"]);

    let merges: String = (1..100)
        .map(|i| format!("a{i}: &a{i} {{<<: *a{0}, k{i}: [*a{0}, *a{0}]}}\n", i - 1))
        .collect();
    has(
        &refused(&format!("a0: &a0 {{k: v}}\n{merges}")),
        &["holds too much"],
    );
}

#[test]
fn a_million_problems_are_told_as_the_first_hundred() {
    let text = format!("[{}]", vec!["*x"; 200_000].join(","));
    let reading = read(&text);
    assert_eq!(
        (reading.diagnostics.len(), reading.diagnostics.left_out()),
        (100, 199_900)
    );
}

/// What YAML and our files are made of: most random bytes are refused at the
/// first, texts of these get far.
fn piece() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "apiVersion: ",
        "stagewright.dev/v1",
        "pipecd.dev/v1beta1",
        "kind: ",
        "Application",
        "KubernetesApp",
        "spec:",
        "pipeline:",
        "stages:",
        "name: ",
        "id: ",
        "needs: ",
        "with:",
        "skipOn:",
        "paths: ",
        "plugins:",
        "deployTargets:",
        "timeout: ",
        "limits:",
        "allow:",
        "filesystem:",
        "guest: ",
        "host: ",
        "env: ",
        "config:",
        "labels:",
        "\n",
        "\n  ",
        "\n    ",
        "\n      ",
        "- ",
        ": ",
        "? ",
        "[",
        "]",
        "{",
        "}",
        ", ",
        "&a ",
        "*a",
        "<<: ",
        "!!str ",
        "!x ",
        "'",
        "\"",
        "|",
        ">-",
        "#",
        "---\n",
        "...\n",
        "%YAML 1.2\n",
        "\t",
        "\r\n",
        "é",
        "\u{2028}",
        "\u{FEFF}",
        "\0",
        "~",
        "true",
        "1.10",
        "10m",
        "1GiB",
        "**/*.md",
        "/a",
    ])
}

/// A good file, damaged in a few places.
fn damaged(whole: &'static str) -> impl Strategy<Value = String> {
    let damage = (0..whole.len(), 0..30_usize, piece());
    prop::collection::vec(damage, 1..5).prop_map(move |damages| {
        let mut text = whole.to_owned();
        for (at, length, insert) in damages {
            let start = text.floor_char_boundary(at);
            let end = text.floor_char_boundary(at + length);
            text.replace_range(start..end, insert);
        }
        text
    })
}

fn read_all_ways(bytes: &[u8]) {
    let Ok(source) = Source::from_bytes("f.yaml", bytes) else {
        return;
    };
    let reading = read_documents(&source, &Limits::default());
    for document in &reading.documents {
        let text = document.root.to_json_text();
        let parsed: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
        assert_eq!(parsed, document.root.to_json());
        document.root.locate("/spec/pipeline/stages/0/with");
    }
    let results = [
        Application::from_source(&source, "app", &|_, _| false).err(),
        HostConfig::from_source(&source, std::path::Path::new("/etc")).err(),
    ];
    for diagnostics in results.into_iter().flatten() {
        assert!(diagnostics.has_errors());
        assert!(!diagnostics.to_string().is_empty());
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        read_all_ways(&bytes);
    }

    #[test]
    fn arbitrary_yaml_never_panics(pieces in prop::collection::vec(piece(), 0..60)) {
        read_all_ways(pieces.concat().as_bytes());
    }

    #[test]
    fn a_damaged_application_file_never_panics(text in damaged(application::tests::WHOLE)) {
        read_all_ways(text.as_bytes());
    }

    #[test]
    fn a_damaged_host_configuration_never_panics(text in damaged(host_config::tests::WHOLE)) {
        read_all_ways(text.as_bytes());
    }

    #[test]
    fn a_text_in_quotes_comes_back_as_it_was(text in "\\PC{0,40}") {
        let written = serde_json::to_string(&text).expect("a text is JSON");
        let reading = read(&format!("a: {written}\n"));
        prop_assert!(reading.diagnostics.is_empty(), "{}", reading.diagnostics);
        prop_assert_eq!(reading.documents[0].root.get("a").and_then(|a| a.as_str()), Some(text.as_str()));
    }
}
