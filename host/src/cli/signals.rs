//! The signals that tell a command to leave what it drives: never a cancel.

use std::io;

use futures_util::future::select_all;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::AbortHandle;

use super::output::Output;

/// Calls back for every Ctrl-C, every SIGTERM, and when the terminal goes, unless
/// this program was started to outlive it, as with `nohup`.
pub(super) fn on_interrupt(output: Output, leave: impl Fn() + Send + 'static) -> AbortHandle {
    // Ignored it stays, for the programs that plugins start too.
    let mut kinds = vec![SignalKind::interrupt(), SignalKind::terminate()];
    if !ignores_hangup() {
        kinds.push(SignalKind::hangup());
    }
    tokio::spawn(async move {
        let signals: io::Result<Vec<Signal>> = kinds.into_iter().map(signal).collect();
        let mut signals = match signals {
            Ok(signals) => signals,
            Err(error) => {
                tracing::warn!(%error, "signals can't be caught: an interrupt will be as a crash");
                return;
            }
        };
        let mut told = false;
        loop {
            let any = signals.iter_mut().map(|signal| Box::pin(signal.recv()));
            select_all(any).await;
            if !told {
                output.remark(
                    "leaving: stages that run may end within the grace period; interrupt again \
                     to leave now",
                );
                told = true;
            }
            leave();
        }
    })
    .abort_handle()
}

/// Whether SIGHUP was ignored when this program was started. Where the system does
/// not say so, it was not.
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let signals = ignored.and_then(|set| u64::from_str_radix(set.trim(), 16).ok());
    signals.is_some_and(|set| set & 1 == 1)
}
