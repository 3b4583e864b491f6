//! The options that a pipeline gives to a script, and what is refused of them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use stagewright_sdk::Scalar;

/// The options of `SCRIPT_RUN`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Options {
    /// Environment variables for the script. Numbers and booleans are taken as the
    /// text that the file spells.
    #[serde(default, deserialize_with = "variables")]
    pub(crate) env: BTreeMap<String, Scalar>,
    /// The script.
    #[serde(deserialize_with = "script")]
    pub(crate) run: String,
    /// The script that undoes it, run when the deployment is rolled back after this
    /// stage had started.
    #[serde(default, deserialize_with = "optional_script")]
    pub(crate) on_rollback: Option<String>,
}

fn script<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let script = String::deserialize(deserializer)?;
    if script.trim().is_empty() {
        return Err(D::Error::custom("the script is empty"));
    }
    if script.contains('\0') {
        return Err(D::Error::custom(
            "the script holds a NUL character, which no program can be given",
        ));
    }
    if script.len() >= LONGEST {
        return Err(too_long("the script", script.len()));
    }
    Ok(script)
}

/// What a program can be given of one argument or one variable, its end included:
/// Linux's limit, which is the lowest of the systems that the host runs on.
const LONGEST: usize = 128 * 1024;

/// What of it is left to the name of a variable and its `=`.
const LONGEST_NAME: usize = 1024;

fn too_long<E: serde::de::Error>(what: &str, bytes: usize) -> E {
    E::custom(format_args!(
        "{what} has {bytes} bytes, but a program can be given at most {} at a time; put it into \
         a file beside the application file",
        LONGEST - 1
    ))
}

/// An `onRollback:` without a value counts as left out.
fn optional_script<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    #[derive(Deserialize)]
    struct Script(#[serde(deserialize_with = "script")] String);

    Ok(Option::<Script>::deserialize(deserializer)?.map(|script| script.0))
}

/// Reads the variables one by one, so that a mistake is pointed at its own name.
fn variables<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, Scalar>, D::Error> {
    struct Variables;

    impl<'de> Visitor<'de> for Variables {
        type Value = BTreeMap<String, Scalar>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a mapping of names to texts")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut variables = BTreeMap::new();
            while let Some((Name(name), Value(value))) = map.next_entry()? {
                variables.insert(name, value);
            }
            Ok(variables)
        }
    }

    deserializer.deserialize_map(Variables)
}

/// The name of a variable, as a shell knows it.
struct Name(String);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let begins_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if name.len() >= LONGEST_NAME {
            return Err(D::Error::custom(format_args!(
                "a name of {} bytes is too long for an environment variable: at most {}",
                name.len(),
                LONGEST_NAME - 1
            )));
        }
        if begins_well && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            Ok(Self(name))
        } else {
            Err(D::Error::custom(format_args!(
                "`{name}` is no name of an environment variable: letters, digits and `_`, not beginning with a digit"
            )))
        }
    }
}

/// The value of a variable.
struct Value(Scalar);

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Scalar::deserialize(deserializer)?;
        if value.contains('\0') {
            return Err(D::Error::custom(
                "the value holds a NUL character, which no program can be given",
            ));
        }
        if value.len() >= LONGEST - LONGEST_NAME {
            return Err(too_long("the value", value.len()));
        }
        Ok(Self(value))
    }
}
