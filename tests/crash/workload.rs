//! What is deployed while the program is killed, and what has to have come of it
//! in the end, however often that was.
//!
//! Each stage leaves its traces twice: in the log, which the host keeps, and in a
//! file of its own outside, as a deployment does in the world. So what the host
//! says can be held against what was done.

use std::collections::BTreeMap;
use std::fs;

use futures_util::TryStreamExt;
use rusqlite::{Connection, OpenFlags};
use stagewright::definition::HostConfig;
use stagewright::model::{
    Attempt, Deployment, DeploymentId, DeploymentStatus, Event, EventKind, LogLine, Stage, StageId,
    StageStatus,
};
use stagewright::{Host, Request};
use stagewright_tests::Project;

/// The lines that a stage writes in each turn.
const LINES: usize = 40;

/// How an application's deployments go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Its stages succeed: one, then two at a time of which one is suspended
    /// once, then one.
    Succeeds,
    /// The same, of another application.
    SucceedsToo,
    /// Its second stage fails, and the first and second are undone.
    Fails,
}

/// A project with applications of each kind, and a host in this process that
/// looks at its store beside the program that is killed.
pub(crate) struct Workload {
    pub(crate) project: Project,
    pub(crate) host: Host,
    /// What was stored and acknowledged.
    pub(crate) stored: BTreeMap<DeploymentId, Kind>,
    /// What was cancelled, acknowledged.
    pub(crate) cancelled: Vec<DeploymentId>,
}

impl Workload {
    pub(crate) async fn new() -> Self {
        Self::with_config("").await
    }

    /// With a further key in the plugin's entry of the host's configuration.
    pub(crate) async fn with_config(key: &str) -> Self {
        let project = Project::with(&["probe"]);
        fs::create_dir(project.path("effects")).expect("a directory");
        project.write(
            "stagewright.yaml",
            format!(
                "limits: {{ attempts: 1000000, gracePeriod: 1s }}\n\
             plugins:\n  probe:\n    {key}\n    allow:\n      filesystem:\n        \
             - {{ host: effects, guest: /effects, access: read-write }}\n"
            ),
        );
        project.write("succeeds/app.yaml", application("succeeds", SUCCEEDS));
        project.write(
            "succeeds-too/app.yaml",
            application("succeeds-too", SUCCEEDS),
        );
        project.write("fails/app.yaml", application("fails", FAILS));
        let config = HostConfig::load(&project.path("stagewright.yaml")).expect("a configuration");
        let host = Host::builder().config(config.value).build().await;
        Self {
            project,
            host: host.expect("a host"),
            stored: BTreeMap::new(),
            cancelled: Vec::new(),
        }
    }

    /// Stores a deployment of one of the applications.
    pub(crate) async fn submit(&mut self, kind: Kind) -> DeploymentId {
        let application = match kind {
            Kind::Succeeds => "succeeds",
            Kind::SucceedsToo => "succeeds-too",
            Kind::Fails => "fails",
        };
        let file = self.project.path(application).join("app.yaml");
        let stored = self.host.submit(&Request::new(file)).await;
        let (deployment, _) = stored.expect("it is stored");
        self.stored.insert(deployment.id.clone(), kind);
        deployment.id
    }

    /// The deployments that are not at their end, the oldest first.
    pub(crate) async fn unfinished(&self) -> Vec<Deployment> {
        let mut unfinished = Vec::new();
        for id in self.stored.keys() {
            let deployment = self.deployment(id).await;
            if !deployment.status.is_final() {
                unfinished.push(deployment);
            }
        }
        unfinished.sort_by_key(|deployment| deployment.created_at);
        unfinished
    }

    pub(crate) async fn deployment(&self, id: &DeploymentId) -> Deployment {
        let found = self.host.deployment(id.as_str()).await;
        found.expect("what was acknowledged is stored")
    }

    /// Lets the program, which is not killed any more, do what is left.
    pub(crate) async fn finish(&self) {
        if self.unfinished().await.is_empty() {
            return;
        }
        let work = self.project.start(&["work"]);
        for id in self.stored.keys() {
            let events = self.host.events(Some(id.clone()), 0);
            // The stream ends with the deployment.
            let events: Vec<Event> = events.try_collect().await.expect("events");
            assert!(!events.is_empty());
        }
        work.terminate();
        work.end().exits(0);
    }

