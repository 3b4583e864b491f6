//! Threads of their own for guests that compute.
//!
//! A guest gives way every tick, but whatever else wants its thread then waits for
//! a turn of every other guest that is busy: a cancel, a log line, the next stage.
//! So a call begins where it is awaited, which costs nothing, and goes on apart
//! once it has kept a thread busy for longer than a moment. The threads there have
//! a lower priority than the host's.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::OnceLock;
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

/// How long a call may keep the host's threads busy, in all.
const MOMENT: Duration = Duration::from_millis(10);

/// How much lower the priority is, in the system's steps from 0 to 19.
const NICE: i32 = 5;

/// The threads; started when the first call needs them.
#[derive(Debug, Default)]
pub(super) struct Apart(OnceLock<Option<Runtime>>);

impl Apart {
    /// Begins a piece of work here, and moves it if it computes.
    pub(super) fn work<'a, T, F>(&'a self, work: F) -> Work<'a, F, T>
    where
        F: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        Work {
            apart: self,
            state: State::Here(Box::pin(work)),
        }
    }

    /// None if the system gives no threads: then nothing is moved.
    fn runtime(&self) -> Option<&Runtime> {
        let started = self.0.get_or_init(|| match start() {
            Ok(runtime) => Some(runtime),
            Err(error) => {
                tracing::warn!(
                    %error,
                    "no threads for plugins that compute: they share the host's, which will be \
                     slower to answer"
                );
                None
            }
        });
        started.as_ref()
    }
}

impl Drop for Apart {
    fn drop(&mut self) {
        if let Some(Some(runtime)) = self.0.take() {
            // All calls are over: whoever makes one holds this. Waiting for the
            // threads is not allowed where tasks run.
            runtime.shutdown_background();
        }
    }
}

fn start() -> io::Result<Runtime> {
    Builder::new_multi_thread()
        .thread_name("guest")
        .on_thread_start(lower_priority)
        .enable_all()
        .build()
}

#[cfg(target_os = "linux")]
fn lower_priority() {
    // On Linux, and only there, a thread has a priority of its own.
    let thread = rustix::thread::gettid();
    if let Err(error) = rustix::process::setpriority_process(Some(thread), NICE) {
        tracing::debug!(%error, "a guest's thread keeps the host's priority");
    }
}

#[cfg(not(target_os = "linux"))]
fn lower_priority() {}

/// How long a drop waits for what computes apart to be gone, which takes a turn of
/// each guest there: a few milliseconds. And how often it looks.
const GONE_WITHIN: Duration = Duration::from_secs(1);
const LOOK_EVERY: Duration = Duration::from_micros(200);

/// A piece of work, wherever it is done. Dropped, it is gone.
pub(super) struct Work<'a, F, T> {
    apart: &'a Apart,
    state: State<F, T>,
}

enum State<F, T> {
    Here(Pin<Box<F>>),
    Moved(JoinHandle<T>),
    Over,
}

impl<F, T> Work<'_, F, T>
where
    F: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    /// Does it, to its end.
    pub(super) async fn done(&mut self) -> T {
        let mut busy = Duration::ZERO;
        loop {
            match &mut self.state {
                State::Here(work) => {
                    let done = poll_fn(|context| {
                        let began = Instant::now();
                        match work.as_mut().poll(context) {
                            Poll::Ready(value) => Poll::Ready(Some(value)),
                            Poll::Pending => {
                                busy += began.elapsed();
                                if busy < MOMENT {
                                    Poll::Pending
                                } else {
                                    Poll::Ready(None)
                                }
                            }
                        }
                    });
                    match done.await {
                        Some(value) => {
                            self.state = State::Over;
                            return value;
                        }
                        None => match self.apart.runtime() {
                            Some(runtime) => self.go(runtime),
                            None => busy = Duration::ZERO,
                        },
                    }
                }
                State::Moved(task) => {
                    let ended = task.await;
                    self.state = State::Over;
                    match ended {
                        Ok(value) => return value,
                        Err(error) => match error.try_into_panic() {
                            Ok(panic) => std::panic::resume_unwind(panic),
                            // Nobody cancels it but `stop`, after this.
                            Err(_) => std::future::pending().await,
                        },
                    }
                }
                State::Over => std::future::pending().await,
            }
        }
    }

    fn go(&mut self, runtime: &Runtime) {
        if let State::Here(work) = std::mem::replace(&mut self.state, State::Over) {
            self.state = State::Moved(runtime.spawn(work));
        }
    }

    /// Ends it where it is, and returns when it is gone.
    pub(super) async fn stop(mut self) {
        if let State::Moved(task) = &mut self.state {
            task.abort();
            // Whether it was stopped or had just ended: it is gone.
            let _ = task.await;
            self.state = State::Over;
        }
    }
}

impl<F, T> Drop for Work<'_, F, T> {
    fn drop(&mut self) {
        if let State::Moved(task) = &self.state {
            task.abort();
            // What it leaves behind as it goes, its last words and the end of its
            // programs, is to be there when the call is over; and the process may end
            // right after this.
            let began = Instant::now();
            while !task.is_finished() && began.elapsed() < GONE_WITHIN {
                thread::sleep(LOOK_EVERY);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    fn is_apart() -> bool {
        thread::current().name() == Some("guest")
    }

    /// Keeps its thread busy, a little at a time, until it was moved.
    async fn compute_until_moved() {
        while !is_apart() {
            let began = Instant::now();
            while began.elapsed() < Duration::from_millis(1) {
                std::hint::spin_loop();
            }
            tokio::task::yield_now().await;
        }
    }

    struct Flag(Arc<AtomicBool>);

    impl Drop for Flag {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }

    #[tokio::test]
    async fn what_waits_stays_where_it_is_awaited() {
        let apart = Apart::default();
        let mut work = apart.work(async {
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            is_apart()
        });
        assert!(!work.done().await);
        assert!(apart.0.get().is_none(), "no thread was started");
    }

    #[tokio::test]
    async fn what_computes_goes_on_apart_and_gives_its_answer() {
        let apart = Apart::default();
        let mut work = apart.work(async {
            compute_until_moved().await;
            "done"
        });
        assert_eq!(work.done().await, "done");
    }

    #[tokio::test]
    async fn what_is_stopped_or_dropped_is_gone_wherever_it_was() {
        for (moves, stops) in [(false, false), (false, true), (true, false), (true, true)] {
            let apart = Apart::default();
            let gone = Arc::new(AtomicBool::new(false));
            let (flag, begun) = (Flag(gone.clone()), Arc::new(tokio::sync::Notify::new()));
            let told = begun.clone();
            let mut work = apart.work(async move {
                let _flag = flag;
                if moves {
                    compute_until_moved().await;
                }
                told.notify_one();
                loop {
                    tokio::task::yield_now().await;
                }
            });
            tokio::select! {
                () = work.done() => unreachable!("it has no end"),
                () = begun.notified() => {}
            }
            assert!(!gone.load(Ordering::SeqCst));
            if stops {
                work.stop().await;
            } else {
                drop(work);
            }
            assert!(
                gone.load(Ordering::SeqCst),
                "moved: {moves}, stopped: {stops}"
            );
        }
    }

    #[tokio::test]
    #[should_panic(expected = "as written")]
    async fn a_panic_apart_is_one_here() {
        let apart = Apart::default();
        let mut work = apart.work(async {
            compute_until_moved().await;
            panic!("as written");
        });
        work.done().await
    }
}
