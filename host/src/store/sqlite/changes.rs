//! What changes deployments: each is stored whole at first, then by transitions
//! that write the deployment's own row and only those stages that changed.

use rusqlite::{Connection, OptionalExtension, params};

use super::fault::Fault;
use super::rows::{check_fence, from_count, from_leased, from_limit, from_time};
use super::texts::{self, json};
use super::{components, events, work};
use crate::model::{Deployment, DeploymentStatus, EventKind, Timestamp};
use crate::store::{Change, Fence, Holder, Leased};

/// A deployment as rows, made where there is time: on the thread that asks, not
/// on the one that writes.
pub(super) struct Rows {
    id: String,
    application: String,
    name: String,
    status: &'static str,
    unfinished: bool,
    /// Whether it was cancelled and is not at its end.
    cancelling: bool,
    created_at: i64,
    version: i64,
    stages: usize,
    pins: String,
    /// What it has to do, if that differs.
    brief: Option<String>,
    head: String,
    /// The target, if it was deployed with success.
    succeeded: Option<String>,
    changed: Vec<StageRow>,
}

struct StageRow {
    place: usize,
    id: String,
    status: &'static str,
    is_final: bool,
    attempt: u32,
    turn: u32,
    note: String,
    body: String,
}

/// A transition as rows.
pub(super) struct Transition {
    rows: Rows,
    events: Vec<String>,
    due: Option<i64>,
    taken: Vec<Leased>,
    released: Vec<Leased>,
    owner: String,
    until: i64,
    at: i64,
}

impl Rows {
    /// With all of its stages.
    pub(super) fn whole(deployment: &Deployment) -> Result<Self, Fault> {
        let mut rows = Self::new(deployment, 0..deployment.stages.len())?;
        rows.brief = Some(texts::brief(deployment)?);
        rows.head = texts::head(deployment)?;
        Ok(rows)
    }

    /// Without its own texts.
    fn new(
        deployment: &Deployment,
        places: impl IntoIterator<Item = usize>,
    ) -> Result<Self, Fault> {
        let d = deployment;
        let succeeded = d.status == DeploymentStatus::Succeeded;
        let rollback = d.rollback.as_ref();
        let cancelled = d.cancel.is_some() || rollback.is_some_and(|r| r.cancel.is_some());
        Ok(Self {
            id: d.id.to_string(),
            application: d.application.id.to_string(),
            name: d.application.name.clone(),
            status: d.status.as_str(),
            unfinished: !d.status.is_final(),
            cancelling: cancelled && !d.status.is_final(),
            created_at: from_time(d.created_at),
            version: from_count(d.version),
            stages: d.stages.len(),
            pins: components::pins(d),
            brief: None,
            head: String::new(),
            succeeded: succeeded.then(|| json(&d.target)).transpose()?,
            changed: places
                .into_iter()
                .map(|place| StageRow::new(deployment, place))
                .collect::<Result<_, _>>()?,
        })
    }

    fn write_stages(&self, connection: &Connection, deployment: i64) -> Result<(), Fault> {
        // The note is not a transition's to change: its plugin may have shown a
        // newer one meanwhile. A new attempt starts with a note of its own.
        let mut upsert = connection.prepare_cached(
            "INSERT INTO stages (deployment, place, id, status, final, attempt, turn, note, body)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
             ON CONFLICT (deployment, place) DO UPDATE SET
                 note = iif(id = excluded.id AND attempt = excluded.attempt, note, excluded.note),
                 id = excluded.id, status = excluded.status, final = excluded.final,
                 attempt = excluded.attempt, turn = excluded.turn, body = excluded.body",
        )?;
        for stage in &self.changed {
            upsert.execute(params![
                deployment,
                from_limit(stage.place),
                stage.id,
                stage.status,
                stage.is_final,
                stage.attempt,
                stage.turn,
                stage.note,
                stage.body,
            ])?;
        }
        Ok(())
    }

