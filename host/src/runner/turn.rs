//! One turn of a stage: from the claim to the outcome in the store.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use crate::lifecycle::{self, Event, TurnEnd};
use crate::logs::LogWriter;
use crate::model::{
    Attempt, Call, Cancel, Deployment, DeploymentStatus, Outcome, OutcomeStatus, PluginError,
    Refusal, Severity, Stage, StageId, StageRequest, StageStatus, Timestamp,
};
use crate::store::{Fence, Leased, LogKey, StoreError};

use super::places::Place;
use super::planning::{locate, plan_input};
use super::services::{CallLog, CallServices};
use super::{Applied, Claims, Definition, RunError, Runner, Stop, now, stopped};

/// When a lease is looked at again that can't yet be said to have lapsed.
pub(super) const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// How long after the grace period a call is dropped that does not end by itself:
/// the sandbox ends its own in time, a native plugin may not.
const BACKSTOP: Duration = Duration::from_secs(1);

/// A turn of a stage that was claimed.
pub(super) struct Turn {
    /// The deployment as it was then.
    pub(super) deployment: Arc<Deployment>,
    /// The stage.
    pub(super) stage: StageId,
    /// The application file of the deployment.
    pub(super) definition: Arc<Definition>,
}

impl Turn {
    pub(super) fn new(
        deployment: &Deployment,
        stage: StageId,
        definition: &Arc<Definition>,
    ) -> Self {
        Self {
            deployment: Arc::new(deployment.clone()),
            stage,
            definition: Arc::clone(definition),
        }
    }
}

/// How a call to a plugin came back.
enum Returned {
    /// With an outcome or a failure.
    Answer(Result<Outcome, Failed>),
    /// Not at all: the host stops, and hands the stage back.
    HandedBack,
}

/// Why a call gave no outcome.
struct Failed {
    /// What to tell; a wrong configuration with its place in the file.
    error: PluginError,
    /// Whether it may come from a grant that the plugin lacks: only what the
    /// plugin says of its own doing can.
    may_lack: bool,
}

impl From<PluginError> for Failed {
    fn from(error: PluginError) -> Self {
        let may_lack = match &error {
            PluginError::Denied(_) | PluginError::Unsupported(_) | PluginError::Internal(_) => true,
            PluginError::InvalidConfig { .. }
            | PluginError::Trap(_)
            | PluginError::Limit { .. }
            | PluginError::TimedOut(_)
            | PluginError::Cancelled
            | PluginError::Host(_) => false,
        };
        Self { error, may_lack }
    }
}

impl Runner {
    /// Begins a turn of a stage, if nobody else does. Gives the deployment as it
    /// is from then on.
    pub(super) async fn claim(
        &self,
        deployment: &Deployment,
        stage: &StageId,
    ) -> Result<Option<Deployment>, RunError> {
        let ready = |_: &Deployment| true;
        self.apply(deployment, ready, || Event::StageBegun(stage.clone()))
            .await
    }

    /// Runs a turn that was claimed, and those that are claimed with its end.
    /// Gives the deployment as it is then, if the last of them still counts.
    pub(super) async fn turns(
        self: Arc<Self>,
        mut turn: Turn,
        place: Place,
        stop: watch::Receiver<Stop>,
    ) -> Result<Option<Deployment>, RunError> {
        loop {
            let Some(applied) = self.turn(&turn, &place, &stop).await? else {
                return Ok(None);
            };
            let Some(stage) = applied.begun else {
                return Ok(Some(applied.deployment));
            };
            turn = Turn::new(&applied.deployment, stage, &turn.definition);
        }
    }

