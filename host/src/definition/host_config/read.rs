//! The table of the host configuration's keys.

use std::path::Path;

use super::super::decode::{Field, Fields, FirstSeen, Located, Sink};
use super::super::size::ByteSize;
use super::super::yaml::Node;
use super::{DeployTarget, HostConfig, HostLimits, Keep, PluginConfig, PluginLimits, grants};

/// The most memory that a WebAssembly module of 32 bits can have.
const MOST_MEMORY: ByteSize = ByteSize::mib(4096);
/// A module's memory comes in pages of this size.
const LEAST_MEMORY: ByteSize = ByteSize(64 * 1024);

/// Reads the document. Problems go to the sink; what is given back is only of
/// use if none was an error.
pub(super) fn read(sink: &Sink<'_>, root: &Node, directory: &Path) -> Option<HostConfig> {
    let document = Field {
        sink,
        path: String::new(),
        node: root,
        key_span: root.span,
    };
    if root.as_mapping().is_none() {
        document.error(
            format!(
                "a host configuration is a mapping, but this is {}",
                root.describe()
            ),
            "write its keys, such as `pluginsDirectory: plugins`",
        );
        return None;
    }
    let mut fields = document.fields()?;
    let mut config = HostConfig::in_directory(directory);
    if let Some(path) = path(&mut fields, "pluginsDirectory", directory) {
        config.plugins_directory = path;
    }
    if let Some(path) = path(&mut fields, "stateFile", directory) {
        config.state_file = path;
    }
    config.limits = limits(fields.field("limits"));
    config.keep = keep(fields.field("keep"));
    if let Some(field) = fields.field("plugins") {
        config.plugins_span = field.key_span;
        for (entry, plugin) in field.entries() {
            let key = Located {
                value: entry.key.clone(),
                span: entry.key_span,
            };
            config.plugins.extend(read_plugin(&plugin, key, directory));
        }
    }
    fields.finish_with(|key| match key {
        "apiVersion" | "kind" | "spec" | "metadata" => Some(
            "a host configuration has its keys at the top: `pluginsDirectory`, `stateFile`, \
             `limits`, `keep`, `plugins`; is this an application file?"
                .into(),
        ),
        _ => None,
    });
    Some(config)
}

fn path(
    fields: &mut Fields<'_>,
    key: &'static str,
    directory: &Path,
) -> Option<std::path::PathBuf> {
    let written = fields.field(key)?;
    let text = fields.take::<String>(key)?.value;
    if text.is_empty() {
        written.error(
            format!("`{}` is empty", written.path),
            "give a path or remove the key",
        );
        return None;
    }
    Some(directory.join(text))
}

fn limits(field: Option<Field<'_>>) -> HostLimits {
    let mut limits = HostLimits::default();
    let Some(mut fields) = field.and_then(|field| field.fields()) else {
        return limits;
    };
    set(&mut limits.max_source_size, fields.take("maxSourceSize"));
    set(
        &mut limits.max_plugin_file_size,
        fields.take("maxPluginFileSize"),
    );
    set(&mut limits.plan_timeout, fields.take("planTimeout"));
    set(&mut limits.describe_timeout, fields.take("describeTimeout"));
    set(&mut limits.attempts, fields.take("attempts"));
    set(&mut limits.grace_period, fields.take("gracePeriod"));
    set(
        &mut limits.concurrent_stages,
        fields.take("concurrentStages"),
    );
    fields.finish();
    limits
}

fn keep(field: Option<Field<'_>>) -> Keep {
    let Some(mut fields) = field.and_then(|field| field.fields()) else {
        return Keep::default();
    };
    let keep = Keep {
        deployments: fields.take("deployments").map(|count| count.value),
        logs: fields.take("logs").map(|count| count.value),
    };
    fields.finish();
    keep
}

fn set<T>(limit: &mut T, written: Option<Located<T>>) {
    if let Some(written) = written {
        *limit = written.value;
    }
}

