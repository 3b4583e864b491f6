//! What is stored and told beside the statuses.

use super::order::is_over;
use super::{Held, Seen, Step, hold};
use crate::lifecycle::{DEFAULT_STAGE_TIMEOUT, Event, Leased};
use crate::model::{
    Command, Deployment, DeploymentStatus, EventKind, RollbackStatus, Stage, StageStatus,
};

pub(super) fn events_tell_each_change_once_and_in_order(seen: &Seen<'_>) -> Held {
    let Ok(change) = seen.outcome else {
        return Ok(());
    };
    let (before, after) = (seen.before, &change.deployment);
    let mut wanted = Vec::new();
    let of_rollback = |d: &Deployment| d.rollback.as_ref().and_then(|r| r.cancel.clone());
    for (old, new) in [
        (before.cancel.clone(), after.cancel.clone()),
        (of_rollback(before), of_rollback(after)),
    ] {
        let news = new.filter(|new| old.as_ref() != Some(new));
        wanted.extend(news.map(EventKind::Cancel));
    }
    let whole = (before.status != after.status).then(|| EventKind::Deployment {
        status: after.status,
        reason: after.reason.clone(),
    });
    let begins = matches!(
        after.status,
        DeploymentStatus::Planning | DeploymentStatus::Planned | DeploymentStatus::Running
    );
    wanted.extend(whole.clone().filter(|_| begins));
    // What ran comes before what came of it.
    let (ran, others): (Vec<_>, Vec<_>) = seen
        .steps()
        .partition(|step| step.was.status == StageStatus::Running);
    let count = wanted.len();
    for Step { was, is, .. } in ran.iter().chain(&others) {
        wanted.extend(is.commands.iter().skip(was.commands.len()).map(|command| {
            EventKind::Command {
                stage: is.id.clone(),
                name: is.name.clone(),
                command: command.kind,
                by: command.by.clone(),
            }
        }));
        if (was.status, was.attempt) != (is.status, is.attempt) {
            wanted.push(EventKind::Stage {
                stage: is.id.clone(),
                name: is.name.clone(),
                status: is.status,
                attempt: is.attempt,
                reason: is.reason.clone(),
            });
        }
    }
    let stages = count..wanted.len();
    let was = before.rollback.as_ref().map(|rollback| rollback.status);
    if let Some(rollback) = &after.rollback
        && was != Some(rollback.status)
        && rollback.status != RollbackStatus::Running
    {
        wanted.push(EventKind::Rollback {
            status: rollback.status,
            reason: rollback.reason.clone(),
        });
    }
    wanted.extend(whole.filter(|_| !begins));
    let told = &change.events;
    hold!(told.len() == wanted.len(), "told {told:?}, for {wanted:?}");
    let (front, back) = (stages.start, stages.end);
    let same = told[..front] == wanted[..front] && told[back..] == wanted[back..];
    hold!(same, "told {told:?}, for {wanted:?}");
    let (told, wanted) = (&told[front..back], &wanted[front..back]);
    let all = wanted.iter().all(|event| told.contains(event));
    hold!(all, "told {told:?}, for {wanted:?}");
    // Whatever else changed follows from what ran.
    let first = ran.iter().any(|step| step.was.status != step.is.status);
    let in_order = !first || told.first() == wanted.first();
    hold!(in_order, "told {told:?}, for {wanted:?}");
    Ok(())
}

pub(super) fn active_time_is_that_in_which_something_ran(seen: &Seen<'_>) -> Held {
    let Some(after) = seen.after() else {
        return Ok(());
    };
    let runs = after
        .stages
        .iter()
        .any(|stage| stage.status == StageStatus::Running);
    hold!(
        after.active_since.is_some() == runs,
        "active since {:?}",
        after.active_since
    );
    let since = after
        .active_since
        .map_or_else(Default::default, |since| seen.now.since(since));
    let (stored, seen) = (after.active + since, seen.ledger.active(seen.now));
    hold!(stored == seen, "active for {stored:?}, seen {seen:?}");
    Ok(())
}

pub(super) fn what_runs_is_leased_and_nothing_else(seen: &Seen<'_>) -> Held {
    let Some(after) = seen.after() else {
        return Ok(());
    };
    let running = after
        .stages
        .iter()
        .filter(|stage| stage.status == StageStatus::Running);
    let mut wanted: Vec<Leased> = running
        .map(|stage| Leased::Stage(stage.id.clone()))
        .collect();
    if after.status == DeploymentStatus::Planning {
        wanted.push(Leased::Plan);
    }
    let leases = seen.leases;
    let all = wanted.iter().all(|what| leases.contains(what));
    hold!(
        all && leases.len() == wanted.len(),
        "leased: {leases:?}, for {wanted:?}"
    );
    Ok(())
}

