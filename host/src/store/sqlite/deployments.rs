//! Finding and reading deployments. What is asked often is looked up in an index
//! that has the rows in the order that is wanted.

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row};

use super::fault::Fault;
use super::rows::{after_prefix, from_limit, from_time, number};
use super::texts;
use crate::model::{ApplicationId, Deployment, DeploymentId, Revision, Stage, Timestamp};
use crate::store::Filter;

/// The deployment with an id.
pub(super) fn load(
    connection: &Connection,
    id: &DeploymentId,
) -> Result<Option<Deployment>, Fault> {
    match number(connection, id)? {
        Some(number) => load_row(connection, number).map(Some),
        None => Ok(None),
    }
}

fn load_row(connection: &Connection, number: i64) -> Result<Deployment, Fault> {
    let (brief, head): (String, String) = connection
        .prepare_cached(
            "SELECT body, head FROM deployments JOIN briefs ON deployment = number
             WHERE number = ?1",
        )?
        .query_row([number], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut deployment = texts::deployment(&brief, &head)?;
    let mut statement = connection
        .prepare_cached("SELECT body, note FROM stages WHERE deployment = ?1 ORDER BY place")?;
    let mut rows = statement.query([number])?;
    while let Some(row) = rows.next()? {
        deployment.stages.push(stage(row)?.into());
    }
    Ok(deployment)
}

fn stage(row: &Row<'_>) -> Result<Stage, Fault> {
    let body = row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?;
    let mut stage: Stage =
        serde_json::from_str(body).map_err(|error| Fault::unreadable("stage", &error))?;
    stage.note = row.get(1)?;
    Ok(stage)
}

/// The ids that start with a prefix, in order.
pub(super) fn find(
    connection: &Connection,
    prefix: &str,
    limit: usize,
) -> Result<Vec<DeploymentId>, Fault> {
    // A blob comes after every text.
    let end = after_prefix(prefix).map_or(Value::Blob(Vec::new()), Value::Text);
    let mut statement = connection.prepare_cached(
        "SELECT id FROM deployments WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT ?3",
    )?;
    let ids = statement.query_map((prefix, end, from_limit(limit)), |row| {
        row.get::<_, String>(0).map(DeploymentId::new)
    })?;
    Ok(ids.collect::<Result<_, _>>()?)
}

/// The deployments that pass a filter, the last stored first. What is stored so
/// that it can't be read is left out, with a warning. Each combination
/// of an application and a status is looked up on its own, in an index that has
/// its rows in order, so that none reads more than `limit` rows of it.
pub(super) fn list(connection: &Connection, filter: &Filter) -> Result<Vec<Deployment>, Fault> {
    let limit = from_limit(filter.limit);
    let mut numbers: Vec<i64> = Vec::new();
    let time = |time: Option<Timestamp>, otherwise: i64| time.map_or(otherwise, from_time);
    let (since, until) = (time(filter.since, 0), time(filter.until, i64::MAX));
    let mut look_up = |condition: &str, values: &[&dyn rusqlite::ToSql]| -> Result<(), Fault> {
        // The numbers grow with time, so the order is kept by what is looked up;
        // `+` keeps the time out of the choice of the index.
        let sql = format!(
            "SELECT number FROM deployments WHERE {condition}
                 AND +created_at >= {since} AND +created_at < {until}
             ORDER BY number DESC LIMIT {limit}"
        );
        let mut statement = connection.prepare_cached(&sql)?;
        let found = statement.query_map(values, |row| row.get(0))?;
        for number in found {
            numbers.push(number?);
        }
        Ok(())
    };
    match (&filter.application, filter.statuses.as_slice()) {
        (None, []) => look_up("true", &[])?,
        (None, statuses) => {
            for status in statuses {
                look_up("status = ?1", &[&status.as_str()])?;
            }
        }
        (Some(application), []) => {
            look_up("application = ?1", &[application])?;
            look_up("name = ?1", &[application])?;
        }
        (Some(application), statuses) => {
            for status in statuses {
                let status = status.as_str();
                // The application's own index, not that of the status: `+` keeps
                // a column out of the choice.
                look_up("application = ?1 AND +status = ?2", &[application, &status])?;
                look_up("name = ?1 AND +status = ?2", &[application, &status])?;
            }
        }
    }
    numbers.sort_unstable_by(|a, b| b.cmp(a));
    numbers.dedup();
    numbers.truncate(filter.limit);
    let mut all = Vec::new();
    for number in numbers {
        match load_row(connection, number) {
            Ok(deployment) => all.push(deployment),
            // One that can't be read must not hide the others.
            Err(Fault::Unreadable(why)) => {
                let id = id_of(connection, number)?;
                tracing::warn!("deployment {id} is left out of the list: {why}");
            }
            Err(fault) => return Err(fault),
        }
    }
    Ok(all)
}

fn id_of(connection: &Connection, number: i64) -> Result<String, Fault> {
    Ok(connection
        .prepare_cached("SELECT id FROM deployments WHERE number = ?1")?
        .query_row([number], |row| row.get(0))?)
}

/// The source that an application last deployed with success.
pub(super) fn last_success(
    connection: &Connection,
    application: &ApplicationId,
) -> Result<Option<Revision>, Fault> {
    let revision: Option<String> = connection
        .prepare_cached("SELECT revision FROM last_success WHERE application = ?1")?
        .query_row([application.as_str()], |row| row.get(0))
        .optional()?;
    revision
        .map(|text| {
            serde_json::from_str(&text).map_err(|error| Fault::unreadable("revision", &error))
        })
        .transpose()
}

/// The commits that an application's deployments may still read.
pub(super) fn revisions_in_use(
    connection: &Connection,
    application: &ApplicationId,
) -> Result<Vec<String>, Fault> {
    let mut statement = connection.prepare_cached(
        "SELECT body ->> '$.target.commit' FROM deployments JOIN briefs ON deployment = number
             WHERE unfinished AND application = ?1
         UNION
         SELECT body ->> '$.running.commit' FROM deployments JOIN briefs ON deployment = number
             WHERE unfinished AND application = ?1 AND body ->> '$.running.commit' IS NOT NULL
         UNION
         SELECT revision ->> '$.commit' FROM last_success WHERE application = ?1",
    )?;
    let commits = statement.query_map([application.as_str()], |row| row.get(0))?;
    Ok(commits.collect::<Result<_, _>>()?)
}