    /// Holds everything against what it has to be.
    pub(crate) async fn check(&self) {
        for (id, kind) in &self.stored {
            self.check_one(id, *kind).await;
        }
        let file = self.project.path(".stagewright/state.db");
        let database = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY);
        let database = database.expect("the database");
        let check: String = database
            .query_row("PRAGMA integrity_check", [], |row| row.get(0))
            .expect("a check");
        assert_eq!(check, "ok");
        let leases: i64 = database
            .query_row("SELECT count(*) FROM leases", [], |row| row.get(0))
            .expect("a count");
        assert_eq!(leases, 0, "of what is at its end");
    }

    async fn check_one(&self, id: &DeploymentId, kind: Kind) {
        let deployment = self.deployment(id).await;
        let cancelled = self.cancelled.contains(id);
        let status = deployment.status;
        match kind {
            // A failure that was there before the cancel stays what it is.
            Kind::Fails if cancelled => assert!(
                matches!(
                    status,
                    DeploymentStatus::Cancelled | DeploymentStatus::Failed
                ),
                "{id} is {status}"
            ),
            _ if cancelled => assert_eq!(status, DeploymentStatus::Cancelled, "{id}"),
            Kind::Succeeds | Kind::SucceedsToo => {
                assert_eq!(status, DeploymentStatus::Succeeded, "{id}")
            }
            Kind::Fails => {
                assert_eq!(status, DeploymentStatus::Failed, "{id}");
                let undone: Vec<StageStatus> = deployment
                    .rollback_stages()
                    .map(|stage| stage.status)
                    .collect();
                assert_eq!(undone, [StageStatus::Succeeded; 2], "{id}");
            }
        }
        check_events(&deployment, &self.events(id).await);
        for stage in &deployment.stages {
            assert!(
                stage.status.is_final(),
                "{id}: {} is {}",
                stage.id,
                stage.status
            );
            if stage.started_at.is_some() {
                check_log(stage, &self.log(id, &stage.id).await);
                let effects = self.project.path("effects").join(stage.id.as_str());
                check_effects(stage, &fs::read_to_string(effects).unwrap_or_default());
            }
        }
    }

    async fn events(&self, id: &DeploymentId) -> Vec<Event> {
        let events = self.host.events(Some(id.clone()), 0);
        events.try_collect().await.expect("events")
    }

    async fn log(&self, id: &DeploymentId, stage: &StageId) -> Vec<LogLine> {
        let lines = self.host.log(id.clone(), Some(stage.clone()), 0, false);
        lines.try_collect().await.expect("lines")
    }
}

/// The events tell a way that can be gone: each start is of a newer execution, and
/// nothing comes after an end.
fn check_events(deployment: &Deployment, events: &[Event]) {
    let id = &deployment.id;
    let mut newest: BTreeMap<&StageId, (StageStatus, Attempt)> = BTreeMap::new();
    let mut over = false;
    for event in events {
        assert!(!over, "{id}: {event:?} after the end");
        match &event.kind {
            EventKind::Deployment { status, .. } => over = status.is_final(),
            EventKind::Stage {
                stage,
                status,
                attempt,
                ..
            } => {
                if let Some((was, before)) = newest.insert(stage, (*status, *attempt)) {
                    assert!(!was.is_final(), "{id}: {stage} is {status} after {was}");
                    assert!(*attempt >= before, "{id}: {stage} goes back to {attempt:?}");
                    if *status == StageStatus::Running {
                        assert!(*attempt > before, "{id}: {stage} begins {attempt:?} twice");
                    }
                }
            }
            _ => {}
        }
    }
    assert!(over, "{id}: no event tells its end");
    for stage in &deployment.stages {
        let told = newest.get(&stage.id).map(|(status, _)| *status);
        assert_eq!(told, Some(stage.status), "{id}: {}", stage.id);
    }
}

