//! `stagewright run`: deploys, and follows to the end.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::stream::{BoxStream, SelectAll, StreamExt};
use serde_json::json;

use crate::model::{Deployment, DeploymentStatus, Event, EventKind, LogLine, StageId, StageStatus};
use crate::{Error, Host, Run};

use super::clean::{clean, closed, indented};
use super::output::{Colour, Output, deployment_colour, line_colour, short, stage_colour};
use super::plan::{headline, label, request};
use super::progress::Progress;
use super::signals::Interrupts;
use super::{Exit, RunArgs, waiting};

pub(super) async fn run(
    host: &Host,
    args: &RunArgs,
    interrupts: Interrupts,
    output: &Output,
) -> Result<Exit, Error> {
    let request = request(&args.deploy);
    if args.detach {
        let (deployment, warnings) = host.submit(&request).await?;
        output.warnings(&warnings);
        if output.is_json() {
            output.json(&json!({ "deployment": deployment }));
        } else {
            headline(&deployment, output);
            how_to_go_on(&deployment, output);
        }
        return Ok(Exit::Unfinished);
    }
    // From before anything is stored: an interrupt never loses a deployment.
    let stopping = host.clone();
    let signals = interrupts.call(output.clone(), move || stopping.shut_down());
    let run = host.deploy(&request).await?;
    output.warnings(run.warnings());
    let done = follow(host, run, output).await;
    signals.abort();
    done
}

async fn follow(host: &Host, run: Run, output: &Output) -> Result<Exit, Error> {
    let deployment = host.deployment(run.id().as_str()).await?;
    if !output.is_json() {
        headline(&deployment, output);
        output.line(output.paint(Colour::Dim, format!("deployment {}", deployment.id)));
    }
    let mut watch = Watch {
        host,
        output,
        deployment,
        read: BTreeMap::new(),
        begun: BTreeMap::new(),
        ahead: BTreeSet::new(),
        logs: SelectAll::new(),
        progress: Progress::new(output),
    };
    watch.tail(None);
    let mut events = Box::pin(run.events());
    let finished = run.finished();
    tokio::pin!(finished);
    let mut last = None;
    loop {
        tokio::select! {
            event = events.next() => match event {
                Some(event) => watch.event(&event?).await?,
                None => break,
            },
            Some((stage, line)) = watch.logs.next(), if !watch.logs.is_empty() => {
                watch.line(stage.as_ref(), &line?);
            }
            // Left before its end: no event will tell of that.
            deployment = &mut finished, if last.is_none() => {
                let deployment = deployment?;
                let over = deployment.status.is_final();
                last = Some(deployment);
                if !over {
                    break;
                }
            }
        }
    }
    watch.progress.clear();
    let deployment = match last {
        Some(deployment) => deployment,
        None => finished.await?,
    };
    watch.end(&deployment);
    Ok(exit_of(deployment.status))
}

/// The exit code for a deployment's status.
pub(super) fn exit_of(status: DeploymentStatus) -> Exit {
    match status {
        DeploymentStatus::Succeeded => Exit::Success,
        DeploymentStatus::Failed | DeploymentStatus::TimedOut => Exit::Failed,
        DeploymentStatus::Cancelled => Exit::Cancelled,
        DeploymentStatus::Queued
        | DeploymentStatus::Planning
        | DeploymentStatus::Planned
        | DeploymentStatus::Running
        | DeploymentStatus::RollingBack => Exit::Unfinished,
    }
}

/// A line of a log that is tailed: of a stage, or of the plan.
type Tailed = (Option<StageId>, Result<LogLine, Error>);

/// Prints a deployment as it moves.
struct Watch<'a> {
    host: &'a Host,
    output: &'a Output,
    deployment: Deployment,
    /// How many lines of each stage's log were printed.
    read: BTreeMap<Option<StageId>, u64>,
    /// The attempt of each stage that was said to have begun.
    begun: BTreeMap<StageId, u32>,
    /// The stages of which lines came before that was said of their attempt.
    ahead: BTreeSet<StageId>,
    /// The logs of what is at work; none as a stage is the plan's.
    logs: SelectAll<BoxStream<'static, Tailed>>,
    progress: Progress,
}

