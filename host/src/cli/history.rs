//! `stagewright deployments`, `show` and `logs`: what is stored.

use futures_util::StreamExt;
use serde_json::json;

use crate::clock::now;
use crate::definition::parse_duration;
use crate::model::{
    Deployment, DeploymentId, DeploymentStatus, EventKind, LogLine, Stage, StageId, StageStatus,
    Timestamp,
};
use crate::store::Filter;
use crate::{Error, Host};

use super::clean::{clean, closed};
use super::output::{Cell, Colour, Output, deployment_colour, line_colour, short, stage_colour};
use super::plan::{headline, label};
use super::{Exit, ListArgs, LogArgs, waiting};

/// Every status that a deployment may have.
const STATUSES: [DeploymentStatus; 9] = [
    DeploymentStatus::Queued,
    DeploymentStatus::Planning,
    DeploymentStatus::Planned,
    DeploymentStatus::Running,
    DeploymentStatus::RollingBack,
    DeploymentStatus::Succeeded,
    DeploymentStatus::Failed,
    DeploymentStatus::Cancelled,
    DeploymentStatus::TimedOut,
];

/// Reads a status.
pub(super) fn status(text: &str) -> Result<DeploymentStatus, String> {
    let found = STATUSES.into_iter().find(|status| status.as_str() == text);
    found.ok_or_else(|| {
        format!(
            "the statuses are {}",
            STATUSES.map(|s| s.as_str()).join(", ")
        )
    })
}

/// The forms of a time, for whoever gave another one.
const TIMES: &str = "give a time with its zone, such as `2026-05-30T12:00:00Z`, or how long ago, \
                     such as `90m` or `24h`";

/// Reads a time: RFC 3339, or how long ago.
pub(super) fn time(text: &str) -> Result<Timestamp, String> {
    if let Ok(time) = text.parse::<jiff::Timestamp>() {
        let millis = u64::try_from(time.as_millisecond());
        return millis
            .map(Timestamp)
            .map_err(|_| format!("nothing was stored before 1970; {TIMES}"));
    }
    let ago = parse_duration(text).map_err(|(problem, help)| {
        let trimmed = text.trim();
        let counts = trimmed.starts_with(|c: char| c.is_ascii_digit());
        if counts && !trimmed.contains(['-', ':']) {
            format!("{problem}; {help}; or {TIMES}")
        } else {
            format!("it is no time; {TIMES}")
        }
    })?;
    let ago = u64::try_from(ago.as_millis()).unwrap_or(u64::MAX);
    Ok(Timestamp(now().0.saturating_sub(ago)))
}

/// Reads how many are to be listed.
pub(super) fn limit(text: &str) -> Result<usize, String> {
    let what = "give how many to list at most, 1 or more, such as `50`";
    match text.trim().parse() {
        Ok(0) => Err(format!("nothing would be listed; {what}")),
        Ok(limit) => Ok(limit),
        Err(_) => Err(what.to_owned()),
    }
}

pub(super) async fn list(host: &Host, args: &ListArgs, output: &Output) -> Result<Exit, Error> {
    if let (Some(since), Some(until)) = (args.since, args.until)
        && until <= since
    {
        return Err(Error::Input(format!(
            "nothing lies between `--since` ({since}) and `--until` ({until}): give an `--until` \
             that is later"
        )));
    }
    let filter = Filter {
        application: args.application.clone(),
        statuses: args.status.clone(),
        since: args.since,
        until: args.until,
        limit: args.limit,
    };
    let deployments = host.deployments(&filter).await?;
    if output.is_json() {
        output.json(&deployments);
    } else if deployments.is_empty() {
        output.line(match host.state_file() {
            Some(file) => format!("no deployments in {}", clean(file.display())),
            None => "no deployments".to_owned(),
        });
    } else {
        table(&deployments, output);
    }
    Ok(Exit::Success)
}

/// Prints deployments, one a line.
pub(super) fn table(deployments: &[Deployment], output: &Output) {
    let rows: Vec<Vec<Cell>> = deployments
        .iter()
        .map(|deployment| {
            let strategy = deployment.strategy.map(|strategy| strategy.to_string());
            vec![
                Cell::from(&deployment.id),
                Cell::from(&deployment.application.name),
                Cell::from(deployment.trigger.commit.short_hash()),
                Cell::painted(deployment_colour(deployment.status), deployment.status),
                Cell::from(strategy.unwrap_or_default()),
                Cell::from(deployment.created_at),
                Cell::from(took(deployment)),
            ]
        })
        .collect();
    let head = [
        "DEPLOYMENT",
        "APPLICATION",
        "COMMIT",
        "STATUS",
        "STRATEGY",
        "CREATED",
        "TOOK",
    ];
    output.table(&head, &rows);
}

fn took(deployment: &Deployment) -> String {
    let end = deployment.ended_at;
    end.map_or_else(String::new, |end| short(end.since(deployment.created_at)))
}

