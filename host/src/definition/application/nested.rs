//! Keys of the application that stand one level too deep, in a plugin's section.
//!
//! PipeCD hands them to the plugin, which ignores them: the pipeline is not run,
//! and nobody is told. It is among PipeCD's own examples.

use super::super::decode::Sink;
use super::{DeclaresKey, NestedKey, PluginSection};

/// The keys of `spec` that do something there. `name`, `labels` and
/// `description` are missing: plugins have keys of these names in their own
/// right.
const OF_THE_APPLICATION: [&str; 13] = [
    "attachment",
    "commitMatcher",
    "deployTargets",
    "driftDetection",
    "encryption",
    "eventWatcher",
    "notification",
    "pipeline",
    "planner",
    "plugins",
    "postSync",
    "timeout",
    "trigger",
];

/// Refuses such keys, but for those that the plugin declares; gives back these.
pub(super) fn check(
    sink: &Sink<'_>,
    sections: &[PluginSection],
    declares: DeclaresKey<'_>,
) -> Vec<NestedKey> {
    let mut declared = Vec::new();
    for section in sections {
        let plugin = section.plugin.value.as_str();
        let Some(mapping) = section.config.as_mapping() else {
            continue;
        };
        for entry in &mapping.entries {
            let key = entry.key.as_str();
            if !OF_THE_APPLICATION.contains(&key) {
                continue;
            }
            if declares(plugin, key) {
                declared.push(NestedKey {
                    plugin: plugin.to_owned(),
                    key: key.to_owned(),
                    span: entry.key_span,
                });
                continue;
            }
            sink.error(
                entry.key_span,
                format!(
                    "`{key}` is nested under `spec.plugins.{plugin}`, where it does nothing: \
                     it is a key of `spec`"
                ),
                format!("move it out, to `spec.{key}`"),
            );
        }
    }
    declared
}
