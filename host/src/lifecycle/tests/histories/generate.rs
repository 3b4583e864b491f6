//! Draws scenes and steps from a seed. It looks at the world, so that most steps
//! fit where the deployment stands; some are drawn blindly, so that the others
//! are tried too.

use super::counts::Counts;
use super::rules::Rules;
use super::scene::{MOST_STAGES, Part, Scene, name_of};
use super::script::{End, Line, Script, Step};
use super::world::{Complaint, HOSTS, Turn, World};
use crate::lifecycle::Next;
use crate::model::{Attempt, CommandKind, DeploymentStatus, Operation, StageStatus};

const SECOND: u64 = 1000;
const HOUR: u64 = 3600 * SECOND;

/// Random numbers from a seed (SplitMix64).
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below another one, which is not 0.
    fn below(&mut self, end: u64) -> u64 {
        self.roll() % end
    }

    fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    /// Whether something happens that happens so often in a hundred times.
    fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.index(of.len())]
    }
}

/// Plays the history of a seed. Gives its script, and what it broke.
pub(super) fn play(seed: u64, rules: &dyn Rules, counts: &mut Counts) -> (Script, Vec<Complaint>) {
    let mut dice = Dice::new(seed);
    let mut script = Script {
        scene: scene(&mut dice),
        lines: Vec::new(),
    };
    let length = 4 + dice.index(32);
    let mut world = World::new(&script, rules, counts);
    while script.lines.len() < length && world.complaints.is_empty() {
        // A history goes on a little after its end, which must change nothing.
        if world.store.status.is_final() && dice.percent(60) {
            break;
        }
        let line = Line {
            stale: dice.percent(5),
            step: step(&mut dice, &script.scene, &world),
        };
        world.step(&line);
        script.lines.push(line);
    }
    let rest = Script {
        scene: script.scene.clone(),
        lines: Vec::new(),
    };
    let complaints = world.play(&rest);
    (script, complaints)
}

fn scene(dice: &mut Dice) -> Scene {
    let count = 1 + dice.index(MOST_STAGES);
    let names: Vec<char> = ('A'..).take(count).collect();
    let graph = dice.percent(50);
    let mut parts = Vec::new();
    for (place, &name) in names.iter().enumerate() {
        let mut part = Part::new(name);
        if graph && dice.percent(70) {
            let before = names[..place].iter().copied();
            part.needs = Some(before.filter(|_| dice.percent(40)).collect());
        }
        part.timeout = dice.percent(25).then(|| dice.one(&[10, 60, 3600, 36_000]));
        part.skip = dice.percent(10);
        manners(dice, &mut part);
        parts.push(part);
    }
    for &name in &names {
        if dice.percent(60) {
            let mut part = Part::new(name.to_ascii_lowercase());
            part.undoes = vec![name];
            if dice.percent(15) {
                part.undoes = names.iter().copied().filter(|_| dice.percent(50)).collect();
            }
            manners(dice, &mut part);
            parts.push(part);
        }
    }
    Scene {
        auto_rollback: dice.percent(85),
        timeout: dice.percent(35).then(|| dice.one(&[20, 120, 7200, 90_000])),
        parts,
    }
}

/// What forward and rollback stages may be alike.
fn manners(dice: &mut Dice, part: &mut Part) {
    part.once = dice.percent(10);
    if dice.percent(30) {
        part.operation = dice.one(&[Operation::Approve, Operation::Skip]);
        let listed = dice.one(&[&[][..], &["ann"][..], &["ann", "bob"][..]]);
        part.operators = listed.iter().copied().map(str::to_owned).collect();
    }
}

fn step(dice: &mut Dice, scene: &Scene, world: &World<'_>) -> Step {
    let host = dice.index(HOSTS);
    let name = scene.parts[dice.index(scene.parts.len())].name;
    match dice.below(100) {
        0..8 => time(dice),
        8..12 => Step::Die(busy_host(dice, world).unwrap_or(host)),
        12..15 => Step::Stop(busy_host(dice, world).unwrap_or(host)),
        15..18 => Step::TakeOver(host),
        18..21 if world.store.stages.is_empty() && dice.percent(80) => onwards(dice, world, host),
        18..21 => Step::Cancel(dice.one(&["ann", "bob"]).to_owned(), dice.percent(60)),
        21..27 => command(dice, world, name),
        27..28 => Step::Tick,
        28..31 => Step::Begin(host, ended(dice, world).unwrap_or(name)),
        31..35 => late_answer(dice, world).unwrap_or(Step::Tick),
        _ => onwards(dice, world, host),
    }
}

/// A host that runs something.
fn busy_host(dice: &mut Dice, world: &World<'_>) -> Option<usize> {
    let mut turns = world.turns.iter();
    let turn = turns.rfind(|turn| !turn.over).filter(|_| dice.percent(60));
    turn.map(|turn| turn.host.0)
}

