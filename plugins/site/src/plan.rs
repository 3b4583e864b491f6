//! How a deployment is planned: what goes live, whether at once, by which stages.

use stagewright_sdk::{
    Decision, DeployTarget, Error, NoConfig, PlanInput, PlannedStage, Planner, RequestedStage,
    Result, Version,
};

use crate::compare::Changes;
use crate::config::TargetConfig;
use crate::decide::decide;
use crate::failure::Failure;
use crate::tree::published;
use crate::{PROMOTE, ROLLBACK, STAGE, SYNC, Site};

impl Planner for Site {
    fn determine_versions(input: &PlanInput<Self>) -> Result<Vec<Version>> {
        let commit = &input.deployment.trigger.commit;
        let hash = &input.target_source.commit_hash;
        // As many digits as people compare; the release has all of them.
        let short = hash.get(..12).unwrap_or(hash);
        let version = Version::new(&input.deployment.application.name, short);
        Ok(vec![match &commit.url {
            Some(url) if commit.hash == *hash => version.url(url),
            _ => version,
        }])
    }

    fn determine_strategy(input: &PlanInput<Self>) -> Result<Option<Decision>> {
        let Some(running) = &input.running_source else {
            return Ok(None);
        };
        let target = published(&input.target_source, &input.section)?;
        // The running source's own section is in a text that this plugin does not
        // read: the same directory is taken of both.
        let running = match published(running, &input.section) {
            Ok(running) => running,
            Err(failure @ (Failure::Directory(_) | Failure::Refused(_))) => {
                let why = format!("what runs can't be compared: {failure}");
                return Ok(Some(Decision::pipeline(why)));
            }
            Err(failure) => return Err(failure.into()),
        };
        let changes = Changes::between(&running, &target)?;
        let decision = decide(&changes, input.section.quick_sync.max_files);
        Ok(Some(if decision.at_once {
            Decision::quick_sync(decision.summary)
        } else {
            Decision::pipeline(decision.summary)
        }))
    }

    fn quick_sync_plan(input: &PlanInput<Self>, rollback: bool) -> Result<Vec<PlannedStage>> {
        check(input)?;
        let mut stages = vec![PlannedStage::new(SYNC)];
        if rollback {
            stages.push(PlannedStage::new(ROLLBACK).as_rollback());
        }
        Ok(stages)
    }

    fn pipeline_sync_plan(
        input: &PlanInput<Self>,
        rollback: bool,
        requested: &[RequestedStage],
    ) -> Result<Vec<PlannedStage>> {
        check(input)?;
        for stage in requested {
            let NoConfig {} = stage.options()?;
            check_place(stage, requested)?;
        }
        let mut stages: Vec<_> = requested.iter().map(PlannedStage::of).collect();
        if let (true, Some(first)) = (rollback, requested.iter().min_by_key(|stage| stage.index)) {
            let all = requested.iter().map(|stage| stage.index);
            stages.push(PlannedStage::undoing(ROLLBACK, first).undoing_all(all));
        }
        Ok(stages)
    }
}

/// Finds out before anything starts what would fail later.
fn check(input: &PlanInput<Site>) -> Result<()> {
    check_targets(&input.deploy_targets)?;
    published(&input.target_source, &input.section)?;
    Ok(())
}

/// Two targets in one directory would each switch what the other did.
pub(crate) fn check_targets(targets: &[DeployTarget<TargetConfig>]) -> Result<()> {
    for (place, target) in targets.iter().enumerate() {
        let same =
            |other: &&DeployTarget<TargetConfig>| other.config.directory == target.config.directory;
        if let Some(other) = targets[..place].iter().find(same) {
            return Err(target.invalid_config(
                "/directory",
                format_args!(
                    "the target {} has this directory too: give each its own",
                    other.name
                ),
            ));
        }
    }
    Ok(())
}

fn check_place(stage: &RequestedStage, requested: &[RequestedStage]) -> Result<()> {
    let staged_before = || {
        requested
            .iter()
            .any(|other| other.name == STAGE && other.index < stage.index)
    };
    match stage.name.as_str() {
        STAGE | SYNC => Ok(()),
        PROMOTE if staged_before() => Ok(()),
        PROMOTE => Err(stage.invalid_options(
            "",
            format_args!("{PROMOTE} needs a {STAGE} before it; {SYNC} does both at once"),
        )),
        ROLLBACK => Err(stage.invalid_options(
            "",
            format_args!("{ROLLBACK} is planned by itself where it is needed: leave it out"),
        )),
        other => Err(Error::unsupported(format_args!(
            "the stage {other} is not this plugin's"
        ))),
    }
}
