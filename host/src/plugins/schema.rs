//! A plugin's JSON schemas, and what they find wrong, in plain words and at the
//! place in the text that is wrong.

use std::collections::BTreeMap;

use jsonschema::Validator;
use jsonschema::error::{TypeKind, ValidationError, ValidationErrorKind};
use serde_json::Value;

use crate::definition::nearest;
use crate::model::Manifest;

/// Something that a schema finds wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// A JSON pointer to what is wrong; empty for the whole.
    pub path: String,
    /// Whether it is the key there that is wrong, whatever its value.
    pub is_key: bool,
    /// What is wrong, and what would be right.
    pub message: String,
}

/// The schemas of one plugin. What has no schema takes anything.
#[derive(Debug, Default)]
pub struct Schemas {
    config: Option<Schema>,
    deploy_target: Option<Schema>,
    application: Option<Schema>,
    stages: BTreeMap<String, Schema>,
}

#[derive(Debug)]
struct Schema {
    text: Value,
    validator: Validator,
}

impl Schemas {
    /// Compiles a manifest's schemas, or says which are none.
    pub(super) fn compile(manifest: &Manifest) -> Result<Self, Vec<String>> {
        let mut problems = Vec::new();
        let mut compile = |what: &str, schema: Option<&Value>| {
            let schema = schema?;
            Schema::compile(schema)
                .map_err(|why| problems.push(format!("{what} {why}")))
                .ok()
        };
        let mut schemas = Self {
            config: compile("the schema of its config", manifest.config_schema.as_ref()),
            deploy_target: compile(
                "the schema of its deploy targets",
                manifest.deploy_target_schema.as_ref(),
            ),
            application: compile(
                "the schema of its application section",
                manifest.application_schema.as_ref(),
            ),
            stages: BTreeMap::new(),
        };
        for stage in &manifest.stages {
            let what = format!("the schema of the options of stage `{}`", stage.name);
            if let Some(schema) = compile(&what, stage.options_schema.as_ref()) {
                schemas.stages.insert(stage.name.clone(), schema);
            }
        }
        if problems.is_empty() {
            Ok(schemas)
        } else {
            Err(problems)
        }
    }

    /// What is wrong with the plugin's `config`.
    pub fn check_config(&self, config: &Value) -> Vec<Violation> {
        check(self.config.as_ref(), config)
    }

    /// What is wrong with a deploy target's `config`.
    pub fn check_deploy_target(&self, config: &Value) -> Vec<Violation> {
        check(self.deploy_target.as_ref(), config)
    }

    /// What is wrong with an application's section for the plugin.
    pub fn check_application(&self, section: &Value) -> Vec<Violation> {
        check(self.application.as_ref(), section)
    }

    /// What is wrong with the options of a stage.
    pub fn check_options(&self, stage: &str, options: &Value) -> Vec<Violation> {
        check(self.stages.get(stage), options)
    }

    /// Whether the schema of the application's section names a key.
    pub fn application_has(&self, key: &str) -> bool {
        self.application
            .as_ref()
            .is_some_and(|schema| schema.text["properties"].get(key).is_some())
    }
}

impl Schema {
    fn compile(text: &Value) -> Result<Self, String> {
        if !text.is_object() {
            return Err("is not a JSON object".to_owned());
        }
        // References to other places are refused: a schema is read, never fetched.
        match jsonschema::validator_for(text) {
            Ok(validator) => Ok(Self {
                text: text.clone(),
                validator,
            }),
            Err(error) => Err(format!("is no JSON schema: {error}")),
        }
    }

    /// What the schema says of a value that it refused, to be added to a message:
    /// its author's words tell more than a type or a pattern.
    fn hint(&self, error: &ValidationError<'_>) -> String {
        let keyword = error.schema_path().as_str();
        let value = keyword.rsplit_once('/').map_or("", |(value, _)| value);
        let said = self
            .text
            .pointer(value)
            .and_then(|value| value["description"].as_str());
        let first = said
            .and_then(|text| text.lines().next())
            .unwrap_or_default();
        if first.is_empty() {
            String::new()
        } else {
            format!(": {}", first.trim_end_matches('.'))
        }
    }

    /// The keys that an object may have where the schema refused others.
    fn known_keys(&self, error: &ValidationError<'_>) -> Vec<&str> {
        let keyword = error.schema_path().as_str();
        let object = keyword.rsplit_once('/').map_or("", |(object, _)| object);
        self.text
            .pointer(object)
            .and_then(|object| object["properties"].as_object())
            .map(|properties| properties.keys().map(String::as_str).collect())
            .unwrap_or_default()
    }
}

