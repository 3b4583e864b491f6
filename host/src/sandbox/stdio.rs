//! What a plugin prints: standard output and error as lines of its log.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::io::AsyncWrite;
use wasmtime_wasi::async_trait;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

use super::lines::Lines;
use crate::model::{Services, Severity};

/// What a guest may write between two looks at whether the log has room.
const PERMIT: usize = 64 * 1024;

/// How many of the last lines are kept to explain a breakdown.
const KEPT_LINES: usize = 20;
const KEPT_CHARS: usize = 1024;

/// Standard output or standard error of one call.
#[derive(Clone, Debug)]
pub(super) struct Printed(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    services: Arc<dyn Services>,
    severity: Severity,
    lines: Mutex<Lines>,
    /// The last lines, if they are kept.
    tail: Option<Mutex<VecDeque<String>>>,
}

impl Printed {
    /// Standard output: ordinary lines.
    pub(super) fn stdout(services: Arc<dyn Services>) -> Self {
        Self(Arc::new(Inner {
            services,
            severity: Severity::Info,
            lines: Mutex::default(),
            tail: None,
        }))
    }

    /// Standard error: lines of what went wrong, of which the last are kept.
    pub(super) fn stderr(services: Arc<dyn Services>) -> Self {
        Self(Arc::new(Inner {
            services,
            severity: Severity::Error,
            lines: Mutex::default(),
            tail: Some(Mutex::default()),
        }))
    }

    /// Writes out what has no line end yet: the call is over.
    pub(super) fn finish(&self) {
        self.0.lines().finish(|line| self.0.emit(line));
    }

    /// The last lines, the oldest first.
    pub(super) fn tail(&self) -> Vec<String> {
        match &self.0.tail {
            Some(tail) => lock(tail).iter().cloned().collect(),
            None => Vec::new(),
        }
    }
}

impl Inner {
    fn lines(&self) -> MutexGuard<'_, Lines> {
        lock(&self.lines)
    }

    fn write(&self, bytes: &[u8]) {
        self.lines().push(bytes, |line| self.emit(line));
    }

    fn emit(&self, line: &str) {
        if let Some(tail) = &self.tail {
            let mut tail = lock(tail);
            if tail.len() == KEPT_LINES {
                tail.pop_front();
            }
            tail.push_back(line.chars().take(KEPT_CHARS).collect());
        }
        self.services.log(self.severity, line);
    }
}

impl Drop for Inner {
    /// A call that was dropped has its last words too.
    fn drop(&mut self) {
        let mut lines = std::mem::take(&mut *self.lines());
        lines.finish(|line| self.emit(line));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl IsTerminal for Printed {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Printed {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(Writer(self.0.clone()))
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(Stream {
            inner: self.0.clone(),
            permit: PERMIT,
        })
    }
}

/// One handle of the guest's on the stream.
struct Stream {
    inner: Arc<Inner>,
    /// What may be written before the next look at the log.
    permit: usize,
}

#[async_trait]
impl Pollable for Stream {
    async fn ready(&mut self) {
        if self.permit == 0 {
            self.inner.services.log_room().await;
            self.permit = PERMIT;
        }
    }
}

#[async_trait]
impl OutputStream for Stream {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.inner.write(&bytes);
        self.permit = 0;
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(self.permit)
    }
}

/// The same for whoever wants the stream in its other form.
struct Writer(Arc<Inner>);

impl AsyncWrite for Writer {
    fn poll_write(
        self: Pin<&mut Self>,
        _context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.0.write(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