/// Whether a stage takes a command of somebody.
fn is_taken(seen: &Seen<'_>, deployment: &Deployment, stage: &Stage, command: &Command) -> bool {
    let own = match stage.timeout {
        Some(limit) => is_over(stage.started_at, Some(limit), command.at),
        None => {
            let runs = stage.status == StageStatus::Running;
            let began = stage.turn_started_at.filter(|_| runs);
            is_over(began, Some(DEFAULT_STAGE_TIMEOUT), command.at)
        }
    };
    let stopping = deployment.rollback.as_ref();
    let stopping = stopping.is_some_and(|rollback| rollback.status != RollbackStatus::Running);
    let over = own || (!stopping && seen.is_over(deployment, stage.rollback));
    let cancel = match &deployment.rollback {
        Some(rollback) if stage.rollback => rollback.cancel.is_some(),
        _ => !stage.rollback && deployment.cancel.is_some(),
    };
    let mut others = stage.commands.iter();
    let said = others.any(|old| old.kind == command.kind && old.by == command.by);
    let listed = &stage.authorized_operators;
    command.kind.fits(stage.operation)
        && stage.started_at.is_some()
        && !stage.status.is_final()
        && !cancel
        && !over
        && !said
        && (listed.is_empty() || listed.contains(&command.by))
}

pub(super) fn commands_are_taken_from_those_who_may_and_kept(seen: &Seen<'_>) -> Held {
    let said = match seen.event {
        Event::Commanded { stage, kind, by } => {
            let stood = seen.as_it_stood();
            let at = stood.stages.iter().position(|other| &other.id == stage);
            let command = at.map(|at| Command {
                number: stood.stages[at].commands.len() as u64 + 1,
                kind: *kind,
                by: by.clone(),
                at: seen.now,
            });
            let may = at
                .zip(command.as_ref())
                .is_some_and(|(at, command)| is_taken(seen, &stood, &stood.stages[at], command));
            hold!(
                may == seen.outcome.is_ok(),
                "may: {may}, but {:?}",
                seen.outcome
            );
            at.zip(command)
        }
        _ => None,
    };
    for Step { place, was, is } in seen.steps() {
        let new = said
            .as_ref()
            .filter(|(at, _)| *at == place)
            .map(|(_, command)| command);
        let kept = is.commands.iter().eq(was.commands.iter().chain(new));
        hold!(
            kept,
            "{} has {:?}, had {:?}",
            is.name,
            is.commands,
            was.commands
        );
    }
    Ok(())
}

pub(super) fn what_was_planned_stays(seen: &Seen<'_>) -> Held {
    let Some(after) = seen.after() else {
        return Ok(());
    };
    let before = seen.before;
    let count = if matches!(seen.event, Event::Planned(_)) {
        seen.plan.len()
    } else {
        before.stages.len()
    };
    hold!(after.stages.len() == count, "{} stages", after.stages.len());
    for Step { place, was, is } in seen.steps() {
        let plan = &seen.plan[place];
        let same = (&is.id, &is.name, &is.key, is.index, is.rollback, &is.undoes)
            == (
                &plan.id,
                &plan.name,
                &plan.key,
                plan.index,
                plan.rollback,
                &plan.undoes,
            )
            && (
                is.operation,
                &is.authorized_operators,
                is.timeout,
                &is.skip,
                is.on_loss,
            ) == (
                plan.operation,
                &plan.authorized_operators,
                plan.timeout,
                &plan.skip,
                plan.on_loss,
            )
            && (is.rollback || (&is.requires, is.visible) == (&plan.requires, plan.visible));
        hold!(same, "{} is not as it was planned", is.name);
        let started = was.started_at.is_none() || was.started_at == is.started_at;
        hold!(started, "{} started at {:?}", is.name, is.started_at);
    }
    let same = (
        &after.id,
        &after.application,
        &after.trigger,
        &after.target,
        after.created_at,
        after.auto_rollback,
        after.timeout,
    ) == (
        &before.id,
        &before.application,
        &before.trigger,
        &before.target,
        before.created_at,
        before.auto_rollback,
        before.timeout,
    ) && (before.started_at.is_none() || before.started_at == after.started_at)
        && (before.ending == after.ending
            || matches!(before.ending, None | Some(crate::model::Ending::Exited)));
    hold!(same, "the deployment became another");
    Ok(())
}

/// A store writes no more than what a change names.
pub(super) fn a_change_names_all_that_differs(seen: &Seen<'_>) -> Held {
    let Ok(change) = seen.outcome else {
        return Ok(());
    };
    let (before, after) = (seen.before, &change.deployment);
    for place in 0..after.stages.len() {
        let differs = before.stages.get(place) != after.stages.get(place);
        let named = change.stages.contains(&place);
        hold!(named || !differs, "stage {place} differs, and is not named");
    }
    let alike = (&before.running, before.strategy, &before.summary)
        == (&after.running, after.strategy, &after.summary)
        && (&before.versions, &before.plugins) == (&after.versions, &after.plugins);
    hold!(change.planned || alike, "what was planned differs unnamed");
    Ok(())
}

pub(super) fn each_change_counts_one_version(seen: &Seen<'_>) -> Held {
    let Some(after) = seen.after() else {
        return Ok(());
    };
    let (old, new) = (seen.before.version, after.version);
    hold!(new == old + 1, "version {old} became {new}");
    Ok(())
}