pub(super) async fn show(host: &Host, id: &str, output: &Output) -> Result<Exit, Error> {
    let deployment = host.deployment(id).await?;
    if output.is_json() {
        output.json(&deployment);
        return Ok(Exit::Success);
    }
    headline(&deployment, output);
    let status = output.paint(deployment_colour(deployment.status), deployment.status);
    output.line(format!("deployment {} {status}", deployment.id));
    let mut facts = vec![
        ("source", deployment.application.remote.clone()),
        ("file", deployment.application.path.clone()),
        ("commit", deployment.trigger.commit.hash.clone()),
    ];
    if let Some(running) = &deployment.running {
        facts.push(("before", running.commit.clone()));
    }
    if let Some(commander) = &deployment.trigger.commander {
        facts.push(("asked by", commander.clone()));
    }
    facts.push(("created", deployment.created_at.to_string()));
    if !deployment.summary.is_empty() {
        facts.push(("strategy", deployment.summary.clone()));
    }
    for version in &deployment.versions {
        facts.push(("version", format!("{} {}", version.name, version.version)));
    }
    if !deployment.reason.is_empty() {
        facts.push(("reason", deployment.reason.clone()));
    }
    if let Some(cancel) = &deployment.cancel {
        for wish in cancel.each() {
            facts.push(("cancelled", format!("{}, {}", wish.at, wish.alone())));
        }
    }
    if let Some(rollback) = &deployment.rollback {
        let why = if rollback.reason.is_empty() {
            String::new()
        } else {
            format!(": {}", rollback.reason)
        };
        facts.push(("rollback", format!("{}{why}", rollback.status)));
    }
    for (name, fact) in facts {
        let name = output.paint(Colour::Dim, format!("{name:9}"));
        let mut lines = fact.lines().map(clean);
        output.line(format!("{name} {}", lines.next().unwrap_or_default()));
        for line in lines {
            output.line(format!("          {line}"));
        }
    }
    output.line("");
    stages(&deployment, output);
    waiting::print(host, &deployment, output).await?;
    Ok(Exit::Success)
}

fn stages(deployment: &Deployment, output: &Output) {
    let rows: Vec<Vec<Cell>> = deployment
        .stages
        .iter()
        .filter(|stage| stage.visible)
        .map(|stage| {
            let took = match (stage.started_at, stage.ended_at) {
                (Some(start), Some(end)) => short(end.since(start)),
                _ => String::new(),
            };
            let attempts = match stage.attempt.number {
                0 | 1 => String::new(),
                number => number.to_string(),
            };
            vec![
                Cell::from(deployment.place(stage)),
                Cell::from(&stage.name),
                Cell::painted(stage_colour(stage.status), stage.status),
                Cell::from(attempts),
                Cell::from(took),
                Cell::from(remark(stage)),
            ]
        })
        .collect();
    output.table(&["#", "STAGE", "STATUS", "ATTEMPT", "TOOK", ""], &rows);
}

/// The first line of what there is to say of a stage.
fn remark(stage: &Stage) -> String {
    let text = match &stage.wait {
        _ if stage.status.is_final() || !stage.reason.is_empty() => stage.reason.clone(),
        Some(wait) if stage.note.is_empty() => waiting::until(wait),
        _ => stage.note.clone(),
    };
    text.lines().next().unwrap_or_default().to_owned()
}

pub(super) async fn logs(host: &Host, args: &LogArgs, output: &Output) -> Result<Exit, Error> {
    let mut deployment = host.deployment(&args.id).await?;
    if are_removed(host, &deployment).await? {
        output.remark(&format!(
            "the logs of deployment {} were removed, as `keep.logs` has it",
            deployment.id
        ));
    }
    if let Some(wanted) = &args.stage {
        if wanted != "plan" {
            deployment = planned(host, deployment, args.follow).await?;
        }
        let log = find(&deployment, wanted)?;
        print(host, &deployment, log, false, args.follow, output).await?;
        return Ok(Exit::Success);
    }
    print(host, &deployment, None, true, args.follow, output).await?;
    let mut printed: Vec<StageId> = Vec::new();
    let mut events = Box::pin(host.events(Some(deployment.id.clone()), 0));
    loop {
        let next = deployment
            .stages
            .iter()
            .find(|stage| stage.started_at.is_some() && !printed.contains(&stage.id));
        if let Some(stage) = next {
            let id = stage.id.clone();
            printed.push(id.clone());
            print(host, &deployment, Some(id), true, args.follow, output).await?;
            continue;
        }
        if !args.follow || output.is_closed() || events.next().await.transpose()?.is_none() {
            return Ok(Exit::Success);
        }
        deployment = host.deployment(deployment.id.as_str()).await?;
    }
}

/// Whether a deployment has no logs any more: a plan always says what it came to.
async fn are_removed(host: &Host, deployment: &Deployment) -> Result<bool, Error> {
    if deployment.strategy.is_none() || !deployment.status.is_final() {
        return Ok(false);
    }
    let mut plan = host.log(deployment.id.clone(), None, 0, false);
    Ok(plan.next().await.transpose()?.is_none())
}

