//! Where a deployment's files come from: a git commit, or a directory as it
//! stands.
//!
//! [`Sources`] is a trait, so that an embedder can bring files from elsewhere.
//! [`LocalSources`] reads repositories and directories of this machine and keeps
//! what was deployed as trees of files, one a commit, which are never written
//! again: stages share them, and a rollback can read what ran before.

#[cfg(test)]
mod commit_tests;
mod git;
mod hold;
mod local;
#[cfg(test)]
mod pruning_tests;
mod snapshot;
#[cfg(test)]
mod tests;
mod tree;

use std::fmt;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use futures_util::future::BoxFuture;

use crate::model::{ApplicationId, Commit};

pub use hold::Hold;
pub(crate) use local::going_on;
pub use local::{LocalSources, pause_pruning};
pub use tree::{changed_files, copy_tree, remove_tree};

/// Finds out which commits are in use, when it is awaited.
pub type InUse<'a> = BoxFuture<'a, Result<Vec<String>, Box<dyn std::error::Error + Send + Sync>>>;

/// Brings the files of applications.
#[async_trait]
pub trait Sources: Send + Sync + fmt::Debug {
    /// Finds out what an application file is at a commit, or as it stands, and
    /// brings its files.
    async fn fetch(&self, wanted: &Wanted) -> Result<Fetched, SourceError>;

    /// The directory with the files of an application at a commit that was
    /// fetched before.
    async fn tree(&self, application: &ApplicationId, commit: &str)
    -> Result<PathBuf, SourceError>;

    /// Removes the files of an application, but those of commits that are in use
    /// and those that someone holds. What is in use is to be asked after it is
    /// settled what nobody holds: whoever lets go of a tree that is needed has
    /// stored that before.
    async fn prune(
        &self,
        application: &ApplicationId,
        in_use: InUse<'_>,
    ) -> Result<(), SourceError>;
}

/// Which files are wanted.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The application file.
    pub file: PathBuf,
    /// The commit, as git names it: a hash, a branch, a tag, `HEAD~1`. None for
    /// the directory as it stands.
    pub commit: Option<String>,
    /// The text of the application file, if it is not one that is there: then the
    /// file's path says only where it would be.
    pub config: Option<String>,
    /// The most bytes that its files may have in all.
    pub max_size: u64,
}

/// An application file and its source at one commit.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// The application's id, made from `remote` and `path`.
    pub application: ApplicationId,
    /// Where the source comes from: the URL of the repository's remote, or a
    /// path.
    pub remote: String,
    /// The application file's path within the source, with `/` between names.
    pub path: String,
    /// The commit.
    pub commit: Commit,
    /// The application file's content.
    pub config: Vec<u8>,
    /// The directory with the files.
    pub tree: PathBuf,
    /// Keeps them there until it is known to the store who needs them.
    pub hold: Hold,
}

/// Why a source could not be brought.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// What was asked for is not there or is not what it should be. The text says
    /// what to do.
    #[error("{0}")]
    Invalid(String),
    /// Reading or writing files failed.
    #[error("{doing} {}: {source}", path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// Why it failed.
        #[source]
        source: std::io::Error,
    },
    /// It is not known which commits are still in use.
    #[error("it could not be found out which commits are in use: {0}")]
    InUse(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The repository could not be read.
    #[error("the git repository at {}: {message}", path.display())]
    Git {
        /// The repository.
        path: PathBuf,
        /// Why.
        message: String,
    },
}

impl SourceError {
    /// Says what was being done to what when an IO error came.
    fn io(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io {
            doing,
            path,
            source,
        }
    }

    fn too_large(max: u64, root: &Path) -> Self {
        Self::Invalid(format!(
            "the source at {} has more than {max} bytes; raise `limits.maxSourceSize` if it \
             should",
            root.display()
        ))
    }
}
