//! The rules that a history is played under: those of the lifecycle, or those
//! with a defect put over them.

use crate::lifecycle::{self, Change, Event, Next, Rejected, Waiting};
use crate::model::{Deployment, Timestamp};

pub(super) trait Rules: Sync {
    fn apply(
        &self,
        deployment: &Deployment,
        event: Event,
        now: Timestamp,
    ) -> Result<Change, Rejected> {
        lifecycle::apply(deployment, event, now)
    }

    fn next(&self, deployment: &Deployment, now: Timestamp) -> Next {
        lifecycle::next(deployment, now)
    }

    fn waiting(&self, deployment: &Deployment, now: Timestamp) -> Vec<Waiting> {
        lifecycle::waiting(deployment, now)
    }
}

/// The rules as they are.
pub(super) struct Real;

impl Rules for Real {}
