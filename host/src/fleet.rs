//! The plugins of a host: those of its directory and those of the embedder's own
//! code, each with its entry in the host's configuration.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use serde::Serialize;
use tokio::sync::Mutex;

use crate::definition::{self, Access, HostConfig, Located, PluginConfig, Source, Span};
use crate::error::Error;
use crate::model::{Capability, Digest, Manifest, PinnedPlugin, Plugin, PluginKey};
use crate::plugins::{DirectoryError, DirectorySettings, PluginEntry, Registered, Registry};
use crate::runner::providers::{Provider, Providers};
use crate::sandbox::{self, GrantedDirectory, Grants, Sandbox, SandboxSettings};
use crate::store::Store;

/// The plugins of a host.
#[derive(Debug)]
pub struct Fleet {
    registry: Registry,
    sandbox: Sandbox,
    config: HostConfig,
    settings: BTreeMap<PluginKey, Arc<PluginConfig>>,
    store: Arc<dyn Store>,
    /// Components that deployments pinned and the directory no longer has, once
    /// they were loaded from the store.
    pinned: Mutex<BTreeMap<(PluginKey, Digest), Arc<Registered>>>,
}

/// A plugin that serves, for people.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Serving<'a> {
    /// Its key.
    pub key: &'a PluginKey,
    /// Its file; none for a native one.
    pub file: Option<&'a str>,
    /// The digest of its file; none for a native one.
    pub digest: Option<&'a Digest>,
    /// What it says of itself.
    pub manifest: &'a Manifest,
    /// The capabilities that it asks for and has.
    pub granted: Vec<Capability>,
    /// Those that it asks for and lacks.
    pub missing: Vec<Capability>,
    /// Those that it was granted and does not ask for.
    pub unused: Vec<Capability>,
}

/// A file of the plugins directory that does not serve.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KeptOut<'a> {
    /// The file.
    pub file: &'a str,
    /// The plugin that it would be.
    pub key: &'a PluginKey,
    /// Why it was kept out; goes on after the file's name.
    pub reason: &'a str,
}

impl Fleet {
    /// Loads the plugins of a host. Those that can't serve are kept out.
    pub(crate) async fn load(
        config: &HostConfig,
        native: &[(PluginKey, Arc<dyn Plugin>)],
        store: Arc<dyn Store>,
    ) -> Result<Self, Error> {
        let sandbox = Sandbox::new(SandboxSettings {
            grace: config.limits.grace_period,
            describe_timeout: config.limits.describe_timeout,
            ..SandboxSettings::default()
        })
        .map_err(|error| Error::Host(error.to_string()))?;
        let mut registry = Registry::new();
        for (key, plugin) in native {
            let added = registry.add_native(key.clone(), plugin.clone());
            added.map_err(|error| Error::Plugins(format!("the native plugin `{key}` {error}")))?;
        }
        let directory = DirectorySettings {
            path: config.plugins_directory.clone(),
            entries: config
                .plugins
                .iter()
                .map(|plugin| entry(config, plugin))
                .collect(),
            origin: origin(config, None),
            largest_file: config.limits.max_plugin_file_size.bytes(),
        };
        match registry.add_directory(&sandbox, &directory).await {
            Ok(()) => {}
            // An embedder's own plugins need no directory.
            Err(DirectoryError::Missing(_) | DirectoryError::Empty(_)) if !native.is_empty() => {}
            Err(error) => return Err(Error::Plugins(error.to_string())),
        }
        let settings = config
            .plugins
            .iter()
            .map(|plugin| (PluginKey::new(&plugin.key.value), Arc::new(plugin.clone())))
            .collect();
        Ok(Self {
            registry,
            sandbox,
            config: config.clone(),
            settings,
            store,
            pinned: Mutex::default(),
        })
    }

