//! The directory of a deploy target, as it is on disk:
//!
//! ```text
//! current -> releases/<release>      what is live
//! releases/<commit>/                 a whole release
//! releases/<commit>-2/               one of the same commit with other content
//! releases/.copy.<deployment>.<attempt>/  a copy that is not whole yet
//! releases/.gone.<deployment>.<name>/     what is being removed
//! .current.<deployment>              a link on its way to become `current`
//! ```
//!
//! What has the name of a release is whole, from its first moment to its last: it
//! got the name by a rename, loses it by one, and is never written to between.
//! A copy carries its attempt's number, and is renamed before it is removed: an
//! attempt that the host gave up, but which still runs, can then no more give its
//! name to what a newer one works on.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::failure::{At, Failure};
use crate::files;
use crate::host;

/// The directory of the releases.
pub(crate) const RELEASES: &str = "releases";
/// The link to the live one.
pub(crate) const CURRENT: &str = "current";

const COPY: &str = ".copy.";
const GONE: &str = ".gone.";
const NEXT: &str = ".current.";

/// How long nothing may change in a copy before it counts as left behind.
const LEFT_BEHIND: Duration = Duration::from_secs(24 * 60 * 60);

/// What `current` is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Current {
    /// It does not exist.
    Nothing,
    /// A link with this text.
    Link(String),
}

impl Current {
    /// The link to a release.
    pub(crate) fn to(release: &str) -> Self {
        Self::Link(format!("{RELEASES}/{release}"))
    }

    /// The release that it leads to, if it does.
    pub(crate) fn release(&self) -> Option<&str> {
        let Self::Link(text) = self else { return None };
        let text = text.strip_prefix("./").unwrap_or(text);
        let name = text.strip_prefix(RELEASES)?.strip_prefix('/')?;
        is_release(name.strip_suffix('/').unwrap_or(name)).then(|| name.trim_end_matches('/'))
    }
}

/// Whether a name is one that this plugin gives to a release: a commit's hash,
/// maybe with a number.
pub(crate) fn is_release(name: &str) -> bool {
    let (hash, number) = name.split_once('-').unwrap_or((name, "2"));
    is_hash(hash) && number.bytes().all(|c| c.is_ascii_digit()) && !number.is_empty()
}

/// Whether a text is a commit's hash, and so safe as a name.
pub(crate) fn is_hash(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|c| c.is_ascii_hexdigit())
}

/// A deploy target's directory, as one deployment works on it.
#[derive(Debug)]
pub(crate) struct Layout {
    directory: PathBuf,
    work: Work,
}

/// Who works on a directory.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    /// The deployment's id.
    pub(crate) deployment: String,
    /// The attempt of the stage.
    pub(crate) attempt: u32,
}

impl Layout {
    /// Of a directory, for whoever works on it.
    pub(crate) fn new(directory: &str, work: &Work) -> Self {
        Self {
            directory: PathBuf::from(directory),
            work: work.clone(),
        }
    }

    /// Where a release is.
    pub(crate) fn release(&self, name: &str) -> PathBuf {
        self.releases().join(name)
    }

    /// Where this attempt's copy grows.
    pub(crate) fn copy(&self) -> PathBuf {
        let Work {
            deployment,
            attempt,
        } = &self.work;
        self.releases()
            .join(format!("{COPY}{deployment}.{attempt}"))
    }

    fn releases(&self) -> PathBuf {
        self.directory.join(RELEASES)
    }

    fn current(&self) -> PathBuf {
        self.directory.join(CURRENT)
    }

    fn next(&self) -> PathBuf {
        self.directory
            .join(format!("{NEXT}{}", self.work.deployment))
    }

    /// Makes the directories that must be there.
    pub(crate) fn prepare(&self) -> Result<(), Failure> {
        files::ensure_directory(&self.directory)?;
        let releases = self.releases();
        match kind(&releases)? {
            Some(kind) if kind.is_dir() => Ok(()),
            Some(_) => Err(Failure::Because(format!(
                "{} is not a directory: move it away, or give the deploy target another directory",
                releases.display()
            ))),
            None => {
                let made = files::create_directory(&releases);
                // Another deployment may have been faster.
                if !kind(&releases)?.is_some_and(|kind| kind.is_dir()) {
                    made?;
                }
                files::sync_directory(&self.directory)
            }
        }
    }

    /// Whether there is anything: a target that was never deployed to may have no
    /// directory yet.
    pub(crate) fn exists(&self) -> Result<bool, Failure> {
        Ok(kind(&self.releases())?.is_some_and(|kind| kind.is_dir()))
    }

    /// What is live.
    pub(crate) fn live(&self) -> Result<Current, Failure> {
        let current = self.current();
        match kind(&current)? {
            None => return Ok(Current::Nothing),
            Some(kind) if kind.is_symlink() => {}
            Some(_) => {
                return Err(Failure::Because(format!(
                    "{} is not a link, so it can't be switched: move it away, the next deployment \
                     makes the link",
                    current.display()
                )));
            }
        }
        let absolute = || {
            Failure::Because(format!(
                "{} is an absolute link, which could not be put back from inside the sandbox: \
                 replace it by a relative one, such as {RELEASES}/<commit>",
                current.display()
            ))
        };
        match fs::read_link(&current) {
            Ok(text) if text.has_root() => Err(absolute()),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => Err(absolute()),
            text => match text.at("read the link", &current)?.to_str() {
                Some(text) => Ok(Current::Link(text.to_owned())),
                None => Err(Failure::Because(format!(
                    "the text of the link {} is not UTF-8",
                    current.display()
                ))),
            },
        }
    }

