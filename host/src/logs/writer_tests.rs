//! What the writing end promises, over a log that does as it is told.

use std::collections::VecDeque;
use std::future::Future;
use std::task::{Context, Poll, Waker};

use async_trait::async_trait;
use proptest::prelude::*;
use tokio::sync::Semaphore;

use super::*;

/// A log in memory.
#[derive(Debug)]
struct Memory {
    lines: Mutex<Vec<LogLine>>,
    /// What the next appends do instead of storing.
    script: Mutex<VecDeque<Step>>,
    /// Each append takes one permit.
    gate: Semaphore,
    appended: Notify,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Works,
    Fails,
    FailsAfterStoring,
    IsStale,
}

impl Memory {
    fn new(script: &[Step]) -> Arc<Self> {
        Arc::new(Self {
            lines: Mutex::default(),
            script: Mutex::new(script.iter().copied().collect()),
            gate: Semaphore::new(Semaphore::MAX_PERMITS),
            appended: Notify::new(),
        })
    }

    fn texts(&self) -> Vec<String> {
        let lines = self.lines.lock().unwrap();
        lines.iter().map(|line| line.text.clone()).collect()
    }
}

#[async_trait]
impl Sink for Arc<Memory> {
    async fn append(&self, lines: &[LogLine]) -> Result<(), StoreError> {
        self.gate.acquire().await.unwrap().forget();
        let step = self.script.lock().unwrap().pop_front();
        let failed = || StoreError::Failed {
            doing: "storing log lines".to_owned(),
            source: "the disk is full".into(),
        };
        let result = match step.unwrap_or(Step::Works) {
            Step::Works => Ok(()),
            Step::Fails => return Err(failed()),
            Step::FailsAfterStoring => Err(failed()),
            Step::IsStale => return Err(StoreError::Stale),
        };
        let mut stored = self.lines.lock().unwrap();
        for line in lines {
            let number = stored.len() as u64;
            stored.push(LogLine {
                number,
                ..line.clone()
            });
        }
        self.appended.notify_one();
        result
    }

    async fn read(&self, from: u64) -> Result<Vec<LogLine>, StoreError> {
        let lines = self.lines.lock().unwrap();
        Ok(lines[usize::try_from(from).unwrap()..].to_vec())
    }

    async fn end(&self) -> Result<u64, StoreError> {
        Ok(self.lines.lock().unwrap().len() as u64)
    }
}

fn writer(memory: &Arc<Memory>) -> LogWriter {
    let clock = Arc::new(|| Timestamp(5));
    LogWriter::start(Arc::clone(memory), 3, clock, Duration::ZERO)
}

fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    std::pin::Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

#[tokio::test]
async fn lines_are_stored_without_anyone_asking_for_it() {
    let memory = Memory::new(&[]);
    let writer = writer(&memory);
    for text in ["one", "two"] {
        writer.write(Severity::Info, text);
        memory.appended.notified().await;
        assert_eq!(memory.texts().last().unwrap(), text);
    }
}

#[tokio::test]
async fn each_line_of_a_message_bears_its_severity_its_time_and_the_attempt() {
    let memory = Memory::new(&[]);
    let writer = writer(&memory);
    writer.write(Severity::Error, "one\ntwo");
    writer.write(Severity::Success, "");
    writer.finish().await.unwrap();
    let line = |number, severity, text: &str| LogLine {
        number,
        attempt: 3,
        at: Timestamp(5),
        severity,
        text: text.to_owned(),
    };
    let expected = [
        line(0, Severity::Error, "one"),
        line(1, Severity::Error, "two"),
        line(2, Severity::Success, ""),
    ];
    assert_eq!(*memory.lines.lock().unwrap(), expected);
}

#[tokio::test]
async fn a_failure_loses_no_line_and_doubles_none_whether_or_not_it_had_stored_them() {
    let script = [
        Step::Fails,
        Step::FailsAfterStoring,
        Step::Works,
        Step::FailsAfterStoring,
        Step::Fails,
        Step::Fails,
    ];
    let memory = Memory::new(&script);
    let writer = writer(&memory);
    let mut expected = Vec::new();
    for batch in 0..4 {
        for line in 0..3 {
            let text = format!("{batch}.{line}");
            writer.write(Severity::Info, &text);
            expected.push(text);
        }
        while memory.texts().len() < expected.len() {
            memory.appended.notified().await;
        }
    }
    writer.finish().await.unwrap();
    assert_eq!(memory.texts(), expected);
    assert!(memory.script.lock().unwrap().is_empty());
}

