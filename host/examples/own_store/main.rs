//! A host with all of its parts from one's own code: a store, a plugin, and the
//! application itself. No file, no component.
//!
//! `cargo run --example own_store -- <directory with the application's files>`

mod greet;
mod memory;

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::TryStreamExt;
use serde_json::json;
use stagewright::definition::{Built, BuiltStage};
use stagewright::{Error, Host, Request};

use greet::Greet;
use memory::MemoryStore;

#[tokio::main]
async fn main() -> Result<(), Error> {
    let directory = std::env::args_os().nth(1).map(PathBuf::from);
    let directory = directory.ok_or_else(|| Error::Input("name the directory".to_owned()))?;
    let scratch = tempfile::tempdir().map_err(|error| Error::Input(error.to_string()))?;
    let host = Host::builder()
        .store(Arc::new(MemoryStore::default()))
        // What is not in the store lies beside where its file would be.
        .state_file(scratch.path().join("state.db"))
        .plugin("greet", Arc::new(Greet::default()))
        .build()
        .await?;
    let greetings = Built::new("greetings")
        .stage(BuiltStage::new("GREET").with(json!({ "whom": "the world" })))
        .stage(BuiltStage::new("GREET").with(json!({ "whom": "everyone in it" })));
    let run = host.deploy(&Request::of(greetings, directory)).await?;
    let id = run.id().clone();
    let ended = run.finished().await?;
    for stage in &ended.stages {
        let mut lines = host.log(id.clone(), Some(stage.id.clone()), 0, false);
        while let Some(line) = lines.try_next().await? {
            println!("{}: {}", stage.name, line.text);
        }
    }
    println!("{}", ended.status);
    Ok(())
}
