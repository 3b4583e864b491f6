//! The bare thing beside the host: SQLite alone, with the same settings, the same
//! tables and indexes, committing the same rows in the same order in groups of the
//! same size.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, params};

/// Commits that a deployment of three stages has a part in: it is stored, its
/// planning begins, what was said of it is stored, it is planned and the first stage
/// begins, that ends and the next begins, twice, and the last ends.
pub(crate) const CHANGES: usize = 7;

/// How many events each of these tells.
const EVENTS: [usize; CHANGES] = [1, 1, 0, 3, 2, 2, 2];

/// What the host wrote.
#[derive(Debug)]
pub(crate) struct Written {
    schema: Vec<String>,
    deployments: Vec<Row>,
    /// Changes a commit.
    pub(crate) group: usize,
}

/// A deployment with all that belongs to it.
#[derive(Debug)]
struct Row {
    number: i64,
    id: String,
    application: String,
    created_at: i64,
    head: String,
    brief: String,
    /// Ids and bodies.
    stages: Vec<(String, String)>,
    /// Numbers, times and kinds.
    events: Vec<(i64, i64, String)>,
    /// What was said of its plan.
    log: Vec<u8>,
    /// What the application last deployed with success.
    revision: String,
}

/// Reads what the host wrote to a state file, in so many commits.
pub(crate) fn written(file: &Path, commits: u64) -> Written {
    let database = Connection::open(file).expect("the state");
    let texts = |sql: &str| -> Vec<String> {
        let mut statement = database.prepare(sql).expect("a query");
        let rows = statement.query_map([], |row| row.get(0)).expect("rows");
        rows.collect::<Result<_, _>>().expect("texts")
    };
    let schema = texts(
        "SELECT sql FROM sqlite_schema
         WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY rootpage",
    );
    let mut statement = database
        .prepare(
            "SELECT d.number, id, application, created_at, head, revision, chunk, body
             FROM deployments d JOIN last_success USING (application)
                 JOIN logs ON logs.deployment = d.number
                 JOIN briefs ON briefs.deployment = d.number ORDER BY d.number",
        )
        .expect("a query");
    let rows = statement.query_map([], |row| {
        Ok(Row {
            number: row.get(0)?,
            id: row.get(1)?,
            application: row.get(2)?,
            created_at: row.get(3)?,
            head: row.get(4)?,
            stages: stages(&database, row.get(0)?)?,
            events: events(&database, row.get(0)?)?,
            revision: row.get(5)?,
            log: row.get(6)?,
            brief: row.get(7)?,
        })
    });
    let deployments: Vec<Row> = rows
        .expect("rows")
        .collect::<Result<_, _>>()
        .expect("deployments");
    let commits = usize::try_from(commits).expect("a number").max(1);
    Written {
        group: (deployments.len() * CHANGES / commits).max(1),
        schema,
        deployments,
    }
}

fn stages(database: &Connection, deployment: i64) -> rusqlite::Result<Vec<(String, String)>> {
    database
        .prepare_cached("SELECT id, body FROM stages WHERE deployment = ?1 ORDER BY place")?
        .query_map([deployment], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

fn events(database: &Connection, deployment: i64) -> rusqlite::Result<Vec<(i64, i64, String)>> {
    let events: Vec<_> = database
        .prepare_cached(
            "SELECT number, at, kind FROM events WHERE deployment = ?1 ORDER BY number",
        )?
        .query_map([deployment], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?
        .collect::<Result<_, _>>()?;
    let all: usize = EVENTS.iter().sum();
    assert_eq!(
        events.len(),
        all,
        "the host tells something else of a deployment"
    );
    Ok(events)
}

fn count(number: usize) -> i64 {
    i64::try_from(number).expect("a few")
}

/// How long SQLite takes for the same.
pub(crate) fn write(file: &Path, written: &Written) -> Duration {
    let database = Connection::open(file).expect("a database");
    database
        .execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
             PRAGMA wal_autocheckpoint = 4000; PRAGMA cache_size = -16384;",
        )
        .expect("the settings");
    for sql in &written.schema {
        database.execute_batch(sql).expect("a table or an index");
    }
    database.set_prepared_statement_cache_capacity(64);
    // As the host's events tell; what tells nothing comes right before what follows.
    let mut order: Vec<(i64, usize, &Row)> = Vec::new();
    for row in &written.deployments {
        for change in 0..CHANGES {
            let first: usize = EVENTS[..change].iter().sum();
            order.push((row.events[first].0, change, row));
        }
    }
    order.sort_by_key(|(event, change, _)| (*event, *change));
    let start = Instant::now();
    for together in order.chunks(written.group) {
        database
            .execute_batch("BEGIN IMMEDIATE")
            .expect("a transaction");
        for (_, change, row) in together {
            row.write(&database, *change).expect("its rows");
        }
        database.execute_batch("COMMIT").expect("a commit");
    }
    start.elapsed()
}

/// How long SQLite takes, at the median of some times, for so many commits of a row
/// one after the other.
pub(crate) fn commits(file: &Path, times: usize, commits: usize) -> Duration {
    let database = Connection::open(file).expect("a database");
    database
        .execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
             CREATE TABLE rows (id INTEGER PRIMARY KEY, row TEXT NOT NULL);",
        )
        .expect("a table");
    let row = "x".repeat(1000);
    let mut samples: Vec<Duration> = (0..times)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..commits {
                let mut insert = database
                    .prepare_cached("INSERT INTO rows (row) VALUES (?1)")
                    .expect("a statement");
                insert.execute([&row]).expect("a row");
            }
            start.elapsed()
        })
        .collect();
    super::percentile(&mut samples, 0.5)
}

