//! `stagewright work`.

use crate::model::DeploymentStatus;
use crate::store::Filter;
use crate::{Error, Host};

use super::output::Output;
use super::signals::Interrupts;
use super::{Exit, WorkArgs, history};

pub(super) async fn work(
    host: &Host,
    args: &WorkArgs,
    interrupts: Interrupts,
    output: &Output,
) -> Result<Exit, Error> {
    let stopping = host.clone();
    let signals = interrupts.call(output.clone(), move || stopping.shut_down());
    let done = host.work(args.until_idle).await;
    signals.abort();
    done?;
    let filter = Filter {
        statuses: vec![
            DeploymentStatus::Queued,
            DeploymentStatus::Planning,
            DeploymentStatus::Planned,
            DeploymentStatus::Running,
            DeploymentStatus::RollingBack,
        ],
        // Whoever reads this counts on its being all.
        limit: usize::MAX,
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
