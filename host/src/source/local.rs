//! The sources of this machine, kept as trees of files.
//!
//! `<root>/<application>/<commit>/` is the tree of one commit. It appears whole
//! or not at all, by a rename, and is never written again.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::model::{ApplicationId, Commit, Timestamp};

use super::git::Repository;
use super::snapshot::{digest, hex};
use super::tree::{below, slashes};
use super::{Fetched, SourceError, Sources, Wanted, copy_tree};

/// The directory at the root of a repository whose files belong to all its
/// applications.
const SHARED_DIRECTORY: &str = ".pipe";

/// What a copy is called until it is whole.
const UNFINISHED: &str = ".unfinished-";

/// How long a tree is kept after it was last fetched, even if no deployment is
/// known to need it: whoever fetched it may be about to store one.
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
        let path = slashes(below(&root, &file)?);
        let remote = repository
            .as_ref()
            .map_or_else(|| root.display().to_string(), Repository::remote);
        let application = application_id(&remote, &path);
        let home = self.root.join(application.as_str());
        fs::create_dir_all(&home).map_err(SourceError::io("could not make", &home))?;

        let (commit, config, tree) = match (&wanted.commit, &repository) {
            (Some(name), Some(repository)) => {
                let found = repository.commit(name)?;
                let commit = found.describe()?;
                let config = match given {
                    Some(text) => text.as_bytes().to_owned(),
                    None => found.read(&path)?,
                };
                let tree = home.join(&commit.hash);
                if !is_there(&tree)? {
                    let copy = unfinished(&home)?;
                    let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
                    found.check_out(copy.path(), directory, wanted.max_size)?;
                    keep(copy, &tree)?;
                }
                (commit, config, tree)
            }
            (Some(name), None) => {
                return Err(SourceError::Invalid(format!(
                    "{} is in no git repository, so it has no commit `{name}`; leave `--commit` \
                     out to deploy the directory as it stands",
                    file.display()
                )));
            }
            (None, _) => {
                let copy = unfinished(&home)?;
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
                if !is_there(&tree)? {
                    keep(copy, &tree)?;
                }
                (commit, config, tree)
            }
        };
        Ok(Fetched {
            application,
            remote,
            path,
            commit,
            config,
            tree,
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

    async fn prune(&self, application: &ApplicationId, keep: &[String]) -> Result<(), SourceError> {
        let home = self.root.join(application.as_str());
        let keep = keep.to_vec();
        blocking(move || {
            let entries = fs::read_dir(&home).map_err(SourceError::io("could not read", &home))?;
            for entry in entries {
                let entry = entry.map_err(SourceError::io("could not read", &home))?;
                let name = entry.file_name();
                let name = name.to_string_lossy();
                let path = entry.path();
                // An unfinished copy belongs to whoever makes it, until that is
                // long ago.
                if keep.iter().any(|commit| *commit == name) || is_young(&path) {
                    continue;
                }
                fs::remove_dir_all(&path).map_err(SourceError::io("could not remove", &path))?;
            }
            Ok(())
        })
        .await
    }
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
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Commit {
        hash,
        message: String::new(),
        author: String::new(),
        branch: None,
        created_at: Timestamp::default().after(now),
        url: None,
        pull_request: None,
    }
}

/// Whether a tree is there already. If so, it counts as fetched now.
fn is_there(tree: &Path) -> Result<bool, SourceError> {
    match File::open(tree) {
        Ok(directory) => {
            let touched = directory.set_modified(SystemTime::now());
            touched.map_err(SourceError::io("could not touch", tree))?;
            Ok(true)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(SourceError::io("could not open", tree)(error)),
    }
}

/// Whether a tree was fetched lately. One that can't be looked at is left to the
/// next time.
fn is_young(tree: &Path) -> bool {
    let modified = fs::metadata(tree).and_then(|metadata| metadata.modified());
    modified.map_or(true, |modified| {
        modified.elapsed().map_or(true, |age| age < YOUNG)
    })
}

fn unfinished(home: &Path) -> Result<TempDir, SourceError> {
    tempfile::Builder::new()
        .prefix(UNFINISHED)
        .tempdir_in(home)
        .map_err(SourceError::io("could not make a directory in", home))
}

/// Gives a whole copy its name. Another host may have been quicker: its copy is
/// the same.
fn keep(copy: TempDir, tree: &Path) -> Result<(), SourceError> {
    match fs::rename(copy.path(), tree) {
        Ok(()) => {
            let _moved = copy.keep();
            Ok(())
        }
        Err(_) if tree.is_dir() => Ok(()),
        Err(error) => Err(SourceError::io("could not make", tree)(error)),
    }
}
