//! What a deployment that is over leaves behind, and its removal: at its end, by
//! whoever sees that, be it the host that drove it or the command that ended it.

use std::io::{self, ErrorKind};
use std::path::Path;

use crate::model::{ApplicationId, Deployment};
use crate::source::{Sources, going_on, remove_tree};
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
    remove_scratch(scratch, deployment.id.as_str()).await;
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

/// Removes the scratch directories of a deployment. What can't be removed is only
/// told: it is in nobody's way but the disk's. While a copy of the state is being
/// made it is left to the next host that loads its plugins.
pub(super) async fn remove_scratch(scratch: &Path, deployment: &str) {
    let (root, directory) = (scratch.to_owned(), scratch.join(deployment));
    // Most deployments have none.
    if directory.symlink_metadata().is_err() {
        return;
    }
    let path = directory.display().to_string();
    let removed = tokio::task::spawn_blocking(move || match going_on(&root) {
        Ok(Some(_going_on)) => remove_tree(&directory),
        Ok(None) => Ok(()),
        Err(error) => Err(io::Error::other(error)),
    });
    match removed.await {
        Ok(Ok(())) => {}
        Ok(Err(error)) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => tracing::warn!(path, %error, "could not be removed"),
        Ok(Err(error)) => tracing::warn!(path, %error, "could not be removed"),
    }
}