impl Watch<'_> {
    async fn event(&mut self, event: &Event) -> Result<(), Error> {
        match &event.kind {
            EventKind::Deployment { status, .. } => {
                self.reload().await?;
                match status {
                    DeploymentStatus::Queued => self.queued().await?,
                    DeploymentStatus::Planning => {}
                    _ => self.catch_up(None).await?,
                }
                self.json(event);
                if *status == DeploymentStatus::RollingBack {
                    self.say(self.output.paint(Colour::Yellow, "rolling back"));
                }
            }
            EventKind::Stage {
                stage,
                status,
                attempt,
                reason,
                ..
            } => {
                self.reload().await?;
                if *status == StageStatus::Running {
                    self.begun.insert(stage.clone(), attempt.number);
                    self.tail(Some(stage.clone()));
                } else {
                    self.catch_up(Some(stage)).await?;
                }
                self.json(event);
                self.stage(stage, *status, reason);
            }
            EventKind::Cancel(cancel) => {
                self.json(event);
                // If it goes beyond another one, it says so itself.
                let what = if cancel.rollback || cancel.before.is_some() {
                    cancel.to_string()
                } else {
                    format!("{cancel} (without a rollback)")
                };
                self.say(self.output.paint(Colour::Yellow, indented(what)));
            }
            EventKind::Rollback { status, reason } => {
                self.json(event);
                let why = if reason.is_empty() {
                    String::new()
                } else {
                    format!(": {}", indented(reason))
                };
                self.say(format!("rollback {status}{why}"));
            }
            EventKind::Command {
                stage, command, by, ..
            } => {
                self.reload().await?;
                self.json(event);
                if let Some(stage) = self.deployment.stage(stage) {
                    self.say(format!(
                        "{} {} by {}",
                        label(&self.deployment, stage),
                        command.done(),
                        clean(by)
                    ));
                }
            }
            EventKind::Note { stage, text } => {
                self.json(event);
                self.progress.note(stage, text);
            }
        }
        Ok(())
    }

    /// Says for whom a deployment waits that can't be planned yet.
    async fn queued(&self) -> Result<(), Error> {
        let id = &self.deployment.id;
        if let Some(ahead) = self.host.ahead(id).await? {
            let command = self.output.command();
            self.say(format!(
                "queued behind deployment {ahead} of the same application: see `{command} show \
                 {ahead}`"
            ));
        }
        Ok(())
    }

    async fn reload(&mut self) -> Result<(), Error> {
        let id = self.deployment.id.clone();
        self.deployment = self.host.deployment(id.as_str()).await?;
        Ok(())
    }

    fn json(&self, event: &Event) {
        if self.output.is_json() {
            self.output.json(&json!({ "event": event }));
        }
    }

    fn say(&self, line: impl std::fmt::Display) {
        if !self.output.is_json() {
            self.progress.print(|| self.output.line(line));
        }
    }

    fn stage(&mut self, id: &StageId, status: StageStatus, reason: &str) {
        let Some(stage) = self.deployment.stage(id) else {
            return;
        };
        let name = label(&self.deployment, stage);
        match status {
            StageStatus::Running | StageStatus::Suspended => {
                self.progress.begin(id, &name, status);
            }
            _ => self.progress.end(id),
        }
        // Hidden from start to end: nothing to tell.
        if status == StageStatus::NotRun && stage.rollback {
            return;
        }
        let word = self.output.paint(stage_colour(status), status);
        let mut line = format!("{name} {word}");
        if let (Some(start), Some(end)) = (stage.started_at, stage.ended_at)
            && status.is_final()
        {
            line.push_str(&format!(" after {}", short(end.since(start))));
        }
        if let (StageStatus::Suspended, Some(wait)) = (status, &stage.wait) {
            line.push_str(&format!(" {}", waiting::until(wait)));
        }
        if !reason.is_empty() {
            line.push_str(&format!(": {}", indented(reason)));
        }
        self.say(line);
    }

    /// Prints a log as it comes.
    fn tail(&mut self, stage: Option<StageId>) {
        let id = self.deployment.id.clone();
        let from = self.read.get(&stage).copied().unwrap_or_default();
        let lines = self.host.log(id, stage.clone(), from, true);
        self.logs
            .push(lines.map(move |line| (stage.clone(), line)).boxed());
    }

    /// Prints what a log has that was not printed yet: a stage's lines come before
    /// its status.
    async fn catch_up(&mut self, stage: Option<&StageId>) -> Result<(), Error> {
        let id = self.deployment.id.clone();
        let from = self.read.get(&stage.cloned()).copied().unwrap_or_default();
        let mut lines = self.host.log(id, stage.cloned(), from, false);
        while let Some(line) = lines.next().await {
            self.line(stage, &line?);
        }
        Ok(())
    }

    fn line(&mut self, stage: Option<&StageId>, line: &LogLine) {
        let printed = self.read.entry(stage.cloned()).or_default();
        if line.number < *printed {
            return;
        }
        if let Some(stage) = stage {
            // What became of the attempt before is told first, and that this one has
            // begun; with that, its lines are read again, from the first on.
            if line.attempt > self.begun.get(stage).copied().unwrap_or_default() {
                self.ahead.insert(stage.clone());
                return;
            }
            if self.ahead.contains(stage) && line.number > *printed {
                return;
            }
        }
        *printed = line.number + 1;
        if self.output.is_json() {
            self.output
                .json(&json!({ "log": { "stage": stage, "line": line } }));
            return;
        }
        let stage = stage.and_then(|id| self.deployment.stage(id));
        let label = |stage| label(&self.deployment, stage);
        let name = stage.map_or_else(|| "plan".to_owned(), label);
        let bar = self.output.paint(Colour::Dim, format!("{name} |"));
        let text = match line_colour(line.severity) {
            Some(colour) => self.output.paint(colour, &line.text),
            None => closed(&line.text).into_owned(),
        };
        self.say(format!("{bar} {text}"));
    }

    fn end(&self, deployment: &Deployment) {
        if self.output.is_json() {
            self.output.json(&json!({ "deployment": deployment }));
            return;
        }
        if !deployment.status.is_final() {
            how_to_go_on(deployment, self.output);
            return;
        }
        let word = self
            .output
            .paint(deployment_colour(deployment.status), deployment.status);
        let mut line = format!("{} {word}", clean(&deployment.application.name));
        if let Some(end) = deployment.ended_at {
            line.push_str(&format!(
                " after {}",
                short(end.since(deployment.created_at))
            ));
        }
        if !deployment.reason.is_empty() {
            line.push_str(&format!(": {}", indented(&deployment.reason)));
        }
        self.output.line(line);
    }
}

fn how_to_go_on(deployment: &Deployment, output: &Output) {
    output.line(format!(
        "deployment {} is left {}",
        deployment.id, deployment.status
    ));
    let command = output.command();
    output.line(format!("go on with `{command} work --until-idle`"));
    output.line(format!(
        "look at it with `{command} show {}`",
        deployment.id
    ));
}