    /// The plugins that serve, in the order of their keys.
    pub fn serving(&self) -> Vec<Serving<'_>> {
        let plugins = self.registry.plugins();
        plugins
            .map(|plugin| Serving {
                key: plugin.key(),
                file: plugin.file(),
                digest: plugin.digest(),
                manifest: plugin.manifest(),
                granted: plugin
                    .asked()
                    .difference(&plugin.missing())
                    .copied()
                    .collect(),
                missing: plugin.missing().into_iter().collect(),
                unused: plugin.unused().into_iter().collect(),
            })
            .collect()
    }

    /// The files that do not serve, and why.
    pub fn kept_out(&self) -> Vec<KeptOut<'_>> {
        let rejected = self.registry.rejected().iter();
        rejected
            .map(|rejected| KeptOut {
                file: &rejected.file,
                key: &rejected.key,
                reason: &rejected.reason,
            })
            .collect()
    }

    fn provide(&self, registered: &Arc<Registered>) -> Provider {
        let key = registered.key();
        let settings = self.settings.get(key).cloned();
        Provider {
            registered: registered.clone(),
            settings: settings.unwrap_or_else(|| Arc::new(PluginConfig::new(key.as_str()))),
        }
    }

    /// Loads a component that the directory no longer has.
    async fn restore(&self, key: &PluginKey, digest: &Digest) -> Result<Arc<Registered>, String> {
        let mut pinned = self.pinned.lock().await;
        let place = (key.clone(), digest.clone());
        if let Some(registered) = pinned.get(&place) {
            return Ok(registered.clone());
        }
        let stored = self.store.component(digest).await;
        let bytes = stored.map_err(|error| error.to_string())?.ok_or_else(|| {
            format!(
                "the component {} of plugin `{key}` is neither in the plugins directory nor in \
                 the store",
                digest.short()
            )
        })?;
        let settings = self.settings.get(key);
        let config = match settings {
            Some(plugin) => entry(&self.config, plugin).config(),
            None => sandbox::PluginConfig::bare(key.clone(), origin(&self.config, None)),
        };
        let loaded = Registered::load(&self.sandbox, None, bytes.into(), &config).await;
        let registered = loaded.map_err(|error| {
            format!("the component {} of plugin `{key}` {error}", digest.short())
        })?;
        let registered = Arc::new(registered);
        pinned.insert(place, registered.clone());
        Ok(registered)
    }
}

#[async_trait]
impl Providers for Fleet {
    fn all(&self) -> Vec<Provider> {
        let plugins = self.registry.plugins();
        plugins.map(|registered| self.provide(registered)).collect()
    }

    async fn pinned(&self, pinned: &PinnedPlugin) -> Result<Provider, String> {
        let PinnedPlugin { key, digest } = pinned;
        if let Some(registered) = self.registry.pinned(key, digest.as_ref()) {
            return Ok(self.provide(registered));
        }
        match digest {
            Some(digest) => Ok(self.provide(&self.restore(key, digest).await?)),
            None => Err(format!("this host has no native plugin `{key}`")),
        }
    }

    fn origin(&self, key: &PluginKey) -> String {
        let settings = self.settings.get(key);
        origin(
            &self.config,
            settings.and_then(|settings| settings.grant_span()),
        )
    }

    fn source(&self) -> Option<&Source> {
        self.config.source.as_ref()
    }
}

/// A plugin's entry as the sandbox takes it.
fn entry(config: &HostConfig, plugin: &PluginConfig) -> PluginEntry {
    let texts = |list: &[Located<String>]| list.iter().map(|text| text.value.clone()).collect();
    let allow = &plugin.allow;
    let filesystem = allow
        .filesystem
        .iter()
        .map(|grant| GrantedDirectory {
            host: std::path::absolute(&grant.host).unwrap_or_else(|_| grant.host.clone()),
            guest: grant.guest.clone(),
            writable: grant.access == Access::ReadWrite,
        })
        .collect();
    PluginEntry {
        key: PluginKey::new(&plugin.key.value),
        file: Some(plugin.file.clone()),
        origin: origin(config, plugin.grant_span()),
        grants: Grants {
            commands: texts(&allow.commands),
            env: texts(&allow.env),
            filesystem,
            stages: texts(&allow.stages),
        },
        limits: limits(&plugin.limits),
    }
}

/// A plugin's limits as the sandbox takes them.
fn limits(limits: &definition::PluginLimits) -> sandbox::PluginLimits {
    let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    sandbox::PluginLimits {
        memory: limits.memory.bytes(),
        table_elements: limits.table_elements.get().into(),
        handles: size(limits.handles.get().into()),
        output: size(limits.output.bytes()),
        processes: size(limits.processes.get().into()),
        captured: size(limits.captured.bytes()),
        ..sandbox::PluginLimits::default()
    }
}

/// Where something is, or would be, configured.
fn origin(config: &HostConfig, at: Option<Span>) -> String {
    let file = config
        .source
        .as_ref()
        .map_or("stagewright.yaml", Source::name);
    match at {
        Some(span) => format!("{file}:{}", span.line),
        None => file.to_owned(),
    }
}
