//! `stagewright cancel`, `approve` and `skip`: what people do to a deployment.

use serde_json::json;

use crate::lifecycle;
use crate::model::{CommandKind, Deployment, StageId, reason};
use crate::{Cancel, Error, Host};

use super::clean::clean;
use super::history::find;
use super::output::Output;
use super::plan::label;
use super::{ActArgs, CancelArgs, Exit};

pub(super) async fn cancel(host: &Host, args: &CancelArgs, output: &Output) -> Result<Exit, Error> {
    let why = reason(&args.why).map_err(|long| Error::Input(format!("`--why`: {long}")))?;
    let deployment = host.deployment(&args.id).await?;
    let wish = Cancel {
        by: args.by.name_if_any()?,
        why: why.to_owned(),
        rollback: !args.no_rollback,
    };
    let done = host.cancel(&deployment.id, &wish).await;
    report(done, output, |deployment| {
        let id = &deployment.id;
        if deployment.status.is_final() {
            format!("deployment {id} is {}", deployment.status)
        } else {
            format!(
                "deployment {id} is being stopped; follow it with `{} show {id}`",
                output.command()
            )
        }
    })
}

pub(super) async fn act(
    host: &Host,
    args: &ActArgs,
    kind: CommandKind,
    output: &Output,
) -> Result<Exit, Error> {
    let deployment = host.deployment(&args.id).await?;
    let stage = stage(&deployment, args.stage.as_deref(), kind)?;
    let by = args.by.name()?;
    let done = host.act(&deployment.id, &stage, kind, &by).await;
    report(done, output, |deployment| {
        let name = deployment.stage(&stage).map_or_else(
            || stage.to_string(),
            |stage| format!("stage {} ({})", deployment.place(stage), stage.name),
        );
        format!(
            "{name} of deployment {} was {} by {by}",
            deployment.id,
            kind.done()
        )
    })
}

/// The stage that is meant: the one that was named, or the only one that takes it.
fn stage(
    deployment: &Deployment,
    wanted: Option<&str>,
    kind: CommandKind,
) -> Result<StageId, Error> {
    let verb = kind.as_str();
    if let Some(wanted) = wanted {
        return find(deployment, wanted)?.ok_or_else(|| {
            Error::Input(format!(
                "a plan is nothing that people {verb}; name a stage"
            ))
        });
    }
    let takes: Vec<_> = deployment
        .stages
        .iter()
        .filter(|stage| lifecycle::takes(stage, kind))
        .collect();
    match takes.as_slice() {
        [stage] => Ok(stage.id.clone()),
        [] => Err(Error::Input(format!(
            "deployment {} is {} and has no stage now that people {verb}",
            deployment.id, deployment.status
        ))),
        several => {
            let names: Vec<String> = several
                .iter()
                .map(|stage| label(deployment, stage))
                .collect();
            Err(Error::Input(format!(
                "several stages wait to be {}; name one by its place: {}",
                kind.done(),
                names.join(", ")
            )))
        }
    }
}

/// Says what came of it. What holds already is as good as done.
fn report(
    done: Result<Deployment, Error>,
    output: &Output,
    say: impl FnOnce(&Deployment) -> String,
) -> Result<Exit, Error> {
    match done {
        Ok(deployment) if output.is_json() => output.json(&json!({ "deployment": deployment })),
        Ok(deployment) => output.line(clean(say(&deployment))),
        Err(Error::Refused(refused)) if refused.already => {
            if output.is_json() {
                output.json(&json!({ "already": refused.what }));
            } else {
                output.line(clean(refused));
            }
        }
        Err(error) => return Err(error),
    }
    Ok(Exit::Success)
}