    async fn turn(
        &self,
        turn: &Turn,
        place: &Place,
        stop: &watch::Receiver<Stop>,
    ) -> Result<Option<Applied>, RunError> {
        let deployment = &turn.deployment;
        let Some(stage) = deployment.stage(&turn.stage) else {
            return Ok(None);
        };
        let fence = Fence {
            deployment: deployment.id.clone(),
            stage: Some(stage.id.clone()),
            attempt: stage.attempt,
        };
        let key = LogKey {
            deployment: deployment.id.clone(),
            stage: Some(stage.id.clone()),
        };
        let log = Arc::new(LogWriter::new(
            self.store.clone(),
            key,
            Some(fence.clone()),
            stage.attempt.number,
            Arc::new(now),
        ));
        let returned = self.call(turn, stage, &fence, &log, stop.clone()).await;
        let event = match returned {
            Returned::HandedBack => Event::StageLost {
                stage: stage.id.clone(),
                clean: true,
                limit: self.limits.attempts.get(),
            },
            Returned::Answer(answer) => {
                let may_lack = match &answer {
                    Ok(outcome) => matches!(outcome.status, OutcomeStatus::Failed(_)),
                    Err(failed) => failed.may_lack,
                };
                let (end, outcome) = judge(stage, answer.map_err(|failed| failed.error));
                match &end {
                    TurnEnd::Failed(reason) => {
                        log.write(Severity::Error, reason);
                        if may_lack {
                            self.tell_what_is_missing(stage, &log);
                        }
                    }
                    TurnEnd::TimedOut => log.write(Severity::Error, "timed out"),
                    TurnEnd::Cancelled => log.write(Severity::Error, "cancelled"),
                    _ => {}
                }
                Event::StageEnded {
                    stage: stage.id.clone(),
                    end,
                    targets: outcome
                        .as_ref()
                        .map(|o| o.targets.clone())
                        .unwrap_or_default(),
                    exit_code: outcome.and_then(|outcome| outcome.exit_code),
                }
            }
        };
        // All of a stage's lines are stored before its status.
        match log.finish().await {
            Ok(()) => {}
            // Another attempt runs: whatever this one did counts no more.
            Err(StoreError::Stale) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        let mine = |d: &Deployment| is_running(d, &stage.id, stage.attempt);
        let claims = match *stop.borrow() {
            Stop::No => place.claims(),
            Stop::Soon | Stop::Now => Claims::Nothing,
        };
        self.apply_and(claims, deployment, mine, || event.clone())
            .await
    }

    async fn call(
        &self,
        turn: &Turn,
        stage: &Stage,
        fence: &Fence,
        log: &Arc<LogWriter>,
        mut stop: watch::Receiver<Stop>,
    ) -> Returned {
        let grace = self.limits.grace_period;
        let answer = self.execute(turn, stage, fence, log);
        tokio::pin!(answer);
        let handed_back = async {
            stopped(&mut stop, Stop::Soon).await;
            tokio::select! {
                () = tokio::time::sleep(grace) => {}
                () = stopped(&mut stop, Stop::Now) => {}
            }
        };
        tokio::select! {
            answer = &mut answer => Returned::Answer(answer),
            () = handed_back => Returned::HandedBack,
        }
    }

    async fn execute(
        &self,
        turn: &Turn,
        stage: &Stage,
        fence: &Fence,
        log: &Arc<LogWriter>,
    ) -> Result<Outcome, Failed> {
        let host = |error: String| PluginError::Host(error);
        let deployment = &turn.deployment;
        let pinned = deployment.plugins.iter().find(|p| p.key == stage.plugin);
        let pinned = pinned.ok_or_else(|| host(format!("`{}` was not pinned", stage.plugin)))?;
        let provider = self.providers.pinned(pinned).await.map_err(host)?;
        let application = turn.definition.of(deployment);
        let application = application.map_err(|e| host(e.to_string()))?;
        let target = self.source(deployment, &deployment.target).await;
        let target = target.map_err(|e| host(e.to_string()))?;
        let running = match &deployment.running {
            Some(revision) => {
                let source = self.source(deployment, revision).await;
                Some(source.map_err(|e| host(e.to_string()))?)
            }
            None => None,
        };
        let (canceller, cancel) = Cancel::new();
        let told = self.on_cancel(&deployment.id, &stage.id, stage.attempt, canceller.clone());
        let mut cancelled = cancel.clone();
        let time_left = lifecycle::time_left(deployment, stage, now());
        let grace = self.limits.grace_period;
        let call = Call {
            services: Arc::new(CallServices {
                store: self.store.clone(),
                log: CallLog::Stored(log.clone()),
                deployment: deployment.clone(),
                plugin: stage.plugin.clone(),
                fence: Some(fence.clone()),
                cancel: cancel.clone(),
                now,
            }),
            scratch: Some(self.scratch_of(&deployment.id, &stage.plugin)),
            cancel,
            timeout: time_left.saturating_add(grace).saturating_add(BACKSTOP),
        };
        let request = StageRequest {
            input: plan_input(deployment, application, &provider, target, running),
            stage: stage.id.clone(),
            name: stage.name.clone(),
            index: stage.index,
            rollback: stage.rollback,
            metadata: stage.metadata.clone(),
            first_started_at: stage.started_at.unwrap_or_else(now),
            attempt: stage.attempt,
            cause: stage.cause,
            options: stage.options.clone(),
        };
        let answer = provider.plugin().execute_stage(&call, &request);
        tokio::pin!(answer);
        let in_grace = grace.saturating_add(BACKSTOP);
        let answer = tokio::select! {
            answer = &mut answer => answer,
            () = tokio::time::sleep(time_left) => {
                // The plugin is told, and may tidy up; but it has had its time,
                // whatever it answers now.
                canceller.cancel();
                let _late = tokio::time::timeout(in_grace, answer).await;
                Err(PluginError::TimedOut(time_left))
            }
            // Whatever it still did would be done twice.
            () = told.lost() => Err(PluginError::Host("the stage runs again elsewhere".to_owned())),
            () = cancelled.cancelled() => {
                // What it did before it could stop, it has done.
                let late = tokio::time::timeout(in_grace, answer).await;
                late.unwrap_or(Err(PluginError::Cancelled))
            }
        };
        answer.map_err(|error| {
            let index = (deployment.strategy == Some(crate::model::Strategy::Pipeline))
                .then_some(stage.index);
            let located = locate(application, &*self.providers, &provider, index, &error);
            let mut failed = Failed::from(error);
            if let Some(problems) = located {
                let text = problems.to_string().trim_end().to_owned();
                failed.error = PluginError::Internal(text);
            }
            failed
        })
    }

    /// After a failure: what the plugin asks for and was not granted may be why.
    fn tell_what_is_missing(&self, stage: &Stage, log: &LogWriter) {
        let all = self.providers.all();
        let Some(provider) = all.iter().find(|provider| provider.key() == &stage.plugin) else {
            return;
        };
        let missing = provider.registered.missing();
        for request in &provider.manifest().requests {
            let capability = request.capability;
            if missing.contains(&capability) {
                log.write(
                    Severity::Info,
                    &format!(
                        "plugin `{key}` asks for `{capability}` ({}) and was not granted it; to \
                         grant it, add `plugins.{key}.allow.{capability}` to {}",
                        request.reason,
                        self.providers.origin(provider.key()),
                        key = provider.key(),
                    ),
                );
            }
        }
    }

    /// Takes over the stages and the planning of a deployment whose host is gone.
    /// Gives it as it is then, and when the next lease lapses, if nobody renews it.
    pub(super) async fn take_over(
        &self,
        mut deployment: Deployment,
    ) -> Result<(Deployment, Option<Timestamp>), RunError> {
        let mut next = None;
        let planned = deployment.status == DeploymentStatus::Planning;
        let mut stages = deployment.stages.iter();
        if !planned && !stages.any(|stage| stage.status == StageStatus::Running) {
            return Ok((deployment, None));
        }
        for lease in self.store.leases(&deployment.id).await? {
            // What this host holds it is at work on.
            let held = lease.owner == self.store.owner();
            if held || !self.store.has_lapsed(&lease, now()).await? {
                // One whose time is over and whose host may yet live is looked at
                // again.
                let look = lease.until.max(now().after(LOOK_AGAIN));
                next = next.into_iter().chain([look]).min();
                continue;
            }
            let Leased::Stage(id) = &lease.what else {
                continue;
            };
            let Some(attempt) = deployment.stage(id).map(|stage| stage.attempt) else {
                continue;
            };
            let lost = |d: &Deployment| is_running(d, id, attempt);
            let limit = self.limits.attempts.get();
            let taken = self
                .apply(&deployment, lost, || Event::StageLost {
                    stage: id.clone(),
                    clean: false,
                    limit,
                })
                .await?;
            deployment = match taken {
                Some(taken) => taken,
                None => self.load(&deployment.id).await?,
            };
        }
        Ok((deployment, next))
    }
}

fn is_running(deployment: &Deployment, stage: &StageId, attempt: Attempt) -> bool {
    deployment
        .stage(stage)
        .is_some_and(|stage| stage.status == StageStatus::Running && stage.attempt == attempt)
}

/// What a plugin's answer means for the stage.
fn judge(stage: &Stage, answer: Result<Outcome, PluginError>) -> (TurnEnd, Option<Outcome>) {
    let outcome = match answer {
        Ok(outcome) => outcome,
        Err(PluginError::TimedOut(_)) => return (TurnEnd::TimedOut, None),
        Err(PluginError::Cancelled) => return (TurnEnd::Cancelled, None),
        Err(error) => return (failed(error.to_string()), None),
    };
    let end = match &outcome.status {
        OutcomeStatus::Succeeded => TurnEnd::Succeeded,
        OutcomeStatus::Failed(reason) => failed(or(reason, "the plugin gave no reason")),
        OutcomeStatus::Skipped(reason) => TurnEnd::Skipped(reason.clone()),
        OutcomeStatus::Exited(reason) => TurnEnd::Exited(reason.clone()),
        OutcomeStatus::Suspended(wakes) => TurnEnd::Suspended(wakes.clone()),
    };
    (lifecycle::judge(stage, end), Some(outcome))
}

/// What a plugin gives as its reason. One that only hands on that it was told to stop
/// can't know what for, and leaves that to its host: a time limit has been told of
/// before, so it was a cancel.
fn failed(reason: String) -> TurnEnd {
    if reason == Refusal::Cancelled.to_string() {
        TurnEnd::Cancelled
    } else {
        TurnEnd::Failed(reason)
    }
}

fn or(text: &str, otherwise: &str) -> String {
    if text.is_empty() { otherwise } else { text }.to_owned()
}
