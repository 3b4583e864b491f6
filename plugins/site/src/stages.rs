//! The stages: what each does to the deploy targets, in turn, and what it says of
//! them.

use stagewright_sdk::{
    DeployTarget, Error, Outcome, PlanInput, Result, Source, TargetResult, TargetStatus, error,
    info, success,
};

use crate::Site;
use crate::config::{Section, TargetConfig};
use crate::failure::Failure;
use crate::layout::{Work, is_hash};
use crate::plan::check_targets;
use crate::record::Record;
use crate::release::{Copied, Ready, Restored, Switch, Target, describe};
use crate::tree::{Tree, published};

/// What a stage is to do, and where.
pub(crate) struct Job<'a> {
    /// The application's section.
    pub(crate) section: &'a Section,
    /// What is put live.
    pub(crate) source: &'a Source,
    /// Who works.
    pub(crate) work: Work,
    /// Where.
    pub(crate) targets: &'a [DeployTarget<TargetConfig>],
}

impl<'a> Job<'a> {
    /// What a stage is called for.
    pub(crate) fn new(input: &'a PlanInput<Site>, attempt: u32) -> Result<Self> {
        let deployment = input.deployment.id.clone();
        let plain = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_');
        if deployment.is_empty() || !deployment.bytes().all(plain) {
            return Err(Error::internal(format_args!(
                "the deployment's id `{deployment}` can't be a part of a file's name"
            )));
        }
        Ok(Self {
            section: &input.section,
            source: &input.target_source,
            work: Work {
                deployment,
                attempt,
            },
            targets: &input.deploy_targets,
        })
    }
}

/// SITE_STAGE: a whole release on each target, not live.
pub(crate) fn stage(job: &Job<'_>) -> Result<Outcome> {
    let mut report = Report::new(job);
    for (target, ready) in ready_everywhere(job, &mut report)? {
        let message = match ready.copied {
            Some(_) => format!("releases/{} is copied, not live yet", ready.release),
            None => format!("releases/{} was there already", ready.release),
        };
        report.add(&target.name, TargetStatus::Succeeded, message);
    }
    Ok(report.outcome())
}

/// SITE_PROMOTE and SITE_SYNC: the release live on each target. Nothing goes live
/// before all of them hold a whole release.
pub(crate) fn promote(job: &Job<'_>) -> Result<Outcome> {
    let mut report = Report::new(job);
    let ready = ready_everywhere(job, &mut report)?;
    for (mut target, Ready { release, .. }) in ready {
        if let Some(failed) = report.first_failed() {
            let message = format!("releases/{release} is copied, but not live, as {failed} failed");
            report.add(&target.name, TargetStatus::Skipped, message);
            continue;
        }
        let switched = target.switch(&release);
        let (status, mut message) = match report.take(&target.name, switched)? {
            None => continue,
            Some(Switch::Already) => (
                TargetStatus::Skipped,
                format!("releases/{release} was live already"),
            ),
            Some(Switch::From(before)) => (
                TargetStatus::Succeeded,
                format!(
                    "releases/{release} is live; before, current {}",
                    describe(&before)
                ),
            ),
        };
        success!("{}: {message}", target.name);
        if let Some(trouble) = prune(job, &target)? {
            message = format!("{message}; {trouble}");
        }
        report.add(&target.name, status, message);
    }
    Ok(report.outcome())
}

/// SITE_ROLLBACK: what was live before, on each target that this deployment
/// touched, wherever it was then.
pub(crate) fn roll_back(job: &Job<'_>) -> Result<Outcome> {
    let mut report = Report::new(job);
    for name in Record::targets()? {
        if !report.names.contains(&name) {
            report.names.push(name);
        }
    }
    for name in report.names.clone() {
        let Some(record) = record_of(job, &name)? else {
            continue;
        };
        let target = Target::reopen(&name, record, &job.work);
        let restored = target.roll_back();
        let Some(restored) = report.take(&name, restored)? else {
            continue;
        };
        let (status, message) = match restored {
            Restored::Untouched => (
                TargetStatus::Skipped,
                "current is as it was before this deployment".to_owned(),
            ),
            Restored::Unreadable { why, left } => {
                let left = match left.as_slice() {
                    [] => String::new(),
                    left => format!(
                        "; what it copied stays: releases/{}",
                        left.join(", releases/")
                    ),
                };
                (
                    TargetStatus::Skipped,
                    format!("there is nothing to put back, current was not switched{left}: {why}"),
                )
            }
            Restored::To(before) => (
                TargetStatus::Succeeded,
                format!(
                    "put back: before this deployment, current {}",
                    describe(&before)
                ),
            ),
        };
        info!("{name}: {message}");
        report.add(&name, status, message);
    }
    Ok(report.outcome())
}

