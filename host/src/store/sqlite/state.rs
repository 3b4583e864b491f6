//! The values that plugins keep.

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension};

use super::fault::Fault;
use super::rows::{after_prefix, check_fence};
use crate::store::{Fence, StateOwner};

/// An owner as columns: the scope, the id within it, and the plugin.
fn columns(owner: &StateOwner) -> (&'static str, &str, &str) {
    match owner {
        StateOwner::Stage(stage) => ("stage", stage.as_str(), ""),
        StateOwner::Deployment(deployment, plugin) => {
            ("deployment", deployment.as_str(), plugin.as_str())
        }
        StateOwner::Application(application, plugin) => {
            ("application", application.as_str(), plugin.as_str())
        }
    }
}

/// The value of a key.
pub(super) fn get(
    connection: &Connection,
    owner: &StateOwner,
    key: &str,
) -> Result<Option<Vec<u8>>, Fault> {
    let (scope, owner, plugin) = columns(owner);
    Ok(connection
        .prepare_cached(
            "SELECT value FROM state
             WHERE scope = ?1 AND owner = ?2 AND plugin = ?3 AND key = ?4",
        )?
        .query_row((scope, owner, plugin, key), |row| row.get(0))
        .optional()?)
}

/// Sets the values of some keys.
pub(super) fn put(
    connection: &Connection,
    owner: &StateOwner,
    values: &[(String, Vec<u8>)],
    fence: Option<&Fence>,
) -> Result<(), Fault> {
    if let Some(fence) = fence {
        check_fence(connection, fence)?;
    }
    let (scope, owner, plugin) = columns(owner);
    let mut put = connection.prepare_cached(
        "INSERT INTO state (scope, owner, plugin, key, value) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (scope, owner, plugin, key) DO UPDATE SET value = excluded.value",
    )?;
    for (key, value) in values {
        put.execute((scope, owner, plugin, key, value))?;
    }
    Ok(())
}

/// Removes a key.
pub(super) fn delete(
    connection: &Connection,
    owner: &StateOwner,
    key: &str,
    fence: Option<&Fence>,
) -> Result<(), Fault> {
    if let Some(fence) = fence {
        check_fence(connection, fence)?;
    }
    let (scope, owner, plugin) = columns(owner);
    connection
        .prepare_cached(
            "DELETE FROM state WHERE scope = ?1 AND owner = ?2 AND plugin = ?3 AND key = ?4",
        )?
        .execute((scope, owner, plugin, key))?;
    Ok(())
}

/// The keys that start with a prefix, in order.
pub(super) fn keys(
    connection: &Connection,
    owner: &StateOwner,
    prefix: &str,
) -> Result<Vec<String>, Fault> {
    let (scope, owner, plugin) = columns(owner);
    // A blob comes after every text.
    let end = after_prefix(prefix).map_or(Value::Blob(Vec::new()), Value::Text);
    let mut statement = connection.prepare_cached(
        "SELECT key FROM state
         WHERE scope = ?1 AND owner = ?2 AND plugin = ?3 AND key >= ?4 AND key < ?5
         ORDER BY key",
    )?;
    let keys = statement.query_map((scope, owner, plugin, prefix, end), |row| row.get(0))?;
    Ok(keys.collect::<Result<_, _>>()?)
}
