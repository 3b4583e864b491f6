//! Points in time.

use std::fmt;
use std::ops::{Add, Sub};

use serde::{Deserialize, Serialize};

use crate::duration::Duration;
use crate::sys;

/// A point in time, to the millisecond.
///
/// It is shown as `2026-08-22T14:03:07Z`, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(u64);

impl Timestamp {
    /// Now. In a test it is what the fake host's clock says.
    pub fn now() -> Self {
        sys::now()
    }

    /// The point that is so many milliseconds after 1970-01-01T00:00:00Z.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// Seconds since 1970-01-01T00:00:00Z.
    pub const fn as_secs(self) -> u64 {
        self.0 / 1000
    }

    /// How long after `earlier` this is; zero if it is not after.
    pub fn since(self, earlier: Self) -> std::time::Duration {
        std::time::Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

/// Later by that; a part of a millisecond counts as a whole one, so that nothing
/// is due too early.
impl Add<std::time::Duration> for Timestamp {
    type Output = Self;

    fn add(self, duration: std::time::Duration) -> Self {
        let millis = duration.as_nanos().div_ceil(1_000_000);
        Self(
            self.0
                .saturating_add(u64::try_from(millis).unwrap_or(u64::MAX)),
        )
    }
}

impl Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        self + duration.0
    }
}

impl Sub for Timestamp {
    type Output = std::time::Duration;

    fn sub(self, earlier: Self) -> std::time::Duration {
        self.since(earlier)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, seconds) = (self.as_secs() / 86_400, self.as_secs() % 86_400);
        let (year, month, day) = civil(days);
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z",
            seconds / 3600,
            seconds / 60 % 60,
            seconds % 60
        )
    }
}

/// The date of a day counted from 1970-01-01, in the Gregorian calendar.
///
/// Counted in years that begin in March, so that the leap day comes last:
/// Howard Hinnant's `civil_from_days`.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468; // from 0000-03-01
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_is_shown_as_a_date_in_utc() {
        for (millis, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400_000, "2000-02-29T00:00:00Z"),
            (1_787_407_387_999, "2026-08-22T14:03:07Z"),
            (4_107_542_399_000, "2100-02-28T23:59:59Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(Timestamp::from_millis(millis).to_string(), expected);
        }
    }

    #[test]
    fn a_part_of_a_millisecond_makes_a_time_later_not_earlier() {
        let later = Timestamp::from_millis(5) + std::time::Duration::from_nanos(1);
        assert_eq!(later, Timestamp::from_millis(6));
    }
}
