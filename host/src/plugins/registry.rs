//! All plugins of a host, and who owns which stage.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::available_parallelism;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::bind::{Bound, PluginEntry, bind};
use super::directory::{DirectoryError, read, scan};
use super::registered::Registered;
use crate::model::{Digest, Plugin, PluginKey};
use crate::sandbox::{LoadError, Sandbox};

/// A plugins directory and what the host's configuration says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectorySettings {
    /// Where it is.
    pub path: PathBuf,
    /// The plugins of the configuration.
    pub entries: Vec<PluginEntry>,
    /// The configuration's name, such as `stagewright.yaml`: where an operator
    /// would write a grant for a plugin that has no entry.
    pub origin: String,
    /// The largest file, in bytes.
    pub largest_file: u64,
}

/// A file that does not serve, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// The file.
    pub file: String,
    /// The plugin that it would be.
    pub key: PluginKey,
    /// Why; goes on after the file's name.
    pub reason: String,
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.file, self.reason)
    }
}

/// The plugins of a host.
#[derive(Debug, Default)]
pub struct Registry {
    plugins: BTreeMap<PluginKey, Arc<Registered>>,
    stages: BTreeMap<String, PluginKey>,
    claims: BTreeMap<(String, String), PluginKey>,
    rejected: Vec<Rejected>,
}

impl Registry {
    /// A host without plugins.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a plugin of the embedder's own code, or says why it can't be.
    pub fn add_native(&mut self, key: PluginKey, plugin: Arc<dyn Plugin>) -> Result<(), LoadError> {
        let registered = Registered::native(key, plugin).map_err(LoadError::Manifest)?;
        self.add(Arc::new(registered))
    }

    /// Adds the plugins of a directory: as many at a time as there are cores. Those
    /// that can't serve are rejected, with the reason.
    pub async fn add_directory(
        &mut self,
        sandbox: &Sandbox,
        settings: &DirectorySettings,
    ) -> Result<(), DirectoryError> {
        let path = settings.path.clone();
        let files = tokio::task::spawn_blocking(move || scan(&path))
            .await
            .map_err(|error| DirectoryError::Unreadable {
                path: settings.path.clone(),
                error: error.to_string(),
            })??;
        let (bound, rejected) = bind(&files, &settings.entries, &settings.origin);
        self.rejected.extend(rejected);
        let cores = available_parallelism().map_or(1, usize::from);
        let turns = Arc::new(Semaphore::new(cores));
        let mut loading = JoinSet::new();
        for (place, bound) in bound.into_iter().enumerate() {
            let (sandbox, turns) = (sandbox.clone(), turns.clone());
            let (path, largest) = (settings.path.clone(), settings.largest_file);
            loading.spawn(async move {
                let _turn = turns
                    .acquire()
                    .await
                    .expect("the semaphore is never closed");
                let loaded = load(&sandbox, path, &bound, largest).await;
                (place, bound, loaded)
            });
        }
        let mut results = loading.join_all().await;
        // Whoever comes first by file name keeps what two claim, however long
        // each took to load.
        results.sort_by_key(|(place, ..)| *place);
        for (_, bound, loaded) in results {
            let added = match loaded {
                Ok(registered) => self.add(Arc::new(registered)),
                Err(error) => Err(error),
            };
            if let Err(error) = added {
                tracing::debug!("{} {error}", bound.file);
                self.rejected.push(Rejected {
                    file: bound.file,
                    key: bound.config.key,
                    reason: error.to_string(),
                });
            }
        }
        self.rejected.sort_by(|a, b| a.file.cmp(&b.file));
        Ok(())
    }

    /// Takes a plugin in, unless it defines or claims what another does.
    fn add(&mut self, new: Arc<Registered>) -> Result<(), LoadError> {
        let taken = |what: String, holder: &PluginKey| {
            let place = self.plugins.get(holder).map_or("", |holder| holder.place());
            LoadError::Taken(format!(
                "{what} already defined by plugin `{holder}` ({place}): remove one of the two"
            ))
        };
        if let Some(holder) = self.plugins.get(new.key()) {
            return Err(taken("has a key".to_owned(), holder.key()));
        }
        for stage in &new.manifest().stages {
            if let Some(holder) = self.stages.get(&stage.name) {
                return Err(taken(
                    format!("defines the stage `{}`, which is", stage.name),
                    holder,
                ));
            }
        }
        for claim in &new.manifest().claims {
            let pair = (claim.kind.clone(), claim.type_name.clone());
            if let Some(holder) = self.claims.get(&pair) {
                return Err(taken(
                    format!(
                        "claims documents of kind `{}` and type `{}`, which are",
                        pair.0, pair.1
                    ),
                    holder,
                ));
            }
        }
        for stage in &new.manifest().stages {
            self.stages.insert(stage.name.clone(), new.key().clone());
        }
        for claim in &new.manifest().claims {
            let pair = (claim.kind.clone(), claim.type_name.clone());
            self.claims.insert(pair, new.key().clone());
        }
        self.plugins.insert(new.key().clone(), new);
        Ok(())
    }

    /// The plugins that serve, in order of their keys.
    pub fn plugins(&self) -> impl ExactSizeIterator<Item = &Arc<Registered>> {
        self.plugins.values()
    }

    /// The files that don't, in order of their names.
    pub fn rejected(&self) -> &[Rejected] {
        &self.rejected
    }

    /// A plugin by its key.
    pub fn plugin(&self, key: &PluginKey) -> Option<&Arc<Registered>> {
        self.plugins.get(key)
    }

    /// A plugin by its key, if its component is this one still.
    pub fn pinned(&self, key: &PluginKey, digest: Option<&Digest>) -> Option<&Arc<Registered>> {
        self.plugin(key)
            .filter(|registered| registered.digest() == digest)
    }

    /// Why a plugin of this key was rejected, if it was.
    pub fn rejection(&self, key: &PluginKey) -> Option<&Rejected> {
        self.rejected.iter().find(|rejected| rejected.key == *key)
    }
}

async fn load(
    sandbox: &Sandbox,
    path: PathBuf,
    bound: &Bound,
    largest: u64,
) -> Result<Registered, LoadError> {
    let file = bound.file.clone();
    let content = tokio::task::spawn_blocking(move || read(&path, &file, largest))
        .await
        .map_err(|error| LoadError::Unreadable(format!("can't be read: {error}")))?
        .map_err(LoadError::Unreadable)?;
    Registered::from_content(sandbox, Some(bound.file.clone()), content, &bound.config).await
}
