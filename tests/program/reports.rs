//! `reports.tsv` says which reports about other systems of this kind are kept from
//! happening here, and by which test. This holds the table to its word.

use std::collections::BTreeSet;
use std::path::Path;

const TABLE: &str = include_str!("../reports.tsv");

/// What the reports were about.
const SOURCES: [&str; 3] = ["pipecd", "drone", "wasm-hosts"];

#[test]
fn every_test_that_the_table_of_reports_names_is_there_and_runs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("a root");
    let mut lines = TABLE.lines();
    assert_eq!(lines.next(), Some("source\trow\tpromise\ttest"));
    let mut seen = BTreeSet::new();
    for line in lines {
        let columns: Vec<&str> = line.split('\t').collect();
        let [source, row, promise, test] = columns[..] else {
            panic!("{line:?} has not four columns");
        };
        assert!(SOURCES.contains(&source), "{line}: an unknown source");
        assert!(
            !row.is_empty() && !promise.is_empty(),
            "{line}: an empty column"
        );
        assert!(seen.insert((source, row, test)), "{line}: twice");
        let (file, name) = test.split_once("::").expect("`file::name`");
        let text = std::fs::read_to_string(root.join(file));
        let text = text.unwrap_or_else(|error| panic!("{line}: {error}"));
        let (before, _) = text
            .split_once(&format!("fn {name}("))
            .unwrap_or_else(|| panic!("{file} has no test {name}"));
        let attributes = before.rsplit_once("\n\n").map_or(before, |(_, last)| last);
        let is_test = attributes.contains("#[test]") || attributes.contains("#[tokio::test");
        assert!(
            is_test && !attributes.contains("#[ignore"),
            "{name} of {file} does not run"
        );
    }
    assert!(seen.len() > SOURCES.len(), "the table is empty");
}
