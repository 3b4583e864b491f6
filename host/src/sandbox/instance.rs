//! One call: a fresh store and instance under the plugin's limits, gone when the
//! call is.
//!
//! Time is kept twice. Outside, a timer drops the call's future wherever it is: in
//! guest code, in a host call, in a sleep. Inside, the guest is asked every tick,
//! so that a busy loop on a runtime that has nothing but it to do still ends in
//! time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use wasmtime::component::{Instance, ResourceTable};
use wasmtime::{Store, UpdateDeadline};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use super::access::Access;
use super::component::Loaded;
use super::engine::{Place, Runtime};
use super::failure::{Ended, Scene, explain};
use super::limits::{Limiter, PluginLimits};
use super::process::Processes;
use super::stdio::Printed;
use super::wasi::{self, Mounts};
use crate::model::{Call, Cancel, PluginError, Services};

/// What a store holds: everything that the host answers a call's imports with.
pub(super) struct CallState {
    pub(super) services: Arc<dyn Services>,
    pub(super) cancel: Cancel,
    pub(super) grace: Duration,
    pub(super) access: Arc<Access>,
    pub(super) limits: Arc<PluginLimits>,
    pub(super) mounts: Mounts,
    pub(super) processes: Arc<Processes>,
    pub(super) table: ResourceTable,
    clock: Clock,
    limiter: Limiter,
    wasi: WasiCtx,
}

impl WasiView for CallState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: &mut self.wasi,
            table: &mut self.table,
        }
    }
}

/// When a call has to end, told from within.
struct Clock {
    timeout: Duration,
    deadline: Option<Instant>,
    grace_ends: Option<Instant>,
}

impl CallState {
    /// Whether the guest may go on.
    fn tick(&mut self) -> wasmtime::Result<UpdateDeadline> {
        let now = Instant::now();
        if self.clock.deadline.is_some_and(|deadline| now >= deadline) {
            return Err(Ended::TimedOut(self.clock.timeout).into());
        }
        if self.cancel.is_cancelled() {
            match self.clock.grace_ends {
                None => self.clock.grace_ends = now.checked_add(self.grace),
                Some(end) if now >= end => return Err(Ended::Cancelled.into()),
                Some(_) => {}
            }
        }
        Ok(UpdateDeadline::Yield(1))
    }
}

/// What all calls of one plugin share.
pub(super) struct Setting {
    pub(super) runtime: Arc<Runtime>,
    pub(super) grace: Duration,
    pub(super) loaded: Arc<Loaded>,
    pub(super) access: Arc<Access>,
    pub(super) limits: Arc<PluginLimits>,
}

/// A running call. Its store goes first when it is dropped, then its place.
pub(super) struct Session {
    pub(super) store: Store<CallState>,
    pub(super) instance: Instance,
    stdout: Printed,
    stderr: Printed,
    _place: Place,
}

impl Session {
    /// Waits for a place, and makes a fresh instance.
    pub(super) async fn open(
        setting: &Setting,
        call: &Call,
        mounts: Mounts,
        processes: &Arc<Processes>,
    ) -> Result<Self, PluginError> {
        let runtime = &setting.runtime;
        let started = Instant::now();
        let place = runtime.place().await;
        loop {
            let stdout = Printed::stdout(call.services.clone());
            let stderr = Printed::stderr(call.services.clone());
            let mut store =
                new_store(setting, call, &mounts, processes, &stdout, &stderr, started)?;
            // Before the try, so that no release is missed.
            let mut freed = std::pin::pin!(runtime.freed());
            freed.as_mut().enable();
            match setting.loaded.pre.instantiate_async(&mut store).await {
                Ok(instance) => {
                    return Ok(Self {
                        store,
                        instance,
                        stdout,
                        stderr,
                        _place: place,
                    });
                }
                Err(error) if runtime.is_full(&error) => {
                    drop(store);
                    freed.await;
                }
                Err(error) => return Err(breakdown(&error, &mut store, &stdout, &stderr)),
            }
        }
    }

    /// Ends the call: the last output, and why it broke down if it did.
    pub(super) fn close<T>(mut self, result: wasmtime::Result<T>) -> Result<T, PluginError> {
        match result {
            Ok(value) => {
                self.stdout.finish();
                self.stderr.finish();
                Ok(value)
            }
            Err(error) => Err(breakdown(
                &error,
                &mut self.store,
                &self.stdout,
                &self.stderr,
            )),
        }
    }
}

fn breakdown(
    error: &wasmtime::Error,
    store: &mut Store<CallState>,
    stdout: &Printed,
    stderr: &Printed,
) -> PluginError {
    stdout.finish();
    stderr.finish();
    let state = store.data();
    let explained = explain(
        error,
        &Scene {
            key: &state.access.key,
            limits: &state.limits,
            limiter: &state.limiter,
            tail: stderr.tail(),
        },
    );
    tracing::debug!(
        plugin = state.access.key.as_str(),
        error = format!("{error:#}"),
        "a plugin's call broke down"
    );
    explained
}

fn new_store(
    setting: &Setting,
    call: &Call,
    mounts: &Mounts,
    processes: &Arc<Processes>,
    stdout: &Printed,
    stderr: &Printed,
    started: Instant,
) -> Result<Store<CallState>, PluginError> {
    let limits = &setting.limits;
    let mut table = ResourceTable::new();
    table.set_max_capacity(limits.handles);
    let state = CallState {
        wasi: wasi::context(&setting.access, mounts, stdout, stderr)?,
        services: call.services.clone(),
        cancel: call.cancel.clone(),
        grace: setting.grace,
        access: setting.access.clone(),
        limits: limits.clone(),
        mounts: mounts.clone(),
        processes: processes.clone(),
        table,
        clock: Clock {
            timeout: call.timeout,
            deadline: started.checked_add(call.timeout),
            grace_ends: None,
        },
        limiter: Limiter::new(limits),
    };
    let mut store = Store::new(&setting.runtime.engine, state);
    store.limiter(|state| &mut state.limiter);
    store.set_hostcall_fuel(limits.output);
    store.set_max_component_handles(limits.handles);
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(|mut store| store.data_mut().tick());
    Ok(store)
}

/// Drives a call, and ends it when its time is over or when it was cancelled and
/// its grace period has passed. It and its programs are gone when this returns;
/// when this is itself dropped, they are told to end.
pub(super) async fn guard<T: Send + 'static>(
    setting: &Setting,
    call: &Call,
    processes: Arc<Processes>,
    work: impl Future<Output = Result<T, PluginError>> + Send + 'static,
) -> Result<T, PluginError> {
    let mut cancel = call.cancel.clone();
    let cancelled = async {
        cancel.cancelled().await;
        sleep(setting.grace).await;
    };
    let mut work = setting.runtime.apart.work(work);
    let result = tokio::select! {
        biased;
        result = work.done() => result,
        () = sleep(call.timeout) => Err(PluginError::TimedOut(call.timeout)),
        () = cancelled => Err(PluginError::Cancelled),
    };
    work.stop().await;
    if processes.running() > 0 {
        processes.end().await;
    }
    result
}

/// Sleeps; for ever, if the clock does not reach that far.
async fn sleep(duration: Duration) {
    match tokio::time::Instant::now().checked_add(duration) {
        Some(end) => tokio::time::sleep_until(end).await,
        None => std::future::pending().await,
    }
}
