//! What schemas find wrong, and in which words.

use serde_json::{Value, json};

use crate::model::{Manifest, StageDefinition};

use super::schema::Schemas;

fn schemas(options: Value) -> Result<Schemas, Vec<String>> {
    Schemas::compile(&Manifest {
        stages: vec![StageDefinition {
            name: "WAIT".to_owned(),
            description: String::new(),
            rollback: false,
            options_schema: Some(options),
        }],
        ..Manifest::default()
    })
}

fn wait() -> Schemas {
    schemas(json!({
        "type": "object",
        "required": ["duration"],
        "additionalProperties": false,
        "properties": {
            "duration": { "type": "string", "pattern": "^[0-9]+[smh]$" },
            "mode": { "enum": ["loud", "quiet"] },
            "retries": { "type": ["integer", "null"] },
            "on/off": { "type": "object", "additionalProperties": false },
        },
    }))
    .expect("schemas")
}

fn found(options: Value) -> Vec<(String, String)> {
    wait()
        .check_options("WAIT", &options)
        .into_iter()
        .map(|violation| (violation.path, violation.message))
        .collect()
}

fn one(path: &str, message: &str) -> Vec<(String, String)> {
    vec![(path.to_owned(), message.to_owned())]
}

#[test]
fn what_is_right_has_no_violation_and_what_has_no_schema_takes_anything() {
    assert_eq!(found(json!({ "duration": "10s", "retries": null })), []);
    assert_eq!(wait().check_config(&json!([1])), []);
    assert_eq!(wait().check_options("OTHER", &json!(1)), []);
}

#[test]
fn an_unknown_key_is_at_its_own_place_with_the_nearest_one() {
    assert_eq!(
        found(json!({ "duration": "1s", "mod": "loud" })),
        one("/mod", "unknown key `mod`: did you mean `mode`?")
    );
    assert_eq!(
        found(json!({ "duration": "1s", "on/off": { "a~b": 1 } })),
        one("/on~1off/a~0b", "unknown key `a~b`: no keys are known here")
    );
}

#[test]
fn a_missing_key_a_wrong_type_and_a_wrong_value_are_in_plain_words() {
    assert_eq!(found(json!({})), one("", "`duration` is missing"));
    assert_eq!(
        found(json!({ "duration": 10 })),
        one(
            "/duration",
            "`duration` is a number, and should be a string"
        )
    );
    assert_eq!(
        found(json!({ "duration": "ten" })),
        one(
            "/duration",
            "`duration` is `ten`, which does not match `^[0-9]+[smh]$`"
        )
    );
    assert_eq!(
        found(json!({ "duration": "1s", "mode": "silent" })),
        one(
            "/mode",
            "`mode` is `silent`, and should be one of `loud`, `quiet`"
        )
    );
    assert_eq!(
        found(json!({ "duration": "1s", "retries": [] })),
        one(
            "/retries",
            "`retries` is a list, and should be empty or a whole number"
        )
    );
}

#[test]
fn what_the_author_says_of_a_value_is_the_help_the_property_before_its_type() {
    let schemas = schemas(json!({
        "type": "object",
        "description": "The options.",
        "required": ["duration"],
        "additionalProperties": { "type": "string" },
        "properties": {
            "duration": {
                "description": "How long to wait,\nsuch as `30s`.\n\nMore of it.",
                "$ref": "#/$defs/Duration",
            },
            "pause": { "$ref": "#/$defs/Duration" },
            "either": {
                "description": "One or none.",
                "anyOf": [{ "$ref": "#/$defs/Duration" }, { "type": "null" }],
            },
            "list": {
                "description": "Several.",
                "items": { "type": "string" },
            },
            "silent": { "type": "string" },
            "small": { "description": "At most 3.", "maximum": 3 },
            "description": { "type": "string" },
        },
        "$defs": {
            "Duration": {
                "type": "string",
                "description": "A duration.",
                "pattern": "^[0-9]+[smh]$",
            },
        },
    }))
    .expect("schemas");
    let help = |options: Value| {
        let found = schemas.check_options("WAIT", &options);
        assert_eq!(found.len(), 1, "{options}: {found:?}");
        found[0].help.clone()
    };
    let with = |key: &str, value: Value| {
        let mut options = json!({ "duration": "1s" });
        options[key] = value;
        help(options)
    };
    let duration = "How long to wait, such as `30s`";
    assert_eq!(with("duration", json!(10)), duration);
    assert_eq!(with("duration", json!("ten")), duration);
    assert_eq!(help(json!({})), duration);
    assert_eq!(with("pause", json!(10)), "A duration");
    assert_eq!(with("either", json!(10)), "One or none");
    assert_eq!(with("list", json!([10])), "Several");
    assert_eq!(with("small", json!(4)), "At most 3");
    assert_eq!(with("silent", json!(10)), "");
    assert_eq!(with("description", json!(10)), "");
    assert_eq!(with("another", json!(10)), "");
}

#[test]
fn a_schema_that_is_none_or_that_would_be_fetched_is_a_problem() {
    for (schema, words) in [
        (json!([]), "is not a JSON object"),
        (json!({ "type": "thing" }), "is no JSON schema"),
        (
            json!({ "$ref": "https://example.com/s.json" }),
            "is no JSON schema",
        ),
        (json!({ "pattern": "(" }), "is no JSON schema"),
    ] {
        let problems = schemas(schema.clone()).expect_err("problems");
        assert!(
            problems[0].contains("stage `WAIT`") && problems[0].contains(words),
            "{schema}: {problems:?}"
        );
    }
}
