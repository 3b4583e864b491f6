//! The clock: the time of day, and how long a lease lasts by it. The one place of
//! the host that reads the time of day, for its plugins too.
//!
//! In builds with debug assertions a test may set it: the variable
//! `STAGEWRIGHT_CLOCK` names a file with the milliseconds that the clock is ahead
//! (or behind, if negative), which is read each time; `STAGEWRIGHT_LEASE` says how
//! many milliseconds a lease lasts. Elsewhere there is nothing of it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::model::Timestamp;

/// How long a lease lasts unless it is renewed: so long a host that lives may be silent
/// before it counts as hung.
const LEASE: Duration = Duration::from_secs(15);

/// How often a lease is renewed while it lasts.
const BEATS: u32 = 5;

/// The time now.
pub(crate) fn now() -> Timestamp {
    Timestamp::default().after(since_1970())
}

/// The time since 1970, as exactly as it is known.
pub(crate) fn since_1970() -> Duration {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    set(since.unwrap_or_default())
}

/// How long a lease lasts.
pub(crate) fn lease() -> Duration {
    shortened(LEASE)
}

/// How often leases are renewed.
pub(crate) fn heartbeat() -> Duration {
    lease() / BEATS
}

#[cfg(not(debug_assertions))]
fn set(time: Duration) -> Duration {
    time
}

#[cfg(not(debug_assertions))]
fn shortened(lease: Duration) -> Duration {
    lease
}

#[cfg(debug_assertions)]
fn set(time: Duration) -> Duration {
    use std::path::PathBuf;
    use std::sync::OnceLock;

    static FILE: OnceLock<Option<PathBuf>> = OnceLock::new();

    let file = FILE.get_or_init(|| std::env::var_os("STAGEWRIGHT_CLOCK").map(PathBuf::from));
    let Some(file) = file else { return time };
    let offset = std::fs::read_to_string(file).ok();
    let Some(offset) = offset.and_then(|text| text.trim().parse::<i64>().ok()) else {
        panic!("STAGEWRIGHT_CLOCK={}: no number", file.display());
    };
    let by = Duration::from_millis(offset.unsigned_abs());
    if offset < 0 {
        time.saturating_sub(by)
    } else {
        time.saturating_add(by)
    }
}

#[cfg(debug_assertions)]
fn shortened(lease: Duration) -> Duration {
    use std::sync::OnceLock;

    static SHORTER: OnceLock<Option<Duration>> = OnceLock::new();

    let shorter = SHORTER.get_or_init(|| {
        let millis = std::env::var("STAGEWRIGHT_LEASE").ok()?.parse().ok()?;
        Some(Duration::from_millis(millis))
    });
    shorter.unwrap_or(lease)
}
