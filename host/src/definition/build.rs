//! An application that is built in code rather than read from a file.
//!
//! It becomes the text of an application file, which is then checked like any
//! other: one way in, and what was validated is what is stored and runs.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::application::ApiVersion;
use crate::model::format_duration;

/// How many bytes of a name stand in the name of its file: file systems take 255 at
/// most.
const LONGEST_FILE_NAME: usize = 200;

/// An application, built in code.
///
/// ```
/// use stagewright::definition::{Built, BuiltStage};
/// use serde_json::json;
///
/// let shop = Built::new("shop")
///     .stage(BuiltStage::new("SITE_STAGE").id("stage"))
///     .stage(BuiltStage::new("WAIT").needs(["stage"]).with(json!({ "duration": "1m" })));
/// assert!(shop.text().contains("SITE_STAGE"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Built {
    name: String,
    spec: Map<String, Value>,
    stages: Vec<Value>,
    sections: Map<String, Value>,
    targets: Map<String, Value>,
}

/// A stage of an application that is built in code.
#[derive(Clone, Debug, PartialEq)]
pub struct BuiltStage(Map<String, Value>);

impl Built {
    /// An application without a pipeline: its plugins bring it live by a quick
    /// sync.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            spec: Map::new(),
            stages: Vec::new(),
            sections: Map::new(),
            targets: Map::new(),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name of the file that it would be read from: another one for each name,
    /// and always a single component of a path.
    pub(crate) fn file_name(&self) -> String {
        let mut written = String::new();
        for character in self.name.chars() {
            if matches!(character, '%' | '/') || character.is_control() {
                let mut bytes = [0; 4];
                for byte in character.encode_utf8(&mut bytes).bytes() {
                    written.push_str(&format!("%{byte:02X}"));
                }
            } else {
                written.push(character);
            }
        }
        if written.len() > LONGEST_FILE_NAME {
            written.truncate(written.floor_char_boundary(LONGEST_FILE_NAME));
            // No name is written with these two, so none is written as this one.
            written.push_str("%-");
            for byte in &Sha256::digest(&self.name)[..16] {
                written.push_str(&format!("{byte:02x}"));
            }
        }
        // With this, it is never empty, `.` or `..`.
        written + ".built"
    }

    /// Adds a stage to its pipeline.
    #[must_use]
    pub fn stage(mut self, stage: BuiltStage) -> Self {
        self.stages.push(Value::Object(stage.0));
        self
    }

    /// Sets its labels.
    #[must_use]
    pub fn labels(self, labels: BTreeMap<String, String>) -> Self {
        self.key("labels", json!(labels))
    }

    /// Sets how long a deployment may take.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        self.key("timeout", json!(format_duration(timeout)))
    }

    /// Says whether a failure is rolled back; it is, by default.
    #[must_use]
    pub fn auto_rollback(self, roll_back: bool) -> Self {
        self.key("planner", json!({ "autoRollback": roll_back }))
    }

    /// Sets what a plugin is told of the application: its `plugins.<plugin>`.
    #[must_use]
    pub fn section(mut self, plugin: impl Into<String>, section: Value) -> Self {
        self.sections.insert(plugin.into(), section);
        self
    }

    /// Names the deploy targets of a plugin that it is meant for; all of them,
    /// by default.
    #[must_use]
    pub fn deploy_targets<T: Into<String>>(
        mut self,
        plugin: impl Into<String>,
        targets: impl IntoIterator<Item = T>,
    ) -> Self {
        let targets: Vec<String> = targets.into_iter().map(Into::into).collect();
        self.targets.insert(plugin.into(), json!(targets));
        self
    }

    /// Sets any other key of `spec`, as an application file has it.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>, value: Value) -> Self {
        self.spec.insert(key.into(), value);
        self
    }

    /// The text of the application file that it stands for.
    pub fn text(&self) -> String {
        let mut spec = Map::new();
        spec.insert("name".to_owned(), json!(self.name));
        spec.extend(self.spec.clone());
        if !self.sections.is_empty() {
            spec.insert("plugins".to_owned(), json!(self.sections));
        }
        if !self.targets.is_empty() {
            spec.insert("deployTargets".to_owned(), json!(self.targets));
        }
        if !self.stages.is_empty() {
            spec.insert("pipeline".to_owned(), json!({ "stages": self.stages }));
        }
        let file = json!({
            "apiVersion": ApiVersion::Stagewright.to_string(),
            "kind": "Application",
            "spec": spec,
        });
        // JSON is YAML; a line a key, so that a diagnostic has a line to show.
        format!("{file:#}\n")
    }
}