    /// Makes `current` this, in one step. A visitor sees the old or the new.
    pub(crate) fn switch(&self, to: &Current) -> Result<(), Failure> {
        let current = self.current();
        match to {
            Current::Nothing => files::remove_file(&current)?,
            Current::Link(text) => {
                let next = self.next();
                files::remove_file(&next)?;
                files::link(text, &next)?;
                files::rename(&next, &current)?;
            }
        }
        files::sync_directory(&self.directory)
    }

    /// Whether what a link leads to is a directory that is there.
    pub(crate) fn leads_somewhere(&self, link: &str) -> bool {
        self.directory.join(link).is_dir()
    }

    /// The names of the releases.
    pub(crate) fn names(&self) -> Result<Vec<String>, Failure> {
        let mut names = Vec::new();
        for name in self.names_where(is_release)? {
            if kind(&self.release(&name))?.is_some_and(|kind| kind.is_dir()) {
                names.push(name);
            }
        }
        Ok(names)
    }

    /// When a release was made.
    pub(crate) fn made_at(&self, name: &str) -> Result<SystemTime, Failure> {
        modified(&self.release(name))
    }

    /// Gives this attempt's copy, which is whole, its name; or says that the name
    /// was given to something else meanwhile.
    pub(crate) fn settle(&self, name: &str) -> Result<bool, Failure> {
        let release = self.release(name);
        let renamed = files::rename(&self.copy(), &release);
        if renamed.is_err() && kind(&release)?.is_some() {
            return Ok(false);
        }
        renamed?;
        files::sync_directory(&self.releases())?;
        Ok(true)
    }

    /// Removes a release. It loses its name first, so that a kill leaves nothing
    /// half that looks whole.
    pub(crate) fn remove(&self, name: &str) -> Result<(), Failure> {
        self.discard(name)
    }

    /// Removes this attempt's copy, and no other's.
    pub(crate) fn clean_copy(&self) -> Result<(), Failure> {
        match self.copy().file_name().and_then(|name| name.to_str()) {
            Some(name) if kind(&self.copy())?.is_some() => self.discard(name),
            _ => Ok(()),
        }
    }

    /// Removes what this deployment left when it was killed.
    pub(crate) fn clean_own(&self) -> Result<(), Failure> {
        if kind(&self.next())?.is_some() {
            files::remove_file(&self.next())?;
        }
        let (copies, gone) = self.own_prefixes();
        for name in self.names_where(|name| name.starts_with(&copies))? {
            self.discard(&name)?;
        }
        for name in self.names_where(|name| name.starts_with(&gone))? {
            files::remove_tree(&self.release(&name))?;
        }
        Ok(())
    }

    /// Removes what deployments left that never came back, and leaves alone what
    /// another may be working on.
    pub(crate) fn clean_others(&self) -> Result<(), Failure> {
        for name in self.names_where(|name| name.starts_with(GONE))? {
            files::remove_tree(&self.release(&name))?;
        }
        let (own, _) = self.own_prefixes();
        for name in self.names_where(|name| name.starts_with(COPY) && !name.starts_with(&own))? {
            if left_behind(newest(&self.release(&name))?) {
                self.discard(&name)?;
            }
        }
        for name in list(&self.directory)?
            .into_iter()
            .filter(|name| name.starts_with(NEXT))
        {
            let path = self.directory.join(name);
            if path != self.next() && left_behind(modified(&path)?) {
                files::remove_file(&path)?;
            }
        }
        Ok(())
    }

    fn own_prefixes(&self) -> (String, String) {
        let deployment = &self.work.deployment;
        (
            format!("{COPY}{deployment}."),
            format!("{GONE}{deployment}."),
        )
    }

    /// Takes its name from something in the directory of the releases, so that it
    /// counts no more whenever a kill comes, then removes it.
    fn discard(&self, name: &str) -> Result<(), Failure> {
        let (_, gone) = self.own_prefixes();
        let gone = self.release(&format!("{gone}{}", name.trim_start_matches('.')));
        files::remove_tree(&gone)?;
        files::rename(&self.release(name), &gone)?;
        files::sync_directory(&self.releases())?;
        files::remove_tree(&gone)
    }

    fn names_where(&self, wanted: impl Fn(&str) -> bool) -> Result<Vec<String>, Failure> {
        let mut names = list(&self.releases())?;
        names.retain(|name| wanted(name));
        Ok(names)
    }
}

/// The names in a directory, in order; none if it is not there. Names that are
/// not UTF-8 are not ours.
fn list(directory: &Path) -> Result<Vec<String>, Failure> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.at("list", directory)?,
    };
    let mut names = Vec::new();
    for entry in entries {
        names.extend(entry.at("list", directory)?.file_name().into_string());
    }
    names.sort();
    Ok(names)
}

fn kind(path: &Path) -> Result<Option<fs::FileType>, Failure> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => Ok(Some(metadata.file_type())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).at("look at", path),
    }
}

fn modified(path: &Path) -> Result<SystemTime, Failure> {
    fs::symlink_metadata(path)
        .and_then(|metadata| metadata.modified())
        .at("look at", path)
}

/// When anything in a directory last changed.
fn newest(directory: &Path) -> Result<SystemTime, Failure> {
    let mut newest = modified(directory)?;
    for name in list(directory)? {
        let path = directory.join(name);
        let time = match kind(&path)? {
            Some(kind) if kind.is_dir() => self::newest(&path)?,
            Some(_) => modified(&path)?,
            None => continue,
        };
        newest = newest.max(time);
    }
    Ok(newest)
}

fn left_behind(changed: SystemTime) -> bool {
    host::now()
        .duration_since(changed)
        .is_ok_and(|age| age > LEFT_BEHIND)
}
