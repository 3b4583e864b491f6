//! What `stagewright show` says of everything that waits: for what, since when,
//! and what would end it.

use crate::lifecycle::{self, WaitsFor};
use crate::model::{CommandKind, Deployment, DeploymentId, StageId, Wait};
use crate::{Error, Host};

use super::clean::clean;
use super::output::{Colour, Output};
use super::plan::place;

/// Prints what a deployment waits for; nothing if it is at its end.
pub(super) async fn print(
    host: &Host,
    deployment: &Deployment,
    output: &Output,
) -> Result<(), Error> {
    let waiting = host.waiting(deployment);
    if waiting.is_empty() {
        return Ok(());
    }
    let orphaned = host.is_orphaned(&deployment.id).await?;
    let ahead = host.ahead(&deployment.id).await?;
    output.line("");
    for one in &waiting {
        let name = one
            .stage
            .as_ref()
            .map_or_else(|| "deployment".to_owned(), |id| label(deployment, id));
        let mut what: Vec<&WaitsFor> = one.what.iter().collect();
        // Who may skip it is told after what it is there to wait for.
        what.sort_by_key(|what| matches!(what, WaitsFor::Person(CommandKind::Skip, _)));
        let stage = one.stage.as_ref();
        let told: Vec<String> = what
            .into_iter()
            .map(|what| tell(deployment, stage, what, ahead.as_ref(), orphaned, output))
            .collect();
        let mut line = format!("{name} waits for {}", told.join("; or "));
        line.push_str(&format!("; since {}", one.since));
        if let Some(limit) = one.limit {
            line.push_str(&format!("; its time is over at {limit}"));
        }
        output.line(format!(
            "{} {}",
            output.paint(Colour::Yellow, "·"),
            clean(line)
        ));
    }
    Ok(())
}

fn tell(
    deployment: &Deployment,
    stage: Option<&StageId>,
    what: &WaitsFor,
    ahead: Option<&DeploymentId>,
    orphaned: bool,
    output: &Output,
) -> String {
    let command = output.command();
    let id = &deployment.id;
    let host = || {
        if orphaned {
            format!("another host, as its own is gone: `{command} work`")
        } else {
            format!("a host: `{command} work`, if none is at work")
        }
    };
    match what {
        WaitsFor::Queue => match ahead {
            Some(ahead) => format!(
                "deployment {ahead} of the same application, which was there before; \
                 `{command} show {ahead}` says what that one waits for, \
                 `{command} cancel {ahead}` stops it"
            ),
            None => format!("its planning by {}", host()),
        },
        WaitsFor::Planner => format!("its planning by {}", host()),
        WaitsFor::Host => host(),
        WaitsFor::Turn if orphaned => host(),
        WaitsFor::Turn => format!("its plugin, which is at work: `{command} logs {id} --follow`"),
        WaitsFor::Stop if orphaned => host(),
        WaitsFor::Stop => "its plugin, which was told to stop, for the grace period at most".into(),
        WaitsFor::Time(time) => format!("the time {time}"),
        WaitsFor::Person(kind, who) => {
            let verb = kind.as_str();
            let who = if who.is_empty() {
                "anyone".to_owned()
            } else {
                who.join(", ")
            };
            let which = stage.map_or_else(String::new, |id| which(deployment, id, *kind));
            format!("{who} to {verb} it: `{command} {verb} {id}{which}`")
        }
        WaitsFor::Stages(ids) => {
            let names: Vec<String> = ids.iter().map(|id| label(deployment, id)).collect();
            format!("the end of {}", names.join(", "))
        }
    }
}

/// What a command has to add to name this stage: nothing if no other can be meant.
fn which(deployment: &Deployment, id: &StageId, kind: CommandKind) -> String {
    let mut takes = deployment.stages.iter();
    let alone = takes.all(|other| &other.id == id || !lifecycle::takes(other, kind));
    match deployment.stage(id) {
        Some(stage) if !alone && !stage.rollback => format!(" {}", place(stage)),
        Some(_) if !alone => format!(" {id}"),
        _ => String::new(),
    }
}

fn label(deployment: &Deployment, id: &StageId) -> String {
    match deployment.stage(id) {
        Some(stage) if stage.rollback => stage.name.clone(),
        Some(stage) => format!("{} {}", place(stage), stage.name),
        None => id.to_string(),
    }
}

/// What ends a suspension, in a few words.
pub(super) fn until(wait: &Wait) -> String {
    match (wait.until, wait.after_command) {
        (Some(time), None) => format!("until {time}"),
        (Some(time), Some(_)) => format!("until {time} or someone acts"),
        (None, _) => "until someone acts".to_owned(),
    }
}
