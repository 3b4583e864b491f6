//! The sandbox over real components: what it promises of loading, of calls that
//! go wrong, of what a plugin sees, and of the programs that it starts.

mod calls;
mod commands;
mod ends;
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
use tokio::sync::OnceCell;

/// A sandbox with a short grace period and few places: one for all tests, so that
/// each runs beside the others' misbehaviour.
fn sandbox() -> Sandbox {
    static SANDBOX: OnceLock<Sandbox> = OnceLock::new();
    SANDBOX
        .get_or_init(|| {
            Sandbox::new(SandboxSettings {
                instances: 8,
                grace: Duration::from_millis(50),
                ..SandboxSettings::default()
            })
            .expect("a sandbox")
        })
        .clone()
}

fn probe_bytes() -> Arc<[u8]> {
    static BYTES: OnceLock<Arc<[u8]>> = OnceLock::new();
    BYTES.get_or_init(|| component("probe").into()).clone()
}

/// The probe with no grants.
fn bare() -> PluginConfig {
    PluginConfig::bare("probe".into(), "stagewright.yaml:12")
}

/// The probe with no grants: one for all tests, which is the harder try.
async fn probe() -> &'static WasmPlugin {
    static PROBE: OnceCell<WasmPlugin> = OnceCell::const_new();
    PROBE
        .get_or_init(async || {
            sandbox()
                .load(probe_bytes(), &bare())
                .await
                .expect("the probe loads")
        })
        .await
}

async fn probe_with(config: &PluginConfig) -> WasmPlugin {
    // While that one is in use, the same bytes are not compiled again.
    probe().await;
    sandbox()
        .load(probe_bytes(), config)
        .await
        .expect("the probe loads")
}
