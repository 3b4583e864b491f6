//! Plugins as the runner sees them: each with what the operator configured for
//! it.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value};

use crate::definition::{Node, PluginConfig, Source};
use crate::model::{DeployTarget, Manifest, PinnedPlugin, Plugin, PluginKey};
use crate::plugins::Registered;

/// A plugin that serves, and its entry in the host's configuration. Cheap to
/// clone.
#[derive(Clone, Debug)]
pub(crate) struct Provider {
    /// The plugin.
    pub(crate) registered: Arc<Registered>,
    /// Its entry. A plugin without one has the default: no grants.
    pub(crate) settings: Arc<PluginConfig>,
}

impl Provider {
    /// Its key.
    pub(crate) fn key(&self) -> &PluginKey {
        self.registered.key()
    }

    /// What answers the calls.
    pub(crate) fn plugin(&self) -> &dyn Plugin {
        &**self.registered.plugin()
    }

    /// What it says of itself.
    pub(crate) fn manifest(&self) -> &Manifest {
        self.registered.manifest()
    }

    /// Its `config`, an object.
    pub(crate) fn config(&self) -> Value {
        object(&self.settings.config)
    }

    /// Its deploy targets, or those of them that an application names.
    pub(crate) fn targets(&self, names: Option<&[String]>) -> Vec<DeployTarget> {
        self.settings
            .deploy_targets
            .iter()
            .filter(|target| names.is_none_or(|names| names.contains(&target.name.value)))
            .map(|target| DeployTarget {
                name: target.name.value.clone(),
                labels: target.labels.clone(),
                config: object(&target.config),
            })
            .collect()
    }
}

/// A configuration that is not there is an empty one.
pub(crate) fn object(node: &Node) -> Value {
    if node.is_null() {
        Value::Object(Map::new())
    } else {
        node.to_json()
    }
}

/// Where the runner gets plugins from.
#[async_trait]
pub(crate) trait Providers: Send + Sync + fmt::Debug {
    /// Those that serve now, in the order of their keys.
    fn all(&self) -> Vec<Provider>;

    /// The one that a deployment pinned when it was planned, with the grants and
    /// the configuration that are in force now. The error says why not, for
    /// people.
    async fn pinned(&self, pinned: &PinnedPlugin) -> Result<Provider, String>;

    /// Where a grant for a plugin would be written, such as `stagewright.yaml:12`.
    fn origin(&self, key: &PluginKey) -> String;

    /// The host's configuration file, to point into; none if there is none.
    fn source(&self) -> Option<&Source>;
}
