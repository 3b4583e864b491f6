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
    /// What the schema's author says of what belongs there; may be empty.
    pub help: String,
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

    /// What the schema's author says of a value that it refused: that tells more
    /// than a type or a pattern. Empty if nothing is said.
    fn help(&self, error: &ValidationError<'_>) -> String {
        let Some((node, said)) = self.at(holder(error)) else {
            return String::new();
        };
        let said = match error.kind() {
            ValidationErrorKind::Required { property } => {
                let key = property.as_str().unwrap_or_default();
                self.described(&node["properties"][key])
            }
            _ => said,
        };
        let paragraph = said.unwrap_or_default().lines().map(str::trim);
        let lines: Vec<&str> = paragraph.take_while(|line| !line.is_empty()).collect();
        lines.join(" ").trim_end_matches('.').to_owned()
    }

    /// The part of the schema that a path leads to, through references, and what
    /// is said of the values there: by the property, before its type.
    fn at(&self, path: &str) -> Option<(&Value, Option<&str>)> {
        let mut node = &self.text;
        // What is said of the whole helps nobody with a part of it.
        let mut said = None;
        let mut keys = path.split('/').skip(1).map(unescape);
        while let Some(key) = keys.next() {
            if key == "$ref" {
                node = self.referred(node)?;
                continue;
            }
            node = child(node, &key)?;
            let own = match key.as_str() {
                "properties" | "patternProperties" => {
                    node = child(node, &keys.next()?)?;
                    said = None;
                    self.described(node)
                }
                "items" | "additionalProperties" => self.described(node),
                _ => None,
            };
            said = own.or(said);
        }
        Some((node, said))
    }

    /// What is said of the values that a part of the schema is for.
    fn described<'a>(&'a self, node: &'a Value) -> Option<&'a str> {
        let own = node["description"].as_str();
        own.or_else(|| self.referred(node)?["description"].as_str())
    }

    fn referred(&self, node: &Value) -> Option<&Value> {
        self.text.pointer(node["$ref"].as_str()?.strip_prefix('#')?)
    }

    /// The keys that an object may have where the schema refused others.
    fn known_keys(&self, error: &ValidationError<'_>) -> Vec<&str> {
        self.at(holder(error))
            .and_then(|(object, _)| object["properties"].as_object())
            .map(|properties| properties.keys().map(String::as_str).collect())
            .unwrap_or_default()
    }
}

/// The path in the schema, over its references, to what holds the keyword that
/// refused a value.
fn holder<'a>(error: &'a ValidationError<'_>) -> &'a str {
    let keyword = error.evaluation_path().as_str();
    keyword.rsplit_once('/').map_or("", |(holder, _)| holder)
}

/// What is in an object or a list, by its key or place.
fn child<'a>(node: &'a Value, key: &str) -> Option<&'a Value> {
    match node {
        Value::Array(items) => items.get(key.parse::<usize>().ok()?),
        node => node.get(key),
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
        help: schema.help(error),
    };
    let unknown = |key: &str, known: &[&str]| Violation {
        path: format!("{path}/{}", escape(key)),
        is_key: true,
        message: unknown_key(key, known),
        help: String::new(),
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
                "{} is {}, and should be {}",
                subject(path),
                kind_of(error.instance()),
                kinds(kind),
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
        ValidationErrorKind::Pattern { pattern } => {
            let mut found = at(
                path,
                format!("{} is `{}`", subject(path), plain(error.instance())),
            );
            // A pattern is for those whom nobody tells more.
            let why = match found.help.as_str() {
                "" => format!(", which does not match `{pattern}`"),
                _ => ", which is wrong".to_owned(),
            };
            found.message.push_str(&why);
            vec![found]
        }
        _ => vec![at(path, error.to_string())],
    }
}

/// What a message is about: the keys that lead to it, or the whole.
fn subject(path: &str) -> String {
    match path.strip_prefix('/') {
        Some(keys) => format!("`{}`", unescape(&keys.replace('/', "."))),
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

/// The keys of a JSON pointer as they are.
fn unescape(key: &str) -> String {
    key.replace("~1", "/").replace("~0", "~")
}

/// A key as a part of a JSON pointer.
fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
