//! What is undone, in which order, and what is said of it.

use super::order::is_over;
use super::{Held, Seen, Step, hold};
use crate::lifecycle::{DEFAULT_DEPLOYMENT_TIMEOUT, Event};
use crate::model::{Deployment, DeploymentStatus, Ending, RollbackStatus, Stage, StageStatus};

/// The rollback stage of which a turn was begun, if one was.
fn begun<'a>(seen: &Seen<'a>) -> Option<Step<'a>> {
    seen.begun().filter(|step| step.is.rollback)
}

/// Whether a stage is between its first start and its end.
fn is_at_work(stage: &Stage) -> bool {
    stage.started_at.is_some() && !stage.status.is_final()
}

pub(super) fn rollback_stages_go_one_by_one_in_descending_order(seen: &Seen<'_>) -> Held {
    let Some(after) = seen.after() else {
        return Ok(());
    };
    let at_work = after.rollback_stages().filter(|s| is_at_work(s)).count();
    hold!(at_work <= 1, "{at_work} rollback stages are at work");
    let Some(Step { is, .. }) = begun(seen) else {
        return Ok(());
    };
    for other in seen.before.rollback_stages() {
        let first = other.index > is.index && !other.status.is_final();
        hold!(!first, "{} began before {}", is.name, other.name);
    }
    let lower = |place: &&usize| {
        let stage = &seen.plan[**place];
        stage.rollback && stage.index < is.index
    };
    let below = seen.ledger.begun.iter().find(lower);
    hold!(below.is_none(), "{} began after one below it", is.name);
    Ok(())
}

/// Whether something that a rollback stage undoes was seen to begin.
fn has_work(seen: &Seen<'_>, stage: &Stage) -> bool {
    let begun = |id| {
        let place = seen.place(id);
        place.is_some_and(|place| seen.ledger.begun.contains(&place))
    };
    stage.undoes.iter().any(begun)
}

pub(super) fn only_what_had_started_is_undone(seen: &Seen<'_>) -> Held {
    let Some(Step { place, is, .. }) = begun(seen) else {
        return Ok(());
    };
    let work = has_work(seen, &seen.plan[place]);
    hold!(work, "{} began, but it has nothing to undo", is.name);
    Ok(())
}

/// Whether the way a deployment ends is one to be undone.
fn is_wanted(deployment: &Deployment) -> bool {
    let badly = !matches!(deployment.ending, None | Some(Ending::Exited));
    let kept = deployment
        .cancel
        .as_ref()
        .is_some_and(|cancel| !cancel.rollback);
    badly && deployment.auto_rollback && !kept
}

pub(super) fn what_had_started_is_undone(seen: &Seen<'_>) -> Held {
    let Some(after) = seen.after() else {
        return Ok(());
    };
    if seen.before.status.is_final() || !after.status.is_final() || !is_wanted(after) {
        return Ok(());
    }
    let owed = seen
        .plan
        .iter()
        .filter(|stage| stage.rollback && has_work(seen, stage));
    for stage in owed {
        let status = after.rollback.as_ref().map(|rollback| rollback.status);
        let stopped = matches!(
            status,
            Some(RollbackStatus::Cancelled | RollbackStatus::TimedOut)
        );
        let ran = after
            .stage(&stage.id)
            .is_some_and(|stage| stage.started_at.is_some());
        hold!(ran || stopped, "{} never ran: {status:?}", stage.name);
    }
    Ok(())
}

pub(super) fn no_rollback_runs_that_is_not_wanted(seen: &Seen<'_>) -> Held {
    let Some(after) = seen.after() else {
        return Ok(());
    };
    let news = after.rollback.is_some() && seen.before.rollback.is_none();
    hold!(
        !news || is_wanted(after),
        "a rollback began: {:?}",
        after.ending
    );
    let Some(Step { is, .. }) = begun(seen) else {
        return Ok(());
    };
    let before = seen.before;
    hold!(is_wanted(before), "{} began, not wanted", is.name);
    let mut forward = before.forward_stages();
    let open = forward.find(|stage| !stage.status.is_final());
    let name = open.map(|stage| &stage.name);
    hold!(
        name.is_none(),
        "{} began before the end of {name:?}",
        is.name
    );
    let rollback = before.rollback.as_ref();
    let goes_on = rollback.is_some_and(|rollback| {
        rollback.status == RollbackStatus::Running && rollback.cancel.is_none()
    });
    hold!(goes_on, "{} began in a rollback that was stopped", is.name);
    Ok(())
}

