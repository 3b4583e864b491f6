//! The sources of this machine, kept as trees of files.
//!
//! `<root>/<application>/<commit>/` is the tree of one commit. It appears whole
//! or not at all, by a rename, and is never written again.

use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::clock::now;
use crate::model::{ApplicationId, Commit};

use super::git::Repository;
use super::hold::{self, Hold, Unheld};
use super::snapshot::{digest, hex};
use super::tree::{below, slashes};
use super::{Fetched, InUse, SourceError, Sources, Wanted, copy_tree, remove_tree};

/// The directory at the root of a repository whose files belong to all its
/// applications.
const SHARED_DIRECTORY: &str = ".pipe";

/// What a copy is called until it is whole.
const UNFINISHED: &str = ".unfinished-";

/// What a tree is called that is being removed.
const REMOVED: &str = ".removed-";

/// How long an unfinished copy is left alone even if nobody holds it: whoever made
/// it may be about to.
const YOUNG: Duration = Duration::from_secs(60 * 60);

/// Reads repositories and directories of this machine.
#[derive(Clone, Debug)]
pub struct LocalSources {
    root: PathBuf,
    left_out: Vec<PathBuf>,
}

impl LocalSources {
    /// Keeps trees below `root`. A snapshot of a directory leaves out whatever is
    /// in `left_out`, such as the host's own files.
    pub fn new(root: PathBuf, left_out: Vec<PathBuf>) -> Self {
        Self { root, left_out }
    }

    fn fetch_now(&self, wanted: &Wanted) -> Result<Fetched, SourceError> {
        let given = wanted.config.as_deref();
        let may_miss = wanted.commit.is_some() || given.is_some();
        let file = application_file(&wanted.file, may_miss)?;
        let directory = file.parent().unwrap_or(Path::new("/")).to_owned();
        let repository = Repository::around(existing(&directory))?;
        let root = repository
            .as_ref()
            .map_or(directory.as_path(), Repository::root)
            .to_owned();
        let path = below(&root, &file)?;
        if path.to_str().is_none() {
            return Err(SourceError::Invalid(format!(
                "{}: the path of an application file must be UTF-8: rename it",
                wanted.file.display()
            )));
        }
        let path = slashes(path);
        let remote = repository
            .as_ref()
            .map_or_else(|| root.display().to_string(), Repository::remote);
        let application = application_id(&remote, &path);
        let home = self.root.join(application.as_str());
        fs::create_dir_all(&home).map_err(SourceError::io("could not make", &home))?;

        let (commit, config, tree, hold) = match (&wanted.commit, &repository) {
            (Some(name), Some(repository)) => {
                let found = repository.commit(name)?;
                let commit = found.describe()?;
                let config = match given {
                    Some(text) => text.as_bytes().to_owned(),
                    None => found.read(&path)?,
                };
                let tree = home.join(&commit.hash);
                let hold = match Hold::of(&tree)? {
                    Some(hold) => hold,
                    None => {
                        let (copy, hold) = unfinished(&home)?;
                        let directory =
                            path.rsplit_once('/').map_or("", |(directory, _)| directory);
                        found.check_out(copy.path(), directory, wanted.max_size)?;
                        keep(copy, hold, &tree)?
                    }
                };
                (commit, config, tree, hold)
            }
            (Some(name), None) => {
                return Err(SourceError::Invalid(format!(
                    "{} is in no git repository, so it has no commit `{name}`; leave `--commit` \
                     out to deploy the directory as it stands",
                    file.display()
                )));
            }
            (None, _) => {
                let (copy, hold) = unfinished(&home)?;
                self.snapshot(&root, &directory, copy.path(), wanted.max_size)?;
                let copied = copy.path().join(&path);
                if let Some(text) = given {
                    fs::write(&copied, text)
                        .map_err(SourceError::io("could not write", &copied))?;
                }
                let commit = plain_commit(digest(copy.path())?);
                let config =
                    fs::read(&copied).map_err(SourceError::io("could not read", &copied))?;
                let tree = home.join(&commit.hash);
                let hold = keep(copy, hold, &tree)?;
                (commit, config, tree, hold)
            }
        };
        Ok(Fetched {
            application,
            remote,
            path,
            commit,
            config,
            tree,
            hold,
        })
    }

