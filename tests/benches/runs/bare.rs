//! The bare thing beside the host: SQLite, with the same settings, committing rows
//! of the same sizes in groups of the same size.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, params};

/// What the host wrote.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    /// Changes of deployments.
    pub(crate) changes: u64,
    /// Changes a commit.
    pub(crate) group: u64,
    /// Bytes of a deployment's own row.
    pub(crate) head: usize,
    /// Bytes of a stage's row.
    pub(crate) stage: usize,
    /// Bytes of an event.
    pub(crate) event: usize,
    /// Events of all.
    pub(crate) events: u64,
}

/// What the host wrote to a state file.
pub(crate) fn written(file: &Path, changes: u64, commits: u64) -> Written {
    let database = Connection::open(file).expect("the state");
    let one = |sql: &str| -> i64 {
        let value = database.query_row(sql, [], |row| row.get::<_, Option<i64>>(0));
        value.expect("a number").unwrap_or_default()
    };
    let size = |sql: &str| usize::try_from(one(sql)).unwrap_or_default();
    Written {
        changes,
        group: (changes / commits.max(1)).max(1),
        head: size("SELECT CAST(avg(length(head)) AS INTEGER) FROM deployments"),
        stage: size("SELECT CAST(avg(length(body)) AS INTEGER) FROM stages"),
        event: size("SELECT CAST(avg(length(kind)) AS INTEGER) FROM events"),
        events: one("SELECT count(*) FROM events").unsigned_abs(),
    }
}

/// How long SQLite takes for the same.
pub(crate) fn write(file: &Path, written: Written) -> Duration {
    let database = Connection::open(file).expect("a database");
    database
        .execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
             PRAGMA wal_autocheckpoint = 4000; PRAGMA cache_size = -16384;
             CREATE TABLE heads (id INTEGER PRIMARY KEY, head TEXT NOT NULL);
             CREATE TABLE stages (id INTEGER PRIMARY KEY, body TEXT NOT NULL);
             CREATE TABLE events (id INTEGER PRIMARY KEY, kind TEXT NOT NULL);",
        )
        .expect("tables");
    let text = |length: usize| "x".repeat(length);
    let (head, stage, event) = (text(written.head), text(written.stage), text(written.event));
    let events = (written.events / written.changes.max(1)).max(1);
    let start = Instant::now();
    let mut done = 0;
    while done < written.changes {
        database
            .execute_batch("BEGIN IMMEDIATE")
            .expect("a transaction");
        for change in done..(done + written.group).min(written.changes) {
            // Nine changes are those of one deployment.
            let row = i64::try_from(change / 9).unwrap_or_default();
            let put = |sql: &str, row: i64, text: &str| {
                let mut statement = database.prepare_cached(sql).expect("a statement");
                statement.execute(params![row, text]).expect("a row");
            };
            put("INSERT OR REPLACE INTO heads VALUES (?1, ?2)", row, &head);
            put(
                "INSERT OR REPLACE INTO stages VALUES (?1, ?2)",
                row * 3 + i64::try_from(change % 3).unwrap_or_default(),
                &stage,
            );
            for _ in 0..events {
                let mut statement = database
                    .prepare_cached("INSERT INTO events (kind) VALUES (?1)")
                    .expect("a statement");
                statement.execute([&event]).expect("a row");
            }
        }
        database.execute_batch("COMMIT").expect("a commit");
        done += written.group;
    }
    start.elapsed()
}