impl BuiltStage {
    /// A stage with the name that its plugin gives it.
    pub fn new(name: impl Into<String>) -> Self {
        Self(Map::new()).key("name", json!(name.into()))
    }

    /// Gives it an id, for others to need.
    #[must_use]
    pub fn id(self, id: impl Into<String>) -> Self {
        self.key("id", json!(id.into()))
    }

    /// Names the stages that must have ended well before; none for none. Without
    /// it, that is the one added before.
    #[must_use]
    pub fn needs<T: Into<String>>(self, ids: impl IntoIterator<Item = T>) -> Self {
        let ids: Vec<String> = ids.into_iter().map(Into::into).collect();
        self.key("needs", json!(ids))
    }

    /// Sets its options.
    #[must_use]
    pub fn with(self, options: Value) -> Self {
        self.key("with", options)
    }

    /// Sets how long it may take.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        self.key("timeout", json!(format_duration(timeout)))
    }

    /// Sets any other key of a stage, as an application file has it.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>, value: Value) -> Self {
        self.0.insert(key.into(), value);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::{Application, Source};

    fn read(built: &Built) -> Result<Application, String> {
        let text = Source::from_text("shop", &built.text());
        let checked = Application::from_source(&text, "otherwise", &|_, _| true);
        checked
            .map(|checked| checked.value)
            .map_err(|e| e.to_string())
    }

    #[test]
    fn what_is_built_is_read_as_the_file_that_it_stands_for() {
        let built = Built::new("shop")
            .timeout(Duration::from_secs(5400))
            .auto_rollback(false)
            .section("site", json!({ "exclude": ["*.tmp"] }))
            .deploy_targets("site", ["staging"])
            .stage(BuiltStage::new("SITE_STAGE").id("a"))
            .stage(
                BuiltStage::new("WAIT")
                    .needs(["a"])
                    .timeout(Duration::from_millis(1500))
                    .with(json!({ "duration": "1m" })),
            );
        let read = read(&built).unwrap();
        assert_eq!(read.name.value, "shop");
        assert!(!read.planner.auto_rollback);
        assert_eq!(read.timeout.unwrap().value, Duration::from_secs(5400));
        assert_eq!(read.stages.len(), 2);
        assert_eq!(read.stages[1].name.value, "WAIT");
        let needs = read.stages[1].needs.as_ref().unwrap();
        assert_eq!(needs[0].value, "a");
    }

    #[test]
    fn each_name_has_a_file_of_its_own_that_is_one_component_of_a_path() {
        let long = "é".repeat(300);
        let other = format!("{long}.");
        let names = [
            "shop",
            "shop.v1",
            "shop.v2",
            "shop.built",
            "shop%2Fv1",
            "shop/v1",
            "/shop",
            "",
            ".",
            "..",
            "a\nb",
            "a\0b",
            "%",
            "%25",
            "größe",
            &long,
            &other,
        ];
        let mut files = std::collections::BTreeSet::new();
        for name in names {
            let file = Built::new(name).file_name();
            let mut parts = std::path::Path::new(&file).components();
            let part = parts.next().expect("a component");
            assert!(matches!(part, std::path::Component::Normal(_)), "{name:?}");
            assert_eq!(parts.next(), None, "{name:?}");
            assert!(
                file.len() < 255 && !file.contains(char::is_control),
                "{name:?}"
            );
            assert!(files.insert(file), "{name:?} shares its file");
        }
        assert_eq!(Built::new("shop").file_name(), "shop.built");
        assert_eq!(Built::new("a/b%").file_name(), "a%2Fb%25.built");
    }

    #[test]
    fn what_is_wrong_with_it_is_told_like_any_files_mistake() {
        let wrong = Built::new("shop").key("pipelines", json!({}));
        let problems = read(&wrong).unwrap_err();
        assert!(problems.contains("shop:6:5: error:"), "{problems}");
        assert!(problems.contains("did you mean `pipeline`?"), "{problems}");
    }
}