/// A deployment whose stages are known: waits for its plan, if that is followed.
async fn planned(host: &Host, deployment: Deployment, follow: bool) -> Result<Deployment, Error> {
    let is_planned = |deployment: &Deployment| {
        !matches!(
            deployment.status,
            DeploymentStatus::Queued | DeploymentStatus::Planning
        )
    };
    if is_planned(&deployment) {
        return Ok(deployment);
    }
    let id = deployment.id;
    if !follow {
        return Err(Error::Input(format!(
            "deployment {id} is {}: its stages are known when it is planned; add `--follow` to \
             wait for that",
            deployment.status
        )));
    }
    let mut events = Box::pin(host.events(Some(id.clone()), 0));
    while events.next().await.transpose()?.is_some() {
        let deployment = host.deployment(id.as_str()).await?;
        if is_planned(&deployment) {
            return Ok(deployment);
        }
    }
    host.deployment(id.as_str()).await
}

async fn print(
    host: &Host,
    deployment: &Deployment,
    stage: Option<StageId>,
    named: bool,
    follow: bool,
    output: &Output,
) -> Result<(), Error> {
    let name = match stage.as_ref().and_then(|id| deployment.stage(id)) {
        Some(stage) => label(deployment, stage),
        None => "plan".to_owned(),
    };
    let prefix = if named {
        output.paint(Colour::Dim, format!("{name} | "))
    } else {
        String::new()
    };
    let mut lines = host.log(deployment.id.clone(), stage.clone(), 0, follow);
    // The first attempt may have said nothing.
    let mut attempt = 1;
    while let Some(line) = lines.next().await {
        let line: LogLine = line?;
        if output.is_json() {
            output.json(&json!({ "stage": stage, "line": line }));
        } else {
            if line.attempt > attempt {
                attempt = line.attempt;
                let again = again(host, &deployment.id, stage.as_ref(), attempt).await?;
                output.line(format!("{prefix}{}", output.paint(Colour::Dim, again)));
            }
            match line_colour(line.severity) {
                Some(colour) => {
                    output.line(format!("{prefix}{}", output.paint(colour, &line.text)));
                }
                None => output.line(format!("{prefix}{}", closed(&line.text))),
            }
        }
        // Looked at now: the next line may be long in coming.
        if output.is_closed() {
            break;
        }
    }
    Ok(())
}

/// Says of an attempt why there is another one.
async fn again(
    host: &Host,
    deployment: &DeploymentId,
    stage: Option<&StageId>,
    attempt: u32,
) -> Result<String, Error> {
    // A planning that was handed back is begun again under the same number.
    let Some(wanted) = stage else {
        return Ok(format!("attempt {attempt}, since its host died"));
    };
    let events = host.past_events(deployment).await?;
    let why = events.into_iter().find_map(|event| match event.kind {
        EventKind::Stage {
            stage,
            status: StageStatus::Waiting,
            attempt: to_come,
            reason,
            ..
        } if stage == *wanted && to_come.number == attempt => Some(reason),
        _ => None,
    });
    Ok(match why {
        Some(why) => format!("attempt {attempt}: {}", clean(why)),
        // What is kept of a log may outlive the events.
        None => format!("attempt {attempt}"),
    })
}

/// The log that a text means: `plan`, or a stage's place, name or id, be that the
/// one of its file or the host's.
pub(super) fn find(deployment: &Deployment, wanted: &str) -> Result<Option<StageId>, Error> {
    if wanted == "plan" {
        return Ok(None);
    }
    let stages = &deployment.stages;
    let by_id = stages.iter().find(|stage| {
        let in_file = stage.key.as_deref() == Some(wanted) && !stage.rollback;
        stage.id.as_str() == wanted || in_file
    });
    let by_place = || {
        let mut stages = stages.iter();
        stages.find(|stage| deployment.place(stage) == wanted)
    };
    if let Some(stage) = by_id.or_else(by_place) {
        return Ok(Some(stage.id.clone()));
    }
    let named: Vec<&Stage> = deployment
        .all_stages()
        .filter(|stage| stage.name == wanted)
        .collect();
    match named.as_slice() {
        [stage] => Ok(Some(stage.id.clone())),
        [] if stages.is_empty() => Err(Error::Input(format!(
            "deployment {} is {} and has no stages yet: `plan` is its only log",
            deployment.id, deployment.status
        ))),
        [] => {
            let names: Vec<String> = stages
                .iter()
                .map(|stage| label(deployment, stage))
                .collect();
            Err(Error::Input(format!(
                "deployment {} has no stage {wanted}; it has: {}",
                deployment.id,
                names.join(", ")
            )))
        }
        several => {
            let labels = several.iter().map(|stage| label(deployment, stage));
            Err(Error::Input(format!(
                "{wanted} is the name of several stages; name one by its place: {}",
                labels.collect::<Vec<_>>().join(", ")
            )))
        }
    }
}
