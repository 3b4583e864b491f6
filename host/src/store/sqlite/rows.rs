//! Between the model's values and the columns'.

use rusqlite::{Connection, OptionalExtension};

use super::fault::Fault;
use crate::model::{DeploymentId, StageId, Timestamp};
use crate::store::{Fence, Leased};

/// A time as a column. SQLite's integers end at half of ours: whatever is later
/// becomes the end of time.
pub(super) fn from_time(time: Timestamp) -> i64 {
    from_count(time.0)
}

/// A time from a column.
pub(super) fn to_time(column: i64) -> Timestamp {
    match column {
        i64::MAX => Timestamp(u64::MAX),
        _ => Timestamp(to_count(column)),
    }
}

/// A number that counts something, as a column.
pub(super) fn from_count(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A number that counts something, from a column.
pub(super) fn to_count(column: i64) -> u64 {
    u64::try_from(column).unwrap_or_default()
}

/// A limit as SQLite takes it.
pub(super) fn from_limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// What a lease is for, as a column: a stage's id, or empty for the plan.
pub(super) fn from_leased(what: &Leased) -> String {
    match what {
        Leased::Plan => String::new(),
        Leased::Stage(stage) => stage.as_str().to_owned(),
    }
}

/// What a lease is for, from a column.
pub(super) fn to_leased(column: String) -> Leased {
    if column.is_empty() {
        Leased::Plan
    } else {
        Leased::Stage(StageId::new(column))
    }
}

/// The first text after all those that start with `prefix`; none if there is no
/// such text. Texts are ordered as SQLite does by default: by their bytes.
pub(super) fn after_prefix(prefix: &str) -> Option<String> {
    let mut head = prefix.to_owned();
    while let Some(last) = head.pop() {
        // A range of characters steps over the gap of the surrogates.
        if let Some(next) = (last..=char::MAX).nth(1) {
            head.push(next);
            return Some(head);
        }
    }
    None
}

/// The number of a deployment's row.
pub(super) fn number(connection: &Connection, id: &DeploymentId) -> Result<Option<i64>, Fault> {
    Ok(connection
        .prepare_cached("SELECT number FROM deployments WHERE id = ?1")?
        .query_row([id.as_str()], |row| row.get(0))
        .optional()?)
}

/// The numbers of the rows of a deployment and of its stage, if the execution is
/// the stage's newest and the stage not at its end. One of a planning is its
/// newest until there is a plan; one that was cancelled may still say what it had
/// to say.
pub(super) fn check_fence(
    connection: &Connection,
    fence: &Fence,
) -> Result<(i64, Option<i64>), Fault> {
    let Some(stage) = &fence.stage else {
        return connection
            .prepare_cached(
                "SELECT number FROM deployments
                 WHERE id = ?1 AND status IN ('planning', 'cancelled')
                 AND json_extract(head, '$.planAttempt') = ?2",
            )?
            .query_row((fence.deployment.as_str(), fence.attempt.number), |row| {
                Ok((row.get(0)?, None))
            })
            .optional()?
            .ok_or(Fault::Stale);
    };
    connection
        .prepare_cached(
            "SELECT d.number, s.number
             FROM deployments d JOIN stages s ON s.deployment = d.number AND s.id = ?2
             WHERE d.id = ?1 AND s.attempt = ?3 AND s.turn = ?4 AND NOT s.final",
        )?
        .query_row(
            (
                fence.deployment.as_str(),
                stage.as_str(),
                fence.attempt.number,
                fence.attempt.turn,
            ),
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .optional()?
        .ok_or(Fault::Stale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_keep_their_order_and_the_end_of_time_comes_back() {
        let later = Timestamp(i64::MAX as u64 + 7);
        assert!(from_time(Timestamp(5)) < from_time(later));
        for time in [Timestamp(0), Timestamp(5), Timestamp(u64::MAX)] {
            assert_eq!(to_time(from_time(time)), time);
        }
    }

    #[test]
    fn what_starts_with_a_prefix_ends_before_the_next_text() {
        assert_eq!(after_prefix("ab").as_deref(), Some("ac"));
        assert_eq!(after_prefix("a\u{d7ff}").as_deref(), Some("a\u{e000}"));
        assert_eq!(after_prefix("a\u{10ffff}\u{10ffff}").as_deref(), Some("b"));
        assert_eq!(after_prefix("\u{10ffff}"), None);
        assert_eq!(after_prefix(""), None);
    }
}