    fn write_brief(&self, connection: &Connection, deployment: i64) -> Result<(), Fault> {
        if let Some(brief) = &self.brief {
            connection
                .prepare_cached(
                    "INSERT INTO briefs (deployment, body) VALUES (?1, ?2)
                     ON CONFLICT (deployment) DO UPDATE SET body = excluded.body",
                )?
                .execute((deployment, brief))?;
        }
        Ok(())
    }

    fn write_success(&self, connection: &Connection) -> Result<(), Fault> {
        if let Some(revision) = &self.succeeded {
            connection
                .prepare_cached(
                    "INSERT INTO last_success (application, revision) VALUES (?1, ?2)
                     ON CONFLICT (application) DO UPDATE SET revision = excluded.revision",
                )?
                .execute((&self.application, revision))?;
        }
        Ok(())
    }
}

impl StageRow {
    fn new(deployment: &Deployment, place: usize) -> Result<Self, Fault> {
        let Some(stage) = deployment.stages.get(place) else {
            return Err(Fault::Other(format!(
                "the change names stage {place} of {}",
                deployment.stages.len()
            )));
        };
        Ok(Self {
            place,
            id: stage.id.to_string(),
            status: stage.status.as_str(),
            is_final: stage.status.is_final(),
            attempt: stage.attempt.number,
            turn: stage.attempt.turn,
            note: stage.note.clone(),
            body: json(stage)?,
        })
    }
}

impl Transition {
    /// Changes of one deployment that follow each other.
    pub(super) fn all(changes: &[Change], holder: &Holder) -> Result<Vec<Self>, Fault> {
        let mut all: Vec<Self> = changes
            .iter()
            .map(|change| Self::new(change, holder))
            .collect::<Result<_, _>>()?;
        if let (Some(last), Some(change)) = (all.last_mut(), changes.last()) {
            let planned = changes.iter().any(|change| change.planned);
            let brief = planned.then(|| texts::brief(&change.deployment));
            last.rows.brief = brief.transpose()?;
            last.rows.head = texts::head(&change.deployment)?;
        }
        Ok(all)
    }

    fn precedes(&self, other: &Self) -> bool {
        self.rows.id == other.rows.id && self.rows.version + 1 == other.rows.version
    }

    fn new(change: &Change, holder: &Holder) -> Result<Self, Fault> {
        Ok(Self {
            rows: Rows::new(&change.deployment, change.stages.iter().copied())?,
            events: change.events.iter().map(json).collect::<Result<_, _>>()?,
            due: change.due.map(from_time),
            taken: change.taken.clone(),
            released: change.released.clone(),
            owner: holder.owner.clone(),
            until: from_time(holder.until),
            at: from_time(change.at),
        })
    }
}

/// Stores a new deployment. It is due at once unless it is at its end or queued
/// behind another one.
pub(super) fn create(connection: &Connection, rows: &Rows, event: &EventKind) -> Result<(), Fault> {
    let inserted = connection
        .prepare_cached(
            "INSERT INTO deployments (id, application, name, status, unfinished, cancelling,
                 created_at, version, due_at, stages, pins, head)
             SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8,
                 iif(?5 AND NOT EXISTS (SELECT 1 FROM deployments
                     WHERE unfinished AND application = ?2), 0, NULL),
                 ?9, ?10, ?11
             WHERE true
             ON CONFLICT (id) DO NOTHING",
        )?
        .execute(params![
            rows.id,
            rows.application,
            rows.name,
            rows.status,
            rows.unfinished,
            rows.cancelling,
            rows.created_at,
            rows.version,
            from_limit(rows.stages),
            rows.pins,
            rows.head,
        ])?;
    if inserted == 0 {
        return Err(Fault::Conflict);
    }
    let number = connection.last_insert_rowid();
    rows.write_brief(connection, number)?;
    rows.write_stages(connection, number)?;
    rows.write_success(connection)?;
    components::pin(connection, number, "", &rows.pins, rows.unfinished)?;
    events::append(connection, number, rows.created_at, &json(event)?)
}

