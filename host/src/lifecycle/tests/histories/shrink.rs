//! Makes a script that breaks an invariant shorter, as long as it still does.

use super::counts::Counts;
use super::rules::Rules;
use super::script::Script;
use super::world::World;

/// What a script breaks.
pub(super) fn broken(script: &Script, rules: &dyn Rules) -> Vec<&'static str> {
    let mut counts = Counts::default();
    let complaints = World::new(script, rules, &mut counts).play(script);
    complaints
        .iter()
        .map(|complaint| complaint.invariant)
        .collect()
}

/// The script without what it breaks an invariant without.
pub(super) fn shrink(script: &Script, invariant: &str, rules: &dyn Rules) -> Script {
    let mut least = script.clone();
    let still = |script: &Script| broken(script, rules).contains(&invariant);
    loop {
        let before = least.clone();
        let mut place = least.lines.len();
        while place > 0 {
            place -= 1;
            let mut less = least.clone();
            less.lines.remove(place);
            if still(&less) {
                least = less;
            }
        }
        for place in 0..least.lines.len() {
            let mut less = least.clone();
            less.lines[place].stale = false;
            if less != least && still(&less) {
                least = less;
            }
        }
        for place in 0..least.scene.parts.len() {
            let mut less = least.clone();
            let part = &mut less.scene.parts[place];
            part.timeout = None;
            part.skip = false;
            part.once = false;
            if less != least && still(&less) {
                least = less;
            }
        }
        for place in (0..least.scene.parts.len()).rev() {
            let mut less = least.clone();
            let gone = less.scene.parts.remove(place);
            // The rest must still be a plan.
            let named = |names: &[char]| names.contains(&gone.name);
            let wanted = less.scene.parts.iter().any(|part| {
                part.name == gone.name.to_ascii_lowercase()
                    || part.needs.as_deref().is_some_and(named)
                    || named(&part.undoes)
            });
            if !wanted && !less.scene.parts.is_empty() && still(&less) {
                least = less;
            }
        }
        if least == before {
            return least;
        }
    }
}
