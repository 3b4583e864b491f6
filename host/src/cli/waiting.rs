//! What `stagewright show` says of everything that waits: for what, since when,
//! and what would end it.

use crate::clock::now;
use crate::lifecycle::{self, People, Waiting, WaitsFor};
use crate::model::{CommandKind, Deployment, DeploymentId, StageId, Timestamp, Wait};
use crate::{Error, Host, Silent};

use super::By;
use super::clean::clean;
use super::output::{Colour, Output};
use super::plan;

/// Prints what a deployment waits for; nothing if it is at its end.
pub(super) async fn print(
    host: &Host,
    deployment: &Deployment,
    output: &Output,
) -> Result<(), Error> {
    let waiting = host.waiting(deployment);
    if waiting.is_empty() {
        return Ok(());
    }
    let told = Told {
        deployment,
        ahead: host.ahead(&deployment.id).await?,
        silent: host.silent(&deployment.id).await?,
        command: output.command(),
        me: By::usual(),
        now: now(),
    };
    output.line("");
    for one in &waiting {
        output.line(format!(
            "{} {}",
            output.paint(Colour::Yellow, "·"),
            clean(told.line(one))
        ));
    }
    Ok(())
}

/// What there is to know for telling what a deployment waits for.
struct Told<'a> {
    deployment: &'a Deployment,
    /// The one that is before it in the queue.
    ahead: Option<DeploymentId>,
    /// What of it is at work under a host that does not answer.
    silent: Vec<Silent>,
    /// How this program is called.
    command: &'a str,
    /// Under which name whoever reads this acts if they give none.
    me: Option<String>,
    now: Timestamp,
}