fn read_plugin(field: &Field<'_>, key: Located<String>, directory: &Path) -> Option<PluginConfig> {
    if !is_plugin_key(&key.value) {
        field.sink.error(
            key.span,
            format!("`{}` can't be a plugin's key", key.value),
            PLUGIN_KEY_RULE,
        );
    }
    let mut fields = field.fields()?;
    let mut plugin = PluginConfig::new(key.value.clone());
    plugin.key = key;
    if let Some(file) = fields.take::<String>("file") {
        if !is_file_name(&file.value) {
            field.sink.error(
                file.span,
                format!("`{}` is no name of a plugin's file", file.value),
                "give the name of a `.wasm` file in the plugins directory, without a path",
            );
        }
        plugin.file = file.value;
    }
    plugin.config = fields.take("config").unwrap_or_default().value;
    if let Some(targets) = fields.field("deployTargets") {
        plugin.deploy_targets = deploy_targets(&targets);
    }
    if let Some(allow) = fields.field("allow") {
        plugin.allow = grants::read(&allow, directory);
    }
    plugin.limits = plugin_limits(fields.field("limits"));
    fields.finish_with(|key| match key {
        "commands" | "env" | "filesystem" | "stages" => Some(format!(
            "what a plugin may touch stands under `allow`: `allow.{key}`"
        )),
        _ => None,
    });
    Some(plugin)
}

fn plugin_limits(field: Option<Field<'_>>) -> PluginLimits {
    let mut limits = PluginLimits::default();
    let Some(field) = field else { return limits };
    let Some(mut fields) = field.fields() else {
        return limits;
    };
    if let Some(memory) = fields.take::<ByteSize>("memory") {
        if !(LEAST_MEMORY..=MOST_MEMORY).contains(&memory.value) {
            field.sink.error(
                memory.span,
                format!(
                    "`{}.memory` is {}, which no plugin can have",
                    field.path, memory.value
                ),
                format!("give from {LEAST_MEMORY} to {MOST_MEMORY}"),
            );
        }
        limits.memory = memory.value;
    }
    set(&mut limits.table_elements, fields.take("tableElements"));
    set(&mut limits.handles, fields.take("handles"));
    set(&mut limits.output, fields.take("output"));
    set(&mut limits.processes, fields.take("processes"));
    set(&mut limits.captured, fields.take("captured"));
    fields.finish();
    limits
}

fn deploy_targets(field: &Field<'_>) -> Vec<DeployTarget> {
    let mut targets = Vec::new();
    let mut seen = FirstSeen::default();
    for item in field.items() {
        let Some(mut fields) = item.fields() else {
            continue;
        };
        let name = fields.require::<String>("name", "name the deploy target: `- name: production`");
        let labels = fields.take("labels").unwrap_or_default().value;
        let config = fields.take("config").unwrap_or_default().value;
        fields.finish();
        let Some(name) = name else { continue };
        if name.value.is_empty() {
            item.sink.error(
                name.span,
                format!("`{}.name` is empty", item.path),
                "name the deploy target: `- name: production`",
            );
        }
        if let Some(first) = seen.insert(&name.value, name.span) {
            item.sink.error(
                name.span,
                format!(
                    "the deploy target `{}` is here for the second time; the first is {first}",
                    name.value
                ),
                "give every deploy target of a plugin a name of its own",
            );
            continue;
        }
        targets.push(DeployTarget {
            name,
            labels,
            config,
        });
    }
    targets
}

/// What a plugin's key may be, in words.
pub(crate) const PLUGIN_KEY_RULE: &str =
    "use letters, digits, `-`, `_` and `.`, beginning with a letter or digit; at most 64";

/// Whether a text may be a plugin's key.
pub(crate) fn is_plugin_key(key: &str) -> bool {
    key.len() <= 64
        && key.starts_with(|c: char| c.is_ascii_alphanumeric())
        && key
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

fn is_file_name(name: &str) -> bool {
    name.len() > ".wasm".len() && name.ends_with(".wasm") && !name.contains(['/', '\\', '\0'])
}
