//! What a plugin says of itself.

use schemars::JsonSchema;

pub use crate::bindings::manifest::{Capability, Loss};
use crate::bindings::manifest::{Claim, PluginManifest, Request, StageDefinition};
use crate::plugin::Plugin;

/// What a plugin says of itself: built in [`Plugin::describe`].
///
/// The schemas of the plugin's config, its deploy targets' config and the
/// application's section are those of the plugin's associated types; they need no
/// mention.
#[derive(Debug, Clone)]
#[must_use]
pub struct Manifest(PluginManifest);

impl Manifest {
    /// A plugin of this name and version (semver; `env!("CARGO_PKG_VERSION")`) and
    /// a sentence on what it does.
    pub fn new(name: &str, version: &str, description: &str) -> Self {
        Self(PluginManifest {
            name: name.to_owned(),
            version: version.to_owned(),
            description: description.to_owned(),
            stages: Vec::new(),
            claims: Vec::new(),
            config_schema: None,
            deploy_target_schema: None,
            application_schema: None,
            needs_deploy_target: false,
            on_loss: Loss::RunAgain,
            requests: Vec::new(),
        })
    }

    /// Defines a stage whose options are of the type `O`
    /// ([`NoConfig`](crate::NoConfig) if it has none).
    pub fn stage<O: JsonSchema>(self, name: &str, description: &str) -> Self {
        self.define::<O>(name, description, false)
    }

    /// Defines a rollback stage: planned by the plugin, never written in a
    /// pipeline. It gets the options of the stage at its index, so `O` is mostly
    /// that stage's type.
    pub fn rollback_stage<O: JsonSchema>(self, name: &str, description: &str) -> Self {
        self.define::<O>(name, description, true)
    }

    /// Says that the plugin can't do without a deploy target.
    pub fn needs_deploy_target(mut self) -> Self {
        self.0.needs_deploy_target = true;
        self
    }

    /// Claims the documents of this `kind:` and `type:`.
    pub fn claims(mut self, kind: &str, type_name: &str) -> Self {
        self.0.claims.push(Claim {
            kind: kind.to_owned(),
            type_name: type_name.to_owned(),
        });
        self
    }

    /// Asks for a capability, with a sentence on why that an operator can judge.
    pub fn asks(mut self, capability: Capability, reason: &str) -> Self {
        self.0.requests.push(Request {
            capability,
            reason: reason.to_owned(),
        });
        self
    }

    /// What becomes of a stage whose host died while it ran; by default it is run
    /// again.
    pub fn on_loss(mut self, loss: Loss) -> Self {
        self.0.on_loss = loss;
        self
    }

    fn define<O: JsonSchema>(mut self, name: &str, description: &str, rollback: bool) -> Self {
        self.0.stages.push(StageDefinition {
            name: name.to_owned(),
            description: description.to_owned(),
            rollback,
            options_schema: Some(schema::<O>()),
        });
        self
    }

    /// The whole, with the schemas of the plugin's own types.
    pub(crate) fn finish<P: Plugin>(self) -> PluginManifest {
        PluginManifest {
            config_schema: Some(schema::<P::Config>()),
            deploy_target_schema: Some(schema::<P::Target>()),
            application_schema: Some(schema::<P::Application>()),
            ..self.0
        }
    }
}

fn schema<T: JsonSchema>() -> String {
    schemars::schema_for!(T).as_value().to_string()
}
