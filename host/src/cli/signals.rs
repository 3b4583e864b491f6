//! The signals that tell a command to leave what it drives: never a cancel. They are
//! caught before the command does anything, so that none ends it half-way.

use std::io;

use futures_util::future::select_all;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::AbortHandle;

use super::output::Output;

/// Every Ctrl-C, every SIGTERM, and that the terminal goes, unless this program was
/// started to outlive it, as with `nohup`.
pub(super) struct Interrupts(Vec<Signal>);

impl Interrupts {
    /// Catches them from now on.
    pub(super) fn catch() -> Self {
        // Ignored it stays, for the programs that plugins start too.
        let mut kinds = vec![SignalKind::interrupt(), SignalKind::terminate()];
        if !ignores_hangup() {
            kinds.push(SignalKind::hangup());
        }
        let signals: io::Result<Vec<Signal>> = kinds.into_iter().map(signal).collect();
        Self(signals.unwrap_or_else(|error| {
            tracing::warn!(%error, "signals can't be caught: an interrupt will be as a crash");
            Vec::new()
        }))
    }

    /// Waits for the next one.
    pub(super) async fn next(&mut self) {
        if self.0.is_empty() {
            std::future::pending::<()>().await;
        }
        let any = self.0.iter_mut().map(|signal| Box::pin(signal.recv()));
        select_all(any).await;
    }

    /// Calls back for each.
    pub(super) fn call(mut self, output: Output, leave: impl Fn() + Send + 'static) -> AbortHandle {
        tokio::spawn(async move {
            let mut told = false;
            loop {
                self.next().await;
                if !told {
                    output.remark(
                        "leaving: stages that run may end within the grace period; interrupt \
                         again to leave now",
                    );
                    told = true;
                }
                leave();
            }
        })
        .abort_handle()
    }
}

/// Whether SIGHUP was ignored when this program was started. Where the system does
/// not say so, it was not.
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let signals = ignored.and_then(|set| u64::from_str_radix(set.trim(), 16).ok());
    signals.is_some_and(|set| set & 1 == 1)
}
