//! The host's configuration, `stagewright.yaml`: which plugins there are and
//! what each may touch.
//!
//! A plugin is its key here. The key owns its grants, config, deploy targets and
//! state; nothing that isn't written here is granted. Every grant keeps its
//! place, so that a refusal can name the line that would grant it.

mod grants;
mod read;
#[cfg(test)]
pub(super) mod tests;

pub(crate) use read::{PLUGIN_KEY_RULE, is_plugin_key};

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::decode::{Checked, Located, Sink};
use super::diagnostic::Diagnostics;
use super::size::ByteSize;
use super::source::Source;
use super::yaml::{Limits, Node, Span, read_documents, single};

/// How much memory a plugin has when the configuration doesn't say.
pub const DEFAULT_MEMORY: ByteSize = ByteSize::mib(128);

/// Directories of the sandbox that belong to the host.
pub const RESERVED_GUEST_PATHS: [&str; 3] = ["/target", "/running", "/scratch"];

/// The host's configuration.
#[derive(Clone, Debug)]
pub struct HostConfig {
    /// Where the plugins' `.wasm` files are.
    pub plugins_directory: PathBuf,
    /// Where the state is kept.
    pub state_file: PathBuf,
    /// What bounds the host's work.
    pub limits: HostLimits,
    /// How much is kept of finished deployments.
    pub keep: Keep,
    /// The plugins, in the order of the file.
    pub plugins: Vec<PluginConfig>,
    /// Where `plugins` is written: the place to add a plugin's entry.
    pub plugins_span: Option<Span>,
    /// The file it was read from.
    pub source: Option<Source>,
}

/// How much is kept of each application's finished deployments; all, by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keep {
    /// The number of deployments, the newest first.
    pub deployments: Option<NonZeroU32>,
    /// The number of deployments whose logs are kept, the newest first.
    pub logs: Option<NonZeroU32>,
}

/// What bounds the host's work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostLimits {
    /// How large the files of an application may be, all together.
    pub max_source_size: ByteSize,
    /// How large a plugin's file may be.
    pub max_plugin_file_size: ByteSize,
    /// How long a plugin may take for one call of a planning.
    pub plan_timeout: Duration,
    /// How long a plugin may take to describe itself.
    pub describe_timeout: Duration,
    /// How often a stage is started whose host died while it ran.
    pub attempts: NonZeroU32,
    /// How long a cancelled stage may go on before it is stopped.
    pub grace_period: Duration,
    /// How many stages run at once.
    pub concurrent_stages: NonZeroU32,
}

impl Default for HostLimits {
    fn default() -> Self {
        const THREE: NonZeroU32 = NonZeroU32::MIN.saturating_add(2);
        const SIXTY_FOUR: NonZeroU32 = NonZeroU32::MIN.saturating_add(63);
        Self {
            max_source_size: ByteSize::mib(1024),
            max_plugin_file_size: ByteSize::mib(64),
            plan_timeout: Duration::from_secs(60),
            describe_timeout: Duration::from_secs(10),
            attempts: THREE,
            grace_period: Duration::from_secs(30),
            concurrent_stages: SIXTY_FOUR,
        }
    }
}

/// A plugin.
#[derive(Clone, Debug)]
pub struct PluginConfig {
    /// What it is called everywhere.
    pub key: Located<String>,
    /// Its file's name in the plugins directory.
    pub file: String,
    /// What it is told about itself; `null` if nothing.
    pub config: Node,
    /// Where it can deploy to.
    pub deploy_targets: Vec<DeployTarget>,
    /// What it may touch.
    pub allow: Allow,
    /// What bounds it.
    pub limits: PluginLimits,
}

/// A place that a plugin deploys to.
#[derive(Clone, Debug)]
pub struct DeployTarget {
    /// Its name, unique for the plugin.
    pub name: Located<String>,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// What the plugin is told about it; `null` if nothing.
    pub config: Node,
}

