//! A git commit's files, read from the repository's objects: neither the work
//! tree nor the index is looked at or touched, and no program is run.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use gix::attrs::search::MetadataCollection;
use gix::bstr::{BStr, ByteSlice};
use gix::worktree::stack::state::Attributes;
use gix::worktree::stack::state::attributes::Source;

use crate::model::{Commit, Timestamp};

use super::SourceError;

/// A repository that a file lies in.
pub(super) struct Repository {
    inner: gix::Repository,
    root: PathBuf,
}

/// A commit of a repository.
pub(super) struct Found<'a> {
    repository: &'a Repository,
    commit: gix::Commit<'a>,
    branch: Option<String>,
}

impl Repository {
    /// The repository whose work tree a directory is in; none if it is in none.
    pub(super) fn around(directory: &Path) -> Result<Option<Self>, SourceError> {
        // Only whether there is one is asked of git's own search, so that a
        // directory outside any repository is no error but a broken one is.
        let mut marked = directory.ancestors().map(|path| path.join(".git"));
        if !marked.any(|path| path.exists()) {
            return Ok(None);
        }
        let mut inner = gix::discover(directory).map_err(|error| SourceError::Git {
            path: directory.to_owned(),
            message: format!("could not be opened: {error}"),
        })?;
        // An object that only this clone has in place of another is not what its
        // name says.
        inner.objects.ignore_replacements = true;
        let Some(root) = inner.workdir() else {
            return Ok(None);
        };
        let root = root
            .canonicalize()
            .map_err(SourceError::io("could not find", root))?;
        Ok(Some(Self { inner, root }))
    }

    /// The root of its work tree.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The URL of its remote, without what may be a secret; its own path if it has none.
    pub(super) fn remote(&self) -> String {
        let remote = self
            .inner
            .find_default_remote(gix::remote::Direction::Fetch)
            .and_then(Result::ok);
        let url = remote.and_then(|remote| {
            let mut url = remote.url(gix::remote::Direction::Fetch)?.clone();
            url.set_password(None);
            // Many services take a token in its place. Over SSH it is a user, who
            // is no secret and without whom the URL leads nowhere.
            if url.scheme != gix::url::Scheme::Ssh {
                url.set_user(None);
            }
            Some(url.to_bstring().to_string())
        });
        url.unwrap_or_else(|| self.root.display().to_string())
    }

    /// The commit that a text names.
    pub(super) fn commit(&self, name: &str) -> Result<Found<'_>, SourceError> {
        let id = self
            .inner
            .rev_parse_single(BStr::new(name))
            .map_err(|error| {
                SourceError::Invalid(format!(
                    "`{name}` names no commit of the git repository at {}: {error}",
                    self.root.display()
                ))
            })?;
        let commit = id
            .object()
            .and_then(|object| object.peel_to_commit())
            .map_err(|error| {
                SourceError::Invalid(format!(
                    "`{name}` is no commit of the git repository at {}: {error}",
                    self.root.display()
                ))
            })?;
        // A name that is a branch says where the commit was taken from; so does
        // HEAD, which follows one.
        let branch = if name == "HEAD" {
            self.inner.head_name().ok().flatten()
        } else {
            self.inner
                .try_find_reference(&format!("refs/heads/{name}"))
                .ok()
                .flatten()
                .map(|reference| reference.name().to_owned())
        };
        Ok(Found {
            repository: self,
            commit,
            branch: branch.map(|name| name.shorten().to_string()),
        })
    }

    fn error(&self, message: String) -> SourceError {
        SourceError::Git {
            path: self.root.clone(),
            message,
        }
    }
}

