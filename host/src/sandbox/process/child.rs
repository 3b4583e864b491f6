//! One started program, its process group and its output.
//!
//! A task of its own watches over the program: it takes the output in as it
//! comes, sees the end, ends what the program left behind in its group, and only
//! then reaps it. Until it is reaped its number can't be given to another
//! process, so the group can be killed without hitting a stranger.

use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::process::{ChildStdin, Command};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use super::output::{Output, drain, feed};
use crate::model::{Cancel, Refusal, Services};

/// How long after a program's own end its group may go on writing to the same
/// output, such as a `tee` that has lines left.
const LINGER: Duration = Duration::from_millis(250);

/// What to start.
pub(in crate::sandbox) struct Order {
    /// The name that the plugin asked for.
    pub(in crate::sandbox) name: String,
    pub(in crate::sandbox) program: PathBuf,
    pub(in crate::sandbox) arguments: Vec<String>,
    pub(in crate::sandbox) environment: Vec<(String, String)>,
    pub(in crate::sandbox) directory: PathBuf,
    pub(in crate::sandbox) stdin: Vec<u8>,
    /// How much of each output is kept; none if nothing is.
    pub(in crate::sandbox) capture: Option<usize>,
    /// Where lines go; none if nowhere.
    pub(in crate::sandbox) log: Option<Arc<dyn Services>>,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sandbox) enum Exit {
    Code(i32),
    Signal(i32),
}

/// What a program wrote.
#[derive(Clone, Debug, Default)]
pub(in crate::sandbox) struct Captured {
    pub(in crate::sandbox) stdout: Vec<u8>,
    pub(in crate::sandbox) stderr: Vec<u8>,
    pub(in crate::sandbox) truncated: bool,
}

/// A plugin's handle of a program. Dropping it kills the program and its group.
#[derive(Debug)]
#[allow(unreachable_pub)]
pub struct Child {
    pub(super) state: Arc<State>,
}

/// What the handle and the watching task share.
#[derive(Debug)]
pub(super) struct State {
    pub(super) name: String,
    pid: Pid,
    reaped: Mutex<bool>,
    exit: watch::Sender<Option<Exit>>,
    pub(super) capture: Option<usize>,
    pub(super) captured: Mutex<Captured>,
    /// Somebody has ended it, though it may not be gone yet.
    ending: AtomicBool,
    pub(super) muted: AtomicBool,
}

impl State {
    /// Sends a signal to the whole group, while it is surely this program's.
    fn signal(&self, signal: Signal) {
        let reaped = self.reaped.lock().unwrap_or_else(PoisonError::into_inner);
        if !*reaped {
            match kill_process_group(self.pid, signal) {
                // Nobody is left in the group.
                Ok(()) | Err(rustix::io::Errno::SRCH) => {}
                Err(error) => tracing::warn!(
                    program = self.name,
                    %error,
                    "could not send {signal:?} to a program's process group"
                ),
            }
        }
    }

    pub(super) fn kill(&self) {
        self.ending.store(true, Ordering::Release);
        self.signal(Signal::KILL);
    }

    /// Whether it was left to itself.
    pub(super) fn is_left_running(&self) -> bool {
        self.exited().is_none() && !self.ending.load(Ordering::Acquire)
    }

    /// Kills, and keeps what is still read out of the log: its call has ended.
    pub(super) fn abandon(&self) {
        self.muted.store(true, Ordering::Release);
        self.kill();
    }

    pub(super) fn exited(&self) -> Option<Exit> {
        *self.exit.borrow()
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<Option<Exit>> {
        self.exit.subscribe()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.exited().is_none() {
            self.state.abandon();
        }
    }
}

impl Child {
    /// Starts a program in a process group of its own.
    pub(in crate::sandbox) fn start(order: Order) -> Result<Self, Refusal> {
        // Before the start, so that no end is missed.
        let ends = signal(SignalKind::child())
            .map_err(|error| Refusal::Host(format!("could not watch for SIGCHLD: {error}")))?;
        let mut child = Command::new(&order.program)
            .args(&order.arguments)
            .env_clear()
            .envs(order.environment)
            .current_dir(&order.directory)
            .stdin(if order.stdin.is_empty() {
                Stdio::null()
            } else {
                Stdio::piped()
            })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| {
                Refusal::Invalid(format!(
                    "could not start `{}` in {}: {error}",
                    order.program.display(),
                    order.directory.display()
                ))
            })?;
        let pid = child
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .and_then(Pid::from_raw)
            .expect("a program that was not waited for has a process id");
        let state = Arc::new(State {
            name: order.name,
            pid,
            reaped: Mutex::new(false),
            exit: watch::Sender::new(None),
            capture: order.capture,
            captured: Mutex::default(),
            ending: AtomicBool::new(false),
            muted: AtomicBool::new(false),
        });
        let pipes = Pipes {
            stdin: child.stdin.take().map(|pipe| (pipe, order.stdin)),
            stdout: child.stdout.take(),
            stderr: child.stderr.take(),
            log: order.log,
        };
        tokio::spawn(watch_over(child, ends, pipes, GroupGuard(state.clone())));
        Ok(Self { state })
    }

