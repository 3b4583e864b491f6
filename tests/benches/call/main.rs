//! What a call costs: a no-op `execute-stage` in a fresh instance through the
//! host's sandbox path, beside bare wasmtime on the same component.
//!
//! Both run in one process, in turns of a few hundred calls, so that whatever
//! else the machine does meets both. Run by `just bench`; with `--bare` it runs
//! the bare program alone.

mod bare;

use std::future::Future;
use std::time::{Duration, Instant};

use serde_json::json;
use stagewright::model::{Plugin, StageRequest};
use stagewright::sandbox::{PluginConfig, Sandbox, SandboxSettings, WasmPlugin};
use stagewright_tests::{Scene, component};

use bare::Bare;

/// Turns of each, and how many of the first are not counted.
const TURNS: usize = 60;
const WARM_UP: usize = 6;

/// Calls a turn.
const CALLS: u32 = 300;

/// What the host may cost, as a share of the bare thing.
const MOST_TIME: f64 = 1.25;
const LEAST_THROUGHPUT: f64 = 0.8;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("threads can be started");
    runtime.block_on(async {
        let scene = Scene::new();
        let bare = Bare::new(&component("probe"), &scene);
        if std::env::args().any(|argument| argument == "--bare") {
            let mut times = Vec::new();
            for turn in 0..TURNS {
                keep(&mut times, turn, latency(|| bare.call()).await);
            }
            println!(
                "bare wasmtime: {:?} a call at the median",
                median(&mut times)
            );
            return;
        }
        let sandbox = Sandbox::new(SandboxSettings::default()).expect("there is an engine");
        let config = PluginConfig::bare("probe".into(), "the benchmark");
        let plugin = sandbox
            .load(component("probe").into(), &config)
            .await
            .expect("the probe is a plugin");
        let request = scene.stage(json!([]));
        compare_latency(&bare, &plugin, &scene, &request).await;
        compare_throughput(&bare, &plugin, &scene, &request).await;
    });
}

async fn compare_latency(bare: &Bare, plugin: &WasmPlugin, scene: &Scene, request: &StageRequest) {
    let (mut bare_times, mut host_times) = (Vec::new(), Vec::new());
    for turn in 0..TURNS {
        keep(&mut bare_times, turn, latency(|| bare.call()).await);
        let call = || through_the_host(plugin, scene, request);
        keep(&mut host_times, turn, latency(call).await);
    }
    let (bare, host) = (median(&mut bare_times), median(&mut host_times));
    let ratio = host.as_secs_f64() / bare.as_secs_f64();
    println!(
        "a no-op execute-stage in a fresh instance, median of {} turns",
        TURNS - WARM_UP
    );
    println!("  bare wasmtime   {bare:>10.1?}");
    println!("  the host        {host:>10.1?}");
    println!(
        "  ratio           {ratio:>10.2}   at most {MOST_TIME}: {}",
        verdict(ratio <= MOST_TIME)
    );
}

async fn compare_throughput(
    bare: &Bare,
    plugin: &WasmPlugin,
    scene: &Scene,
    request: &StageRequest,
) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let (mut bare_rates, mut host_rates) = (Vec::new(), Vec::new());
    for turn in 0..TURNS {
        keep(&mut bare_rates, turn, rate(cores, || bare.call()));
        let call = || through_the_host(plugin, scene, request);
        keep(&mut host_rates, turn, rate(cores, call));
    }
    let (bare, host) = (median(&mut bare_rates), median(&mut host_rates));
    let ratio = host / bare;
    println!("the same with {cores} cores busy, calls a second");
    println!("  bare wasmtime   {bare:>10.0}");
    println!("  the host        {host:>10.0}");
    println!(
        "  ratio           {ratio:>10.2}   at least {LEAST_THROUGHPUT}: {}",
        verdict(ratio >= LEAST_THROUGHPUT)
    );
}

async fn through_the_host(plugin: &WasmPlugin, scene: &Scene, request: &StageRequest) {
    let answer = plugin.execute_stage(&scene.call, request).await;
    answer.expect("the probe does nothing, with success");
}

/// The time of one call, over a turn.
async fn latency<F: Future<Output = ()>>(call: impl Fn() -> F) -> Duration {
    let start = Instant::now();
    for _ in 0..CALLS {
        call().await;
    }
    start.elapsed() / CALLS
}

/// Calls a second, over a turn, from as many threads as there are cores.
fn rate<F: Future<Output = ()>>(cores: usize, call: impl Fn() -> F + Sync) -> f64 {
    let handle = tokio::runtime::Handle::current();
    let start = Instant::now();
    tokio::task::block_in_place(|| {
        std::thread::scope(|scope| {
            for _ in 0..cores {
                scope.spawn(|| {
                    handle.block_on(async {
                        for _ in 0..CALLS {
                            call().await;
                        }
                    });
                });
            }
        });
    });
    let calls = f64::from(CALLS) * cores as f64;
    calls / start.elapsed().as_secs_f64()
}

fn keep<T>(samples: &mut Vec<T>, turn: usize, sample: T) {
    if turn >= WARM_UP {
        samples.push(sample);
    }
}

fn median<T: PartialOrd + Copy>(samples: &mut [T]) -> T {
    samples.sort_by(|a, b| a.partial_cmp(b).expect("times can be compared"));
    samples[samples.len() / 2]
}

fn verdict(holds: bool) -> &'static str {
    if holds { "holds" } else { "DOES NOT HOLD" }
}