    /// Copies the application's directory, and the shared one if there is one,
    /// to where they would lie in a checkout of the whole.
    fn snapshot(
        &self,
        root: &Path,
        directory: &Path,
        to: &Path,
        max: u64,
    ) -> Result<(), SourceError> {
        let skip = |path: &Path| {
            path.file_name().is_some_and(|name| name == ".git")
                || self.left_out.iter().any(|out| path.starts_with(out))
        };
        let target = to.join(below(root, directory)?);
        let bytes = copy_tree(directory, &target, &skip, max)?;
        let shared = root.join(SHARED_DIRECTORY);
        if shared.is_dir() && directory != root && !shared.starts_with(directory) {
            copy_tree(&shared, &to.join(SHARED_DIRECTORY), &skip, max - bytes)?;
        }
        Ok(())
    }
}

#[async_trait]
impl Sources for LocalSources {
    async fn fetch(&self, wanted: &Wanted) -> Result<Fetched, SourceError> {
        let (sources, wanted) = (self.clone(), wanted.clone());
        blocking(move || sources.fetch_now(&wanted)).await
    }

    async fn tree(
        &self,
        application: &ApplicationId,
        commit: &str,
    ) -> Result<PathBuf, SourceError> {
        let tree = self.root.join(application.as_str()).join(commit);
        if tree.is_dir() {
            Ok(tree)
        } else {
            Err(SourceError::Invalid(format!(
                "the files of commit {commit} are gone: {} is not there",
                tree.display()
            )))
        }
    }

    async fn prune(
        &self,
        application: &ApplicationId,
        in_use: InUse<'_>,
    ) -> Result<(), SourceError> {
        let home = self.root.join(application.as_str());
        // A copy of the state is being made: it is left to the next time.
        let Some(_going_on) = going_on(&self.root)? else {
            return Ok(());
        };
        let unheld = blocking(move || unheld(&home)).await?;
        let keep = in_use.await.map_err(SourceError::InUse)?;
        blocking(move || {
            for (path, lock) in unheld {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                if !keep.iter().any(|commit| *commit == name) {
                    remove(&path, lock)?;
                }
            }
            Ok(())
        })
        .await
    }
}

/// Keeps all that lies below a directory of sources, or of scratch directories, from
/// being removed, until what it gives is dropped. None if there is no such directory.
/// Blocks until a removal that is under way is over.
///
/// # Errors
/// When the system can't lock the directory.
pub fn pause_pruning(sources: &Path) -> Result<Option<File>, SourceError> {
    let Some(lock) = hold::open(sources)? else {
        return Ok(None);
    };
    lock.lock()
        .map_err(SourceError::io("could not lock", sources))?;
    Ok(Some(lock))
}

/// Says that directories below one are being removed; none if they are not to be
/// now, or if there are none.
pub(crate) fn going_on(sources: &Path) -> Result<Option<File>, SourceError> {
    let Some(lock) = hold::open(sources)? else {
        return Ok(None);
    };
    match lock.try_lock_shared() {
        Ok(()) => Ok(Some(lock)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(SourceError::io("could not lock", sources)(error)),
    }
}

/// The trees and copies of an application that nobody holds.
fn unheld(home: &Path) -> Result<Vec<(PathBuf, Unheld)>, SourceError> {
    let entries = match fs::read_dir(home) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(SourceError::io("could not read", home)(error)),
    };
    let mut all = Vec::new();
    for entry in entries {
        let entry = entry.map_err(SourceError::io("could not read", home))?;
        let path = entry.path();
        let name = entry.file_name();
        if name.to_string_lossy().starts_with(UNFINISHED) && is_young(&path) {
            continue;
        }
        if let Some(lock) = Unheld::of(&path)? {
            all.push((path, lock));
        }
    }
    Ok(all)
}