    pub(in crate::sandbox) fn exited(&self) -> Option<Exit> {
        self.state.exited()
    }

    /// Becomes some at the end. Lives on without the handle.
    pub(in crate::sandbox) fn ended(&self) -> watch::Receiver<Option<Exit>> {
        self.state.subscribe()
    }

    /// Waits for the end. Once cancelled, asks the group to end, and kills it
    /// when it has not after the patience given.
    pub(in crate::sandbox) async fn wait(
        &self,
        mut cancel: Cancel,
        patience: Duration,
    ) -> Result<Exit, Refusal> {
        let mut ended = self.ended();
        tokio::select! {
            biased;
            exit = end(&mut ended) => return exit,
            () = cancel.cancelled() => {}
        }
        self.state.signal(Signal::TERM);
        if tokio::time::timeout(patience, end(&mut ended))
            .await
            .is_err()
        {
            self.state.kill();
            end(&mut ended).await?;
        }
        Err(Refusal::Cancelled)
    }

    pub(in crate::sandbox) fn captured(&self) -> Captured {
        self.state
            .captured
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(in crate::sandbox) fn kill(&self) {
        self.state.kill();
    }
}

/// Waits until the program was reaped.
pub(super) async fn end(ended: &mut watch::Receiver<Option<Exit>>) -> Result<Exit, Refusal> {
    match ended.wait_for(Option::is_some).await.map(|exit| *exit) {
        Ok(Some(exit)) => Ok(exit),
        _ => Err(Refusal::Host(
            "the task that watches over a program was ended".to_owned(),
        )),
    }
}

/// Kills the group when the watching task ends before its work is done, which it
/// does when the runtime is shut down.
struct GroupGuard(Arc<State>);

impl Drop for GroupGuard {
    fn drop(&mut self) {
        self.0.kill();
    }
}

struct Pipes {
    stdin: Option<(ChildStdin, Vec<u8>)>,
    stdout: Option<tokio::process::ChildStdout>,
    stderr: Option<tokio::process::ChildStderr>,
    log: Option<Arc<dyn Services>>,
}

async fn watch_over(
    mut child: tokio::process::Child,
    mut ends: tokio::signal::unix::Signal,
    pipes: Pipes,
    guard: GroupGuard,
) {
    let state = &*guard.0;
    let killed = watch::Sender::new(false);
    let log = pipes.log.as_ref();
    let mut traffic = std::pin::pin!(async {
        tokio::join!(
            feed(pipes.stdin, killed.subscribe()),
            drain(pipes.stdout, Output::Stdout, state, log, killed.subscribe()),
            drain(pipes.stderr, Output::Stderr, state, log, killed.subscribe()),
        )
    });
    let mut idle = false;
    loop {
        if has_ended(state) {
            break;
        }
        tokio::select! {
            _ = &mut traffic, if !idle => idle = true,
            signal = ends.recv() => if signal.is_none() {
                break;
            },
        }
    }
    if !idle {
        idle = tokio::time::timeout(LINGER, &mut traffic).await.is_ok();
    }
    state.kill();
    killed.send_replace(true);
    if !idle {
        traffic.await;
    }
    // From here on the number may be given to another process.
    *state.reaped.lock().unwrap_or_else(PoisonError::into_inner) = true;
    let exit = match child.wait().await {
        Ok(status) => match status.code() {
            Some(code) => Exit::Code(code),
            None => Exit::Signal(status.signal().unwrap_or_default()),
        },
        Err(error) => {
            tracing::error!(program = state.name, %error, "could not reap a program");
            Exit::Signal(Signal::KILL.as_raw())
        }
    };
    state.exit.send_replace(Some(exit));
}

/// Whether the program itself has ended. Leaves it to be reaped later.
fn has_ended(state: &State) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    match waitid(WaitId::Pid(state.pid), options) {
        Ok(status) => status.is_some(),
        Err(error) => {
            tracing::error!(program = state.name, %error, "could not ask for a program's end");
            true
        }
    }
}