#[tokio::test]
async fn the_same_text_written_twice_is_stored_twice_in_spite_of_failures() {
    let memory = Memory::new(&[Step::Works, Step::Fails]);
    let writer = writer(&memory);
    writer.write(Severity::Info, "again");
    memory.appended.notified().await;
    writer.write(Severity::Info, "again");
    writer.finish().await.unwrap();
    assert_eq!(memory.texts(), ["again", "again"]);
}

#[tokio::test]
async fn the_lines_of_a_stale_execution_are_dropped_and_that_is_told() {
    let memory = Memory::new(&[Step::Works, Step::IsStale]);
    let writer = writer(&memory);
    writer.write(Severity::Info, "counts");
    memory.appended.notified().await;
    assert!(!writer.is_stale());
    writer.write(Severity::Info, "does not");
    let result = writer.finish().await;
    assert!(matches!(result, Err(StoreError::Stale)), "{result:?}");
    assert!(writer.is_stale());
    writer.write(Severity::Info, "neither");
    writer.room().await;
    assert_eq!(memory.texts(), ["counts"]);
}

#[tokio::test]
async fn a_store_that_keeps_failing_is_an_error_that_counts_the_lines_that_are_lost() {
    let memory = Memory::new(&[Step::Fails; 20]);
    let writer = writer(&memory);
    writer.write(Severity::Info, "one\ntwo\nthree");
    let error = writer.finish().await.unwrap_err().to_string();
    assert!(
        error.contains("the last 3 lines of a log are lost"),
        "{error}"
    );
    assert!(error.contains("the disk is full"), "{error}");
    writer.room().await;
}

#[tokio::test]
async fn who_writes_more_than_is_stored_waits_for_room_and_nobody_else_does() {
    let memory = Memory::new(&[]);
    let gate = memory.gate.forget_permits(Semaphore::MAX_PERMITS);
    let writer = writer(&memory);
    writer.room().await;
    let line = "x".repeat(1 << 16);
    for _ in 0..80 {
        writer.write(Severity::Info, &line);
    }
    let mut room = Box::pin(writer.room());
    assert!(poll_once(&mut room).is_pending());
    memory.gate.add_permits(gate);
    room.await;
    writer.finish().await.unwrap();
    assert_eq!(memory.texts().len(), 80);
}

#[tokio::test]
async fn a_writer_that_is_dropped_still_stores_what_it_has() {
    let memory = Memory::new(&[Step::Fails]);
    let writer = writer(&memory);
    writer.write(Severity::Info, "last words");
    drop(writer);
    memory.appended.notified().await;
    assert_eq!(memory.texts(), ["last words"]);
}

#[tokio::test]
async fn finishing_can_be_interrupted_and_its_answer_is_told_once() {
    let memory = Memory::new(&[Step::IsStale]);
    let gate = memory.gate.forget_permits(Semaphore::MAX_PERMITS);
    let writer = writer(&memory);
    writer.write(Severity::Info, "line");
    let mut finish = Box::pin(writer.finish());
    assert!(poll_once(&mut finish).is_pending());
    drop(finish);
    memory.gate.add_permits(gate);
    assert!(writer.finish().await.is_err());
    assert!(writer.finish().await.is_ok());
}

#[tokio::test]
async fn nothing_is_taken_after_the_end() {
    let memory = Memory::new(&[]);
    let writer = writer(&memory);
    writer.write(Severity::Info, "before");
    writer.finish().await.unwrap();
    writer.write(Severity::Info, "after");
    writer.finish().await.unwrap();
    drop(writer);
    assert_eq!(memory.texts(), ["before"]);
}

#[tokio::test]
async fn every_message_passes_the_transform_whole() {
    let memory = Memory::new(&[]);
    let hide: Transform = Arc::new(|message| Cow::Owned(message.replace("se\ncret", "***")));
    let writer = writer(&memory).with_transform(hide);
    writer.write(Severity::Info, "a se\ncret b");
    writer.finish().await.unwrap();
    assert_eq!(memory.texts(), ["a *** b"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn whatever_fails_on_the_way_each_line_is_stored_once_and_in_order(
        sizes in prop::collection::vec(prop_oneof![Just(1_usize), Just(60_000)], 1..40),
        script in prop::collection::vec(prop_oneof![Just(Step::Works), Just(Step::Fails), Just(Step::FailsAfterStoring)], 0..4),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let expected: Vec<String> = sizes.iter().enumerate()
            .map(|(number, size)| format!("{number}{}", "x".repeat(*size)))
            .collect();
        let memory = Memory::new(&script);
        runtime.block_on(async {
            let writer = writer(&memory);
            for text in &expected {
                writer.write(Severity::Info, text);
                tokio::task::yield_now().await;
            }
            writer.finish().await.unwrap();
        });
        prop_assert_eq!(memory.texts(), expected);
    }
}
