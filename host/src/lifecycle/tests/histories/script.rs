//! A history as text: the scene first, then one step a line. What fails is
//! printed so, and what is written so can be replayed.

use std::fmt;

use super::scene::{Part, Scene};
use crate::model::{Attempt, CommandKind, Operation};

/// A scene and what happens in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Script {
    pub(super) scene: Scene,
    pub(super) lines: Vec<Line>,
}

/// A step, and whether who takes it looked at the store one change ago.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) stale: bool,
    pub(super) step: Step,
}

/// Something that hosts, people or the clock do. A step that is impossible where
/// it stands does nothing, so that any may be left out of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Time passes, in milliseconds; hosts renew their leases.
    Pass(u64),
    /// The clock is set forward, or the machine slept: no lease was renewed.
    Jump(u64),
    /// The clock is set back.
    Back(u64),
    /// A host begins to plan.
    Plan(usize),
    /// A host that planned has a plan, or has none.
    Planned(usize, bool),
    /// A host begins a turn of a stage.
    Begin(usize, char),
    /// A turn ends so.
    Answer(char, Attempt, End),
    /// A host dies, and is started again.
    Die(usize),
    /// A host stops as it should: it hands back what it runs.
    Stop(usize),
    /// A host looks for what others left.
    TakeOver(usize),
    /// Somebody cancels, with or without a rollback.
    Cancel(String, bool),
    /// Somebody approves or skips a stage.
    Command(CommandKind, char, String),
    /// Time is noticed.
    Tick,
}

/// How a plugin answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Succeeded,
    Failed,
    Skipped,
    Exited,
    /// It waits for a time, in milliseconds from now; for a command with a
    /// greater number than this; or either.
    Suspended(Option<u64>, Option<u64>),
    /// Its host found that its time was over; says so only if it was.
    TimedOut,
    /// It says that it was cancelled, be that true or not.
    Cancelled,
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "deployment")?;
        if !self.scene.auto_rollback {
            write!(f, " no-rollback")?;
        }
        if let Some(timeout) = self.scene.timeout {
            write!(f, " timeout={timeout}")?;
        }
        writeln!(f)?;
        for part in &self.scene.parts {
            writeln!(f, "{part}")?;
        }
        for line in &self.lines {
            writeln!(f, "{line}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stage {}", self.name)?;
        if let Some(needs) = &self.needs {
            write!(f, " needs={}", needs.iter().collect::<String>())?;
        }
        if self.undoes_others() {
            write!(f, " undoes={}", self.undoes.iter().collect::<String>())?;
        }
        if let Some(timeout) = self.timeout {
            write!(f, " timeout={timeout}")?;
        }
        for (flag, word) in [(self.skip, "skip-on"), (self.once, "once")] {
            if flag {
                write!(f, " {word}")?;
            }
        }
        let by = self.operators.join(",");
        match self.operation {
            Operation::None => Ok(()),
            Operation::Approve => write!(f, " approve={by}"),
            Operation::Skip => write!(f, " skip={by}"),
        }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.stale {
            write!(f, "stale ")?;
        }
        match &self.step {
            Step::Pass(ms) => write!(f, "pass {ms}"),
            Step::Jump(ms) => write!(f, "jump {ms}"),
            Step::Back(ms) => write!(f, "back {ms}"),
            Step::Plan(host) => write!(f, "plan {host}"),
            Step::Planned(host, true) => write!(f, "planned {host}"),
            Step::Planned(host, false) => write!(f, "unplannable {host}"),
            Step::Begin(host, stage) => write!(f, "begin {host} {stage}"),
            Step::Answer(stage, attempt, end) => {
                write!(f, "answer {stage} {}.{}", attempt.number, attempt.turn)?;
                write!(f, " {end}")
            }
            Step::Die(host) => write!(f, "die {host}"),
            Step::Stop(host) => write!(f, "stop {host}"),
            Step::TakeOver(host) => write!(f, "take-over {host}"),
            Step::Cancel(by, true) => write!(f, "cancel {by}"),
            Step::Cancel(by, false) => write!(f, "cancel {by} no-rollback"),
            Step::Command(kind, stage, by) => write!(f, "{} {stage} {by}", kind.as_str()),
            Step::Tick => write!(f, "tick"),
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Succeeded => write!(f, "succeeded"),
            Self::Failed => write!(f, "failed"),
            Self::Skipped => write!(f, "skipped"),
            Self::Exited => write!(f, "exited"),
            Self::TimedOut => write!(f, "timed-out"),
            Self::Cancelled => write!(f, "cancelled"),
            Self::Suspended(time, command) => {
                write!(f, "suspended")?;
                if let Some(time) = time {
                    write!(f, " time={time}")?;
                }
                if let Some(command) = command {
                    write!(f, " command={command}")?;
                }
                Ok(())
            }
        }
    }
}

