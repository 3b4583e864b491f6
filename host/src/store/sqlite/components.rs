//! The bytes of components, and which deployments still need them.

use rusqlite::{Connection, OptionalExtension};

use super::fault::Fault;
use crate::model::{Deployment, Digest};

/// The digests that a deployment has pinned, one a line.
pub(super) fn pins(deployment: &Deployment) -> String {
    let plugins = deployment.plugins.iter();
    let mut digests: Vec<&str> = plugins
        .filter_map(|plugin| plugin.digest.as_ref().map(Digest::as_str))
        .collect();
    digests.sort_unstable();
    digests.dedup();
    digests.join("\n")
}

/// Pins what a deployment needs from now on: nothing once it is at its end.
pub(super) fn pin(
    connection: &Connection,
    deployment: i64,
    before: &str,
    now: &str,
    unfinished: bool,
) -> Result<(), Fault> {
    if unfinished && before == now {
        return Ok(());
    }
    connection
        .prepare_cached("DELETE FROM pins WHERE deployment = ?1")?
        .execute([deployment])?;
    if unfinished {
        for digest in now.lines() {
            connection
                .prepare_cached("INSERT INTO pins (digest, deployment) VALUES (?1, ?2)")?
                .execute((digest, deployment))?;
        }
    }
    Ok(())
}

/// Whether the bytes of a component are there.
pub(super) fn has(connection: &Connection, digest: &Digest) -> Result<bool, Fault> {
    Ok(connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM components WHERE digest = ?1)")?
        .query_row([digest.as_str()], |row| row.get(0))?)
}

/// Keeps the bytes of a component.
pub(super) fn put(connection: &Connection, digest: &Digest, bytes: &[u8]) -> Result<(), Fault> {
    connection
        .prepare_cached(
            "INSERT INTO components (digest, bytes) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
        )?
        .execute((digest.as_str(), bytes))?;
    Ok(())
}

/// The bytes of a component.
pub(super) fn get(connection: &Connection, digest: &Digest) -> Result<Option<Vec<u8>>, Fault> {
    Ok(connection
        .prepare_cached("SELECT bytes FROM components WHERE digest = ?1")?
        .query_row([digest.as_str()], |row| row.get(0))
        .optional()?)
}

/// Removes the components that no unfinished deployment has pinned. Not while
/// one is being planned: what it is about to pin may be there already.
pub(super) fn prune(connection: &Connection) -> Result<(), Fault> {
    connection
        .prepare_cached(
            "DELETE FROM components
             WHERE NOT EXISTS (SELECT 1 FROM deployments WHERE status = 'planning')
               AND digest NOT IN (SELECT digest FROM pins)",
        )?
        .execute([])?;
    Ok(())
}
