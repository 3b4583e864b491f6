//! Killed at random moments under load.

use std::env;

use futures_util::StreamExt;
use stagewright::{Cancel, Error};

use super::workload::{Kind, Workload};

/// Deployments that wait for the program at each start.
const WAITING: usize = 6;

/// Numbers that look random and are always the same for a seed (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }
}

fn number(variable: &str, otherwise: u64) -> u64 {
    match env::var(variable) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{variable}={text}: no number")),
        Err(_) => otherwise,
    }
}

#[tokio::test]
async fn however_often_it_is_killed_nothing_is_lost_and_nothing_is_done_twice() {
    let kills = number("STAGEWRIGHT_KILLS", 50);
    let seed = number("STAGEWRIGHT_SEED", u64::from(std::process::id()));
    eprintln!("{kills} kills, STAGEWRIGHT_SEED={seed}");
    let mut random = Random(seed);
    let mut load = Workload::new().await;
    for _ in 0..kills {
        let unfinished = load.unfinished().await;
        for _ in unfinished.len()..WAITING {
            let kinds = [Kind::Succeeds, Kind::SucceedsToo, Kind::Fails];
            load.submit(kinds[random.below(3) as usize]).await;
        }
        let mut events = Box::pin(load.host.events(None, newest_event(&load).await));
        let program = load.project.start(&["work"]);
        // A moment on the way: some events from here, and a little more.
        for _ in 0..=random.below(30) {
            events.next().await.expect("no end").expect("an event");
            if random.below(100) == 0 {
                cancel(&mut load, &mut random).await;
            }
        }
        spin(random.below(2_000_000));
        program.kill();
    }
    load.finish().await;
    load.check().await;
    eprintln!(
        "{kills} kills survived by {} deployments, {} of them cancelled",
        load.stored.len(),
        load.cancelled.len()
    );
}

/// The number of the last event that there is.
async fn newest_event(load: &Workload) -> u64 {
    let newest = load.host.newest_event().await;
    newest.expect("a number")
}

async fn cancel(load: &mut Workload, random: &mut Random) {
    let unfinished = load.unfinished().await;
    if unfinished.is_empty() {
        return;
    }
    let place = random.below(unfinished.len() as u64) as usize;
    let id = unfinished[place].id.clone();
    let wish = Cancel {
        by: Some("ann".to_owned()),
        why: String::new(),
        rollback: true,
    };
    match load.host.cancel(&id, &wish).await {
        Ok(_) => load.cancelled.push(id),
        // It came to its end, or is undone already.
        Err(Error::Refused(_)) => {}
        Err(error) => panic!("{id}: {error}"),
    }
}

/// A moment that no event marks.
fn spin(times: u64) {
    for _ in 0..times {
        std::hint::spin_loop();
    }
}
