//! What waits: for what, and that it does not wait in vain.

use super::order::is_over;
use super::{Held, Seen, Step, hold};
use crate::lifecycle::{Event, Leased, Next, People, TurnEnd, WaitsFor};
use crate::model::{
    CommandKind, Deployment, DeploymentStatus, Stage, StageId, StageStatus, Timestamp,
};

pub(super) fn whatever_waits_is_explained(seen: &Seen<'_>) -> Held {
    let (Some(after), Some(next), Some(waiting)) = (seen.after(), &seen.next, &seen.waiting) else {
        return Ok(());
    };
    let whole = match after.status {
        DeploymentStatus::Queued => Some((WaitsFor::Queue, after.created_at)),
        DeploymentStatus::Planning => {
            let began = after.plan_started_at.unwrap_or(after.created_at);
            Some((WaitsFor::Planning(after.plan_attempt), began))
        }
        status if status.is_final() => {
            hold!(waiting.is_empty(), "it is {status} and waits: {waiting:?}");
            return Ok(());
        }
        _ => None,
    };
    if let Some((whole, since)) = whole {
        let [only] = waiting.as_slice() else {
            return Err(format!("it is {} and waits: {waiting:?}", after.status));
        };
        let fits = only.stage.is_none() && only.what == [whole] && only.since == since;
        hold!(fits, "it is {} and waits: {only:?}", after.status);
        return Ok(());
    }
    let rolls_back = after.status == DeploymentStatus::RollingBack;
    let mut told = waiting.iter();
    let open = after.stages.iter().filter(|stage| !stage.status.is_final());
    for stage in open.filter(|stage| rolls_back || !stage.rollback) {
        let this = told
            .next()
            .filter(|this| this.stage.as_ref() == Some(&stage.id));
        let Some(this) = this else {
            return Err(format!("nothing is said of {}: {waiting:?}", stage.name));
        };
        let ready = matches!(next, Next::Begin(ids) if ids.contains(&stage.id));
        let fits = this.what == expected(seen, after, stage, ready);
        hold!(
            fits,
            "{} is {} and waits for {:?}",
            stage.name,
            stage.status,
            this.what
        );
        hold!(!this.what.is_empty(), "{} waits for nothing", stage.name);
        let own = stage.started_at.zip(stage.timeout);
        let own = own.map(|(start, limit)| start.after(limit));
        // What people did in time has its turn before that.
        let owed = Seen::is_owed(stage);
        let later =
            !owed && this.limit.unwrap_or(Timestamp(u64::MAX)) > own.unwrap_or(Timestamp(u64::MAX));
        hold!(
            !later,
            "the limit of {} is said to be {:?}",
            stage.name,
            this.limit
        );
    }
    let more: Vec<_> = told.collect();
    hold!(more.is_empty(), "it waits for more than is there: {more:?}");
    Ok(())
}

/// For what a stage waits, by what is stored.
fn expected(seen: &Seen<'_>, deployment: &Deployment, stage: &Stage, ready: bool) -> Vec<WaitsFor> {
    if ready {
        return vec![WaitsFor::Host];
    }
    // It has no time itself, and waits for what people did to others.
    let owed = deployment
        .stages
        .iter()
        .filter(|other| Seen::is_owed(other));
    let owed: Vec<StageId> = owed.map(|other| other.id.clone()).collect();
    let waits = stage.status != StageStatus::Running && !owed.is_empty();
    if waits && seen.is_over(deployment, stage.rollback) {
        return vec![WaitsFor::Stages(owed)];
    }
    let rollback = deployment.rollback.as_ref();
    let cancel = if stage.rollback {
        rollback.and_then(|rollback| rollback.cancel.as_ref())
    } else {
        deployment.cancel.as_ref()
    };
    match (stage.status, &stage.wait) {
        (StageStatus::Running, _) if cancel.is_some() => vec![WaitsFor::Stop],
        (StageStatus::Running, _) => vec![WaitsFor::Turn],
        (StageStatus::Suspended, Some(wait)) => {
            let kinds = [CommandKind::Approve, CommandKind::Skip];
            let person = kinds
                .into_iter()
                .filter(|kind| wait.after_command.is_some() && kind.fits(stage.operation))
                .map(|kind| WaitsFor::People(missing(stage, kind)));
            person.chain(wait.until.map(WaitsFor::Time)).collect()
        }
        _ => {
            let others = deployment.stages.iter();
            let first = others.filter(|other| {
                if stage.rollback {
                    other.rollback && other.started_at.is_some() || is_next(deployment, other)
                } else {
                    stage.requires.contains(&other.id)
                }
            });
            let open = first.filter(|other| !other.status.is_final());
            vec![WaitsFor::Stages(
                open.map(|other| other.id.clone()).collect(),
            )]
        }
    }
}

