//! Which file is which plugin: a plugin is its key in the host's configuration,
//! and the file is what the key is bound to.

use std::collections::{BTreeMap, BTreeSet};

use super::registry::Rejected;
use crate::definition::{PLUGIN_KEY_RULE, is_plugin_key};
use crate::model::PluginKey;
use crate::sandbox::{Grants, PluginConfig, PluginLimits};

/// One plugin of the host's configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginEntry {
    /// Its key.
    pub key: PluginKey,
    /// Its file in the plugins directory; none for `<key>.wasm`.
    pub file: Option<String>,
    /// Where it is configured, such as `stagewright.yaml:12`.
    pub origin: String,
    /// What it may touch.
    pub grants: Grants,
    /// How much it may take.
    pub limits: PluginLimits,
}

impl PluginEntry {
    /// The name of its file.
    pub fn file_name(&self) -> String {
        match &self.file {
            Some(file) => file.clone(),
            None => format!("{}.wasm", self.key),
        }
    }

    /// What the sandbox needs to know of it.
    pub fn config(&self) -> PluginConfig {
        PluginConfig {
            key: self.key.clone(),
            origin: self.origin.clone(),
            grants: self.grants.clone(),
            limits: self.limits.clone(),
        }
    }
}

/// A file and the plugin that it is, in order of file names, then of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bound {
    pub(super) file: String,
    pub(super) config: PluginConfig,
}

/// Binds files to keys. A file without an entry runs under its own name, with no
/// grants; an entry without its file is rejected.
pub(super) fn bind(
    files: &[String],
    entries: &[PluginEntry],
    origin: &str,
) -> (Vec<Bound>, Vec<Rejected>) {
    let mut bound = Vec::new();
    let mut rejected = Vec::new();
    let mut taken = BTreeSet::new();
    let entry_of: BTreeMap<&str, &PluginEntry> = entries
        .iter()
        .map(|entry| (entry.key.as_str(), entry))
        .collect();
    for entry in entries {
        let file = entry.file_name();
        if files.contains(&file) {
            taken.insert(file.clone());
            bound.push(Bound {
                file,
                config: entry.config(),
            });
        } else {
            rejected.push(Rejected {
                key: entry.key.clone(),
                reason: format!(
                    "is not in the plugins directory, where {} binds plugin `{}` to it; there is {}",
                    entry.origin,
                    entry.key,
                    files.join(", ")
                ),
                file,
            });
        }
    }
    for file in files.iter().filter(|file| !taken.contains(*file)) {
        let stem = file.strip_suffix(".wasm").unwrap_or(file);
        let key = PluginKey::new(stem);
        if let Some(entry) = entry_of.get(stem) {
            rejected.push(Rejected {
                file: file.clone(),
                reason: format!(
                    "would be plugin `{key}` by its name, which {} binds to {}: give it an entry \
                     with a key of its own and `file: {file}`",
                    entry.origin,
                    entry.file_name()
                ),
                key,
            });
        } else if !is_plugin_key(stem) {
            rejected.push(Rejected {
                file: file.clone(),
                reason: format!(
                    "has a name that is no plugin's key: {PLUGIN_KEY_RULE}; or give it an entry \
                     with a key and `file`"
                ),
                key,
            });
        } else {
            bound.push(Bound {
                file: file.clone(),
                config: PluginConfig::bare(key, origin),
            });
        }
    }
    bound.sort_by(|a, b| (&a.file, &a.config.key).cmp(&(&b.file, &b.config.key)));
    (bound, rejected)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(key: &str, file: Option<&str>) -> PluginEntry {
        PluginEntry {
            key: key.into(),
            file: file.map(str::to_owned),
            origin: "stagewright.yaml:3".to_owned(),
            grants: Grants::default(),
            limits: PluginLimits::default(),
        }
    }

    fn names(bound: &[Bound]) -> Vec<(&str, &str)> {
        bound
            .iter()
            .map(|bound| (bound.file.as_str(), bound.config.key.as_str()))
            .collect()
    }

    #[test]
    fn an_entry_is_bound_to_its_file_or_to_the_one_of_its_name_and_others_run_by_their_own() {
        let files = ["a.wasm", "site-v2.wasm", "wait.wasm"].map(str::to_owned);
        let entries = [entry("site", Some("site-v2.wasm")), entry("wait", None)];
        let (bound, rejected) = bind(&files, &entries, "stagewright.yaml");
        assert_eq!(
            names(&bound),
            [
                ("a.wasm", "a"),
                ("site-v2.wasm", "site"),
                ("wait.wasm", "wait")
            ]
        );
        assert_eq!(rejected, []);
        assert_eq!(
            bound[0].config,
            PluginConfig::bare("a".into(), "stagewright.yaml")
        );
    }

    #[test]
    fn an_entry_without_its_file_is_named_with_the_files_there_are() {
        let files = ["wait.wasm".to_owned()];
        let (bound, rejected) = bind(&files, &[entry("site", None)], "stagewright.yaml");
        assert_eq!(names(&bound), [("wait.wasm", "wait")]);
        assert_eq!(
            rejected[0].to_string(),
            "site.wasm is not in the plugins directory, where stagewright.yaml:3 binds plugin \
             `site` to it; there is wait.wasm"
        );
    }

    #[test]
    fn a_file_does_not_take_the_key_that_is_bound_to_another() {
        let files = ["new.wasm", "site.wasm"].map(str::to_owned);
        let (bound, rejected) = bind(&files, &[entry("site", Some("new.wasm"))], "s.yaml");
        assert_eq!(names(&bound), [("new.wasm", "site")]);
        assert_eq!(rejected[0].file, "site.wasm");
        assert!(
            rejected[0].reason.contains("binds to new.wasm"),
            "{}",
            rejected[0].reason
        );
    }

    #[test]
    fn a_file_whose_name_is_no_key_is_refused() {
        // Nor is one that the configuration would refuse.
        let long = "x".repeat(65);
        for name in ["odd name", "_site", "-site", "", &long] {
            let files = [format!("{name}.wasm")];
            let (bound, rejected) = bind(&files, &[], "stagewright.yaml");
            assert!(bound.is_empty() && rejected.len() == 1, "{name}");
            assert!(!is_plugin_key(name), "{name}");
        }
    }
}
