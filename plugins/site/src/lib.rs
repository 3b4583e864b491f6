//! A Stagewright plugin that puts a directory of files live on directories that
//! the operator granted, as releases with an atomically switched `current` link.
//!
//! The README says how it is used. From the bottom up: `files` makes each single
//! change, `tree` and `compare` read what is there, `layout` knows a target's
//! directory, `record` what must not be forgotten, `release` the life of a release
//! on one target; `stages` and `plan` are what the host calls.
#![deny(missing_docs)]

mod compare;
mod config;
mod decide;
mod exclude;
mod failure;
mod files;
mod host;
mod layout;
mod plan;
mod record;
mod release;
mod stages;
#[cfg(test)]
mod tests;
mod tree;

use stagewright_sdk::{
    Capability, Error, Executor, Manifest, NoConfig, Outcome, Plugin, Result, StageRequest,
};

pub use config::{Section, TargetConfig};

/// Puts a directory of files live.
#[derive(Debug)]
pub struct Site;

/// Copies the release, not live.
const STAGE: &str = "SITE_STAGE";
/// Makes the release live.
const PROMOTE: &str = "SITE_PROMOTE";
/// Does both.
const SYNC: &str = "SITE_SYNC";
/// Undoes all of them.
const ROLLBACK: &str = "SITE_ROLLBACK";

impl Plugin for Site {
    type Config = NoConfig;
    type Target = TargetConfig;
    type Application = Section;

    fn describe() -> Manifest {
        Manifest::new(
            "site",
            env!("CARGO_PKG_VERSION"),
            "Puts a directory of files live as releases with an atomically switched link.",
        )
        .stage::<NoConfig>(STAGE, "Copies the release to each target, not live yet")
        .stage::<NoConfig>(PROMOTE, "Makes the copied release live, removes old ones")
        .stage::<NoConfig>(
            SYNC,
            "Copies the release and makes it live, removes old ones",
        )
        .rollback_stage::<NoConfig>(ROLLBACK, "Puts back what was live before")
        .needs_deploy_target()
        .asks(
            Capability::Filesystem,
            "To write releases and the link `current` in the deploy targets' directories.",
        )
    }
}

impl Executor for Site {
    fn execute_stage(request: &StageRequest<Self>) -> Result<Outcome> {
        let NoConfig {} = request.options()?;
        let job = stages::Job::new(&request.input, request.stage.attempt)?;
        match request.stage.name.as_str() {
            STAGE => stages::stage(&job),
            PROMOTE | SYNC => stages::promote(&job),
            ROLLBACK => stages::roll_back(&job),
            other => Err(Error::unsupported(format_args!(
                "the stage {other} is none of {STAGE}, {PROMOTE}, {SYNC} and {ROLLBACK}"
            ))),
        }
    }
}

stagewright_sdk::export!(Site: planner, executor);
