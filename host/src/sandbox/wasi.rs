//! What of WASI a call gets: its sources, its scratch directory and what was
//! granted. Nothing else: no network, no name lookup, no standard input.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use wasmtime_wasi::{FsPerms, HostWallClock, WasiCtx, WasiCtxBuilder};

use super::access::Access;
use super::stdio::Printed;
use crate::clock;
use crate::model::{PlanInput, PluginError};

/// Where a call's sources stand in the sandbox.
pub(super) const TARGET: &str = "/target";
/// The source that runs now.
pub(super) const RUNNING: &str = "/running";
/// What belongs to the deployment and the plugin.
pub(super) const SCRATCH: &str = "/scratch";

/// The directories of the host that belong to one call.
#[derive(Clone, Debug, Default)]
pub(super) struct Mounts {
    pub(super) target: Option<PathBuf>,
    pub(super) running: Option<PathBuf>,
    pub(super) scratch: Option<PathBuf>,
}

impl Mounts {
    pub(super) fn new(input: &PlanInput, scratch: Option<&PathBuf>) -> Self {
        Self {
            target: Some(input.target.root.clone()),
            running: input.running.as_ref().map(|source| source.root.clone()),
            scratch: scratch.cloned(),
        }
    }
}

/// The host's own time of day.
struct TimeOfDay;

impl HostWallClock for TimeOfDay {
    fn resolution(&self) -> Duration {
        Duration::from_nanos(1)
    }

    fn now(&self) -> Duration {
        clock::since_1970()
    }
}

/// The WASI side of one call.
pub(super) fn context(
    access: &Access,
    mounts: &Mounts,
    stdout: &Printed,
    stderr: &Printed,
) -> Result<WasiCtx, PluginError> {
    let mut wasi = WasiCtxBuilder::new();
    wasi.stdout(stdout.clone())
        .stderr(stderr.clone())
        .allow_tcp(false)
        .allow_udp(false)
        .allow_ip_name_lookup(false)
        .wall_clock(TimeOfDay);
    for (name, value) in access.environment() {
        wasi.env(name, value);
    }
    let own = [
        (mounts.target.as_deref(), TARGET, FsPerms::ReadOnly),
        (mounts.running.as_deref(), RUNNING, FsPerms::ReadOnly),
        (mounts.scratch.as_deref(), SCRATCH, FsPerms::ReadWrite),
    ];
    if let Some(scratch) = &mounts.scratch
        && !scratch.is_dir()
    {
        fs::create_dir_all(scratch).map_err(|error| {
            PluginError::Host(format!("could not make {}: {error}", scratch.display()))
        })?;
    }
    for (host, guest, permissions) in own {
        if let Some(host) = host {
            open(&mut wasi, host, guest, permissions)?;
        }
    }
    for directory in access.directories() {
        let permissions = if directory.writable {
            FsPerms::ReadWrite
        } else {
            FsPerms::ReadOnly
        };
        open(&mut wasi, &directory.host, &directory.guest, permissions)?;
    }
    Ok(wasi.build())
}

fn open(
    wasi: &mut WasiCtxBuilder,
    host: &Path,
    guest: &str,
    permissions: FsPerms,
) -> Result<(), PluginError> {
    wasi.preopened_dir(host, guest, permissions)
        .map(drop)
        .map_err(|error| {
            PluginError::Host(format!(
                "could not open {} for the plugin, as its {guest}: {error:#}",
                host.display()
            ))
        })
}
