//! A host in another tool: deploys an application file, tells what happens.
//!
//! `cargo run --example embed -- <plugins directory> <state file> <application file>`

use futures_util::StreamExt;
use stagewright::{Error, Host, Request};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let mut next = |what: &str| {
        arguments
            .next()
            .ok_or_else(|| Error::Input(format!("name {what}")))
    };
    let host = Host::builder()
        .plugins_directory(next("the plugins directory")?)
        .state_file(next("the state file")?)
        .build()
        .await?;
    let run = host
        .deploy(&Request::new(next("the application file")?))
        .await?;
    let mut events = Box::pin(run.events());
    while let Some(event) = events.next().await {
        println!("{:?}", event?.kind);
    }
    println!("{}", run.finished().await?.status);
    Ok(())
}
