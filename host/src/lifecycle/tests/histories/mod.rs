//! Random histories: a world of hosts, people and a clock does to a deployment
//! whatever can be done to one, and after each event all that must always hold is
//! looked at. A history that breaks something is printed as a short script, which
//! can be kept as a regression.
//!
//! `STAGEWRIGHT_HISTORIES` says how many are played; `just prove` plays a million.

mod counts;
mod defects;
mod generate;
mod invariants;
mod ledger;
mod regressions;
mod rules;
mod scene;
mod script;
mod shrink;
mod world;

use std::num::NonZero;
use std::thread;

use counts::Counts;
use rules::{Real, Rules};
use script::Script;

/// How many histories are played unless the environment says otherwise.
const HISTORIES: u64 = 20_000;

/// Plays the histories of some seeds, over all processors. Gives the first that
/// breaks something, and what occurred.
fn play_all(seeds: std::ops::Range<u64>, rules: &dyn Rules) -> (Option<u64>, Counts) {
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let step = threads;
    let parts = thread::scope(|scope| {
        let part = |first: usize| {
            let seeds = seeds.clone().skip(first).step_by(step);
            move || {
                let mut counts = Counts::default();
                let broken =
                    |counts: &mut Counts, seed| !generate::play(seed, rules, counts).1.is_empty();
                let first = seeds.into_iter().find(|seed| broken(&mut counts, *seed));
                (first, counts)
            }
        };
        let tasks: Vec<_> = (0..threads).map(|first| scope.spawn(part(first))).collect();
        let ended = tasks.into_iter().map(|task| task.join().unwrap());
        ended.collect::<Vec<_>>()
    });
    let mut all = Counts::default();
    let mut first: Option<u64> = None;
    for (broken, counts) in parts {
        first = first.into_iter().chain(broken).min();
        all.add(counts);
    }
    (first, all)
}

/// A history that breaks something, as short as it gets, with what it breaks.
fn report(seed: u64, rules: &dyn Rules) -> String {
    let (script, complaints) = generate::play(seed, rules, &mut Counts::default());
    let first = &complaints[0];
    let least = shrink::shrink(&script, first.invariant, rules);
    let mut counts = Counts::default();
    let said = world::World::new(&least, rules, &mut counts).play(&least);
    let said: Vec<String> = said
        .iter()
        .map(|complaint| format!("{}: {}", complaint.invariant, complaint.what))
        .collect();
    format!(
        "the history of seed {seed} breaks\n{}\n\n{least}",
        said.join("\n")
    )
}

#[test]
fn whatever_happens_in_whatever_order_the_rules_hold() {
    let wanted = match std::env::var("STAGEWRIGHT_HISTORIES") {
        Ok(count) => count.parse().expect("STAGEWRIGHT_HISTORIES is a number"),
        Err(_) => HISTORIES,
    };
    let (broken, counts) = play_all(0..wanted, &Real);
    if let Some(seed) = broken {
        panic!("{}", report(seed, &Real));
    }
    println!("{counts}");
    assert_eq!(counts.histories, wanted);
    // What is rare need not show in a few.
    if wanted >= HISTORIES {
        assert_eq!(counts.missing(), Vec::<&str>::new(), "never occurred");
    }
}

#[test]
fn a_script_that_is_printed_is_read_as_it_was() {
    for seed in 0..200 {
        let (script, _) = generate::play(seed, &Real, &mut Counts::default());
        assert_eq!(Script::parse(&script.to_string()), script);
    }
}

#[test]
fn a_history_is_replayed_as_it_was_played() {
    for seed in 0..200 {
        let mut played = Counts::default();
        let (script, _) = generate::play(seed, &Real, &mut played);
        let mut replayed = Counts::default();
        world::World::new(&script, &Real, &mut replayed).play(&script);
        assert_eq!(replayed.to_string(), played.to_string());
    }
}

#[test]
fn what_once_was_broken_stays_mended() {
    for (what, script) in regressions::SCRIPTS {
        let broken = shrink::broken(&Script::parse(script), &Real);
        assert!(broken.is_empty(), "{what}: {broken:?}");
    }
}