/// Makes transitions of a deployment that follow each other, if nobody has made
/// another one since the first was decided. The deployment's own row is written
/// once, as the last of them leaves it.
pub(super) fn apply(connection: &Connection, transitions: &[Transition]) -> Result<(), Fault> {
    let (Some(first), Some(last)) = (transitions.first(), transitions.last()) else {
        return Ok(());
    };
    let follow = transitions.windows(2).all(|two| two[0].precedes(&two[1]));
    let stored = connection
        .prepare_cached(
            "SELECT number, stages, pins FROM deployments WHERE id = ?1 AND version = ?2 - 1",
        )?
        .query_row((&first.rows.id, first.rows.version), |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .optional()?;
    let Some((number, stages, pins)): Option<(i64, i64, String)> = stored.filter(|_| follow) else {
        return Err(Fault::Conflict);
    };
    let stages = usize::try_from(stages).unwrap_or_default();
    let mut before = stages;
    for Transition { rows, .. } in transitions {
        let named = |place| rows.changed.iter().any(|stage| stage.place == place);
        if let Some(place) = (before..rows.stages).find(|place| !named(*place)) {
            return Err(Fault::Other(format!(
                "the change has a new stage {place} that it does not name"
            )));
        }
        before = rows.stages;
    }
    let rows = &last.rows;
    connection
        .prepare_cached(
            "UPDATE deployments SET status = ?2, unfinished = ?3, version = ?4, due_at = ?5,
                 stages = ?6, pins = ?7, head = ?8, cancelling = ?9
             WHERE number = ?1",
        )?
        .execute(params![
            number,
            rows.status,
            rows.unfinished,
            rows.version,
            last.due,
            from_limit(rows.stages),
            rows.pins,
            rows.head,
            rows.cancelling,
        ])?;
    rows.write_brief(connection, number)?;
    let mut before = stages;
    for transition in transitions {
        let rows = &transition.rows;
        if rows.stages < before {
            connection
                .prepare_cached("DELETE FROM stages WHERE deployment = ?1 AND place >= ?2")?
                .execute((number, from_limit(rows.stages)))?;
        }
        before = rows.stages;
        rows.write_stages(connection, number)?;
        rows.write_success(connection)?;
        write_leases(connection, number, transition)?;
        for event in &transition.events {
            events::append(connection, number, transition.at, event)?;
        }
    }
    components::pin(connection, number, &pins, &rows.pins, rows.unfinished)?;
    if !rows.unfinished {
        let next = work::first_unfinished(connection, &rows.application, i64::MAX)?;
        if let Some(next) = next {
            // One that is at work already is looked at once more, in vain.
            connection
                .prepare_cached(
                    "UPDATE deployments SET due_at = 0 WHERE number = ?1 AND status = 'queued'",
                )?
                .execute([next])?;
        }
    }
    Ok(())
}

fn write_leases(
    connection: &Connection,
    number: i64,
    transition: &Transition,
) -> Result<(), Fault> {
    for what in &transition.released {
        connection
            .prepare_cached("DELETE FROM leases WHERE deployment = ?1 AND stage = ?2")?
            .execute((number, from_leased(what)))?;
    }
    for what in &transition.taken {
        connection
            .prepare_cached(
                "INSERT INTO leases (deployment, stage, owner, until) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (deployment, stage)
                     DO UPDATE SET owner = excluded.owner, until = excluded.until",
            )?
            .execute((
                number,
                from_leased(what),
                &transition.owner,
                transition.until,
            ))?;
    }
    if !transition.rows.unfinished {
        // Else it would be due again each time that one lapses, for ever.
        connection
            .prepare_cached("DELETE FROM leases WHERE deployment = ?1")?
            .execute([number])?;
    }
    Ok(())
}

/// Shows a short text beside a stage.
pub(super) fn note(
    connection: &Connection,
    fence: &Fence,
    text: &str,
    now: Timestamp,
) -> Result<(), Fault> {
    let (deployment, number) = check_fence(connection, fence)?;
    let (Some(stage), Some(number)) = (&fence.stage, number) else {
        return Err(Fault::Stale);
    };
    connection
        .prepare_cached("UPDATE stages SET note = ?2 WHERE number = ?1")?
        .execute((number, text))?;
    let event = EventKind::Note {
        stage: stage.clone(),
        text: text.to_owned(),
    };
    events::append(connection, deployment, from_time(now), &json(&event)?)
}
