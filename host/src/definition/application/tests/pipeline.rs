//! What reading the stages of a pipeline promises.

use super::{has, load, ours, pipecd, refused, warned};

#[test]
fn a_bare_number_as_a_timeout_is_refused_and_the_message_names_the_missing_unit() {
    for spec in ["  timeout: 300\n", "  timeout: \"300\"\n"] {
        has(
            &refused(&pipecd(spec)),
            &[
                "app.yaml:5:12: error: `spec.timeout`: `300` has no unit",
                "`300s` for seconds, `300m` for minutes",
            ],
        );
    }
    has(
        &refused(&pipecd("  pipeline: {stages: [{name: A, timeout: 0s}]}\n")),
        &["is zero"],
    );
    has(&refused(&pipecd("  timeout: -5m\n")), &["is negative"]);
}

#[test]
fn bad_patterns_are_errors_at_load_with_their_place() {
    has(
        &refused(&pipecd("  commitMatcher: {pipeline: '('}\n")),
        &[
            "app.yaml:5:29: error: `spec.commitMatcher.pipeline` is no regular expression: unclosed group",
        ],
    );
    let spec = "  pipeline:\n    stages:\n      - name: A\n        skipOn:\n          paths:\n            - ok/**\n            - a[b\n            - /docs\n";
    has(
        &refused(&pipecd(spec)),
        &[
            "app.yaml:11:15: error: `a[b` is no path pattern",
            "app.yaml:12:15: error: `/docs` is no path pattern: paths are relative",
        ],
    );
    has(
        &refused(&pipecd(
            "  pipeline: {stages: [{name: A, skipOn: {commitMessagePrefixes: ['']}}]}\n",
        )),
        &["an empty prefix"],
    );
}

#[test]
fn a_stage_must_have_a_name_and_options_that_are_a_mapping() {
    has(
        &refused(&pipecd("  pipeline:\n    stages:\n      - with: {}\n")),
        &[
            "app.yaml:7:9: error: `spec.pipeline.stages[0]` has no `name`",
            "name: WAIT",
        ],
    );
    has(
        &refused(&pipecd("  pipeline: {stages: [WAIT]}\n")),
        &["must be a stage, but is the text `WAIT`"],
    );
    has(
        &refused(&pipecd("  pipeline: {stages: [{name: A, with: [a]}]}\n")),
        &["`spec.pipeline.stages[0].with` must be a mapping, but is a list"],
    );
    has(
        &refused(&pipecd("  pipeline: {stages: {name: A}}\n")),
        &["`spec.pipeline.stages` must be a list"],
    );
    has(
        &warned(&pipecd("  pipeline: {stages: []}\n")),
        &["warning: this pipeline has no stages"],
    );
}

fn needs(stages: &[(&str, &str)]) -> String {
    let lines: String = stages
        .iter()
        .map(|(id, rest)| format!("      - {{id: {id}, name: WAIT{rest}}}\n"))
        .collect();
    ours(&format!("  pipeline:\n    stages:\n{lines}"))
}

#[test]
fn needs_are_read_as_the_ids_that_they_name() {
    let checked = load(&needs(&[
        ("a", ""),
        ("b", ", needs: []"),
        ("c", ", needs: [a, b]"),
    ]))
    .unwrap();
    assert!(checked.warnings.is_empty(), "{}", checked.warnings);
    let needs = |place: usize| {
        let needs = checked.value.stages[place].needs.as_ref()?;
        Some(
            needs
                .iter()
                .map(|need| need.value.as_str())
                .collect::<Vec<_>>(),
        )
    };
    assert_eq!(needs(0), None);
    assert_eq!(needs(1), Some(vec![]));
    assert_eq!(needs(2), Some(vec!["a", "b"]));
}

#[test]
fn duplicate_ids_dangling_and_circular_needs_are_errors_that_name_both_ends() {
    has(
        &refused(&needs(&[("a", ""), ("a", "")])),
        &[
            "app.yaml:8:14: error: the id `a` is here for the second time",
            "the first is that of stage `a` (WAIT) on line 7",
        ],
    );
    has(
        &refused(&needs(&[("''", "")])),
        &["app.yaml:7:14: error: the id of stage", "is empty"],
    );
    has(
        &refused(&needs(&[("a", ""), ("b", ", needs: [a, a]")])),
        &["stage `b` (WAIT) on line 8 needs `a` twice"],
    );
    has(
        &refused(&needs(&[("first", ""), ("b", ", needs: [frist]")])),
        &[
            "stage `b` (WAIT) on line 8 needs `frist`, but no stage has this id",
            "did you mean `first`?",
        ],
    );
    has(
        &refused(&needs(&[
            ("a", ", needs: [c]"),
            ("b", ""),
            ("c", ", needs: [b]"),
        ])),
        &[
            "these stages wait for each other: stage `a` (WAIT) on line 7, which comes after \
         stage `c` (WAIT) on line 9, which comes after stage `b` (WAIT) on line 8, which comes \
         after stage `a` (WAIT) on line 7",
        ],
    );
    has(
        &refused(&needs(&[("a", ", needs: [a]")])),
        &["wait for each other"],
    );
}

#[test]
fn a_pipeline_of_endless_stages_or_patterns_is_refused_by_its_limit() {
    let stages = "      - name: A\n".repeat(1_001);
    has(
        &refused(&pipecd(&format!("  pipeline:\n    stages:\n{stages}"))),
        &["at most 1000 stages"],
    );
    let paths = vec!["a"; 400].join(",");
    let stages = format!("      - {{name: A, skipOn: {{paths: [{paths}]}}}}\n").repeat(3);
    has(
        &refused(&pipecd(&format!("  pipeline:\n    stages:\n{stages}"))),
        &["at most 1000 path patterns"],
    );
}