pub(super) fn a_finished_rollback_stage_is_not_run_again(seen: &Seen<'_>) -> Held {
    let Some(Step { place, is, .. }) = begun(seen) else {
        return Ok(());
    };
    hold!(!seen.ledger.ended[place], "{} had ended", is.name);
    Ok(())
}

pub(super) fn a_rollback_has_a_result_of_its_own(seen: &Seen<'_>) -> Held {
    let Some(after) = seen.after() else {
        return Ok(());
    };
    let Some(rollback) = &after.rollback else {
        let status = after.status;
        hold!(
            status != DeploymentStatus::RollingBack,
            "a rollback without one"
        );
        return Ok(());
    };
    let old = seen.before.rollback.as_ref();
    let first = old.is_none_or(|old| old.started_at == rollback.started_at);
    hold!(first, "the rollback began anew");
    let failed = after
        .rollback_stages()
        .any(|stage| stage.status.is_failure());
    let stopped = after
        .rollback_stages()
        .any(|stage| stage.status == StageStatus::Cancelled);
    let cancelled = rollback.cancel.is_some();
    let active = seen.ledger.active(seen.now);
    let used = active.saturating_sub(seen.ledger.active_before_rollback);
    let over = match after.timeout {
        Some(limit) => is_over(Some(rollback.started_at), Some(limit), seen.now),
        None => used >= DEFAULT_DEPLOYMENT_TIMEOUT,
    };
    let by_its_host = matches!(seen.event, Event::StageEnded { .. });
    let was = old.map(|old| old.status);
    let news = was != Some(rollback.status);
    let fits = match rollback.status {
        RollbackStatus::Running => !cancelled,
        RollbackStatus::Stopping => !news || cancelled || over || by_its_host,
        RollbackStatus::Succeeded => !failed && !stopped && !cancelled,
        RollbackStatus::Failed => failed && !cancelled,
        RollbackStatus::Cancelled => cancelled,
        RollbackStatus::TimedOut => {
            !cancelled && (!news || over || by_its_host || was == Some(RollbackStatus::Stopping))
        }
    };
    hold!(
        fits,
        "the rollback is {}: {}",
        rollback.status,
        rollback.reason
    );
    let open = matches!(
        rollback.status,
        RollbackStatus::Running | RollbackStatus::Stopping
    );
    hold!(
        open != after.status.is_final() && open == rollback.ended_at.is_none(),
        "the rollback is {}, the deployment {}",
        rollback.status,
        after.status
    );
    // Who ran out of the rollback's time is not to be blamed for it.
    let blamed = rollback.status == RollbackStatus::Failed && news && over;
    let ran_out = after
        .rollback_stages()
        .any(|stage| stage.status == StageStatus::TimedOut && stage.ended_at == Some(seen.now));
    hold!(
        !(blamed && ran_out),
        "a stage was blamed: {}",
        rollback.reason
    );
    Ok(())
}

pub(super) fn a_rollback_stage_shows_when_it_starts_behind_the_last_that_did(
    seen: &Seen<'_>,
) -> Held {
    for Step { is, was, .. } in seen.steps().filter(|step| step.is.rollback) {
        let started = is.started_at.is_some();
        hold!(is.visible == started, "{} shows: {}", is.name, is.visible);
        let same = was.started_at.is_none() || was.requires == is.requires;
        hold!(same, "{} requires another than before", is.name);
    }
    let first = begun(seen).filter(|step| step.was.started_at.is_none());
    let Some(Step { is, .. }) = first else {
        return Ok(());
    };
    let stages = &seen.before.stages;
    let [id] = is.requires.as_slice() else {
        return Err(format!("{} requires {:?}", is.name, is.requires));
    };
    let place = seen
        .place(id)
        .filter(|place| seen.ledger.begun.contains(place));
    let Some(place) = place else {
        return Err(format!("{} requires {id}, which never began", is.name));
    };
    let behind = seen
        .ledger
        .begun
        .iter()
        .find(|other| stages[**other].requires.contains(id));
    hold!(
        behind.is_none(),
        "{} requires {id}, which another does",
        is.name
    );
    // Which of several that ran at once was the last, only the clock says.
    let undoing = stages.iter().any(|s| s.rollback && s.started_at.is_some());
    hold!(
        stages[place].rollback == undoing,
        "{} requires {id}",
        is.name
    );
    let newest = seen
        .ledger
        .begun
        .last()
        .and_then(|place| stages[*place].started_at);
    let newer = newest > stages[place].started_at && !seen.ledger.set_back;
    hold!(!newer, "{} requires {id}, and others began later", is.name);
    Ok(())
}