impl Row {
    /// The rows of one of its changes.
    fn write(&self, database: &Connection, change: usize) -> rusqlite::Result<()> {
        let run = |sql: &str, values: &[&dyn rusqlite::ToSql]| {
            database.prepare_cached(sql)?.execute(values).map(drop)
        };
        if change == 2 {
            return run(
                "INSERT INTO logs (deployment, stage, first, lines, attempt, chunk)
                 VALUES (?1, '', 0, 1, 0, ?2)",
                params![self.number, self.log],
            );
        }
        let status = ["queued", "planning", "", "running"][change.min(3)];
        let last = change + 1 == CHANGES;
        if change == 0 {
            run(
                "INSERT INTO deployments (number, id, application, name, status, unfinished,
                     created_at, version, due_at, stages, pins, head)
                 VALUES (?1, ?2, ?3, ?3, 'queued', 1, ?4, 1, 0, 0, '', ?5)",
                params![
                    self.number,
                    self.id,
                    self.application,
                    self.created_at,
                    self.head
                ],
            )?;
        } else {
            run(
                "UPDATE deployments SET status = ?2, unfinished = ?3, version = ?4, due_at = ?5,
                     stages = ?6, pins = '', head = ?7 WHERE number = ?1",
                params![
                    self.number,
                    if last { "succeeded" } else { status },
                    !last,
                    count(change),
                    None::<i64>,
                    count(self.stages.len()),
                    self.head
                ],
            )?;
        }
        // What it has to do is stored at first, and again when it has a plan.
        if matches!(change, 0 | 3) {
            run(
                "INSERT INTO briefs (deployment, body) VALUES (?1, ?2)
                 ON CONFLICT (deployment) DO UPDATE SET body = excluded.body",
                params![self.number, self.brief],
            )?;
        }
        // The planning, and each stage, has a lease while it goes on.
        let stage = |place: usize| self.stages[place].0.as_str();
        let (begins, ends) = match change {
            0 => (None, None),
            1 => (Some(""), None),
            3 => (Some(stage(0)), Some("")),
            6 => (None, Some(stage(2))),
            _ => (Some(stage(change - 3)), Some(stage(change - 4))),
        };
        if let Some(leased) = ends {
            run(
                "DELETE FROM leases WHERE deployment = ?1 AND stage = ?2",
                params![self.number, leased],
            )?;
        }
        if let Some(leased) = begins {
            run(
                "INSERT INTO leases (deployment, stage, owner, until) VALUES (?1, ?2, 'owner', 1)",
                params![self.number, leased],
            )?;
        }
        // The plan's stages are stored, then each as it begins and as it ends.
        let stored: &[usize] = match change {
            0 | 1 => &[],
            3 => &[0, 1, 2, 0],
            4 => &[0, 1],
            5 => &[1, 2],
            _ => &[2],
        };
        for &place in stored {
            let (id, body) = &self.stages[place];
            run(
                "INSERT INTO stages (deployment, place, id, status, final, attempt, turn,
                     note, body)
                 VALUES (?1, ?2, ?3, ?4, 0, 1, 1, '', ?5)
                 ON CONFLICT (deployment, place)
                     DO UPDATE SET status = excluded.status, body = excluded.body",
                params![self.number, count(place), id, status, body],
            )?;
        }
        if last {
            run(
                "INSERT INTO last_success (application, revision) VALUES (?1, ?2)
                 ON CONFLICT (application) DO UPDATE SET revision = excluded.revision",
                params![self.application, self.revision],
            )?;
        }
        let before: usize = EVENTS[..change].iter().sum();
        for (_, at, kind) in &self.events[before..before + EVENTS[change]] {
            run(
                "INSERT INTO events (deployment, at, kind) VALUES (?1, ?2, ?3)",
                params![self.number, at, kind],
            )?;
        }
        Ok(())
    }
}