/// What this deployment did to a target. One that it never noted down may hold
/// leftovers all the same.
fn record_of(job: &Job<'_>, name: &str) -> Result<Option<Record>> {
    let given = || job.targets.iter().find(|target| target.name == name);
    Ok(Record::load(name)?.or_else(|| given().map(|target| Record::new(directory(target)))))
}

/// A whole release on each target that does not fail.
fn ready_everywhere(job: &Job<'_>, report: &mut Report) -> Result<Vec<(Target, Ready)>> {
    if job.targets.is_empty() {
        return Err(Error::unsupported(
            "there is no deploy target to publish to: give the plugin `deployTargets` in the \
             host's configuration",
        ));
    }
    check_targets(job.targets)?;
    let commit = &job.source.commit_hash;
    if !is_hash(commit) {
        return Err(Error::internal(format_args!(
            "the commit `{commit}` is no hash, and can't be the name of a release"
        )));
    }
    let tree = published(job.source, job.section)?;
    let mut everywhere = Vec::new();
    for target in job.targets {
        let name = &target.name;
        let ready = ready_on(job, target, &tree);
        if let Some((target, ready)) = report.take(name, ready)? {
            match &ready.copied {
                Some(Copied { files, bytes }) => {
                    info!(
                        "{name}: copied {files} files, {bytes} bytes, to releases/{}",
                        ready.release
                    );
                }
                None => info!(
                    "{name}: releases/{} has this content already",
                    ready.release
                ),
            }
            everywhere.push((target, ready));
        }
    }
    Ok(everywhere)
}

fn directory(target: &DeployTarget<TargetConfig>) -> &str {
    &target.config.directory.0
}

fn ready_on(
    job: &Job<'_>,
    target: &DeployTarget<TargetConfig>,
    tree: &Tree,
) -> Result<(Target, Ready), Failure> {
    let mut target = Target::open(&target.name, directory(target), &job.work)?;
    let ready = target.ready(tree, &job.source.commit_hash)?;
    Ok((target, ready))
}

/// Removes old releases. What is live is live: if this does not work, it is said,
/// but nothing is rolled back for it.
fn prune(job: &Job<'_>, target: &Target) -> Result<Option<String>> {
    let keep = usize::try_from(job.section.keep_releases.0).unwrap_or(usize::MAX);
    match target.prune(keep) {
        Ok(removed) => {
            if !removed.is_empty() {
                info!(
                    "{}: removed old releases: {}",
                    target.name,
                    removed.join(", ")
                );
            }
            Ok(None)
        }
        Err(Failure::Host(error)) => Err(error),
        Err(failure) => {
            let trouble = format!("old releases could not be removed: {failure}");
            error!("{}: {trouble}", target.name);
            Ok(Some(trouble))
        }
    }
}

/// How the targets fared so far.
struct Report {
    names: Vec<String>,
    results: Vec<TargetResult>,
}

impl Report {
    fn new(job: &Job<'_>) -> Self {
        let names = job
            .targets
            .iter()
            .map(|target| target.name.clone())
            .collect();
        Self {
            names,
            results: Vec::new(),
        }
    }

    fn add(&mut self, name: &str, status: TargetStatus, message: String) {
        self.results.push(TargetResult {
            name: name.to_owned(),
            status,
            message,
        });
    }

    /// A failure of one target is noted, and ends nothing; one of the host ends
    /// the stage.
    fn take<T>(&mut self, name: &str, result: Result<T, Failure>) -> Result<Option<T>> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(Failure::Host(error)) => Err(error),
            Err(failure) => {
                error!("{name}: {failure}");
                self.add(name, TargetStatus::Failed, failure.to_string());
                Ok(None)
            }
        }
    }

    fn first_failed(&self) -> Option<&str> {
        let mut failed = self
            .results
            .iter()
            .filter(|r| r.status == TargetStatus::Failed);
        failed.next().map(|result| result.name.as_str())
    }

    fn outcome(mut self) -> Outcome {
        self.results
            .sort_by_key(|result| self.names.iter().position(|n| *n == result.name));
        let failed: Vec<&TargetResult> = self
            .results
            .iter()
            .filter(|r| r.status == TargetStatus::Failed)
            .collect();
        let of = self.results.len();
        let outcome = match failed.as_slice() {
            [] => Outcome::succeeded(),
            [only] => Outcome::failed(format!("{}: {}", only.name, only.message)),
            [first, ..] => Outcome::failed(format!(
                "{} of {of} deploy targets failed, first {}: {}",
                failed.len(),
                first.name,
                first.message
            )),
        };
        outcome.targets(self.results)
    }
}
