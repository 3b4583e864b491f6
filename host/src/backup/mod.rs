//! A copy of the state from which a host can go on: the database, the source trees
//! that its deployments read, and the scratch directories of those that are
//! unfinished.

mod scratch;

use std::fs;
use std::io;
use std::path::Path;

use crate::error::Error;
use crate::source::{copy_tree, pause_pruning};
use crate::store::{Store, files_directory};

use scratch::copy_scratch;

/// Copies the state to a new directory. Trees and scratch directories are copied
/// after the database, and none is removed meanwhile: so all that the copy of the
/// database needs are there.
///
/// A copy that did not come to its end is removed.
pub(crate) async fn backup(store: &dyn Store, state: &Path, to: &Path) -> Result<(), Error> {
    let shown = to.display();
    if to.to_str().is_none() {
        return Err(Error::Input(format!(
            "{shown} is no text: give the backup a directory whose name is"
        )));
    }
    let whole = std::path::absolute(to).unwrap_or_else(|_| to.to_owned());
    if whole.starts_with(files_directory(state)) {
        return Err(Error::Input(format!(
            "{shown} lies among the state's own files: name a directory elsewhere for the backup"
        )));
    }
    tokio::fs::create_dir(to)
        .await
        .map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Error::Input(format!(
                "{shown} is there already: name a new directory for the backup"
            )),
            _ => Error::Input(format!("the backup can't be written to {shown}: {error}")),
        })?;
    let done = fill(store, state, to).await;
    if done.is_err()
        && let Err(error) = tokio::fs::remove_dir_all(to).await
    {
        tracing::warn!(path = %shown, %error, "an unfinished backup could not be removed");
    }
    done
}

async fn fill(store: &dyn Store, state: &Path, to: &Path) -> Result<(), Error> {
    let copy = to.join(state.file_name().unwrap_or("state.db".as_ref()));
    let [from, to] = [state, &copy].map(files_directory);
    let [sources, scratch] = ["sources", "scratch"].map(|name| from.join(name));
    let paused = blocking(move || {
        // Else nothing could be said of what comes into it meanwhile.
        fs::create_dir_all(&scratch).map_err(|error| failed(&scratch, &error))?;
        Ok([pause_pruning(&sources)?, pause_pruning(&scratch)?])
    });
    let paused = paused.await?;
    store.backup(&copy).await?;
    blocking(move || {
        copy_trees(&from.join("sources"), &to.join("sources"))?;
        copy_scratch(&from.join("scratch"), &to.join("scratch"))
    })
    .await?;
    drop(paused);
    Ok(())
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| Error::Host(error.to_string()))?
}

/// Copies the trees: `<application>/<commit>`. A tree is whole and never written
/// again once it has its name.
fn copy_trees(from: &Path, to: &Path) -> Result<(), Error> {
    for application in directories(from)? {
        for tree in directories(&from.join(&application))? {
            let copy = to.join(&application).join(&tree);
            fs::create_dir_all(to.join(&application)).map_err(|e| failed(&copy, &e))?;
            copy_tree(
                &from.join(&application).join(&tree),
                &copy,
                &|_| false,
                u64::MAX,
            )?;
        }
    }
    Ok(())
}

/// The names of the directories in one; none if it is not there.
fn directories(of: &Path) -> Result<Vec<std::ffi::OsString>, Error> {
    let entries = match fs::read_dir(of) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(of, &error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| failed(of, &error))?;
        // What bears a dot is a tree that is still being made.
        let whole = !entry.file_name().as_encoded_bytes().starts_with(b".");
        if whole && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            names.push(entry.file_name());
        }
    }
    Ok(names)
}

fn failed(path: &Path, error: &io::Error) -> Error {
    Error::Input(format!(
        "the files of the state can't be copied: {}: {error}",
        path.display()
    ))
}
