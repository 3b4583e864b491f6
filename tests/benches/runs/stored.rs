//! What one more deployment costs when a million are stored, beside a thousand.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::{StreamExt, TryStreamExt, stream};
use stagewright::Host;
use stagewright::model::{Deployment, DeploymentId, DeploymentStatus};
use stagewright::store::{SqliteStore, Store};
use tempfile::TempDir;

use super::plugin::Bench;
use super::{percentile, verdict, world};

const FEW: u64 = 1_000;
const MANY: u64 = 1_000_000;

const TURNS: usize = 40;
const A_TURN: usize = 25;
const AT_ONCE: usize = 512;

const MOST: f64 = 1.2;

pub(crate) async fn measure() {
    let many = std::env::var("STAGEWRIGHT_BENCH_STORED");
    let many = many.map_or(MANY, |text| text.parse().expect("a number"));
    let (few_kept, few) = world_with(FEW).await;
    let (many_kept, all) = world_with(many).await;
    let (mut few_times, mut many_times) = (Vec::new(), Vec::new());
    for turn in 0..TURNS {
        few_times.push(turn_of(&few, turn).await);
        many_times.push(turn_of(&all, turn).await);
    }
    few.shut_down();
    all.shut_down();
    drop((few_kept, many_kept));
    let (few, all) = (
        percentile(&mut few_times, 0.5),
        percentile(&mut many_times, 0.5),
    );
    let ratio = all.as_secs_f64() / few.as_secs_f64();
    println!(
        "one more deployment of a no-op stage, from its trigger to its end, median of {TURNS} turns"
    );
    println!("  beside {FEW:>8} {few:>10.1?}");
    println!("  beside {many:>8} {all:>10.1?}");
    println!(
        "  ratio           {ratio:>10.2}   at most {MOST}: {}",
        verdict(ratio <= MOST)
    );
}

/// A host over a store with so many finished deployments.
async fn world_with(finished: u64) -> (TempDir, Host) {
    let directory = world::directory();
    let store = world::store(directory.path());
    let (plugin, _begun) = Bench::new();
    let config = world::config(directory.path());
    let host = world::host(directory.path(), store.clone(), Arc::new(plugin), config).await;
    let working = host.clone();
    tokio::spawn(async move { working.work(false).await });
    let (first, _) = host
        .submit(&world::request("app", &["NOOP"]))
        .await
        .expect("it is stored");
    let ended: Result<Vec<_>, _> = host.events(Some(first.id.clone()), 0).try_collect().await;
    ended.expect("events");
    let ended = host
        .deployment(first.id.as_str())
        .await
        .expect("it is there");
    fill(&store, &ended, finished).await;
    (directory, host)
}

async fn fill(store: &SqliteStore, like: &Deployment, count: u64) {
    assert_eq!(like.status, DeploymentStatus::Succeeded);
    stream::iter(0..count)
        .map(|number| {
            let mut deployment = like.clone();
            deployment.id = DeploymentId::new(format!("{number:016x}"));
            deployment.application.id = format!("app-{}", number % 1000).as_str().into();
            for (place, stage) in deployment.stages.iter_mut().enumerate() {
                stage.id = format!("{number:x}-{place}").as_str().into();
            }
            async move { store.create(&deployment).await.expect("it is stored") }
        })
        .buffer_unordered(AT_ONCE)
        .collect::<Vec<()>>()
        .await;
}

/// The time of one deployment, over a turn of some, one after another.
async fn turn_of(host: &Host, turn: usize) -> Duration {
    let start = Instant::now();
    for number in 0..A_TURN {
        let request = world::request(&format!("app-{turn}-{number}"), &["NOOP"]);
        let (deployment, _) = host.submit(&request).await.expect("it is stored");
        let events: Result<Vec<_>, _> = host.events(Some(deployment.id), 0).try_collect().await;
        assert!(!events.expect("events").is_empty());
    }
    start.elapsed() / u32::try_from(A_TURN).expect("a few")
}
