//! A deployment that this host drives for who started it.

use futures_util::stream::Stream;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::definition::Diagnostics;
use crate::error::Error;
use crate::model::{Deployment, DeploymentId, Event};
use crate::runner::{Parked, RunError, Stop};

use super::Host;

/// Stops more urgently: what may end in time, then at once.
pub(super) fn harder(stop: &mut Stop) {
    *stop = match *stop {
        Stop::No => Stop::Soon,
        Stop::Soon | Stop::Now => Stop::Now,
    };
}

/// A deployment that is being driven by this host.
#[derive(Debug)]
pub struct Run {
    pub(super) host: Host,
    pub(super) id: DeploymentId,
    pub(super) warnings: Diagnostics,
    pub(super) stop: watch::Sender<Stop>,
    pub(super) task: JoinHandle<Result<Parked, RunError>>,
}

impl Run {
    /// The deployment's id.
    pub fn id(&self) -> &DeploymentId {
        &self.id
    }

    /// What of the definition does less than it seems to.
    pub fn warnings(&self) -> &Diagnostics {
        &self.warnings
    }

    /// What happens, from the beginning to the deployment's end.
    pub fn events(&self) -> impl Stream<Item = Result<Event, Error>> + Send + use<> {
        self.host.events(Some(self.id.clone()), 0)
    }

    /// Leaves the deployment where it stands: stages that run may end within the
    /// grace period, nothing new begins. Called again, leaves at once. Nothing is
    /// cancelled.
    pub fn leave(&self) {
        self.stop.send_modify(harder);
    }

    /// Waits until the deployment is at its end, or left. Gives it as it is then.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn finished(self) -> Result<Deployment, Error> {
        self.task
            .await
            .map_err(|error| Error::Host(error.to_string()))??;
        self.host.deployment(self.id.as_str()).await
    }
}