fn check(schema: Option<&Schema>, value: &Value) -> Vec<Violation> {
    let Some(schema) = schema else {
        return Vec::new();
    };
    let mut found: Vec<Violation> = Vec::new();
    for error in schema.validator.iter_errors(value) {
        for violation in explain(schema, value, &error) {
            if !found.contains(&violation) {
                found.push(violation);
            }
        }
    }
    found
}

fn explain(schema: &Schema, whole: &Value, error: &ValidationError<'_>) -> Vec<Violation> {
    let path = error.instance_path().as_str();
    let at = |path: &str, message: String| Violation {
        path: path.to_owned(),
        is_key: false,
        message,
    };
    let unknown = |key: &str, known: &[&str]| Violation {
        path: format!("{path}/{}", escape(key)),
        is_key: true,
        message: unknown_key(key, known),
    };
    match error.kind() {
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            let known = schema.known_keys(error);
            unexpected.iter().map(|key| unknown(key, &known)).collect()
        }
        // An object that may have no key at all: the error names the object only.
        ValidationErrorKind::FalseSchema
            if error
                .schema_path()
                .as_str()
                .ends_with("/additionalProperties") =>
        {
            let known = schema.known_keys(error);
            let object = whole.pointer(path).and_then(Value::as_object);
            let found: Vec<Violation> = object
                .into_iter()
                .flat_map(|object| object.keys())
                .filter(|key| !known.contains(&key.as_str()))
                .map(|key| unknown(key, &known))
                .collect();
            if found.is_empty() {
                vec![at(path, error.to_string())]
            } else {
                found
            }
        }
        ValidationErrorKind::Required { property } => {
            let key = property.as_str().unwrap_or_default();
            vec![at(path, format!("`{key}` is missing"))]
        }
        ValidationErrorKind::Type { kind } => vec![at(
            path,
            format!(
                "{} is {}, and should be {}{}",
                subject(path),
                kind_of(error.instance()),
                kinds(kind),
                schema.hint(error)
            ),
        )],
        ValidationErrorKind::Enum { options } => {
            let options: Vec<String> = options
                .as_array()
                .into_iter()
                .flatten()
                .map(|option| format!("`{}`", plain(option)))
                .collect();
            vec![at(
                path,
                format!(
                    "{} is `{}`, and should be one of {}",
                    subject(path),
                    plain(error.instance()),
                    options.join(", ")
                ),
            )]
        }
        ValidationErrorKind::Pattern { pattern } => vec![at(
            path,
            match schema.hint(error).as_str() {
                "" => format!(
                    "{} is `{}`, which does not match `{pattern}`",
                    subject(path),
                    plain(error.instance())
                ),
                hint => format!(
                    "{} is `{}`, which is wrong{hint}",
                    subject(path),
                    plain(error.instance())
                ),
            },
        )],
        _ => vec![at(path, error.to_string())],
    }
}

/// What a message is about: the keys that lead to it, or the whole.
fn subject(path: &str) -> String {
    match path.strip_prefix('/') {
        Some(keys) => format!(
            "`{}`",
            keys.replace('/', ".").replace("~1", "/").replace("~0", "~")
        ),
        None => "it".to_owned(),
    }
}

fn unknown_key(key: &str, known: &[&str]) -> String {
    match (nearest(key, known.iter().copied()), known) {
        (Some(meant), _) => format!("unknown key `{key}`: did you mean `{meant}`?"),
        (None, []) => format!("unknown key `{key}`: no keys are known here"),
        (None, known) => format!("unknown key `{key}`: known are `{}`", known.join("`, `")),
    }
}

fn kinds(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(kind) => article(kind.as_str()),
        TypeKind::Multiple(kinds) => kinds
            .iter()
            .map(|kind| article(kind.as_str()))
            .collect::<Vec<_>>()
            .join(" or "),
    }
}

fn kind_of(value: &Value) -> String {
    article(match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    })
}

/// A type's name in the words of a YAML file.
fn article(kind: &str) -> String {
    match kind {
        "null" => "empty".to_owned(),
        "array" => "a list".to_owned(),
        "object" => "a mapping".to_owned(),
        "boolean" => "true or false".to_owned(),
        "integer" => "a whole number".to_owned(),
        other => format!("a {other}"),
    }
}

/// A value as it would stand in a file.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A key as a part of a JSON pointer.
fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::StageDefinition;
    use serde_json::json;

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
}
