//! The life of a release on one deploy target: copied, made live, put back,
//! removed.
//!
//! Each of these may be killed at any point and is then called again from its
//! start. None of them may make what is live other than whole.

use std::time::UNIX_EPOCH;

use stagewright_sdk::info;

use crate::compare::is_copy;
use crate::failure::Failure;
use crate::files;
use crate::host;
use crate::layout::{Current, Layout, Work};
use crate::record::{self, Record};
use crate::tree::{Kind, Tree};

/// How many names for a release are tried while others take them.
const NAMES: usize = 10;

/// One deploy target during one deployment.
#[derive(Debug)]
pub(crate) struct Target {
    /// Its name in the host's configuration.
    pub(crate) name: String,
    /// Its directory.
    pub(crate) layout: Layout,
    /// What this deployment did to it.
    pub(crate) record: Record,
}

/// A release that is whole on disk.
#[derive(Debug)]
pub(crate) struct Ready {
    /// Its name.
    pub(crate) release: String,
    /// What was copied; none if it was there already.
    pub(crate) copied: Option<Copied>,
}

impl Ready {
    fn there(release: String) -> Self {
        Self {
            release,
            copied: None,
        }
    }
}

/// How much was copied.
#[derive(Debug, Default)]
pub(crate) struct Copied {
    /// Files and links.
    pub(crate) files: usize,
    /// Their bytes.
    pub(crate) bytes: u64,
}

/// What became of `current`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Switch {
    /// It leads to the release now; before, it was this.
    From(Current),
    /// It did already.
    Already,
}

/// What a rollback did.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Restored {
    /// The deployment had not switched `current`, or it is back already.
    Untouched,
    /// The deployment had not switched `current`, and it can't be read. So it
    /// can't be told either whether someone made live what the deployment copied.
    Unreadable {
        /// Why it can't.
        why: String,
        /// The releases that are left for that.
        left: Vec<String>,
    },
    /// `current` is this again.
    To(Current),
}

/// Where a release is, or can be.
enum Place {
    /// The release of this name is the one.
    Taken(String),
    /// There is none yet, and this name is free for it.
    Free(String),
}

impl Target {
    /// A target of this deployment.
    pub(crate) fn open(name: &str, directory: &str, work: &Work) -> Result<Self, Failure> {
        let record = Record::load(name)?.unwrap_or_else(|| Record::new(directory));
        if record.directory != directory {
            return Err(Failure::Because(format!(
                "this deployment began with the directory {}, and the target has {directory} now: \
                 start a new deployment",
                record.directory
            )));
        }
        Ok(Self {
            name: name.to_owned(),
            layout: Layout::new(directory, work),
            record,
        })
    }

    /// A target as this deployment left it, to be undone: where it was then.
    pub(crate) fn reopen(name: &str, record: Record, work: &Work) -> Self {
        Self {
            name: name.to_owned(),
            layout: Layout::new(&record.directory, work),
            record,
        }
    }

    /// Sees to it that the target holds the tree as a release, not yet live. One
    /// that is there counts only if its content is the same: someone may have
    /// edited it.
    pub(crate) fn ready(&mut self, tree: &Tree, commit: &str) -> Result<Ready, Failure> {
        host::check_cancelled()?;
        self.record.save(&self.name)?;
        self.layout.prepare()?;
        self.layout.clean_own()?;
        let mut free = match self.find(tree, commit)? {
            Place::Taken(release) => return Ok(Ready::there(release)),
            Place::Free(name) => name,
        };
        let copied = self.copy(tree)?;
        for _ in 0..NAMES {
            let noted = self.record.made.contains(&free);
            if !noted {
                self.record.made.push(free.clone());
                self.record.save(&self.name)?;
            }
            if self.layout.settle(&free)? {
                return Ok(Ready {
                    release: free,
                    copied: Some(copied),
                });
            }
            // Another deployment was faster: what it made is its own.
            if !noted {
                self.record.made.retain(|name| *name != free);
                self.record.save(&self.name)?;
            }
            free = match self.find(tree, commit)? {
                Place::Taken(release) => {
                    self.layout.clean_copy()?;
                    return Ok(Ready::there(release));
                }
                Place::Free(name) => name,
            };
        }
        Err(Failure::Because(format!(
            "other deployments took {NAMES} names for a release of {commit} before this one could: \
             run it again when they are over"
        )))
    }

    /// The release of a commit that has the tree's content, if there is one, and
    /// the name for a new one. One with other content is left as it is: it may be
    /// live, or someone may want to see what was changed in it.
    fn find(&self, tree: &Tree, commit: &str) -> Result<Place, Failure> {
        let live = self.layout.live()?;
        let mut names = self.layout.names()?;
        names.retain(|name| {
            name.strip_prefix(commit)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        });
        names.sort_by_key(|name| live.release() != Some(name));
        for name in &names {
            // One that can't be read, or not wholly, is as good as another.
            let why = match is_copy(tree, &self.layout.release(name)) {
                Ok(true) => return Ok(Place::Taken(name.clone())),
                Ok(false) => "it has other content than the source".to_owned(),
                Err(Failure::Host(error)) => return Err(Failure::Host(error)),
                Err(failure) => failure.to_string(),
            };
            info!("{}: releases/{name} is not used again: {why}", self.name);
        }
        let mut free = commit.to_owned();
        let mut number = 1;
        while self.layout.release(&free).symlink_metadata().is_ok() {
            number += 1;
            free = format!("{commit}-{number}");
        }
        Ok(Place::Free(free))
    }

