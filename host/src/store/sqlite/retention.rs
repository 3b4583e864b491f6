//! Removing what is kept of old deployments. Only finished ones are ever looked
//! at: they have an index of their own.

use rusqlite::Connection;

use super::fault::Fault;
use crate::model::ApplicationId;
use crate::store::Keep;

/// Removed at once, at most: a write must not keep the others waiting. What is
/// left goes with the next end of a deployment.
const BATCH: u32 = 200;

/// The finished deployments of an application after the newest.
const OLD: &str = "
    SELECT number, id FROM deployments WHERE NOT unfinished AND application = ?1
    ORDER BY number DESC LIMIT ?2 OFFSET ?3";

/// Of those, the ones that still have a log.
const LOGGED: &str = "
    SELECT old.number FROM (
        SELECT number FROM deployments WHERE NOT unfinished AND application = ?1
        ORDER BY number DESC LIMIT -1 OFFSET ?3) AS old
    WHERE EXISTS (SELECT 1 FROM logs WHERE logs.deployment = old.number) LIMIT ?2";

/// Removes what is beyond the newest of an application's finished deployments.
pub(super) fn prune(
    connection: &Connection,
    application: &ApplicationId,
    keep: &Keep,
) -> Result<(), Fault> {
    let application = application.as_str();
    if let Some(keep) = keep.deployments {
        let mut old = connection.prepare_cached(OLD)?;
        let old: Vec<(i64, String)> = old
            .query_map((application, BATCH, keep), |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?
            .collect::<Result<_, _>>()?;
        for (number, id) in old {
            remove(connection, number, &id)?;
        }
    }
    if let Some(keep) = keep.logs {
        let mut logged = connection.prepare_cached(LOGGED)?;
        let logged: Vec<i64> = logged
            .query_map((application, BATCH, keep), |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        for number in logged {
            run(connection, "DELETE FROM logs WHERE deployment = ?1", number)?;
        }
    }
    Ok(())
}

fn remove(connection: &Connection, number: i64, id: &str) -> Result<(), Fault> {
    connection
        .prepare_cached(
            "DELETE FROM state WHERE scope = 'stage'
             AND owner IN (SELECT id FROM stages WHERE deployment = ?1)",
        )?
        .execute([number])?;
    connection
        .prepare_cached("DELETE FROM state WHERE scope = 'deployment' AND owner = ?1")?
        .execute([id])?;
    for sql in [
        "DELETE FROM logs WHERE deployment = ?1",
        "DELETE FROM events WHERE deployment = ?1",
        "DELETE FROM stages WHERE deployment = ?1",
        "DELETE FROM briefs WHERE deployment = ?1",
        "DELETE FROM deployments WHERE number = ?1",
    ] {
        run(connection, sql, number)?;
    }
    Ok(())
}

fn run(connection: &Connection, sql: &str, number: i64) -> Result<(), Fault> {
    connection.prepare_cached(sql)?.execute([number])?;
    Ok(())
}
