//! `stagewright plan`.

use serde_json::json;

use crate::model::{Deployment, Stage};
use crate::{Error, Host, Request};

use super::clean::{clean, closed};
use super::output::{Cell, Colour, Output, line_colour, list};
use super::{DeployArgs, Exit};

pub(super) async fn plan(host: &Host, args: &DeployArgs, output: &Output) -> Result<Exit, Error> {
    let preview = host.plan(&request(args)).await?;
    let deployment = &preview.deployment;
    if output.is_json() {
        let log: Vec<_> = preview
            .log
            .iter()
            .map(|(severity, text)| json!({ "severity": severity, "text": text }))
            .collect();
        let told = json!({ "deployment": deployment, "log": log });
        output.json(&list(&preview.warnings, "warnings", told));
        return Ok(Exit::Success);
    }
    output.warnings(&preview.warnings);
    for (severity, text) in &preview.log {
        match line_colour(*severity) {
            Some(colour) => output.line(output.paint(colour, text)),
            None => output.line(closed(text)),
        }
    }
    headline(deployment, output);
    output.line(clean(&deployment.summary));
    for version in &deployment.versions {
        output.line(clean(format!(
            "puts live {} {}",
            version.name, version.version
        )));
    }
    output.line("");
    stages(deployment, output);
    Ok(Exit::Success)
}

/// What the arguments ask for.
pub(super) fn request(args: &DeployArgs) -> Request {
    Request {
        file: args.file.clone(),
        built: None,
        commit: args.commit.clone(),
        strategy: args.strategy.map(Into::into),
        commander: args.commander.clone(),
    }
}

/// The application and the commit, on a line.
pub(super) fn headline(deployment: &Deployment, output: &Output) {
    let commit = &deployment.trigger.commit;
    let name = output.paint(Colour::Bold, clean(&deployment.application.name));
    let subject = commit.subject();
    let what = if subject.is_empty() {
        "directory as it stood".to_owned()
    } else {
        clean(subject)
    };
    output.line(format!("{name} at {} ({what})", commit.short_hash()));
}

fn stages(deployment: &Deployment, output: &Output) {
    let rows: Vec<Vec<Cell>> = deployment
        .stages
        .iter()
        .map(|stage| {
            vec![
                Cell::from(deployment.place(stage)),
                Cell::from(&stage.name),
                Cell::from(&stage.plugin),
                Cell::from(remark(deployment, stage)),
            ]
        })
        .collect();
    output.table(&["#", "STAGE", "PLUGIN", ""], &rows);
}

/// A stage for people: its place and its name.
pub(super) fn label(deployment: &Deployment, stage: &Stage) -> String {
    format!("{} {}", deployment.place(stage), stage.name)
}

fn remark(deployment: &Deployment, stage: &Stage) -> String {
    if let Some(reason) = &stage.skip {
        return format!("will be skipped: {reason}");
    }
    if stage.rollback {
        let undone: Vec<String> = stage
            .undoes
            .iter()
            .filter_map(|id| deployment.stage(id))
            .map(|stage| deployment.place(stage))
            .collect();
        return format!(
            "only after a failure, if {} had started",
            undone.join(" or ")
        );
    }
    stage.description.clone()
}
