//! What a deployment that is over leaves behind, and its removal: at its end, by
//! whoever sees that, be it the host that drove it or the command that ended it.

use std::io::ErrorKind;
use std::path::Path;

use crate::model::{ApplicationId, Deployment};
use crate::source::{Sources, remove_tree};
use crate::store::{Keep, Store, StoreError};

/// Removes what a deployment that is over no longer needs. A second time finds
/// nothing.
pub(crate) async fn tidy(
    store: &dyn Store,
    sources: &dyn Sources,
    scratch: &Path,
    keep: &Keep,
    deployment: &Deployment,
) -> Result<(), StoreError> {
    remove(&scratch.join(deployment.id.as_str())).await;
    let application = &deployment.application.id;
    prune_sources(store, sources, application).await;
    if deployment
        .plugins
        .iter()
        .any(|pinned| pinned.digest.is_some())
    {
        store.components_prune().await?;
    }
    if *keep != Keep::default() {
        store.prune(application, keep).await?;
    }
    Ok(())
}

/// Removes the sources of an application that nobody needs any more.
pub(crate) async fn prune_sources(
    store: &dyn Store,
    sources: &dyn Sources,
    application: &ApplicationId,
) {
    let in_use = async {
        let commits = store.revisions_in_use(application).await;
        commits.map_err(Box::from)
    };
    if let Err(error) = sources.prune(application, Box::pin(in_use)).await {
        tracing::warn!(%error, "old sources could not be removed");
    }
}

/// Removes a directory. What can't be removed is only told: it is in nobody's way
/// but the disk's.
pub(super) async fn remove(directory: &Path) {
    // Most deployments have none.
    if directory.symlink_metadata().is_err() {
        return;
    }
    let path = directory.to_owned();
    match tokio::task::spawn_blocking(move || remove_tree(&path)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => {
            tracing::warn!(path = %directory.display(), %error, "could not be removed");
        }
        Ok(Err(error)) => {
            tracing::warn!(path = %directory.display(), %error, "could not be removed");
        }
    }
}