impl Script {
    /// Reads a script; empty lines and those that begin with `#` say nothing.
    pub(super) fn parse(text: &str) -> Self {
        let mut script = Self {
            scene: Scene {
                auto_rollback: true,
                timeout: None,
                parts: Vec::new(),
            },
            lines: Vec::new(),
        };
        let said = |line: &&str| !line.is_empty() && !line.starts_with('#');
        for line in text.lines().map(str::trim).filter(said) {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[0] {
                "deployment" => {
                    script.scene.auto_rollback = !words.contains(&"no-rollback");
                    script.scene.timeout = value(&words, "timeout").map(number);
                }
                "stage" => script.scene.parts.push(part(&words)),
                "stale" => script.lines.push(Line {
                    stale: true,
                    step: step(&words[1..]),
                }),
                _ => script.lines.push(Line {
                    stale: false,
                    step: step(&words),
                }),
            }
        }
        script
    }
}

fn part(words: &[&str]) -> Part {
    let names = |text: &str| text.chars().collect::<Vec<char>>();
    let mut part = Part::new(letter(words[1]));
    part.needs = value(words, "needs").map(names);
    part.undoes = value(words, "undoes").map(names).unwrap_or_default();
    part.timeout = value(words, "timeout").map(number);
    part.skip = words.contains(&"skip-on");
    part.once = words.contains(&"once");
    for (word, operation) in [("approve", Operation::Approve), ("skip", Operation::Skip)] {
        if let Some(by) = value(words, word) {
            part.operation = operation;
            let named = by.split(',').filter(|name| !name.is_empty());
            part.operators = named.map(str::to_owned).collect();
        }
    }
    part
}

fn step(words: &[&str]) -> Step {
    let host = || usize::try_from(number(words[1])).unwrap();
    match words[0] {
        "pass" => Step::Pass(number(words[1])),
        "jump" => Step::Jump(number(words[1])),
        "back" => Step::Back(number(words[1])),
        "plan" => Step::Plan(host()),
        "planned" => Step::Planned(host(), true),
        "unplannable" => Step::Planned(host(), false),
        "begin" => Step::Begin(host(), letter(words[2])),
        "answer" => {
            let (attempt, turn) = words[2].split_once('.').unwrap();
            let attempt = Attempt {
                number: attempt.parse().unwrap(),
                turn: turn.parse().unwrap(),
            };
            Step::Answer(letter(words[1]), attempt, end(&words[3..]))
        }
        "die" => Step::Die(host()),
        "stop" => Step::Stop(host()),
        "take-over" => Step::TakeOver(host()),
        "cancel" => Step::Cancel(words[1].to_owned(), words.get(2).is_none()),
        "approve" => Step::Command(CommandKind::Approve, letter(words[1]), words[2].to_owned()),
        "skip" => Step::Command(CommandKind::Skip, letter(words[1]), words[2].to_owned()),
        "tick" => Step::Tick,
        other => panic!("no step is called {other}"),
    }
}

fn end(words: &[&str]) -> End {
    match words[0] {
        "succeeded" => End::Succeeded,
        "failed" => End::Failed,
        "skipped" => End::Skipped,
        "exited" => End::Exited,
        "timed-out" => End::TimedOut,
        "cancelled" => End::Cancelled,
        "suspended" => End::Suspended(
            value(words, "time").map(number),
            value(words, "command").map(number),
        ),
        other => panic!("no turn ends as {other}"),
    }
}

/// What stands behind `key=` in one of the words.
fn value<'a>(words: &[&'a str], key: &str) -> Option<&'a str> {
    let mut values = words.iter().filter_map(|word| word.split_once('='));
    values.find(|(name, _)| *name == key).map(|(_, text)| text)
}

fn number(text: &str) -> u64 {
    text.parse().unwrap()
}

fn letter(text: &str) -> char {
    text.chars().next().unwrap()
}