    fn copy(&self, tree: &Tree) -> Result<Copied, Failure> {
        let copy = self.layout.copy();
        let of = tree.files().count();
        let mut copied = Copied::default();
        files::create_directory(&copy)?;
        for entry in &tree.entries {
            host::check_cancelled()?;
            let to = copy.join(&entry.path);
            match &entry.kind {
                Kind::Directory => {
                    files::create_directory(&to)?;
                    continue;
                }
                Kind::File(_) => copied.bytes += files::copy(&tree.path(entry), &to)?,
                Kind::Link(text) => files::link(text, &to)?,
            }
            copied.files += 1;
            host::progress(&self.name, copied.files, of);
        }
        for entry in tree
            .entries
            .iter()
            .filter(|entry| entry.kind == Kind::Directory)
        {
            files::sync_directory(&copy.join(&entry.path))?;
        }
        files::sync_directory(&copy)?;
        Ok(copied)
    }

    /// Makes a release live, after what was live before has been written down.
    pub(crate) fn switch(&mut self, release: &str) -> Result<Switch, Failure> {
        let live = self.layout.live()?;
        if live.release() == Some(release) {
            return Ok(match &self.record.before {
                Some(before) if self.record.switched.iter().any(|name| name == release) => {
                    Switch::From(before.clone())
                }
                _ => Switch::Already,
            });
        }
        if !self.record.switched.iter().any(|name| name == release) {
            self.record.switched.push(release.to_owned());
        }
        self.record.before.get_or_insert_with(|| live.clone());
        self.record.save(&self.name)?;
        record::note_live(&self.name, release)?;
        host::check_cancelled()?;
        self.layout.switch(&Current::to(release))?;
        Ok(Switch::From(live))
    }

    /// Removes the oldest releases beyond what is live, what was live before it,
    /// and so many in all besides the live one.
    pub(crate) fn prune(&self, keep: usize) -> Result<Vec<String>, Failure> {
        let live = self.layout.live()?;
        let before = self.record.before.as_ref().and_then(Current::release);
        let mut old = Vec::new();
        let mut kept = Vec::new();
        for name in self.layout.names()? {
            if live.release() == Some(&name) {
                kept.push(name);
            } else {
                let order = (before == Some(&name), self.age_order(&name)?);
                old.push((order, name));
            }
        }
        // The newest first, and before all the one that a rollback goes back to.
        old.sort_by(|one, other| other.cmp(one));
        let mut removed = Vec::new();
        for (place, (_, name)) in old.into_iter().enumerate() {
            if place < keep {
                kept.push(name);
            } else {
                host::check_cancelled()?;
                self.layout.remove(&name)?;
                removed.push(name);
            }
        }
        record::forget_live(&self.name, &kept)?;
        self.layout.clean_others()?;
        Ok(removed)
    }

    /// When a release was made live or, if that is not known, made.
    fn age_order(&self, name: &str) -> Result<u64, Failure> {
        if let Some(since) = record::live_since(&self.name, name)? {
            return Ok(since);
        }
        let made = self
            .layout
            .made_at(name)?
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Ok(u64::try_from(made.as_millis()).unwrap_or(u64::MAX))
    }

    /// Puts back what was live before this deployment, and removes what it
    /// copied.
    pub(crate) fn roll_back(&self) -> Result<Restored, Failure> {
        if !self.layout.exists()? {
            return Ok(Restored::Untouched);
        }
        self.layout.clean_own()?;
        let restored = self.restore()?;
        let names = self.layout.names()?;
        let made = self.record.made.iter().filter(|name| names.contains(name));
        let live = match self.layout.live() {
            Err(Failure::Because(why)) if self.record.before.is_none() => {
                let left = made.cloned().collect();
                return Ok(Restored::Unreadable { why, left });
            }
            live => live?,
        };
        for name in made {
            // Someone may have made it live by hand.
            if live.release() != Some(name) {
                self.layout.remove(name)?;
            }
        }
        Ok(restored)
    }

    fn restore(&self) -> Result<Restored, Failure> {
        let Some(before) = &self.record.before else {
            return Ok(Restored::Untouched);
        };
        let live = self.layout.live()?;
        if live == *before {
            return Ok(Restored::Untouched);
        }
        let ours = live == Current::Nothing
            || live
                .release()
                .is_some_and(|live| self.record.switched.iter().any(|s| s == live));
        match (before, &live) {
            (_, Current::Link(now)) if !ours => Err(Failure::Because(format!(
                "current leads to {now}, where this deployment did not put it: it is left so. \
                 Before this deployment it {}",
                describe(before)
            ))),
            (Current::Link(link), _) if !self.layout.leads_somewhere(link) => {
                Err(Failure::Because(format!(
                    "current led to {link} before this deployment, which is gone or out of this \
                     plugin's reach: it is left as it is, a link to nothing would be worse"
                )))
            }
            _ => {
                self.layout.switch(before)?;
                Ok(Restored::To(before.clone()))
            }
        }
    }
}

/// What `current` was, as the end of a sentence.
pub(crate) fn describe(current: &Current) -> String {
    match current {
        Current::Nothing => "did not exist".to_owned(),
        Current::Link(link) => format!("led to {link}"),
    }
}
