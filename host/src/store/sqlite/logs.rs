//! Logs, as chunks that follow one another without a gap.

use rusqlite::{Connection, OptionalExtension};

use super::chunk;
use super::fault::Fault;
use super::rows::{check_fence, from_count, number, to_count};
use crate::model::{LogLine, StageId};
use crate::store::{Fence, LogKey};

/// The stage's column: empty for the plan.
fn stage(log: &LogKey) -> &str {
    log.stage.as_ref().map_or("", StageId::as_str)
}

/// Lines that are ready to be appended.
pub(super) struct Chunk {
    lines: u64,
    attempt: u32,
    bytes: Vec<u8>,
}

impl Chunk {
    pub(super) fn new(lines: &[LogLine]) -> Self {
        Self {
            lines: lines.len() as u64,
            attempt: lines.first().map_or(0, |line| line.attempt),
            bytes: chunk::encode(lines),
        }
    }
}

/// Appends a chunk at the log's end.
pub(super) fn append(
    connection: &Connection,
    log: &LogKey,
    chunk: &Chunk,
    fence: Option<&Fence>,
) -> Result<(), Fault> {
    if let Some(fence) = fence {
        check_fence(connection, fence)?;
    }
    let deployment = number(connection, &log.deployment)?.ok_or(Fault::Conflict)?;
    if chunk.lines == 0 {
        return Ok(());
    }
    let first = end_of(connection, deployment, stage(log))?;
    connection
        .prepare_cached(
            "INSERT INTO logs (deployment, stage, first, lines, attempt, chunk)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute((
            deployment,
            stage(log),
            from_count(first),
            from_count(chunk.lines),
            chunk.attempt,
            &chunk.bytes,
        ))?;
    Ok(())
}

/// The lines from a number on: whole chunks, until there are `limit` lines.
pub(super) fn read(
    connection: &Connection,
    log: &LogKey,
    from: u64,
    limit: usize,
) -> Result<Vec<LogLine>, Fault> {
    let mut lines = Vec::new();
    let Some(deployment) = number(connection, &log.deployment)? else {
        return Ok(lines);
    };
    let mut statement = connection.prepare_cached(
        "SELECT first, lines, chunk FROM logs
         WHERE deployment = ?1 AND stage = ?2 AND first >= coalesce(
             (SELECT max(first) FROM logs WHERE deployment = ?1 AND stage = ?2 AND first <= ?3), 0)
         ORDER BY first",
    )?;
    let mut rows = statement.query((deployment, stage(log), from_count(from)))?;
    while lines.len() < limit {
        let Some(row) = rows.next()? else {
            break;
        };
        let (first, count) = (to_count(row.get(0)?), to_count(row.get(1)?));
        let chunk = row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?;
        let chunk = chunk::decode(chunk, first)?;
        if chunk.len() as u64 != count {
            return Err(Fault::Other(format!(
                "the stored log is damaged at line {first}: {} lines instead of {count}",
                chunk.len()
            )));
        }
        lines.extend(chunk.into_iter().filter(|line| line.number >= from));
    }
    Ok(lines)
}

/// The number that the next line of a log will have.
pub(super) fn end(connection: &Connection, log: &LogKey) -> Result<u64, Fault> {
    match number(connection, &log.deployment)? {
        Some(deployment) => end_of(connection, deployment, stage(log)),
        None => Ok(0),
    }
}

fn end_of(connection: &Connection, deployment: i64, stage: &str) -> Result<u64, Fault> {
    let end: Option<i64> = connection
        .prepare_cached(
            "SELECT first + lines FROM logs WHERE deployment = ?1 AND stage = ?2
             ORDER BY first DESC LIMIT 1",
        )?
        .query_row((deployment, stage), |row| row.get(0))
        .optional()?;
    Ok(end.map_or(0, to_count))
}
