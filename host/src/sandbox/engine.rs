//! One wasmtime engine for all plugins, and the numbers that size it.
//!
//! Every call takes a fresh instance from a pool that is reserved once; where
//! the address space for it can't be had, instances are made on demand, slower
//! but the same. More calls than fit wait for a free place rather than fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use wasmtime::{
    Config, Engine, EngineWeak, InstanceAllocationStrategy, PoolConcurrencyLimitError,
    PoolingAllocationConfig,
};

use super::SandboxError;
use super::apart::Apart;

/// How often guest code is asked to give way, so that a call in a busy loop can
/// be dropped, and several of them do not keep the host's own tasks waiting: each
/// has to wait for a turn of every one that is busy.
const TICK: Duration = Duration::from_millis(1);

/// How often it is looked whether there is any guest code.
const IDLE_TICK: Duration = Duration::from_millis(10);

/// Core instances that a component takes from the pool: 3 when written in Rust,
/// 4 in JavaScript, 14 in Python. An average, since all kinds share the pool.
const CORE_INSTANCES_PER_COMPONENT: u32 = 5;

/// Memories and tables a component takes, on average and rounded up.
const MEMORIES_PER_COMPONENT: u32 = 1;
const TABLES_PER_COMPONENT: u32 = 3;

/// A component of one language runtime may need many at once, however few calls
/// the host was sized for.
const LEAST_CORE_INSTANCES: u32 = 32;
const LEAST_MEMORIES: u32 = 16;

/// Table elements that a pool's table can grow to. Virtual memory only.
const POOL_TABLE_ELEMENTS: usize = 200_000;

/// The engine, its ticker and the places for calls.
pub(super) struct Runtime {
    pub(super) engine: Engine,
    /// Where calls go on that compute.
    pub(super) apart: Apart,
    places: Arc<Semaphore>,
    total: usize,
    freed: Notify,
    /// How many calls have a place.
    calls: Arc<AtomicUsize>,
}

/// A place for one call; free again when it is dropped.
pub(super) struct Place {
    runtime: Arc<Runtime>,
    _permit: OwnedSemaphorePermit,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.runtime.calls.fetch_sub(1, Ordering::Relaxed);
        self.runtime.freed.notify_waiters();
    }
}

impl Runtime {
    /// An engine for so many calls at once.
    pub(super) fn new(instances: u32) -> Result<Self, SandboxError> {
        let instances = instances.max(1);
        let engine = match Engine::new(&config(Some(pool(instances)))) {
            Ok(engine) => engine,
            Err(error) => {
                tracing::warn!(
                    error = format!("{error:#}"),
                    "no address space for a pool of {instances} instances: \
                     instances are made on demand, which is slower"
                );
                Engine::new(&config(None))
                    .map_err(|error| SandboxError::Engine(format!("{error:#}")))?
            }
        };
        let calls = Arc::new(AtomicUsize::new(0));
        start_ticker(engine.weak(), calls.clone())
            .map_err(|error| SandboxError::Engine(error.to_string()))?;
        let total = usize::try_from(instances).unwrap_or(Semaphore::MAX_PERMITS);
        Ok(Self {
            engine,
            apart: Apart::default(),
            places: Arc::new(Semaphore::new(total)),
            total,
            freed: Notify::new(),
            calls,
        })
    }

    /// Waits for a place.
    pub(super) async fn place(self: &Arc<Self>) -> Place {
        let permit = self
            .places
            .clone()
            .acquire_owned()
            .await
            .expect("the semaphore is never closed");
        self.calls.fetch_add(1, Ordering::Relaxed);
        Place {
            runtime: self.clone(),
            _permit: permit,
        }
    }

    /// Whether an instantiation failed only because other calls hold what it
    /// needs.
    pub(super) fn is_full(&self, error: &wasmtime::Error) -> bool {
        error.is::<PoolConcurrencyLimitError>() && self.places.available_permits() + 1 < self.total
    }

    /// Completes when a call has given back what it held.
    pub(super) fn freed(&self) -> tokio::sync::futures::Notified<'_> {
        self.freed.notified()
    }
}

fn pool(instances: u32) -> PoolingAllocationConfig {
    let core_instances = instances
        .saturating_mul(CORE_INSTANCES_PER_COMPONENT)
        .max(LEAST_CORE_INSTANCES);
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(instances)
        .total_core_instances(core_instances)
        .total_memories(
            instances
                .saturating_mul(MEMORIES_PER_COMPONENT)
                .max(LEAST_MEMORIES),
        )
        .total_tables(
            instances
                .saturating_mul(TABLES_PER_COMPONENT)
                .max(LEAST_CORE_INSTANCES),
        )
        .total_stacks(instances)
        .max_memories_per_module(8)
        .max_tables_per_module(8)
        .table_elements(POOL_TABLE_ELEMENTS)
        .decommit_batch_size(32);
    // `max_memory_size` stays at its 4 GiB of address space: how much of it a
    // plugin may use is the store limiter's business, per plugin.
    pool
}

fn config(pool: Option<PoolingAllocationConfig>) -> Config {
    let mut config = Config::new();
    // Garbage collection, exceptions, threads and component-model concurrency
    // are not compiled in; what is compiled in and not needed is switched off.
    config
        .wasm_component_model(true)
        .epoch_interruption(true)
        .allocation_strategy(match pool {
            Some(pool) => InstanceAllocationStrategy::Pooling(pool),
            None => InstanceAllocationStrategy::OnDemand,
        });
    config
}

/// Moves the engine's epoch on for as long as the engine lives. A thread of its
/// own, so that no busy runtime delays it; a late tick is one tick, never several.
fn start_ticker(engine: EngineWeak, calls: Arc<AtomicUsize>) -> std::io::Result<()> {
    thread::Builder::new()
        .name("sandbox-ticker".to_owned())
        .spawn(move || {
            loop {
                let busy = calls.load(Ordering::Relaxed) > 0;
                thread::sleep(if busy { TICK } else { IDLE_TICK });
                match engine.upgrade() {
                    Some(engine) => engine.increment_epoch(),
                    None => break,
                }
            }
        })
        .map(drop)
}

/// What the parts of the sandbox share.
pub(super) type SharedRuntime = Arc<Runtime>;

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn more_calls_than_places_wait_for_one() {
        let runtime = Arc::new(Runtime::new(1).expect("an engine"));
        let held = runtime.place().await;
        let mut second = std::pin::pin!(runtime.place());
        let ready = std::future::poll_fn(|context| {
            std::task::Poll::Ready(second.as_mut().poll(context).is_ready())
        })
        .await;
        assert!(!ready, "there is one place only");
        drop(held);
        second.await;
    }

    #[test]
    fn the_ticker_ends_with_its_engine() {
        let runtime = Runtime::new(1).expect("an engine");
        let weak = runtime.engine.weak();
        drop(runtime);
        // The ticker holds the engine only while it ticks.
        while weak.upgrade().is_some() {
            thread::yield_now();
        }
    }
}