impl Told<'_> {
    fn line(&self, one: &Waiting) -> String {
        let name = one
            .stage
            .as_ref()
            .map_or_else(|| "deployment".to_owned(), |id| label(self.deployment, id));
        let mut what: Vec<&WaitsFor> = one.what.iter().collect();
        // Who may skip it is told after what it is there to wait for.
        let skips = |people: &People| people.kind == CommandKind::Skip;
        what.sort_by_key(|what| matches!(what, WaitsFor::People(people) if skips(people)));
        let told: Vec<String> = what
            .into_iter()
            .map(|what| self.what(one.stage.as_ref(), what))
            .collect();
        let mut line = format!("{name} waits for {}", told.join("; or "));
        line.push_str(&format!("; since {}", one.since));
        if let Some(limit) = one.limit {
            let is = if limit > self.now { "is" } else { "was" };
            line.push_str(&format!("; its time {is} over at {limit}"));
        }
        line
    }

    fn what(&self, stage: Option<&StageId>, what: &WaitsFor) -> String {
        let (command, id) = (self.command, &self.deployment.id);
        match what {
            WaitsFor::Queue => match &self.ahead {
                Some(ahead) => format!(
                    "deployment {ahead} of the same application, which was there before; \
                     `{command} show {ahead}` says what that one waits for, \
                     `{command} cancel {ahead}` stops it"
                ),
                None => format!("its planning by {}", self.host()),
            },
            WaitsFor::Planning(attempt) => {
                if let Some(silent) = self.silent(None) {
                    return format!("its planning by {}", self.silence(silent, "takes it over"));
                }
                let which = match attempt {
                    0 | 1 => String::new(),
                    attempt => format!(" (attempt {attempt})"),
                };
                format!(
                    "its planning, which is under way{which}: `{command} logs {id} plan --follow`"
                )
            }
            WaitsFor::Host if self.orphaned() => self.host(),
            WaitsFor::Host => format!(
                "{}; one that is runs at most `limits.concurrentStages` at once",
                self.host()
            ),
            WaitsFor::Overdue => {
                format!("{}; it ends then, since it is over its time", self.host())
            }
            WaitsFor::Turn => match self.silent(stage) {
                Some(silent) => self.silence(silent, "takes it over"),
                None => format!("its plugin, which is at work: `{command} logs {id} --follow`"),
            },
            // Only a host that answers tells a plugin anything.
            WaitsFor::Stop => match self.silent(stage) {
                Some(silent) => self.silence(silent, "ends it, as it was cancelled"),
                None => {
                    "its plugin, which its host tells to stop, for the grace period at most".into()
                }
            },
            WaitsFor::Time(time) => format!("the time {time}"),
            WaitsFor::People(people) => self.people(stage, people),
            WaitsFor::Stages(ids) => {
                let names = ids.iter().map(|id| label(self.deployment, id));
                format!("the end of {}", names.collect::<Vec<_>>().join(", "))
            }
        }
    }

    fn host(&self) -> String {
        let command = self.command;
        if self.orphaned() {
            format!("another host, as its own is gone: `{command} work`")
        } else {
            format!("a host: `{command} work`, if none is at work")
        }
    }

    /// Whether something of it is at work under a host that is gone.
    fn orphaned(&self) -> bool {
        self.silent.iter().any(|silent| silent.lapsed)
    }

    /// The silence of the host that has a stage, or the planning, if it is silent.
    fn silent(&self, stage: Option<&StageId>) -> Option<&Silent> {
        let mut silent = self.silent.iter();
        silent.find(|silent| silent.stage.as_ref() == stage)
    }

    /// Whom something waits for whose host is silent, and what that one does.
    fn silence(&self, silent: &Silent, does: &str) -> String {
        if silent.lapsed {
            return self.host();
        }
        format!(
            "its host, which has not answered since {}; if it does not, the next host that works \
             on this state {does}: `{} work`, if none is at work",
            silent.since, self.command
        )
    }

    /// Who is missing, and what they have to type.
    fn people(&self, stage: Option<&StageId>, people: &People) -> String {
        let (command, id) = (self.command, &self.deployment.id);
        let verb = people.kind.as_str();
        if people.who.as_ref().is_some_and(Vec::is_empty) {
            return format!(
                "somebody to {verb} it, though all who may have done so; `{command} cancel {id}` \
                 ends it"
            );
        }
        let which = stage.map_or_else(String::new, |id| which(self.deployment, id, people.kind));
        let by = if self.can_act(people) {
            ""
        } else {
            " --by NAME"
        };
        format!(
            "{} to {verb} it: `{command} {verb} {id}{which}{by}`",
            who(people)
        )
    }

    /// Whether whoever reads this can do it under their own name.
    fn can_act(&self, people: &People) -> bool {
        let Some(me) = &self.me else {
            return false;
        };
        match &people.who {
            Some(who) => who.contains(me),
            None => !people.given.contains(me),
        }
    }
}

/// Who has to act, as `1 more of bob, cy`.
fn who(people: &People) -> String {
    let more = people.more;
    let after = if people.given.is_empty() { "" } else { " more" };
    match &people.who {
        None if after.is_empty() && more == 1 => "anyone".to_owned(),
        None if more == 1 => "1 more person".to_owned(),
        None => format!("{more}{after} people"),
        Some(who) if after.is_empty() && who.len() == more as usize => who.join(", "),
        Some(who) => format!("{more}{after} of {}", who.join(", ")),
    }
}

/// What a command has to add to name this stage: nothing if no other can be meant.
fn which(deployment: &Deployment, id: &StageId, kind: CommandKind) -> String {
    let mut takes = deployment.stages.iter();
    let alone = takes.all(|other| &other.id == id || !lifecycle::takes(other, kind));
    match deployment.stage(id) {
        Some(stage) if !alone => format!(" {}", deployment.place(stage)),
        _ => String::new(),
    }
}

fn label(deployment: &Deployment, id: &StageId) -> String {
    match deployment.stage(id) {
        Some(stage) => plan::label(deployment, stage),
        None => id.to_string(),
    }
}

/// What ends a suspension, in a few words.
pub(super) fn until(wait: &Wait) -> String {
    match (wait.until, wait.after_command) {
        (Some(time), None) => format!("until {time}"),
        (Some(time), Some(_)) => format!("until {time} or someone acts"),
        (None, _) => "until someone acts".to_owned(),
    }
}
