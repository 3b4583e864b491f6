//! What there is to do, and who has the right to do it.

use rusqlite::{Connection, OptionalExtension, Row};

use super::fault::Fault;
use super::hosts::Hosts;
use super::rows::{from_limit, from_time, number, to_count, to_leased, to_time};
use crate::clock::lease;
use crate::model::{DeploymentId, Timestamp};
use crate::store::{Due, Lease};

/// Each has the time, the number, the id and the version.
const DUE: &str = "
    SELECT due_at, number, id, version FROM deployments
    WHERE due_at <= ?1 ORDER BY due_at LIMIT ?2";

/// One deployment may have several leases.
const LAPSED: &str = "
    SELECT min(leases.until), number, deployments.id, version
    FROM leases JOIN deployments ON number = deployment
    WHERE until <= ?1 GROUP BY deployment ORDER BY 1 LIMIT ?2";

const OF_OWNER: &str = "
    SELECT DISTINCT 0, number, deployments.id, version
    FROM leases JOIN deployments ON number = deployment WHERE owner = ?1 LIMIT ?2";

/// Each of the two is the first entry of an index.
const NEXT: &str = "
    SELECT min(time) FROM (
        SELECT * FROM (SELECT due_at AS time FROM deployments
            WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1)
        UNION ALL
        SELECT * FROM (SELECT until FROM leases ORDER BY until LIMIT 1))";

/// The first in an application's queue: the index has its rows in their order.
const QUEUE: &str = "
    SELECT min(number) FROM deployments WHERE unfinished AND application = ?1 AND number < ?2";

const CANCELLING: &str = "SELECT id FROM deployments WHERE cancelling";

/// The deployments with work that is due, earliest first.
pub(super) fn due(
    connection: &Connection,
    hosts: &Hosts,
    now: Timestamp,
    limit: usize,
) -> Result<Vec<Due>, Fault> {
    let (now, rows) = (from_time(now), from_limit(limit));
    let mut due = Vec::new();
    for sql in [DUE, LAPSED] {
        let mut statement = connection.prepare_cached(sql)?;
        for row in statement.query_map((now, rows), to_due)? {
            due.push(row?);
        }
    }
    for owner in gone(connection, hosts)? {
        let mut statement = connection.prepare_cached(OF_OWNER)?;
        for row in statement.query_map((owner, rows), to_due)? {
            due.push(row?);
        }
    }
    due.sort_by_key(|(time, number, _)| (*time, *number));
    let mut seen = std::collections::HashSet::new();
    due.retain(|(_, number, _)| seen.insert(*number));
    due.truncate(limit);
    Ok(due.into_iter().map(|(_, _, due)| due).collect())
}

/// The time, the number, and what is due.
fn to_due(row: &Row<'_>) -> rusqlite::Result<(i64, i64, Due)> {
    let due = Due {
        deployment: DeploymentId::new(row.get::<_, String>(2)?),
        version: to_count(row.get(3)?),
    };
    Ok((row.get(0)?, row.get(1)?, due))
}

/// When the next work will be due.
pub(super) fn next_due(connection: &Connection, hosts: &Hosts) -> Result<Option<Timestamp>, Fault> {
    if !gone(connection, hosts)?.is_empty() {
        return Ok(Some(Timestamp(0)));
    }
    let next: Option<i64> = connection
        .prepare_cached(NEXT)?
        .query_row([], |row| row.get(0))?;
    Ok(next.map(to_time))
}

/// The owners of leases that are known to be gone.
fn gone(connection: &Connection, hosts: &Hosts) -> Result<Vec<String>, Fault> {
    let mut owners = owners(connection)?;
    owners.retain(|owner| hosts.is_gone(owner));
    Ok(owners)
}

/// The owners of leases.
pub(super) fn owners(connection: &Connection) -> Result<Vec<String>, Fault> {
    let mut statement = connection.prepare_cached("SELECT DISTINCT owner FROM leases")?;
    let owners = statement.query_map([], |row| row.get(0))?;
    Ok(owners.collect::<Result<_, _>>()?)
}

/// The owners of leases, with when the last of each ends.
pub(super) fn latest(connection: &Connection) -> Result<Vec<(String, Timestamp)>, Fault> {
    let mut statement =
        connection.prepare_cached("SELECT owner, max(until) FROM leases GROUP BY owner")?;
    let latest = statement.query_map([], |row| Ok((row.get(0)?, to_time(row.get(1)?))))?;
    Ok(latest.collect::<Result<_, _>>()?)
}

