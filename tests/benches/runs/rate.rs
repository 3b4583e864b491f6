//! Durable deployments of three no-op stages a second, beside SQLite.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Instant;

use futures_util::{StreamExt, stream};

use super::plugin::Bench;
use super::{bare, verdict, world};

const DEPLOYMENTS: u64 = 3_000;

/// Stages that run at once.
const AT_WORK: NonZeroU32 = NonZeroU32::new(1024).expect("it is not zero");

/// As many are stored at once as a busy host would be asked for.
const AT_ONCE: usize = 64;

/// What is told is the median of so many rounds, in each of which both have their
/// turn: how long a disk takes differs from one second to the next.
const ROUNDS: usize = 5;

/// How many a second in one round.
struct Round {
    host: f64,
    bare: f64,
    /// Changes a commit.
    group: usize,
}

pub(crate) async fn measure() {
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        rounds.push(round().await);
    }
    let median = |of: fn(&Round) -> f64| {
        let mut all: Vec<f64> = rounds.iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        all[ROUNDS / 2]
    };
    let (host, ratio) = (median(|r| r.host), median(|r| r.host / r.bare));
    println!(
        "durable deployments of three no-op stages, a second; {:.0} changes a commit",
        median(|r| r.group as f64)
    );
    println!("  SQLite alone    {:>10.0}", median(|r| r.bare));
    println!(
        "  the host        {host:>10.0}   at least 1000: {}",
        verdict(host >= 1000.0)
    );
    println!(
        "  ratio           {ratio:>10.2}   at least 0.5: {}",
        verdict(ratio >= 0.5)
    );
}

async fn round() -> Round {
    let directory = world::directory();
    let store = world::store(directory.path());
    let (plugin, _begun) = Bench::new();
    let mut config = world::config(directory.path());
    // A host that is asked for so much is sized for it.
    config.limits.concurrent_stages = AT_WORK;
    let host = world::host(directory.path(), store.clone(), Arc::new(plugin), config).await;
    let before = store.commits();
    let start = Instant::now();
    let working = host.clone();
    let work = tokio::spawn(async move { working.work(false).await });
    let stored = stream::iter(0..DEPLOYMENTS).map(|number| {
        let host = host.clone();
        async move {
            let request = world::request(&format!("app-{number}"), &["NOOP"; 3]);
            host.submit(&request).await.expect("it is stored");
        }
    });
    stored.buffer_unordered(AT_ONCE).collect::<Vec<()>>().await;
    let mut events = Box::pin(host.events(None, 0));
    let mut ended = 0;
    while ended < DEPLOYMENTS {
        let event = events.next().await.expect("no end").expect("an event");
        ended += u64::from(event.kind.ends_the_deployment());
    }
    let took = start.elapsed();
    host.shut_down();
    work.await.expect("no panic").expect("it worked");
    let file = directory.path().join("state.db");
    let written = bare::written(&file, store.commits() - before);
    let bare = bare::write(&directory.path().join("bare.db"), &written);
    let rate = |took: std::time::Duration| DEPLOYMENTS as f64 / took.as_secs_f64();
    Round {
        host: rate(took),
        bare: rate(bare),
        group: written.group,
    }
}
