//! `stagewright work`.

use crate::store::Filter;
use crate::model::DeploymentStatus;
use crate::{Error, Host};

use super::output::Output;
use super::{Exit, WorkArgs, history};

pub(super) async fn work(host: &Host, args: &WorkArgs, output: &Output) -> Result<Exit, Error> {
    let signals = super::run::on_interrupt({
        let host = host.clone();
        move || host.shut_down()
    });
    let done = host.work(args.until_idle).await;
    signals.abort();
    done?;
    let filter = Filter {
        statuses: vec![
            DeploymentStatus::Planning,
            DeploymentStatus::Planned,
            DeploymentStatus::Running,
            DeploymentStatus::RollingBack,
        ],
        ..Filter::default()
    };
    let left = host.deployments(&filter).await?;
    if left.is_empty() {
        return Ok(Exit::Success);
    }
    if output.is_json() {
        output.json(&left);
    } else {
        output.line("left unfinished:");
        history::table(&left, output);
    }
    Ok(Exit::Unfinished)
}