/// Who has not yet done what a stage waits for.
fn missing(stage: &Stage, kind: CommandKind) -> People {
    let given: Vec<String> = stage.commands.iter().map(|one| one.by.clone()).collect();
    let listed = stage.authorized_operators.clone();
    let anyone = listed.is_empty();
    let left: Vec<String> = listed
        .into_iter()
        .filter(|by| !given.contains(by))
        .collect();
    People {
        kind,
        who: if anyone { None } else { Some(left) },
        given,
        more: 1,
    }
}

/// Whether a stage is the rollback stage whose turn it is.
fn is_next(deployment: &Deployment, stage: &Stage) -> bool {
    let open = deployment
        .rollback_stages()
        .filter(|stage| !stage.status.is_final());
    stage.rollback && open.map(|stage| stage.index).max() == Some(stage.index)
}

pub(super) fn nothing_is_ever_stuck(seen: &Seen<'_>) -> Held {
    let (Some(after), Some(next)) = (seen.after(), &seen.next) else {
        return Ok(());
    };
    let done = *next == Next::Done;
    hold!(
        done == after.status.is_final(),
        "it is {} and next is {next:?}",
        after.status
    );
    if *next != Next::Busy {
        return Ok(());
    }
    let goes_on = after.stages.iter().any(|stage| {
        let of_a_person = stage.wait.as_ref().is_some_and(|wait| {
            let kinds = [CommandKind::Approve, CommandKind::Skip];
            wait.after_command.is_some() && kinds.iter().any(|kind| kind.fits(stage.operation))
        });
        stage.status == StageStatus::Running || of_a_person
    });
    hold!(
        goes_on,
        "nothing runs, nothing will, and no person is waited for"
    );
    Ok(())
}

pub(super) fn a_change_draws_all_that_follows(seen: &Seen<'_>) -> Held {
    hold!(
        seen.next != Some(Next::Tick),
        "an event left something for a tick"
    );
    Ok(())
}

pub(super) fn due_says_when_something_is_next(seen: &Seen<'_>) -> Held {
    let (Ok(change), Some(next)) = (seen.outcome, &seen.next) else {
        return Ok(());
    };
    let due = match next {
        Next::Plan if change.taken.contains(&Leased::Plan) => None,
        Next::Plan | Next::Begin(_) | Next::Tick => Some(Timestamp(0)),
        Next::At(time) => {
            hold!(*time > seen.now, "it is due at {time}, which is past");
            Some(*time)
        }
        Next::Busy | Next::Done => None,
    };
    hold!(
        change.due == due,
        "it is due {:?}, but next is {next:?}",
        change.due
    );
    if let Next::At(time) = next {
        let waits = |stage: &Stage| stage.status == StageStatus::Suspended;
        let after = &change.deployment;
        let mut suspended = after.stages.iter().filter(|stage| waits(stage));
        let later = suspended.find(|stage| {
            let until = stage.wait.as_ref().and_then(|wait| wait.until);
            until.is_some_and(|until| until < *time)
        });
        let name = later.map(|stage| &stage.name);
        hold!(name.is_none(), "{name:?} is to be woken before {time}");
    }
    Ok(())
}

pub(super) fn what_waits_beyond_its_limit_ends(seen: &Seen<'_>) -> Held {
    for Step { was, is, .. } in seen.steps() {
        let waited = was.status == StageStatus::Suspended;
        let over = is_over(was.started_at, was.timeout, seen.now);
        let timed_out = is.status == StageStatus::TimedOut;
        // What people did in time counts.
        let owed = Seen::is_owed(was) || Seen::is_owed(is);
        hold!(
            !(waited && over) || owed || timed_out,
            "{} waits beyond its time",
            is.name
        );
        let waits = is.status == StageStatus::Suspended
            || (is.status == StageStatus::Waiting && is.started_at.is_some());
        let over = is_over(is.started_at, is.timeout, seen.now) && !Seen::is_owed(is);
        hold!(!(waits && over), "{} waits beyond its time", is.name);
    }
    Ok(())
}

/// A limit is noticed when somebody looks: so what was done before it, and is found
/// with it, comes first.
pub(super) fn what_people_did_in_time_has_its_turn_before_a_limit_ends_anything(
    seen: &Seen<'_>,
) -> Held {
    // A turn that took too long ends more than itself.
    let by_a_turn = matches!(
        seen.event,
        Event::StageEnded {
            end: TurnEnd::TimedOut,
            ..
        }
    );
    for Step { place, was, is } in seen.steps() {
        let waited = match was.status {
            StageStatus::Suspended => {
                let wait = was.wait.as_ref();
                wait.is_some_and(|wait| wait.after_command.is_some())
            }
            status => status == StageStatus::Waiting,
        };
        let asked = seen.ledger.people[place].wait_for_an_answer();
        let timed_out = is.status == StageStatus::TimedOut;
        hold!(
            by_a_turn || !(waited && asked && timed_out),
            "{} timed out before what people did to it was looked at",
            is.name
        );
    }
    Ok(())
}
