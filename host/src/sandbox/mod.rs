//! Plugins as WebAssembly components: nothing that a plugin does reaches the host
//! but through what was granted.
//!
//! ```text
//! bytes ─identify, contract─▶ component ─describe─▶ WasmPlugin
//! call  ─access, limits, wasi─▶ fresh instance ─imports─▶ Services
//! ```
//!
//! A call starts from a fresh instance and leaves nothing behind but what it gave
//! to [`Services`](crate::model::Services) and wrote to its scratch directory.

mod access;
mod apart;
mod bindings;
mod component;
mod contract;
mod convert;
mod describe;
mod engine;
mod failure;
mod identify;
mod imports;
mod instance;
mod limits;
mod lines;
mod plugin;
mod process;
mod stdio;
mod wasi;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use sha2::{Digest, Sha256};
use wasmtime::component::Linker;

use self::component::Loaded;
use self::engine::SharedRuntime;
use self::instance::CallState;
use crate::model::PluginKey;

pub use self::access::{GrantedDirectory, Grants};
pub use self::limits::PluginLimits;
pub(crate) use self::limits::bytes;
pub use self::plugin::WasmPlugin;

/// The numbers of a sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxSettings {
    /// Calls that run at a time; more wait.
    pub instances: u32,
    /// How long a cancelled call may go on before it is dropped.
    pub grace: Duration,
    /// How long a plugin may take to describe itself.
    pub describe_timeout: Duration,
}

impl Default for SandboxSettings {
    fn default() -> Self {
        Self {
            instances: 1000,
            grace: Duration::from_secs(10),
            describe_timeout: Duration::from_secs(5),
        }
    }
}

/// What belongs to one plugin by the host's configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginConfig {
    /// Its key.
    pub key: PluginKey,
    /// Where the operator configures it, such as `stagewright.yaml:12`: refusals
    /// name it.
    pub origin: String,
    /// What it may touch, if its manifest asks for it.
    pub grants: Grants,
    /// How much it may take.
    pub limits: PluginLimits,
}

impl PluginConfig {
    /// A plugin that nothing was configured for: no grants, limits by default.
    pub fn bare(key: PluginKey, origin: impl Into<String>) -> Self {
        Self {
            key,
            origin: origin.into(),
            grants: Grants::default(),
            limits: PluginLimits::default(),
        }
    }
}

/// Where plugins run. Cheap to clone; all clones are one.
#[derive(Clone)]
pub struct Sandbox(Arc<Inner>);

struct Inner {
    runtime: SharedRuntime,
    linker: Linker<CallState>,
    settings: SandboxSettings,
    /// By the SHA-256 of their bytes.
    in_use: Mutex<HashMap<[u8; 32], Weak<Loaded>>>,
}

impl fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Sandbox").field(&self.0.settings).finish()
    }
}

impl Sandbox {
    /// A sandbox with these numbers.
    pub fn new(settings: SandboxSettings) -> Result<Self, SandboxError> {
        let runtime = Arc::new(engine::Runtime::new(settings.instances)?);
        let mut linker = Linker::new(&runtime.engine);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker)
            .and_then(|()| imports::add_to_linker(&mut linker))
            .map_err(|error| SandboxError::Engine(format!("{error:#}")))?;
        Ok(Self(Arc::new(Inner {
            runtime,
            linker,
            settings,
            in_use: Mutex::default(),
        })))
    }

    /// Its numbers.
    pub fn settings(&self) -> &SandboxSettings {
        &self.0.settings
    }

    /// Checks and compiles a component, and asks it what it is: without any
    /// capability, and under a short limit.
    pub async fn load(
        &self,
        bytes: Arc<[u8]>,
        config: &PluginConfig,
    ) -> Result<WasmPlugin, LoadError> {
        let problems = config.grants.problems();
        if !problems.is_empty() {
            return Err(LoadError::Grants(format!(
                "its grants at {} are wrong: {}",
                config.origin,
                problems.join("; ")
            )));
        }
        let loaded = self.compiled(bytes).await?;
        WasmPlugin::describe(self.clone(), loaded, config).await
    }
}

impl Sandbox {
    /// The compiled component of these bytes: the one that is in use already, if
    /// there is one, as when two plugins or two deployments share a file.
    async fn compiled(&self, bytes: Arc<[u8]>) -> Result<Arc<Loaded>, LoadError> {
        let digest: [u8; 32] = Sha256::digest(&bytes).into();
        if let Some(loaded) = self.in_use().get(&digest).and_then(Weak::upgrade) {
            return Ok(loaded);
        }
        let loaded = component::load(&self.0.runtime, &self.0.linker, bytes).await?;
        let loaded = Arc::new(loaded);
        let mut in_use = self.in_use();
        in_use.retain(|_, loaded| loaded.strong_count() > 0);
        in_use.insert(digest, Arc::downgrade(&loaded));
        Ok(loaded)
    }

    fn in_use(&self) -> MutexGuard<'_, HashMap<[u8; 32], Weak<Loaded>>> {
        self.0.in_use.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why there is no sandbox.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SandboxError {
    /// The machine gives no engine.
    #[error("could not start the WebAssembly engine: {0}")]
    Engine(String),
}

/// Why a file is no plugin of this host. The text goes on after the file's name:
/// `wait.wasm is truncated: …`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// It is something else.
    #[error("{0}")]
    NotAComponent(String),
    /// It is a component, but not of a plugin.
    #[error("{0}")]
    OtherWorld(String),
    /// It speaks a version of the contract that this host does not.
    #[error("{0}")]
    OtherContract(String),
    /// It imports what this host does not have.
    #[error("{0}")]
    UnknownImport(String),
    /// It can't be compiled.
    #[error("{0}")]
    Invalid(String),
    /// It could not say what it is.
    #[error("{0}")]
    Describe(String),
    /// What it says of itself can't be.
    #[error("{0}")]
    Manifest(String),
    /// What the operator granted can't be meant.
    #[error("{0}")]
    Grants(String),
    /// The file could not be read.
    #[error("{0}")]
    Unreadable(String),
    /// It defines what another plugin defines already.
    #[error("{0}")]
    Taken(String),
}
