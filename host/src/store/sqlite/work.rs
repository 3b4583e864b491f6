//! What there is to do, and who has the right to do it.

use rusqlite::Connection;

use super::fault::Fault;
use super::hosts::Hosts;
use super::rows::{from_limit, from_time, number, to_leased, to_time};
use crate::model::{DeploymentId, Timestamp};
use crate::store::Lease;

const DUE: &str = "
    SELECT due_at, number FROM deployments WHERE due_at <= ?1 ORDER BY due_at LIMIT ?2";

/// One deployment may have several leases.
const LAPSED: &str = "
    SELECT min(until), deployment FROM leases WHERE until <= ?1
    GROUP BY deployment ORDER BY 1 LIMIT ?2";

/// Each of the two is the first entry of an index.
const NEXT: &str = "
    SELECT min(time) FROM (
        SELECT * FROM (SELECT due_at AS time FROM deployments
            WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1)
        UNION ALL
        SELECT * FROM (SELECT until FROM leases ORDER BY until LIMIT 1))";

const UNFINISHED: &str = "SELECT EXISTS (SELECT 1 FROM deployments WHERE unfinished)";

/// The deployments with work that is due, earliest first.
pub(super) fn due(
    connection: &Connection,
    hosts: &Hosts,
    now: Timestamp,
    limit: usize,
) -> Result<Vec<DeploymentId>, Fault> {
    let (now, rows) = (from_time(now), from_limit(limit));
    let mut due: Vec<(i64, i64)> = Vec::new();
    for sql in [DUE, LAPSED] {
        let mut statement = connection.prepare_cached(sql)?;
        let found = statement.query_map((now, rows), |row| Ok((row.get(0)?, row.get(1)?)))?;
        for row in found {
            due.push(row?);
        }
    }
    for owner in gone(connection, hosts)? {
        let mut statement = connection
            .prepare_cached("SELECT DISTINCT deployment FROM leases WHERE owner = ?1 LIMIT ?2")?;
        let found = statement.query_map((owner, rows), |row| row.get(0))?;
        for deployment in found {
            due.push((0, deployment?));
        }
    }
    due.sort_unstable();
    let mut seen = std::collections::HashSet::new();
    due.retain(|(_, deployment)| seen.insert(*deployment));
    due.truncate(limit);
    let mut id = connection.prepare_cached("SELECT id FROM deployments WHERE number = ?1")?;
    due.into_iter()
        .map(|(_, number)| {
            Ok(id.query_row([number], |row| {
                row.get::<_, String>(0).map(DeploymentId::new)
            })?)
        })
        .collect()
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

/// Whether any deployment is not yet at its end.
pub(super) fn has_unfinished(connection: &Connection) -> Result<bool, Fault> {
    Ok(connection
        .prepare_cached(UNFINISHED)?
        .query_row([], |row| row.get(0))?)
}

/// Prolongs the leases of an owner; never shortens them.
pub(super) fn renew(connection: &Connection, owner: &str, until: Timestamp) -> Result<(), Fault> {
    connection
        .prepare_cached("UPDATE leases SET until = ?2 WHERE owner = ?1 AND until < ?2")?
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
            (UNFINISHED, "deployments_unfinished"),
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
