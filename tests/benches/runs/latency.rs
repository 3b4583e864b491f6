//! How soon something happens: the first stage after a trigger, a stage after its
//! approval, the end of a guest that loops for ever after a cancel.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::{StreamExt, TryStreamExt};
use serde_json::json;
use stagewright::definition::{Built, BuiltStage};
use stagewright::model::{CommandKind, EventKind, StageStatus};
use stagewright::{Cancel, Host, Request};
use stagewright_tests::component_path;

use super::plugin::Bench;
use super::{bare, percentile, verdict, world};

const STARTS: usize = 300;

/// What has to be durable before the first stage begins: the deployment, that it is
/// planned, what was said of the plan, the plan.
const COMMITS: usize = 4;

const APPROVALS: usize = 500;
const CANCELS: usize = 1_000;

const GRACE: Duration = Duration::from_millis(100);

pub(crate) async fn start() {
    let directory = world::directory();
    let (plugin, mut begun) = Bench::new();
    let config = world::config(directory.path());
    let host = world::host(
        directory.path(),
        world::store(directory.path()),
        Arc::new(plugin),
        config,
    )
    .await;
    let working = host.clone();
    tokio::spawn(async move { working.work(false).await });
    let mut samples = Vec::new();
    for number in 0..STARTS {
        let request = world::request(&format!("app-{number}"), &["NOOP"]);
        let start = Instant::now();
        let (deployment, _) = host.submit(&request).await.expect("it is stored");
        let first = begun.recv().await.expect("it begins");
        samples.push(first.at - start);
        // The next one finds the host idle.
        let ended: Result<Vec<_>, _> = host.events(Some(deployment.id), 0).try_collect().await;
        ended.expect("events");
    }
    host.shut_down();
    let median = percentile(&mut samples, 0.5);
    let most = Duration::from_millis(5);
    println!("trigger to first stage running, median of {STARTS}");
    let alone = bare::commits(&directory.path().join("bare.db"), STARTS, COMMITS);
    println!("  {COMMITS} commits alone {alone:>10.1?}");
    println!(
        "  the host        {median:>10.1?}   at most {most:?}: {}",
        verdict(median <= most)
    );
}

/// Approved by another host, as another process would.
pub(crate) async fn approval() {
    let directory = world::directory();
    let (plugin, mut begun) = Bench::new();
    let config = world::config(directory.path());
    let host = world::host(
        directory.path(),
        world::store(directory.path()),
        Arc::new(plugin),
        config.clone(),
    )
    .await;
    let (idle, _) = Bench::new();
    let other = world::host(
        directory.path(),
        world::store(directory.path()),
        Arc::new(idle),
        config,
    )
    .await;
    let working = host.clone();
    tokio::spawn(async move { working.work(false).await });
    let mut samples = Vec::new();
    for number in 0..APPROVALS {
        let request = world::request(&format!("app-{number}"), &["APPROVE"]);
        let (deployment, _) = host.submit(&request).await.expect("it is stored");
        begun.recv().await.expect("its first turn");
        let stage = until(&other, &deployment.id, StageStatus::Suspended).await;
        let start = Instant::now();
        let done = other
            .act(&deployment.id, &stage, CommandKind::Approve, "ann")
            .await;
        done.expect("it is approved");
        let second = begun.recv().await.expect("its second turn");
        assert_eq!((&second.deployment, second.turn), (&deployment.id, 2));
        samples.push(second.at - start);
    }
    host.shut_down();
    let (half, most) = (percentile(&mut samples, 0.5), Duration::from_millis(50));
    let p99 = percentile(&mut samples, 0.99);
    println!("approval by another host to stage resumed, {APPROVALS} tries; median {half:.1?}");
    println!(
        "  99th percentile {p99:>10.1?}   at most {most:?}: {}",
        verdict(p99 <= most)
    );
}

/// Cancelled by another host, while the guest does nothing but loop: with as many at
/// once as keep the whole machine busy, and with many more.
pub(crate) async fn cancel() {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    cancels(cores, true).await;
    cancels(4 * cores, false).await;
}

async fn cancels(looping: usize, judged: bool) {
    let directory = world::directory();
    let plugins = directory.path().join("plugins");
    std::fs::create_dir(&plugins).expect("a directory");
    std::fs::copy(component_path("probe"), plugins.join("probe.wasm")).expect("the probe");
    let mut config = world::config(directory.path());
    config.limits.grace_period = GRACE;
    let build = |config| {
        Host::builder()
            .config(config)
            .plugins_directory(&plugins)
            .state_file(directory.path().join("state.db"))
            .build()
    };
    let host = build(config.clone()).await.expect("a host");
    let other = build(config).await.expect("a host");
    let working = host.clone();
    tokio::spawn(async move { working.work(false).await });
    let files = directory.path().join("files");
    std::fs::create_dir(&files).expect("a directory");
    let tries = futures_util::stream::iter(0..CANCELS).map(|number| {
        let (host, other, files) = (host.clone(), other.clone(), files.clone());
        async move {
            let application = Built::new(format!("app-{number}"))
                .key("planner", json!({ "alwaysUsePipeline": true }))
                .stage(BuiltStage::new("PROBE").with(json!({ "do": ["spin"] })));
            let stored = host.submit(&Request::of(application, files)).await;
            let (deployment, _) = stored.expect("it is stored");
            until(&other, &deployment.id, StageStatus::Running).await;
            let start = Instant::now();
            let wish = Cancel {
                by: Some("ann".to_owned()),
                why: String::new(),
                rollback: true,
            };
            other
                .cancel(&deployment.id, &wish)
                .await
                .expect("it is cancelled");
            until(&other, &deployment.id, StageStatus::Cancelled).await;
            start.elapsed()
        }
    });
    let mut samples: Vec<Duration> = tries.buffer_unordered(looping).collect().await;
    host.shut_down();
    let most = GRACE + Duration::from_millis(50);
    let (half, p99) = (
        percentile(&mut samples, 0.5),
        percentile(&mut samples, 0.99),
    );
    let worst = percentile(&mut samples, 1.0);
    println!(
        "cancel by another host to stage stopped, a guest that loops, {CANCELS} tries, {looping} at once; \
         grace period {GRACE:?}; median {half:.1?}, worst {worst:.1?}, none lost"
    );
    if judged {
        println!(
            "  99th percentile {p99:>10.1?}   at most {most:?}: {}",
            verdict(p99 <= most)
        );
    } else {
        println!("  99th percentile {p99:>10.1?}");
    }
}

/// Waits until the only stage of a deployment has a status. Gives its id.
async fn until(
    host: &Host,
    deployment: &stagewright::model::DeploymentId,
    wanted: StageStatus,
) -> stagewright::model::StageId {
    let mut events = Box::pin(host.events(Some(deployment.clone()), 0));
    while let Some(event) = events.next().await {
        if let EventKind::Stage { stage, status, .. } = event.expect("an event").kind
            && status == wanted
        {
            return stage;
        }
    }
    panic!("{deployment} ended without a stage that is {wanted}");
}
