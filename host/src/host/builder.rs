//! Making a host: what it is given, and how its state is opened.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::{OnceCell, watch};

use crate::definition::HostConfig;
use crate::error::Error;
use crate::model::{Plugin, PluginKey};
use crate::runner::Stop;
use crate::source::{LocalSources, Sources};
use crate::store::{SqliteStore, Store, files_directory, resolved};

use super::{Host, Inner};

/// Makes a [`Host`].
#[derive(Debug, Default)]
pub struct HostBuilder {
    config: Option<HostConfig>,
    plugins_directory: Option<PathBuf>,
    state_file: Option<PathBuf>,
    opening: Opening,
    store: Option<Arc<dyn Store>>,
    sources: Option<Arc<dyn Sources>>,
    native: Vec<(PluginKey, Arc<dyn Plugin>)>,
}

/// How the state file is opened.
#[derive(Clone, Copy, Debug, Default)]
enum Opening {
    /// Made if it is not there.
    #[default]
    Making,
    /// Not made.
    Existing,
    /// Not made, and perhaps not written.
    Looking,
    /// Not opened.
    Nowhere,
}

impl HostBuilder {
    /// The whole configuration. What is set besides overrides it.
    #[must_use]
    pub fn config(mut self, config: HostConfig) -> Self {
        self.config = Some(config);
        self
    }

    /// The directory with the plugins' `.wasm` files.
    #[must_use]
    pub fn plugins_directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.plugins_directory = Some(directory.into());
        self
    }

    /// The file that everything is kept in. It is made if it is not there; what
    /// can't be kept in it lies beside it, in a directory named after it.
    #[must_use]
    pub fn state_file(mut self, file: impl Into<PathBuf>) -> Self {
        self.state_file = Some(file.into());
        self
    }

    /// Demands that the state file is there, for a host that has nothing to store
    /// in a new one: none is made, and [`StoreError::Missing`](crate::store::StoreError)
    /// says so.
    #[must_use]
    pub fn existing_state(mut self) -> Self {
        self.opening = Opening::Existing;
        self
    }

    /// Demands the same of a host that only looks at what is stored, for which it also
    /// does where this user can't write it.
    #[must_use]
    pub fn to_look(mut self) -> Self {
        self.opening = Opening::Looking;
        self
    }

    /// For a host that only checks files and shows its plugins: the state file is not
    /// even opened. What is stored all the same is lost with the host.
    #[must_use]
    pub fn without_state(mut self) -> Self {
        self.opening = Opening::Nowhere;
        self
    }

    /// A store of one's own, in place of the state file.
    #[must_use]
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// Sources of one's own, in place of the directories and repositories of this
    /// machine.
    #[must_use]
    pub fn sources(mut self, sources: Arc<dyn Sources>) -> Self {
        self.sources = Some(sources);
        self
    }

    /// A plugin written in the embedder's own code, under a key.
    #[must_use]
    pub fn plugin(mut self, key: impl Into<String>, plugin: Arc<dyn Plugin>) -> Self {
        self.native.push((PluginKey::new(key), plugin));
        self
    }

    /// Makes the host: opens the store. Plugins are loaded when they are first
    /// needed.
    ///
    /// # Errors
    /// When the store can't be opened.
    pub async fn build(self) -> Result<Host, Error> {
        let mut config = self
            .config
            .unwrap_or_else(|| HostConfig::in_directory(Path::new("")));
        if let Some(directory) = self.plugins_directory {
            config.plugins_directory = directory;
        }
        if let Some(file) = self.state_file {
            config.state_file = file;
        }
        if let Ok(file) = resolved(&config.state_file) {
            config.state_file = file;
        }
        let files = files_directory(&config.state_file);
        let (store, state_file) = match self.store {
            Some(store) => (store, None),
            None => {
                let (file, opening) = (config.state_file.clone(), self.opening);
                let opened = tokio::task::spawn_blocking(move || match opening {
                    Opening::Making => SqliteStore::open(&file),
                    Opening::Existing => SqliteStore::open_existing(&file),
                    Opening::Looking => SqliteStore::open_to_look(&file),
                    Opening::Nowhere => SqliteStore::nowhere(&file),
                });
                let opened = opened
                    .await
                    .map_err(|error| Error::Host(error.to_string()))??;
                let store: Arc<dyn Store> = Arc::new(opened);
                (store, Some(config.state_file.clone()))
            }
        };
        let sources = self.sources.unwrap_or_else(|| {
            let left_out = state_files(&config.state_file);
            Arc::new(LocalSources::new(files.join("sources"), left_out))
        });
        Ok(Host {
            inner: Arc::new(Inner {
                config,
                store,
                state_file,
                sources,
                scratch: files.join("scratch"),
                native: self.native,
                engine: OnceCell::new(),
                stop: watch::Sender::new(Stop::No),
            }),
        })
    }
}

/// The host's own files, which are no part of what it deploys even when they lie
/// in the same directory.
fn state_files(state: &Path) -> Vec<PathBuf> {
    let parent = state.parent().unwrap_or(Path::new("/"));
    let parent = parent.canonicalize().unwrap_or_else(|_| parent.to_owned());
    let name = state.file_name().unwrap_or_default().to_string_lossy();
    ["", "-wal", "-shm", "-files"]
        .iter()
        .map(|suffix| parent.join(format!("{name}{suffix}")))
        .collect()
}
