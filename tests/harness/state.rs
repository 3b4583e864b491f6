//! The state file of a project, as a process of somebody else sees it.

use rusqlite::{Connection, ErrorCode};

use crate::{Project, Running};

/// A connection to a project's state file, beside the program's own.
#[derive(Debug)]
pub struct State(Connection);

impl State {
    /// Opens the file, which has to be there.
    pub fn of(project: &Project) -> Self {
        let file = project.path(".stagewright/state.db");
        assert!(file.is_file(), "{} is missing", file.display());
        let connection = Connection::open(file).expect("a database");
        let never = connection.busy_timeout(std::time::Duration::ZERO);
        never.expect("a connection takes it");
        Self(connection)
    }

    /// Takes the lock that whoever writes needs; whether it was free.
    pub fn lock(&self) -> bool {
        match self.0.execute_batch("BEGIN IMMEDIATE") {
            Ok(()) => true,
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => false,
            Err(error) => panic!("{error}"),
        }
    }

    /// Lets the lock go.
    pub fn unlock(&self) {
        self.0.execute_batch("ROLLBACK").expect("it was taken");
    }

    /// Has a host stand still, but not within a commit: it would have everyone
    /// else wait for the lock that it holds.
    pub fn halt(&self, host: &Running) {
        loop {
            host.stand_still();
            if self.lock() {
                return self.unlock();
            }
            host.go_on();
        }
    }

    /// A number that a statement gives.
    pub fn number(&self, sql: &str) -> i64 {
        let number = self.0.query_row(sql, [], |row| row.get(0));
        number.unwrap_or_else(|error| panic!("{sql}: {error}"))
    }
}
