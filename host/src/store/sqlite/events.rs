//! Events, numbered in the order of their commits.

use rusqlite::{Connection, Row};

use super::fault::Fault;
use super::rows::{from_count, from_limit, number, to_count, to_time};
use crate::model::{ApplicationId, DeploymentId, Event, EventKind};

/// Appends an event, as JSON, to those of a deployment.
pub(super) fn append(
    connection: &Connection,
    deployment: i64,
    at: i64,
    kind: &str,
) -> Result<(), Fault> {
    connection
        .prepare_cached("INSERT INTO events (deployment, at, kind) VALUES (?1, ?2, ?3)")?
        .execute((deployment, at, kind))?;
    Ok(())
}

/// The events after a number, in order.
pub(super) fn after(
    connection: &Connection,
    deployment: Option<&DeploymentId>,
    after: u64,
    limit: usize,
) -> Result<Vec<Event>, Fault> {
    let (after, limit) = (from_count(after), from_limit(limit));
    let mut events = Vec::new();
    let mut collect = |mut rows: rusqlite::Rows<'_>| -> Result<(), Fault> {
        while let Some(row) = rows.next()? {
            events.push(event(row)?);
        }
        Ok(())
    };
    match deployment {
        None => {
            let mut statement = connection.prepare_cached(
                "SELECT e.number, e.at, e.kind, d.id, d.application
                 FROM events e CROSS JOIN deployments d ON d.number = e.deployment
                 WHERE e.number > ?1 ORDER BY e.number LIMIT ?2",
            )?;
            collect(statement.query((after, limit))?)?;
        }
        Some(id) => {
            let Some(deployment) = number(connection, id)? else {
                return Ok(events);
            };
            let mut statement = connection.prepare_cached(
                "SELECT e.number, e.at, e.kind, d.id, d.application
                 FROM events e CROSS JOIN deployments d ON d.number = e.deployment
                 WHERE e.deployment = ?3 AND e.number > ?1 ORDER BY e.number LIMIT ?2",
            )?;
            collect(statement.query((after, limit, deployment))?)?;
        }
    }
    Ok(events)
}

/// The number of the newest event; 0 if there is none.
pub(super) fn newest(connection: &Connection) -> Result<u64, Fault> {
    let newest: Option<i64> = connection
        .prepare_cached("SELECT max(number) FROM events")?
        .query_row([], |row| row.get(0))?;
    Ok(newest.map_or(0, to_count))
}

fn event(row: &Row<'_>) -> Result<Event, Fault> {
    let kind = row.get_ref(2)?.as_str().map_err(rusqlite::Error::from)?;
    // By way of a value: serde can't read the numbers within a tagged enum
    // straight from the text where serde_json keeps their digits.
    let kind: EventKind = serde_json::from_str(kind)
        .and_then(serde_json::from_value::<EventKind>)
        .map_err(|error| Fault::unreadable("event", &error))?;
    Ok(Event {
        number: to_count(row.get(0)?),
        at: to_time(row.get(1)?),
        deployment: DeploymentId::new(row.get::<_, String>(3)?),
        application: ApplicationId::new(row.get::<_, String>(4)?),
        kind,
    })
}
