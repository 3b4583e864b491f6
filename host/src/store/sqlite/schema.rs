//! The tables, and how a file of an earlier version becomes one of this.
//!
//! Rows point at a deployment by its `number`, a small integer that grows with
//! time: so the rows of one deployment stand together, new ones are appended,
//! and what a new deployment costs does not depend on how many there are. What
//! is asked for all the time (what is due, what is unfinished) has partial
//! indexes, which finished deployments are not in.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use super::fault::Fault;
use crate::store::StoreError;

/// `STGW`: says in the file's header whose file it is.
pub(super) const APPLICATION_ID: i32 = 0x5354_4757;

/// The steps from each version to the next: never changed, only added to.
const STEPS: &[&str] = &[VERSION_1, VERSION_2, VERSION_3];

/// The version that this program writes.
pub(super) const VERSION: usize = STEPS.len();

const VERSION_1: &str = "
CREATE TABLE deployments (
    number      INTEGER PRIMARY KEY AUTOINCREMENT,
    id          TEXT    NOT NULL UNIQUE,
    application TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    status      TEXT    NOT NULL,
    unfinished  INTEGER NOT NULL,
    created_at  INTEGER NOT NULL,
    version     INTEGER NOT NULL,
    due_at      INTEGER,
    stages      INTEGER NOT NULL,
    pins        TEXT    NOT NULL,
    head        TEXT    NOT NULL
);
CREATE INDEX deployments_due ON deployments (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX deployments_unfinished ON deployments (application) WHERE unfinished;
CREATE INDEX deployments_by_application ON deployments (application, number);
CREATE INDEX deployments_by_name ON deployments (name, number);
CREATE INDEX deployments_by_status ON deployments (status, number);

CREATE TABLE stages (
    number     INTEGER PRIMARY KEY,
    deployment INTEGER NOT NULL,
    place      INTEGER NOT NULL,
    id         TEXT    NOT NULL,
    status     TEXT    NOT NULL,
    final      INTEGER NOT NULL,
    attempt    INTEGER NOT NULL,
    turn       INTEGER NOT NULL,
    note       TEXT    NOT NULL,
    body       TEXT    NOT NULL,
    UNIQUE (deployment, place),
    UNIQUE (deployment, id)
);

CREATE TABLE leases (
    deployment INTEGER NOT NULL,
    stage      TEXT    NOT NULL,
    owner      TEXT    NOT NULL,
    until      INTEGER NOT NULL,
    PRIMARY KEY (deployment, stage)
) WITHOUT ROWID;
CREATE INDEX leases_by_until ON leases (until);
CREATE INDEX leases_by_owner ON leases (owner);

CREATE TABLE events (
    number     INTEGER PRIMARY KEY AUTOINCREMENT,
    deployment INTEGER NOT NULL,
    at         INTEGER NOT NULL,
    kind       TEXT    NOT NULL
);
CREATE INDEX events_by_deployment ON events (deployment, number);

CREATE TABLE logs (
    number     INTEGER PRIMARY KEY,
    deployment INTEGER NOT NULL,
    stage      TEXT    NOT NULL,
    first      INTEGER NOT NULL,
    lines      INTEGER NOT NULL,
    attempt    INTEGER NOT NULL,
    chunk      BLOB    NOT NULL,
    UNIQUE (deployment, stage, first)
);

CREATE TABLE state (
    scope  TEXT NOT NULL,
    owner  TEXT NOT NULL,
    plugin TEXT NOT NULL,
    key    TEXT NOT NULL,
    value  BLOB NOT NULL,
    PRIMARY KEY (scope, owner, plugin, key)
) WITHOUT ROWID;

CREATE TABLE last_success (
    application TEXT NOT NULL PRIMARY KEY,
    revision    TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE components (
    digest TEXT NOT NULL PRIMARY KEY,
    bytes  BLOB NOT NULL
);

CREATE TABLE pins (
    digest     TEXT    NOT NULL,
    deployment INTEGER NOT NULL,
    PRIMARY KEY (digest, deployment)
) WITHOUT ROWID;
CREATE INDEX pins_by_deployment ON pins (deployment);
";

/// Deployments can be cancelled, and finished ones removed.
const VERSION_2: &str = "
ALTER TABLE deployments ADD COLUMN cancelling INTEGER NOT NULL DEFAULT 0;
CREATE INDEX deployments_cancelling ON deployments (number) WHERE cancelling;
CREATE INDEX deployments_finished ON deployments (application, number) WHERE NOT unfinished;
";

/// What a deployment is told to do is written apart from where it stands.
const VERSION_3: &str = "
CREATE TABLE briefs (
    deployment INTEGER PRIMARY KEY,
    body       TEXT NOT NULL
);
INSERT INTO briefs SELECT number, json_remove(head, '$.status', '$.reason', '$.ending',
    '$.stages', '$.cancel', '$.rollback', '$.activeMs', '$.activeSince', '$.planAttempt',
    '$.planStartedAt', '$.startedAt', '$.endedAt', '$.version') FROM deployments;
UPDATE deployments SET head = json_remove(head, '$.id', '$.application', '$.trigger',
    '$.target', '$.running', '$.strategy', '$.summary', '$.versions', '$.plugins', '$.stages',
    '$.autoRollback', '$.timeoutMs', '$.createdAt');
";

/// Makes the file one of this version, or says why it can't be.
pub(super) fn migrate(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let failed = |error| Fault::from(error).opening(path);
    check(connection, path)?;
    if version(connection).map_err(failed)? == VERSION as i64 {
        return Ok(());
    }
    // Another process may be doing the same: whoever waited for the other one
    // looks again.
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(failed)?;
    check(&transaction, path)?;
    let from = version(&transaction).map_err(failed)?;
    // What was checked is neither negative nor beyond the last step.
    let from = usize::try_from(from).unwrap_or(VERSION).min(VERSION);
    for step in &STEPS[from..] {
        transaction.execute_batch(step).map_err(failed)?;
    }
    transaction
        .execute_batch(&format!(
            "PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION};"
        ))
        .map_err(failed)?;
    transaction.commit().map_err(failed)
}

/// Refuses another program's file and one of a newer version.
pub(super) fn check(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let failed = |error| Fault::from(error).opening(path);
    let path = path.display();
    // All as of one moment: another process may be making the file.
    let alone = connection.is_autocommit();
    let _moment = alone
        .then(|| connection.unchecked_transaction())
        .transpose()
        .map_err(failed)?;
    let application: i32 = pragma(connection, "application_id").map_err(failed)?;
    let version = version(connection).map_err(failed)?;
    let tables: i64 = connection
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .map_err(failed)?;
    let is_new = application == 0 && version == 0 && tables == 0;
    if application != APPLICATION_ID && !is_new {
        return Err(StoreError::Open(format!(
            "{path} is a SQLite file of another program: name another file for the state, which \
             is then made"
        )));
    }
    if version < 0 {
        return Err(StoreError::Open(format!(
            "{path} has a schema of version {version}, which no stagewright writes: restore it from \
             a backup, or name another file"
        )));
    }
    if version > VERSION as i64 {
        return Err(StoreError::Open(format!(
            "{path} was written by a newer stagewright (its schema is version {version}, this \
             program knows up to {VERSION}): use that version or a newer one, or name another file"
        )));
    }
    Ok(())
}

/// Refuses one of an earlier version, where it can't be brought to this one.
pub(super) fn check_is_of_now(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let version = version(connection).map_err(|error| Fault::from(error).opening(path))?;
    if version == VERSION as i64 {
        return Ok(());
    }
    Err(StoreError::Open(format!(
        "{} is of an earlier version (its schema is version {version}, this program's is {VERSION}) \
         and can't be written by this user, so it can't be brought to this one: have that done by a \
         user who may write it, with `stagewright deployments`",
        path.display()
    )))
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    pragma(connection, "user_version")
}

pub(super) fn pragma<T: rusqlite::types::FromSql>(
    connection: &Connection,
    name: &str,
) -> rusqlite::Result<T> {
    connection.pragma_query_value(None, name, |row| row.get(0))
}
