//! What goes into a program and what comes out of it, while it runs and for a
//! bounded while after its group was killed.

use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::ChildStdin;
use tokio::sync::watch;

use super::child::State;
use crate::model::{Services, Severity};
use crate::sandbox::lines::Lines;

/// After the group was killed: how long, and how much, is still read from a
/// process that left the group and keeps the output open.
const LAST_WAIT: Duration = Duration::from_millis(500);
const LAST_BYTES: usize = 1 << 20;

/// Gives a program its standard input. That it doesn't read it all is its affair.
pub(super) async fn feed(stdin: Option<(ChildStdin, Vec<u8>)>, mut killed: watch::Receiver<bool>) {
    let Some((mut pipe, bytes)) = stdin else {
        return;
    };
    tokio::select! {
        written = pipe.write_all(&bytes) => match written {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            Err(error) => tracing::warn!(%error, "could not write a program's standard input"),
        },
        () = turned(&mut killed) => {}
    }
}

/// Waits until the group was killed.
async fn turned(killed: &mut watch::Receiver<bool>) {
    // The sender lives as long as the traffic that waits here.
    drop(killed.wait_for(|killed| *killed).await);
}

/// Which of a program's outputs.
#[derive(Clone, Copy)]
pub(super) enum Output {
    Stdout,
    Stderr,
}

/// Takes in one output until its end.
pub(super) async fn drain(
    pipe: Option<impl AsyncRead + Unpin>,
    output: Output,
    state: &State,
    log: Option<&Arc<dyn Services>>,
    mut killed: watch::Receiver<bool>,
) {
    let Some(mut pipe) = pipe else { return };
    let severity = match output {
        Output::Stdout => Severity::Info,
        Output::Stderr => Severity::Error,
    };
    let mut lines = Lines::default();
    let mut buffer = vec![0; 16 * 1024];
    let mut last_wait = LAST_WAIT;
    let mut last_bytes = LAST_BYTES;
    loop {
        let read = tokio::select! {
            biased;
            read = pipe.read(&mut buffer) => read,
            () = turned(&mut killed) => {
                let since = Instant::now();
                let Ok(read) = tokio::time::timeout(last_wait, pipe.read(&mut buffer)).await else {
                    break;
                };
                last_wait = last_wait.saturating_sub(since.elapsed());
                read
            }
        };
        let bytes = match read {
            Ok(0) => break,
            Ok(count) => &buffer[..count],
            Err(error) => {
                tracing::warn!(program = state.name, %error, "could not read a program's output");
                break;
            }
        };
        keep(state, output, bytes);
        if let Some(log) = log
            && !state.muted.load(Ordering::Acquire)
        {
            lines.push(bytes, |line| log.log(severity, line));
            log.log_room().await;
        }
        if *killed.borrow() {
            last_bytes = last_bytes.saturating_sub(bytes.len());
            if last_bytes == 0 {
                break;
            }
        }
    }
    if let Some(log) = log
        && !state.muted.load(Ordering::Acquire)
    {
        lines.finish(|line| log.log(severity, line));
    }
}

fn keep(state: &State, output: Output, bytes: &[u8]) {
    let Some(most) = state.capture else { return };
    let mut captured = state
        .captured
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    let kept = match output {
        Output::Stdout => &mut captured.stdout,
        Output::Stderr => &mut captured.stderr,
    };
    let room = most.saturating_sub(kept.len()).min(bytes.len());
    kept.extend_from_slice(&bytes[..room]);
    if room < bytes.len() {
        captured.truncated = true;
    }
}
