//! How many stages run at once.
//!
//! A deployment whose stage ends keeps its place for the next one, which spares
//! a commit and a wait. But not for ever while others wait: a long pipeline would
//! keep short ones out until it is over. What undoes others waits for nobody: its
//! time runs, and what it undoes may be half done.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
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
    /// None for one more than there are.
    _permit: Option<OwnedSemaphorePermit>,
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
        Some(self.place(Some(permit)))
    }

    /// A place at once: if none is free, one more than there are.
    pub(super) fn at_once(&self) -> Place {
        self.free().unwrap_or_else(|| self.place(None))
    }

    /// A place, as soon as those who came before have theirs.
    async fn next(self: Arc<Self>) -> Result<Place, RunError> {
        if let Some(place) = self.free() {
            return Ok(place);
        }
        let _waits = Waits::new(&self.waiting);
        let permit = self.free.clone().acquire_owned().await;
        let permit = permit.map_err(|error| RunError::Broken(error.to_string()))?;
        Ok(self.place(Some(permit)))
    }

    fn place(&self, permit: Option<OwnedSemaphorePermit>) -> Place {
        Place {
            _permit: permit,
            waiting: Arc::clone(&self.waiting),
            since: Instant::now(),
        }
    }
}

/// Where a deployment waits for a place, while it still has an eye on all else.
#[derive(Default)]
pub(super) struct Queue {
    to_come: Option<BoxFuture<'static, Result<Place, RunError>>>,
    place: Option<Place>,
}

impl Queue {
    /// The place that was waited for, or one that is free.
    pub(super) fn take(&mut self, places: &Places) -> Option<Place> {
        self.place.take().or_else(|| places.free())
    }

    /// Waits from now on, if it does not yet.
    pub(super) fn join(&mut self, places: &Arc<Places>) {
        if self.to_come.is_none() {
            self.to_come = Some(Box::pin(Arc::clone(places).next()));
        }
    }

    /// Waits no more, and gives back what it has got.
    pub(super) fn leave(&mut self) {
        *self = Self::default();
    }

    pub(super) fn waits(&self) -> bool {
        self.to_come.is_some()
    }

    /// Completes when a place has come: for ever later, if it does not wait for one.
    pub(super) async fn come(&mut self) -> Result<(), RunError> {
        let Some(to_come) = &mut self.to_come else {
            return std::future::pending().await;
        };
        let place = to_come.await;
        self.to_come = None;
        self.place = Some(place?);
        Ok(())
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
        let places = Arc::new(Places::new(1));
        let place = places.clone().next().await.unwrap();
        let later = |place: &Place| place.since + KEEP;
        assert_eq!(place.claims_at(later(&place)), Claims::Next);
        let mut other = Box::pin(places.clone().next());
        assert!(other.as_mut().now_or_never().is_none());
        assert_eq!(place.claims_at(later(&place)), Claims::Nothing);
        drop(place);
        // Who has just got it keeps it for a while, whoever waits.
        let place = other.await.unwrap();
        let mut third = Box::pin(places.clone().next());
        assert!(third.as_mut().now_or_never().is_none());
        assert_eq!(place.claims_at(place.since), Claims::Next);
        assert_eq!(place.claims_at(later(&place)), Claims::Nothing);
        // Who gives up waits no more.
        drop(third);
        assert_eq!(place.claims_at(later(&place)), Claims::Next);
    }

    #[tokio::test]
    async fn who_waits_in_a_queue_has_the_place_when_it_comes_and_gives_it_back_when_it_leaves() {
        let places = Arc::new(Places::new(1));
        let mut queue = Queue::default();
        assert!(!queue.waits());
        let place = queue.take(&places).unwrap();
        assert!(queue.take(&places).is_none());
        queue.join(&places);
        assert!(queue.waits());
        assert!(queue.come().now_or_never().is_none());
        drop(place);
        queue.come().await.unwrap();
        assert!(!queue.waits());
        assert!(places.free().is_none());
        queue.leave();
        assert!(places.free().is_some());
    }

    #[tokio::test]
    async fn who_may_not_wait_has_a_place_at_once_and_takes_nobody_elses() {
        let places = Arc::new(Places::new(1));
        let first = places.at_once();
        let more = places.at_once();
        assert!(places.free().is_none());
        drop(more);
        assert!(places.free().is_none());
        drop(first);
        assert!(places.free().is_some());
    }

    #[tokio::test]
    async fn places_are_given_in_the_order_in_which_they_were_asked_for() {
        let places = Arc::new(Places::new(1));
        let place = places.clone().next().await.unwrap();
        let (mut first, mut second) = (
            Box::pin(places.clone().next()),
            Box::pin(places.clone().next()),
        );
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
