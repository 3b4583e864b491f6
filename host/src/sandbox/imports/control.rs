//! `control`: whether the call should end.

use wasmtime::component::Resource;
use wasmtime_wasi::async_trait;
use wasmtime_wasi::p2::{DynPollable, Pollable, subscribe};

use super::wit::control::Host;
use crate::model::Cancel;
use crate::sandbox::instance::CallState;

/// Ready when the call is cancelled.
struct Cancelled(Cancel);

#[async_trait]
impl Pollable for Cancelled {
    async fn ready(&mut self) {
        self.0.cancelled().await;
    }
}

impl Host for CallState {
    fn cancelled(&mut self) -> wasmtime::Result<bool> {
        Ok(self.cancel.is_cancelled())
    }

    fn subscribe(&mut self) -> wasmtime::Result<Resource<DynPollable>> {
        let cancelled = self.table.push(Cancelled(self.cancel.clone()))?;
        subscribe(&mut self.table, cancelled)
    }
}