/// No line is lost, doubled or out of order: a whole turn wrote all of its lines,
/// one that was killed the first of them.
fn check_log(stage: &Stage, lines: &[LogLine]) {
    let id = &stage.id;
    for (number, line) in (0..).zip(lines) {
        assert_eq!(line.number, number, "{id}");
    }
    let mut by_turn: BTreeMap<(u32, String), Vec<&str>> = BTreeMap::new();
    let mut last = 0;
    for line in lines {
        assert!(line.attempt >= last, "{id}: {line:?} after attempt {last}");
        last = line.attempt;
        // What the host adds names no turn.
        if let Some((turn, text)) = line.text.split_once(" | ") {
            let turn = (line.attempt, turn.to_owned());
            by_turn.entry(turn).or_default().push(text);
        }
    }
    let wanted: Vec<String> = (0..LINES).map(|line| format!("line {line}")).collect();
    for ((attempt, turn), texts) in &by_turn {
        assert!(
            texts
                .iter()
                .zip(&wanted)
                .all(|(text, wanted)| text == wanted),
            "{id}: attempt {attempt}, turn {turn}: {texts:?}"
        );
        assert!(
            texts.len() <= LINES,
            "{id}: attempt {attempt} wrote {texts:?}"
        );
    }
    if matches!(stage.status, StageStatus::Succeeded | StageStatus::Failed) {
        for turn in 1..=stage.attempt.turn {
            let place = (stage.attempt.number, turn.to_string());
            let texts = by_turn.get(&place).map_or(0, Vec::len);
            assert_eq!(texts, LINES, "{id}: {place:?} of {lines:?}");
        }
    }
}

/// Nothing ran after it had ended, nothing ran twice at once, and what is said to
/// have been done was done.
fn check_effects(stage: &Stage, effects: &str) {
    let id = &stage.id;
    let mut newest = Attempt::default();
    let mut done = Vec::new();
    for line in effects.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [what, attempt, turn] = words.as_slice() else {
            panic!("{id}: {line:?}");
        };
        let attempt = Attempt {
            number: attempt.parse().expect("a number"),
            turn: turn.parse().expect("a number"),
        };
        if *what == "start" {
            assert!(
                attempt > newest,
                "{id}: {attempt:?} began after {newest:?}\n{effects}"
            );
            newest = attempt;
        } else {
            done.push(attempt);
        }
    }
    assert!(
        newest <= stage.attempt,
        "{id}: {newest:?} ran after its end\n{effects}"
    );
    if stage.status == StageStatus::Succeeded {
        let ended = done.iter().filter(|done| **done == stage.attempt).count();
        assert_eq!(ended, 1, "{id}: {:?}\n{effects}", stage.attempt);
    }
}

const SUCCEEDS: &[(&str, &str, &str)] = &[
    ("a", "[]", ""),
    ("b", "[a]", ", suspend-if: [\"{turn}\", \"1\"]"),
    ("c", "[a]", ""),
    ("d", "[b, c]", ""),
];

const FAILS: &[(&str, &str, &str)] = &[("a", "[]", ""), ("b", "[a]", ", fail: broken")];

/// An application whose stages leave their traces. Each is an id, what it needs,
/// and a further step.
fn application(name: &str, stages: &[(&str, &str, &str)]) -> String {
    let mut text = format!(
        "apiVersion: stagewright.dev/v1\nkind: Application\nspec:\n  name: {name}\n  \
         planner: {{ alwaysUsePipeline: true }}\n  pipeline:\n    stages:\n"
    );
    let undo = name == "fails";
    for (id, needs, then) in stages {
        let steps = steps(then.trim_start_matches(", "));
        text.push_str(&format!("      - id: {id}\n        name: PROBE\n"));
        text.push_str(&format!(
            "        needs: {needs}\n        with:\n          do:\n{steps}"
        ));
        if undo {
            text.push_str(&format!("          undo:\n{}", self::steps("")));
        }
    }
    text
}

fn steps(then: &str) -> String {
    let mut text = String::new();
    let mut step = |step: String| text.push_str(&format!("            - {{ {step} }}\n"));
    step("append: [\"/effects/{stage}\", \"start {attempt} {turn}\"]".to_owned());
    for line in 0..LINES {
        step(format!("log: \"{{turn}} | line {line}\""));
    }
    if !then.is_empty() {
        step(then.to_owned());
    }
    step("append: [\"/effects/{stage}\", \"end {attempt} {turn}\"]".to_owned());
    text
}
