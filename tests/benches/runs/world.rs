//! A host over a store on the disk, with sources that cost nothing: what is
//! measured is the host.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use stagewright::definition::{Built, BuiltStage, HostConfig};
use stagewright::model::{ApplicationId, Commit, Plugin, Timestamp};
use stagewright::source::{Fetched, Hold, InUse, SourceError, Sources, Wanted};
use stagewright::store::SqliteStore;
use stagewright::{Host, Request};
use tempfile::TempDir;

/// A directory on the disk that the target directory is on: the system's own for
/// temporary files may be in memory.
pub(crate) fn directory() -> TempDir {
    let beside = std::env::current_exe().expect("a program knows where it is");
    let beside = beside.parent().expect("it is in a directory");
    tempfile::tempdir_in(beside).expect("a directory")
}

/// The store in a directory.
pub(crate) fn store(directory: &Path) -> Arc<SqliteStore> {
    let file = directory.join("state.db");
    Arc::new(SqliteStore::open(file).expect("a store"))
}

/// A host over a store, with the benchmark's plugin.
pub(crate) async fn host(
    directory: &Path,
    store: Arc<SqliteStore>,
    plugin: Arc<dyn Plugin>,
    config: HostConfig,
) -> Host {
    let built = Host::builder()
        .config(config)
        .state_file(directory.join("state.db"))
        .plugins_directory(directory.join("no-plugins"))
        .store(store)
        .sources(Arc::new(OneTree(directory.to_owned())))
        .plugin("bench", plugin)
        .build();
    built.await.expect("a host")
}

/// The configuration of the benchmarks.
pub(crate) fn config(directory: &Path) -> HostConfig {
    HostConfig::in_directory(directory)
}

/// A deployment of an application of its own, with some stages.
pub(crate) fn request(name: &str, stages: &[&str]) -> Request {
    let mut application = Built::new(name).key("planner", json!({ "alwaysUsePipeline": true }));
    for stage in stages {
        application =
            application.stage(BuiltStage::new(*stage).with(Value::Object(Default::default())));
    }
    Request::of(application, "/bench")
}

/// Sources with one tree for all: an application is what its file is called.
#[derive(Debug)]
struct OneTree(PathBuf);

#[async_trait]
impl Sources for OneTree {
    async fn fetch(&self, wanted: &Wanted) -> Result<Fetched, SourceError> {
        let path = wanted.file.display().to_string();
        Ok(Fetched {
            application: ApplicationId::new(path.clone()),
            remote: "/bench".to_owned(),
            path,
            commit: Commit {
                hash: "0123456789abcdef0123456789abcdef01234567".to_owned(),
                message: String::new(),
                author: String::new(),
                branch: None,
                created_at: Timestamp(0),
                url: None,
                pull_request: None,
            },
            config: wanted.config.clone().unwrap_or_default().into_bytes(),
            tree: self.0.clone(),
            hold: Hold::default(),
        })
    }

    async fn tree(&self, _: &ApplicationId, _: &str) -> Result<PathBuf, SourceError> {
        Ok(self.0.clone())
    }

    async fn prune(&self, _: &ApplicationId, _: InUse<'_>) -> Result<(), SourceError> {
        Ok(())
    }
}
