//! Points at which a test lets the program die as if it were killed: right before
//! and right after each kind of transition is stored.
//!
//! Only in builds with debug assertions; elsewhere there is nothing of it. The
//! variable `STAGEWRIGHT_CRASH_AT` names the point and, after a `#`, at which
//! time of coming there: `after stage-begun#3`.

/// Right before a transition is stored.
pub(crate) fn before(transition: &str) {
    come("before", transition);
}

/// Right after a transition was stored.
pub(crate) fn after(transition: &str) {
    come("after", transition);
}

#[cfg(not(debug_assertions))]
fn come(_: &str, _: &str) {}

#[cfg(debug_assertions)]
fn come(side: &str, transition: &str) {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU32, Ordering};

    use rustix::process::{Signal, getpid, kill_process};

    static POINT: OnceLock<Option<(String, u32)>> = OnceLock::new();
    static CAME: AtomicU32 = AtomicU32::new(0);

    let point = POINT.get_or_init(|| {
        let text = std::env::var("STAGEWRIGHT_CRASH_AT").ok()?;
        Some(match text.split_once('#') {
            Some((point, time)) => (point.to_owned(), time.parse().unwrap_or(1)),
            None => (text, 1),
        })
    });
    let Some((point, time)) = point else { return };
    let here = point.split_once(' ') == Some((side, transition));
    if here && CAME.fetch_add(1, Ordering::SeqCst) + 1 == *time {
        eprintln!("crash point {point}");
        // Nothing is flushed, closed or let go of, as in any death by SIGKILL.
        if let Err(error) = kill_process(getpid(), Signal::KILL) {
            panic!("the crash point {point} could not kill the program: {error}");
        }
    }
}