impl Found<'_> {
    /// What the commit says of itself.
    pub(super) fn describe(&self) -> Result<Commit, SourceError> {
        let fail = |error: gix::Error| self.repository.error(format!("{error}"));
        let author = self.commit.author().map_err(fail)?;
        let seconds = self.commit.time().map_err(fail)?.seconds;
        let message = self.commit.message_raw().map_err(fail)?;
        Ok(Commit {
            hash: self.commit.id.to_string(),
            message: message.to_str_lossy().trim_end().to_owned(),
            author: author.name.to_str_lossy().into_owned(),
            branch: self.branch.clone(),
            created_at: Timestamp(u64::try_from(seconds).unwrap_or(0).saturating_mul(1000)),
            url: None,
            pull_request: None,
        })
    }

    /// The content of a file of the commit.
    pub(super) fn read(&self, path: &str) -> Result<Vec<u8>, SourceError> {
        let fail = |error: gix::Error| self.repository.error(format!("{path}: {error}"));
        let entry = self
            .commit
            .tree()
            .and_then(|tree| tree.lookup_entry_by_path(path))
            .map_err(fail)?;
        let Some(entry) = entry else {
            return Err(SourceError::Invalid(format!(
                "{path} is not in commit {} of the git repository at {}; commit it, or leave \
                 `--commit` out to deploy the directory as it stands",
                self.commit.id,
                self.repository.root.display()
            )));
        };
        if !entry.mode().is_blob() {
            return Err(SourceError::Invalid(format!(
                "{path} is no file in commit {}",
                self.commit.id
            )));
        }
        Ok(entry.object().map_err(fail)?.detach().data)
    }

    /// Writes the files of the commit into an empty directory. A submodule is not
    /// among them: one within the application's directory, or around it, is
    /// refused; one elsewhere is left out.
    pub(super) fn check_out(
        &self,
        to: &Path,
        application: &str,
        max: u64,
    ) -> Result<(), SourceError> {
        let fail = |error: gix::Error| {
            let hash = self.commit.id;
            self.repository
                .error(format!("could not check out {hash}: {error}"))
        };
        let repository = &self.repository.inner;
        let tree = self.commit.tree_id().map_err(fail)?;
        let mut index = repository.index_from_tree(&tree).map_err(fail)?;
        let mut bytes = 0;
        for entry in index.entries() {
            if entry.mode.is_submodule() {
                let path = entry.path(&index).to_str_lossy();
                if is_within(&path, application) || is_within(application, &path) {
                    return Err(SourceError::Invalid(format!(
                        "{path} is a submodule, whose files are in another repository and would \
                         be missing; put them into this one, or leave `--commit` out to deploy \
                         the directory as it stands"
                    )));
                }
                continue;
            }
            bytes += repository.find_header(entry.id).map_err(fail)?.size();
            if bytes > max {
                return Err(SourceError::too_large(max, &self.repository.root));
            }
        }
        let options = self.checkout_options().map_err(fail)?;
        let mut objects = repository
            .objects
            .clone()
            .into_arc()
            .map_err(SourceError::io("could not open", repository.git_dir()))?;
        // It is opened anew, and forgets this.
        objects.ignore_replacements = true;
        let outcome = gix::worktree::state::checkout(
            &mut index,
            to,
            objects,
            &gix::progress::Discard,
            &gix::progress::Discard,
            &AtomicBool::new(false),
            options,
        )
        .map_err(fail)?;
        if let Some(error) = outcome.errors.first() {
            return Err(self
                .repository
                .error(format!("could not write {}: {}", error.path, error.error)));
        }
        if let Some(collision) = outcome.collisions.first() {
            let path = &collision.path;
            return Err(self
                .repository
                .error(format!("{path} is there twice on this file system")));
        }
        Ok(())
    }

    /// How files are written. The commit as it is: what this machine's or this
    /// clone's git is configured to make of it is not what was reviewed, and its
    /// filters are programs. So of all that git would look at, only the commit's own
    /// `.gitattributes` count, and they know nothing that runs a program.
    fn checkout_options(&self) -> Result<gix::worktree::state::checkout::Options, gix::Error> {
        let repository = &self.repository.inner;
        let mut options = repository.checkout_options(Source::IdMapping)?;
        options.destination_is_initially_empty = true;
        options.fs = gix::fs::Capabilities::default();
        *options.filters.options_mut() = gix::filter::plumbing::pipeline::Options::default();
        let mut known = MetadataCollection::default();
        let none = gix::attrs::Search::new_globals(None::<PathBuf>, &mut Vec::new(), &mut known);
        let none = none.expect("no file is read");
        options.attributes = Attributes::new(none, None, Source::IdMapping, known);
        Ok(options)
    }
}

/// Whether a path is a directory or below it; everything is below the root, `""`.
fn is_within(path: &str, directory: &str) -> bool {
    directory.is_empty()
        || path
            .strip_prefix(directory)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
