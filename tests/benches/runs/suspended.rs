//! A hundred thousand suspended stages: what they take of memory, how soon they
//! are known again after a restart, and whether the next one is woken on time.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::{StreamExt, stream};
use rusqlite::Connection;
use stagewright::model::{DeploymentStatus, EventKind, StageStatus};
use stagewright::store::Filter;

use super::plugin::{Bench, DAY};
use super::{verdict, world};

const SUSPENDED: usize = 100_000;
const AT_ONCE: usize = 256;

/// How long after the restart the next one is due.
const NEXT: Duration = Duration::from_secs(4);

/// Tells the process that is started anew where they are.
pub(crate) const RESTARTED: &str = "STAGEWRIGHT_BENCH_RESTARTED";

/// Suspends them, and lets a process of its own come back to them: what this one
/// has taken meanwhile says nothing.
pub(crate) async fn measure() {
    let directory = world::directory();
    fill(directory.path()).await;
    let program = std::env::current_exe().expect("a program knows where it is");
    let ended = std::process::Command::new(program)
        .env(RESTARTED, directory.path())
        .status();
    assert!(ended.expect("it starts").success());
}

/// The host that comes back to them.
pub(crate) async fn come_back(directory: &Path) {
    let idle = {
        let empty = world::directory();
        let (plugin, _begun) = Bench::new();
        let config = world::config(empty.path());
        let host = world::host(
            empty.path(),
            world::store(empty.path()),
            Arc::new(plugin),
            config,
        )
        .await;
        let working = host.clone();
        let work = tokio::spawn(async move { working.work(false).await });
        // One deployment, so that whatever is started late is started.
        let request = world::request("app", &["NOOP"]);
        let (one, _) = host.submit(&request).await.expect("it is stored");
        let mut events = Box::pin(host.events(Some(one.id), 0));
        while let Some(event) = events.next().await {
            event.expect("an event");
        }
        drop(events);
        let idle = resident();
        host.shut_down();
        work.await.expect("no panic").expect("it worked");
        idle
    };
    let due = make_one_due(directory);
    // A restart: everything anew over the file.
    let start = Instant::now();
    let (plugin, mut begun) = Bench::new();
    let config = world::config(directory);
    let host = world::host(directory, world::store(directory), Arc::new(plugin), config).await;
    let working = host.clone();
    let work = tokio::spawn(async move { working.work(false).await });
    let filter = Filter {
        statuses: vec![DeploymentStatus::Running],
        limit: 1,
        ..Filter::default()
    };
    let waiting = host.deployments(&filter).await;
    assert_eq!(waiting.expect("a list").len(), 1);
    let known = start.elapsed();
    let woken = begun.recv().await.expect("it wakes");
    let late = now().saturating_sub(due);
    assert_eq!(woken.turn, 2);
    let more = resident().saturating_sub(idle);
    host.shut_down();
    work.await.expect("no panic").expect("it worked");
    println!("{SUSPENDED} suspended stages");
    println!(
        "  more memory     {:>7} MB   at most 100: {}",
        more >> 20,
        verdict(more < 100 << 20)
    );
    println!(
        "  known again in  {known:>10.1?}   at most 2 s: {}",
        verdict(known < Duration::from_secs(2))
    );
    println!(
        "  next one late   {late:>7} ms   at most 50: {}",
        verdict(late <= 50)
    );
}

/// Suspends them, each as any deployment is.
async fn fill(directory: &Path) {
    let (plugin, _begun) = Bench::new();
    let config = world::config(directory);
    let host = world::host(directory, world::store(directory), Arc::new(plugin), config).await;
    let working = host.clone();
    let work = tokio::spawn(async move { working.work(false).await });
    let stored = stream::iter(0..SUSPENDED).map(|number| {
        let host = host.clone();
        async move {
            let request = world::request(&format!("app-{number}"), &["SLEEP"]);
            host.submit(&request).await.expect("it is stored");
        }
    });
    stored.buffer_unordered(AT_ONCE).collect::<Vec<()>>().await;
    let mut events = Box::pin(host.events(None, 0));
    let mut suspended = 0;
    while suspended < SUSPENDED {
        let event = events.next().await.expect("no end").expect("an event");
        let is = matches!(event.kind, EventKind::Stage { status, .. } if status == StageStatus::Suspended);
        suspended += usize::from(is);
    }
    host.shut_down();
    work.await.expect("no panic").expect("it worked");
}

/// Brings one of them near, as if a day had passed for it. Gives when it is due.
fn make_one_due(directory: &Path) -> u64 {
    let due = now() + NEXT.as_millis() as u64;
    let database = Connection::open(directory.join("state.db")).expect("the state");
    let number: i64 = database
        .query_row("SELECT max(number) FROM deployments", [], |row| row.get(0))
        .expect("a number");
    let due_at = i64::try_from(due).expect("a time");
    database
        .execute(
            "UPDATE deployments SET due_at = ?2 WHERE number = ?1",
            (number, due_at),
        )
        .expect("a row");
    database
        .execute(
            "UPDATE stages SET body = json_set(body, '$.wait.until', ?2) WHERE deployment = ?1",
            (number, due_at),
        )
        .expect("a row");
    assert!(DAY > NEXT.as_millis() as u64);
    due
}

fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.expect("a time since 1970").as_millis() as u64
}

/// The memory that this process has resident, in bytes.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("the system's count");
    let pages = statm.split(' ').nth(1).expect("the second number");
    pages.parse::<usize>().expect("a number") * 4096
}
