//! The sandbox over real components: what it promises of loading, of calls that
//! go wrong, of what a plugin sees, and of the programs that it starts.

mod calls;
mod files;
mod limits;
mod loading;
mod logs;
mod planning;
mod processes;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use stagewright::sandbox::{PluginConfig, Sandbox, SandboxSettings, WasmPlugin};
use stagewright_tests::component;

/// A sandbox with a short grace period, for each test its own.
fn sandbox() -> Sandbox {
    Sandbox::new(SandboxSettings {
        instances: 4,
        grace: Duration::from_millis(50),
        ..SandboxSettings::default()
    })
    .expect("a sandbox")
}

fn probe_bytes() -> Arc<[u8]> {
    static BYTES: OnceLock<Arc<[u8]>> = OnceLock::new();
    BYTES.get_or_init(|| component("probe").into()).clone()
}

/// The probe with no grants.
fn bare() -> PluginConfig {
    PluginConfig::bare("probe".into(), "stagewright.yaml:12")
}

async fn probe() -> WasmPlugin {
    probe_with(&bare()).await
}

async fn probe_with(config: &PluginConfig) -> WasmPlugin {
    sandbox()
        .load(probe_bytes(), config)
        .await
        .expect("the probe loads")
}
