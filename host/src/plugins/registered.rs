//! A plugin that serves: what it is, what it asks for and what it was granted.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::directory::{Content, digest};
use super::manifest::check;
use super::schema::Schemas;
use crate::model::{Capability, Digest, Manifest, PinnedPlugin, Plugin, PluginKey};
use crate::sandbox::{Grants, LoadError, PluginConfig, Sandbox};

/// A plugin of a host.
#[derive(Debug)]
pub struct Registered {
    key: PluginKey,
    file: Option<String>,
    content: Option<Content>,
    plugin: Arc<dyn Plugin>,
    schemas: Schemas,
    grants: Grants,
}

impl Registered {
    /// A plugin of the embedder's own code, or why it can't be.
    pub(super) fn native(key: PluginKey, plugin: Arc<dyn Plugin>) -> Result<Self, String> {
        let schemas = check(&*plugin).map_err(|problems| problems.join("; "))?;
        Ok(Self {
            key,
            file: None,
            content: None,
            plugin,
            schemas,
            grants: Grants::default(),
        })
    }

    /// Loads a plugin from its bytes. A deployment that goes on with a component
    /// that the directory no longer has loads it so, under the grants and limits
    /// of now.
    pub async fn load(
        sandbox: &Sandbox,
        file: Option<String>,
        bytes: Arc<[u8]>,
        config: &PluginConfig,
    ) -> Result<Self, LoadError> {
        let digest = digest(&bytes);
        Self::from_content(sandbox, file, Content { bytes, digest }, config).await
    }

    pub(super) async fn from_content(
        sandbox: &Sandbox,
        file: Option<String>,
        content: Content,
        config: &PluginConfig,
    ) -> Result<Self, LoadError> {
        let plugin = sandbox.load(content.bytes.clone(), config).await?;
        let schemas = check(&plugin).map_err(|problems| {
            LoadError::Manifest(format!(
                "has a manifest that can't be: {}",
                problems.join("; ")
            ))
        })?;
        Ok(Self {
            key: config.key.clone(),
            file,
            content: Some(content),
            plugin: Arc::new(plugin),
            schemas,
            grants: config.grants.clone(),
        })
    }

    /// Its key.
    pub fn key(&self) -> &PluginKey {
        &self.key
    }

    /// Its file in the plugins directory; none for one that is not from there.
    pub fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }

    /// Where it comes from, for people: its file, or that it is built in.
    pub fn place(&self) -> &str {
        match (&self.file, &self.content) {
            (Some(file), _) => file,
            (None, Some(_)) => "a stored component",
            (None, None) => "the host's own code",
        }
    }

    /// The digest of its component; none for a native one.
    pub fn digest(&self) -> Option<&Digest> {
        self.content.as_ref().map(|content| &content.digest)
    }

    /// The bytes of its component, to be kept while a deployment needs them; none
    /// for a native one.
    pub fn bytes(&self) -> Option<&Arc<[u8]>> {
        self.content.as_ref().map(|content| &content.bytes)
    }

    /// What a deployment pins of it.
    pub fn pinned(&self) -> PinnedPlugin {
        PinnedPlugin {
            key: self.key.clone(),
            digest: self.digest().cloned(),
        }
    }

    /// The plugin itself.
    pub fn plugin(&self) -> &Arc<dyn Plugin> {
        &self.plugin
    }

    /// What it says of itself.
    pub fn manifest(&self) -> &Manifest {
        self.plugin.manifest()
    }

    /// Its schemas.
    pub fn schemas(&self) -> &Schemas {
        &self.schemas
    }

    /// What the operator granted.
    pub fn grants(&self) -> &Grants {
        &self.grants
    }

    /// The capabilities that it asks for.
    pub fn asked(&self) -> BTreeSet<Capability> {
        let requests = &self.manifest().requests;
        requests.iter().map(|request| request.capability).collect()
    }

    /// Those that it asks for and was not granted. None for a native plugin, which
    /// no sandbox holds.
    pub fn missing(&self) -> BTreeSet<Capability> {
        if self.content.is_none() {
            return BTreeSet::new();
        }
        &self.asked() - &self.grants.capabilities()
    }

    /// Those that it was granted and does not ask for: grants without effect.
    pub fn unused(&self) -> BTreeSet<Capability> {
        &self.grants.capabilities() - &self.asked()
    }
}
