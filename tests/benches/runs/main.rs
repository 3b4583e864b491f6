//! What running deployments costs, each figure beside its ceiling: how many a
//! second, how soon the first stage runs, an approval goes on and a cancel stops,
//! what a hundred thousand suspended stages take, and what a million finished
//! deployments add.
//!
//! Run by `just bench`. An argument that is no option runs only the measures whose
//! names contain it. `STAGEWRIGHT_BENCH_STORED` is how many finished deployments
//! the last one stores.

mod bare;
mod latency;
mod plugin;
mod rate;
mod stored;
mod suspended;
mod world;

use std::time::Duration;

/// As the program has.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("threads can be started");
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'))
        .collect();
    // As one of the runtime's own tasks: another thread would only be in their way.
    let measures = runtime.spawn(async move {
        let wants = |name: &str| wanted.is_empty() || wanted.iter().any(|part| name.contains(part));
        if let Some(directory) = std::env::var_os(suspended::RESTARTED) {
            return suspended::come_back(directory.as_ref()).await;
        }
        if wants("rate") {
            rate::measure().await;
        }
        if wants("start") {
            latency::start().await;
        }
        if wants("approval") {
            latency::approval().await;
        }
        if wants("cancel") {
            latency::cancel().await;
        }
        if wants("suspended") {
            suspended::measure().await;
        }
        if wants("stored") {
            stored::measure().await;
        }
    });
    runtime.block_on(measures).expect("no panic");
}

/// The sample below which a share of all lie.
fn percentile(samples: &mut [Duration], share: f64) -> Duration {
    samples.sort();
    let place = (samples.len() as f64 * share).ceil() as usize;
    samples[place.clamp(1, samples.len()) - 1]
}

fn verdict(holds: bool) -> &'static str {
    if holds { "holds" } else { "DOES NOT HOLD" }
}