/// Removes a tree, whose name goes first: it is there whole or not at all.
fn remove(tree: &Path, lock: Unheld) -> Result<(), SourceError> {
    let name = tree.file_name().unwrap_or_default().to_string_lossy();
    let aside = if name.starts_with(REMOVED) {
        tree.to_owned()
    } else {
        let aside = tree.with_file_name(format!("{REMOVED}{}", uuid::Uuid::now_v7()));
        fs::rename(tree, &aside).map_err(SourceError::io("could not remove", tree))?;
        aside
    };
    let removed = remove_tree(&aside);
    drop(lock);
    removed.map_err(SourceError::io("could not remove", &aside))
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, SourceError> + Send + 'static,
) -> Result<T, SourceError> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|error| {
            Err(SourceError::Invalid(format!(
                "reading files broke off: {error}"
            )))
        })
}

/// The application file's whole path. One that a commit has, or whose text is
/// given, need not be there.
fn application_file(file: &Path, may_miss: bool) -> Result<PathBuf, SourceError> {
    let fail =
        |error| SourceError::Invalid(format!("{}: {error}; is the path right?", file.display()));
    let path = match file.canonicalize() {
        Ok(path) => path,
        Err(error) if may_miss && error.kind() == ErrorKind::NotFound => {
            let whole = std::path::absolute(file).map_err(fail)?;
            let there = existing(&whole);
            let rest = below(there, &whole)?.to_owned();
            return Ok(there.canonicalize().map_err(fail)?.join(rest));
        }
        Err(error) => return Err(fail(error)),
    };
    if path.is_dir() {
        return Err(SourceError::Invalid(format!(
            "{} is a directory; name the application file in it",
            file.display()
        )));
    }
    Ok(path)
}

/// The nearest directory above a path, or the path itself, that is there.
fn existing(path: &Path) -> &Path {
    let mut above = path.ancestors();
    above.find(|path| path.exists()).unwrap_or(Path::new("/"))
}

fn application_id(remote: &str, path: &str) -> ApplicationId {
    let mut hash = Sha256::new();
    hash.update(remote.as_bytes());
    hash.update([0]);
    hash.update(path.as_bytes());
    let mut id = hex(&hash.finalize());
    id.truncate(16);
    ApplicationId::new(id)
}

fn plain_commit(hash: String) -> Commit {
    Commit {
        hash,
        message: String::new(),
        author: String::new(),
        branch: None,
        created_at: now(),
        url: None,
        pull_request: None,
    }
}

/// Whether a copy was made lately. One that can't be looked at is left to the next
/// time.
fn is_young(copy: &Path) -> bool {
    let modified = fs::metadata(copy).and_then(|metadata| metadata.modified());
    modified.map_or(true, |modified| {
        modified.elapsed().map_or(true, |age| age < YOUNG)
    })
}

/// A directory for a copy, held from before it gets its name.
fn unfinished(home: &Path) -> Result<(TempDir, Hold), SourceError> {
    let copy = tempfile::Builder::new()
        .prefix(UNFINISHED)
        .tempdir_in(home)
        .map_err(SourceError::io("could not make a directory in", home))?;
    match Hold::of(copy.path())? {
        Some(hold) => Ok((copy, hold)),
        None => Err(SourceError::Invalid(format!(
            "{} was removed while it was made",
            copy.path().display()
        ))),
    }
}

/// Gives a whole copy its name. Another host may have been quicker: its copy is
/// the same. Gives a hold on what is there then.
fn keep(copy: TempDir, hold: Hold, tree: &Path) -> Result<Hold, SourceError> {
    loop {
        let Err(error) = fs::rename(copy.path(), tree) else {
            let _moved = copy.keep();
            return Ok(hold);
        };
        if let Some(hold) = Hold::of(tree)? {
            return Ok(hold);
        }
        // The other one may have been removed since, and its name be free.
        let was_taken = [ErrorKind::DirectoryNotEmpty, ErrorKind::AlreadyExists];
        if !was_taken.contains(&error.kind()) {
            return Err(SourceError::io("could not make", tree)(error));
        }
    }
}