/// The first unfinished deployment of an application whose number is lower.
pub(super) fn first_unfinished(
    connection: &Connection,
    application: &str,
    below: i64,
) -> Result<Option<i64>, Fault> {
    Ok(connection
        .prepare_cached(QUEUE)?
        .query_row((application, below), |row| row.get(0))?)
}

/// The first unfinished deployment of the same application before this one.
pub(super) fn ahead(
    connection: &Connection,
    id: &DeploymentId,
) -> Result<Option<DeploymentId>, Fault> {
    let own: Option<(i64, String)> = connection
        .prepare_cached("SELECT number, application FROM deployments WHERE id = ?1")?
        .query_row([id.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((number, application)) = own else {
        return Ok(None);
    };
    match first_unfinished(connection, &application, number)? {
        Some(first) => id_of(connection, first).map(Some),
        None => Ok(None),
    }
}

/// The unfinished deployments that were cancelled.
pub(super) fn cancelling(connection: &Connection) -> Result<Vec<DeploymentId>, Fault> {
    let mut statement = connection.prepare_cached(CANCELLING)?;
    let ids = statement.query_map([], |row| row.get::<_, String>(0).map(DeploymentId::new))?;
    Ok(ids.collect::<Result<_, _>>()?)
}

fn id_of(connection: &Connection, number: i64) -> Result<DeploymentId, Fault> {
    Ok(connection
        .prepare_cached("SELECT id FROM deployments WHERE number = ?1")?
        .query_row([number], |row| {
            row.get::<_, String>(0).map(DeploymentId::new)
        })?)
}

/// Prolongs the leases of an owner; never shortens them. A clock that was set back
/// makes them longer by little, but longer: a lease that does not change is that
/// of a host that is hung.
///
/// A lease that ends later than any that is taken now is of a time when the clock
/// was ahead. It is made as long as one can be: or its owner, if it hangs, would
/// have it until that time comes again.
pub(super) fn renew(connection: &Connection, owner: &str, until: Timestamp) -> Result<(), Fault> {
    let beyond = until.after(lease());
    connection
        .prepare_cached("UPDATE leases SET until = ?1 WHERE until > ?2")?
        .execute((from_time(until), from_time(beyond)))?;
    connection
        .prepare_cached("UPDATE leases SET until = max(until + 1, ?2) WHERE owner = ?1")?
        .execute((owner, from_time(until)))?;
    Ok(())
}

/// The leases of a deployment.
pub(super) fn leases(connection: &Connection, id: &DeploymentId) -> Result<Vec<Lease>, Fault> {
    let Some(number) = number(connection, id)? else {
        return Ok(Vec::new());
    };
    let mut statement = connection.prepare_cached(
        "SELECT stage, owner, until FROM leases WHERE deployment = ?1 ORDER BY stage",
    )?;
    let leases = statement.query_map([number], |row| {
        Ok(Lease {
            deployment: id.clone(),
            what: to_leased(row.get(0)?),
            owner: row.get(1)?,
            until: to_time(row.get(2)?),
        })
    })?;
    Ok(leases.collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::sqlite::schema;

    /// The steps that SQLite takes for a statement.
    fn plan(connection: &Connection, sql: &str) -> Vec<String> {
        let mut statement = connection
            .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
            .unwrap();
        let nothing = (1..=statement.parameter_count()).map(|_| None::<i64>);
        let nothing = rusqlite::params_from_iter(nothing);
        let steps = statement.query_map(nothing, |row| row.get(3)).unwrap();
        steps.collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn what_is_asked_all_the_time_reads_indexes_that_finished_deployments_are_not_in() {
        let mut connection = Connection::open_in_memory().unwrap();
        schema::migrate(&mut connection, "memory".as_ref()).unwrap();
        for (sql, index) in [
            (DUE, "deployments_due"),
            (NEXT, "deployments_due"),
            (QUEUE, "deployments_unfinished"),
            (CANCELLING, "deployments_cancelling"),
        ] {
            let plan = plan(&connection, sql);
            let mut on_deployments = plan.iter().filter(|step| step.contains("deployments"));
            assert!(on_deployments.all(|step| step.contains(index)), "{plan:?}");
            assert!(plan.iter().any(|step| step.contains(index)), "{plan:?}");
            assert!(
                !plan.iter().any(|step| step.contains("TEMP B-TREE")),
                "{plan:?}"
            );
        }
    }
}
