//! How many stages run at once.
//!
//! A deployment whose stage ends keeps its place for the next one, which spares
//! a commit and a wait. But not for ever while others wait: a long pipeline would
//! keep short ones out until it is over.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::RunError;
use super::transition::Claims;

/// How long a deployment keeps its place from stage to stage while others wait.
const KEEP: Duration = Duration::from_millis(100);

/// The places of a host: as many as stages may run at once.
#[derive(Debug)]
pub(super) struct Places {
    free: Arc<Semaphore>,
    waiting: Arc<AtomicUsize>,
}

/// The right to run a stage, until it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    _permit: OwnedSemaphorePermit,
    waiting: Arc<AtomicUsize>,
    since: Instant,
}

impl Places {
    pub(super) fn new(count: u32) -> Self {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        Self {
            free: Arc::new(Semaphore::new(count.min(Semaphore::MAX_PERMITS))),
            waiting: Arc::default(),
        }
    }

    /// A place, if one is free and nobody waits for it.
    pub(super) fn free(&self) -> Option<Place> {
        let permit = self.free.clone().try_acquire_owned().ok()?;
        Some(self.place(permit))
    }

    /// A place, as soon as those who came before have theirs.
    pub(super) async fn next(&self) -> Result<Place, RunError> {
        if let Some(place) = self.free() {
            return Ok(place);
        }
        let _waits = Waits::new(&self.waiting);
        let permit = self.free.clone().acquire_owned().await;
        let permit = permit.map_err(|error| RunError::Broken(error.to_string()))?;
        Ok(self.place(permit))
    }

    fn place(&self, permit: OwnedSemaphorePermit) -> Place {
        Place {
            _permit: permit,
            waiting: Arc::clone(&self.waiting),
            since: Instant::now(),
        }
    }
}

impl Place {
    /// What whoever has the place may claim when its stage ends.
    pub(super) fn claims(&self) -> Claims {
        self.claims_at(Instant::now())
    }

    fn claims_at(&self, now: Instant) -> Claims {
        let is_wanted = self.waiting.load(Ordering::Relaxed) > 0;
        if is_wanted && now.duration_since(self.since) >= KEEP {
            Claims::Nothing
        } else {
            Claims::Next
        }
    }
}

/// Counted while somebody waits.
struct Waits<'a>(&'a AtomicUsize);

impl<'a> Waits<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn a_place_is_kept_for_long_only_while_nobody_waits_for_it() {
        let places = Places::new(1);
        let place = places.next().await.unwrap();
        let later = |place: &Place| place.since + KEEP;
        assert_eq!(place.claims_at(later(&place)), Claims::Next);
        let mut other = Box::pin(places.next());
        assert!(other.as_mut().now_or_never().is_none());
        assert_eq!(place.claims_at(later(&place)), Claims::Nothing);
        drop(place);
        // Who has just got it keeps it for a while, whoever waits.
        let place = other.await.unwrap();
        let mut third = Box::pin(places.next());
        assert!(third.as_mut().now_or_never().is_none());
        assert_eq!(place.claims_at(place.since), Claims::Next);
        assert_eq!(place.claims_at(later(&place)), Claims::Nothing);
        // Who gives up waits no more.
        drop(third);
        assert_eq!(place.claims_at(later(&place)), Claims::Next);
    }

    #[tokio::test]
    async fn places_are_given_in_the_order_in_which_they_were_asked_for() {
        let places = Places::new(1);
        let place = places.next().await.unwrap();
        let (mut first, mut second) = (Box::pin(places.next()), Box::pin(places.next()));
        assert!(first.as_mut().now_or_never().is_none());
        assert!(second.as_mut().now_or_never().is_none());
        drop(place);
        assert!(places.free().is_none());
        assert!(second.as_mut().now_or_never().is_none());
        let place = first.now_or_never().unwrap();
        drop(place);
        assert!(second.now_or_never().is_some());
    }
}
