//! For how long each host has given no sign of life, as this one has seen it.
//!
//! A host that lives renews its leases all the time. This one looks at them as often,
//! from its first moment on, and counts for how long those of a host have not become
//! longer: by its own clock, which nobody sets, and only the time in which it did
//! look. For one that stood still itself, and goes on, the others have not been silent
//! meanwhile: perhaps the whole machine stood still.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::model::Timestamp;

/// What was seen of the hosts that have leases.
#[derive(Debug)]
pub(super) struct Answers {
    by_owner: Mutex<HashMap<String, Answer>>,
    /// How much time between two looks counts at most.
    gap: Duration,
}

#[derive(Debug)]
struct Answer {
    /// When the last of its leases ends.
    until: Timestamp,
    /// For how long that has not become later.
    silent: Duration,
    /// When it was looked at last.
    looked: Instant,
}

impl Answers {
    pub(super) fn new(gap: Duration) -> Self {
        Self {
            by_owner: Mutex::default(),
            gap,
        }
    }

    /// Looks at when the last lease of each host ends.
    pub(super) fn look(&self, latest: &[(String, Timestamp)], at: Instant) {
        let mut by_owner = self.lock();
        by_owner.retain(|owner, _| latest.iter().any(|(other, _)| other == owner));
        for (owner, until) in latest {
            self.note(&mut by_owner, owner, *until, at).until = *until;
        }
    }

    /// For how long a host has been silent that has a lease until a time.
    pub(super) fn silent(&self, owner: &str, until: Timestamp, at: Instant) -> Duration {
        self.note(&mut self.lock(), owner, until, at).silent
    }

    fn note<'a>(
        &self,
        by_owner: &'a mut HashMap<String, Answer>,
        owner: &str,
        until: Timestamp,
        at: Instant,
    ) -> &'a mut Answer {
        let answer = by_owner.entry(owner.to_owned()).or_insert(Answer {
            until,
            silent: Duration::ZERO,
            looked: at,
        });
        if until > answer.until {
            answer.until = until;
            answer.silent = Duration::ZERO;
        } else {
            answer.silent += at.saturating_duration_since(answer.looked).min(self.gap);
        }
        answer.looked = at;
        answer
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Answer>> {
        // The map is never left half changed.
        self.by_owner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAP: Duration = Duration::from_secs(4);

    /// What one who looks at a host at these seconds, and then sees its last lease
    /// end at these times, says of its silence in the end.
    fn seen(looks: &[(u64, u64)]) -> u64 {
        let (answers, start) = (Answers::new(GAP), Instant::now());
        let mut silent = Duration::ZERO;
        for (second, until) in looks {
            let at = start + Duration::from_secs(*second);
            answers.look(&[("host".to_owned(), Timestamp(*until))], at);
            silent = answers.silent("host", Timestamp(0), at);
        }
        silent.as_secs()
    }

    #[test]
    fn silence_counts_from_the_last_sign_of_life_long_before_the_lease_has_ended() {
        assert_eq!(seen(&[(0, 15)]), 0);
        assert_eq!(seen(&[(0, 15), (3, 18), (6, 18), (9, 18), (12, 18)]), 9);
        assert_eq!(seen(&[(0, 15), (3, 15), (6, 21)]), 0);
    }

    #[test]
    fn for_one_who_stood_still_the_others_were_not_silent_meanwhile() {
        assert_eq!(seen(&[(0, 15), (3, 15), (600, 15)]), 7);
    }

    #[test]
    fn a_lease_that_is_shortened_or_ended_by_another_is_no_sign_of_life() {
        assert_eq!(seen(&[(0, 3_600), (3, 18), (6, 18)]), 6);
        // One that is longer again than that is.
        assert_eq!(seen(&[(0, 3_600), (3, 18), (6, 19)]), 0);
    }

    #[test]
    fn whoever_asks_first_finds_nobody_silent() {
        let (answers, start) = (Answers::new(GAP), Instant::now());
        let silent = |after| answers.silent("host", Timestamp(15), start + after);
        assert_eq!(silent(Duration::ZERO), Duration::ZERO);
        assert_eq!(silent(GAP), GAP);
    }
}