/// What a plugin may touch. Nothing, by default.
#[derive(Clone, Debug, Default)]
pub struct Allow {
    /// Programs it may start: a name that is looked up, or an absolute path.
    pub commands: Vec<Located<String>>,
    /// Environment variables of the host it may read.
    pub env: Vec<Located<String>>,
    /// Directories of the host it may see.
    pub filesystem: Vec<DirectoryGrant>,
    /// Stages of other plugins that it may plan.
    pub stages: Vec<Located<String>>,
    /// Where `allow` is written.
    pub span: Option<Span>,
}

/// A directory of the host that a plugin may see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryGrant {
    /// The directory.
    pub host: PathBuf,
    /// Where the plugin sees it.
    pub guest: String,
    /// What it may do there.
    pub access: Access,
    /// Where the grant is written.
    pub span: Option<Span>,
}

/// What a plugin may do in a directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// Read.
    #[default]
    ReadOnly,
    /// Read, write and delete.
    ReadWrite,
}

/// What bounds each call of a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginLimits {
    /// How much memory it may use, over all its memories.
    pub memory: ByteSize,
    /// How many elements its tables may have, altogether.
    pub table_elements: NonZeroU32,
    /// How many handles it may hold at a time.
    pub handles: NonZeroU32,
    /// How much one call to the host, or its answer, may carry.
    pub output: ByteSize,
    /// How many programs it may run at a time.
    pub processes: NonZeroU32,
    /// How much is kept of each output of a program that it captures.
    pub captured: ByteSize,
}

impl Default for PluginLimits {
    fn default() -> Self {
        const fn count(count: u32) -> NonZeroU32 {
            NonZeroU32::MIN.saturating_add(count - 1)
        }
        Self {
            memory: DEFAULT_MEMORY,
            table_elements: count(100_000),
            handles: count(10_000),
            output: ByteSize::mib(16),
            processes: count(64),
            captured: ByteSize::mib(1),
        }
    }
}

impl PluginConfig {
    /// A plugin made in code: `<key>.wasm`, without any grant.
    pub fn new(key: impl Into<String>) -> Self {
        let key = key.into();
        Self {
            file: format!("{key}.wasm"),
            key: Located::from(key),
            config: Node::default(),
            deploy_targets: Vec::new(),
            allow: Allow::default(),
            limits: PluginLimits::default(),
        }
    }

    /// The place in the file to change for another grant: its `allow`, or the
    /// plugin's key where it has none.
    pub fn grant_span(&self) -> Option<Span> {
        self.allow.span.or(self.key.span)
    }
}

impl HostConfig {
    /// The configuration of a host that works in `directory` and has no file.
    pub fn in_directory(directory: &Path) -> Self {
        Self {
            plugins_directory: directory.join("plugins"),
            state_file: directory.join(".stagewright").join("state.db"),
            limits: HostLimits::default(),
            keep: Keep::default(),
            plugins: Vec::new(),
            plugins_span: None,
            source: None,
        }
    }

    /// Reads a file. Paths in it are relative to its directory.
    ///
    /// # Errors
    /// All problems of the file.
    pub fn load(path: &Path) -> Result<Checked<Self>, Diagnostics> {
        let source = Source::load(path)?;
        Self::from_source(&source, path.parent().unwrap_or(Path::new("")))
    }

    /// Reads a file's text; paths in it are relative to `directory`.
    ///
    /// # Errors
    /// All problems of the file.
    pub fn from_source(source: &Source, directory: &Path) -> Result<Checked<Self>, Diagnostics> {
        let reading = read_documents(source, &Limits::default());
        let help = "keep one of them, without `---` between";
        let document = single(source, &reading, "a host configuration", help)?;
        let sink = Sink::new(source, reading.diagnostics.clone());
        let config = read::read(&sink, &document.root, directory);
        sink.finish(config.map(|read| Self {
            source: Some(source.clone()),
            ..read
        }))
    }

    /// The entry of a plugin.
    pub fn plugin(&self, key: &str) -> Option<&PluginConfig> {
        self.plugins.iter().find(|plugin| plugin.key.value == key)
    }
}