/// A stage that is at its end.
fn ended(dice: &mut Dice, world: &World<'_>) -> Option<char> {
    let stages = world.store.stages.iter();
    let ended: Vec<_> = stages.filter(|stage| stage.status.is_final()).collect();
    let some = !ended.is_empty() && dice.percent(60);
    some.then(|| name_of(ended[dice.index(ended.len())]))
}

fn time(dice: &mut Dice) -> Step {
    match dice.below(20) {
        0 => Step::Jump(dice.one(&[20 * SECOND, HOUR, 7 * HOUR, 24 * HOUR, 120 * HOUR])),
        1 => Step::Jump(20 * SECOND),
        2 => Step::Back(dice.one(&[1, 30 * SECOND, HOUR, 48 * HOUR])),
        3 | 4 => Step::Pass(dice.one(&[HOUR, 5 * HOUR, 7 * HOUR, 30 * HOUR])),
        5..8 => Step::Pass(dice.one(&[60 * SECOND, 130 * SECOND])),
        _ => Step::Pass(dice.below(20 * SECOND)),
    }
}

fn command(dice: &mut Dice, world: &World<'_>, name: char) -> Step {
    let waits = |status| matches!(status, StageStatus::Running | StageStatus::Suspended);
    let mut stages = world.store.all_stages();
    let asked = stages.find(|s| waits(s.status) && s.operation != Operation::None);
    let asked = asked.filter(|_| dice.percent(80));
    let name = asked.map_or(name, name_of);
    let kinds = [CommandKind::Approve, CommandKind::Skip];
    let fits = |kind: &CommandKind| asked.is_some_and(|stage| kind.fits(stage.operation));
    let kind = kinds.iter().copied().find(fits);
    let kind = kind.unwrap_or_else(|| dice.one(&kinds));
    Step::Command(kind, name, dice.one(&["ann", "bob", "cid"]).to_owned())
}

/// An answer of any turn that ever was.
fn late_answer(dice: &mut Dice, world: &World<'_>) -> Option<Step> {
    let turns = &world.turns;
    let turn = (!turns.is_empty()).then(|| turns[dice.index(turns.len())])?;
    Some(answer(dice, world, &turn))
}

fn answer(dice: &mut Dice, world: &World<'_>, turn: &Turn) -> Step {
    let stage = &world.store.stages[turn.place];
    let Attempt {
        number,
        turn: count,
    } = turn.attempt;
    let end = match dice.below(100) {
        0..45 => End::Succeeded,
        45..60 => End::Failed,
        60..65 => End::Skipped,
        65..70 => End::Exited,
        70..73 => End::Cancelled,
        _ if world.time_is_over(turn) => End::TimedOut,
        _ => {
            let times = [0, 500, 5 * SECOND, 90 * SECOND, HOUR, 30 * HOUR];
            let time = dice.one(&times);
            let seen = stage.commands.len() as u64;
            let seen = seen.saturating_sub(u64::from(dice.percent(20)));
            match (stage.operation, dice.below(3)) {
                // What nobody can end, and what nothing ends.
                (Operation::None, _) if dice.percent(5) => {
                    End::Suspended(None, dice.percent(50).then_some(seen))
                }
                (Operation::None, _) | (_, 0) => End::Suspended(Some(time), None),
                (_, 1) => End::Suspended(None, Some(seen)),
                _ => End::Suspended(Some(time), Some(seen)),
            }
        }
    };
    let name = name_of(stage);
    let attempt = Attempt {
        number,
        turn: count,
    };
    Step::Answer(name, attempt, end)
}

/// What there is to do.
fn onwards(dice: &mut Dice, world: &World<'_>, host: usize) -> Step {
    if world.store.status == DeploymentStatus::Planning {
        let open: Vec<_> = world
            .plannings
            .iter()
            .filter(|planning| !planning.over)
            .collect();
        if open.is_empty() || dice.percent(20) {
            return Step::Plan(host);
        }
        let host = open[dice.index(open.len())].host.0;
        return Step::Planned(host, dice.percent(95));
    }
    let running: Vec<&Turn> = world.turns.iter().filter(|turn| !turn.over).collect();
    if running.iter().any(|turn| world.is_orphaned(turn)) && dice.percent(70) {
        return Step::TakeOver(host);
    }
    let answers = !running.is_empty() && dice.percent(60);
    match world.next() {
        Next::Plan => Step::Plan(host),
        Next::Begin(ids) if !answers => {
            let id = &ids[dice.index(ids.len())];
            Step::Begin(host, id.as_str().chars().next().unwrap_or_default())
        }
        Next::At(until) if !answers => match dice.below(3) {
            0 => Step::Tick,
            _ => Step::Pass(until.since(world.now).as_millis() as u64),
        },
        _ if running.is_empty() => Step::Tick,
        _ => {
            let turn = *running[dice.index(running.len())];
            answer(dice, world, &turn)
        }
    }
}
