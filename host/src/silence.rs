//! What of a deployment is at work under a host that does not answer, as far as its
//! leases tell.

use crate::clock::{lease, now};
use crate::model::{DeploymentId, StageId, Timestamp};
use crate::store::{Leased, Store, StoreError};

/// Something that is at work under a host that is gone, or has not renewed its lease
/// for as long as one lasts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Silent {
    /// The stage; none for the planning.
    pub stage: Option<StageId>,
    /// When its host answered last.
    pub since: Timestamp,
    /// Whether the next host that works on this state takes it over at once, since
    /// this one is known to be gone. Else it is first given the time to answer.
    pub lapsed: bool,
}

/// All of a deployment that is.
pub(crate) async fn silent(
    store: &dyn Store,
    deployment: &DeploymentId,
) -> Result<Vec<Silent>, StoreError> {
    let now = now();
    let mut silent = Vec::new();
    for held in store.leases(deployment).await? {
        let lapsed = store.has_lapsed(&held, now).await?;
        if !lapsed && held.until > now {
            continue;
        }
        let lasted = u64::try_from(lease().as_millis()).unwrap_or(u64::MAX);
        silent.push(Silent {
            stage: match held.what {
                Leased::Stage(stage) => Some(stage),
                Leased::Plan => None,
            },
            since: Timestamp(held.until.0.saturating_sub(lasted)),
            lapsed,
        });
    }
    Ok(silent)
}
