//! Which hosts are alive.
//!
//! Each open store holds a lock on a file of its own, which the system lets go
//! when the process ends, however it ends. So whoever comes next sees at once
//! that the owner of a lease is gone, and need not wait for the lease to lapse.

use std::collections::HashSet;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use uuid::Uuid;

use super::answers::Answers;
use crate::clock::{heartbeat, lease};
use crate::model::Timestamp;
use crate::store::Lease;

const EXTENSION: &str = "lock";

/// This host's lock, and the look at those of the others.
#[derive(Debug)]
pub(super) struct Hosts {
    directory: PathBuf,
    owner: String,
    /// Owners that were found gone. An owner is never used again, so this stays.
    gone: Mutex<HashSet<String>>,
    /// What is seen of those that live.
    answers: Answers,
    /// How long one of them may be silent before it counts as hung.
    patience: Duration,
    /// Held until the process ends or the store is dropped. The file stays: as
    /// long as it is there, the others can see that nobody holds it. None for one
    /// who only looks, and takes no lease.
    _lock: Option<File>,
}

impl Hosts {
    /// Takes the lock of a new owner in a directory.
    pub(super) fn join(directory: PathBuf) -> io::Result<Self> {
        // What it did between the last look at it and the next is not known: so much
        // less may be seen of its silence.
        Self::join_with(directory, lease().saturating_sub(heartbeat()))
    }

    fn join_with(directory: PathBuf, patience: Duration) -> io::Result<Self> {
        fs::create_dir_all(&directory)?;
        let owner = Uuid::now_v7().to_string();
        // Locked before it gets its name: nobody ever sees it free.
        let unnamed = directory.join(format!("{owner}.new"));
        let lock = File::create(&unnamed)?;
        lock.lock()?;
        fs::rename(&unnamed, path(&directory, &owner))?;
        Ok(Self {
            owner,
            patience,
            _lock: Some(lock),
            ..Self::look_on(directory)
        })
    }

    /// Only looks at the locks of others.
    pub(super) fn look_on(directory: PathBuf) -> Self {
        Self {
            directory,
            owner: Uuid::now_v7().to_string(),
            gone: Mutex::default(),
            answers: Answers::new(heartbeat() * 3 / 2),
            patience: lease(),
            _lock: None,
        }
    }

    /// Makes the lock of an owner in a directory, held by nobody: there it is gone.
    pub(super) fn leave(directory: &Path, owner: &str) -> io::Result<()> {
        if is_a_file_name(owner) {
            fs::create_dir_all(directory)?;
            File::create(path(directory, owner))?;
        }
        Ok(())
    }

    /// The name that this host's leases bear.
    pub(super) fn owner(&self) -> &str {
        &self.owner
    }

    /// Whether an owner's process is known to have ended. An owner without a
    /// file may be anywhere: of that one, only the time is known.
    pub(super) fn is_gone(&self, owner: &str) -> bool {
        if owner == self.owner || !is_a_file_name(owner) {
            return false;
        }
        // The set is never left half changed.
        let mut gone = self.gone.lock().unwrap_or_else(PoisonError::into_inner);
        if gone.contains(owner) {
            return true;
        }
        let is_gone = is_free(&path(&self.directory, owner));
        if is_gone {
            gone.insert(owner.to_owned());
        }
        is_gone
    }

    /// Whether a lease has lapsed.
    ///
    /// The clock may have been set. So the time alone says it only of an owner of
    /// whom nothing else is known; one that lives must also have been silent for as
    /// long, as this host's own clock counts it.
    pub(super) fn has_lapsed(&self, lease: &Lease, now: Timestamp) -> bool {
        if self.is_gone(&lease.owner) {
            return true;
        }
        if lease.until > now {
            return false;
        }
        if !self.is_alive(&lease.owner) {
            return true;
        }
        let silent = self
            .answers
            .silent(&lease.owner, lease.until, Instant::now());
        silent >= self.patience
    }

    /// Looks at when the last lease of each owner ends. To be done as often as leases
    /// are renewed.
    pub(super) fn look(&self, latest: &[(String, Timestamp)]) {
        self.answers.look(latest, Instant::now());
    }

    /// Whether the lock of an owner is held.
    fn is_alive(&self, owner: &str) -> bool {
        owner == self.owner
            || (is_a_file_name(owner)
                && File::open(path(&self.directory, owner))
                    .is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock))))
    }

    /// Removes the files of owners that are gone and that `is_needed` doesn't
    /// name: a file is needed as long as a lease bears its owner.
    pub(super) fn tidy(&self, is_needed: impl Fn(&str) -> bool) -> io::Result<()> {
        for entry in fs::read_dir(&self.directory)? {
            let path = entry?.path();
            let owner = path.file_stem().and_then(|stem| stem.to_str());
            let is_lock = path
                .extension()
                .is_some_and(|extension| extension == EXTENSION);
            if let Some(owner) = owner
                && is_lock
                && !is_needed(owner)
                && is_free(&path)
            {
                match fs::remove_file(&path) {
                    // Somebody else tidied at the same time.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    other => other?,
                }
            }
        }
        Ok(())
    }

    /// Whether other hosts seem to use the same store.
    pub(super) fn has_company(&self) -> bool {
        let entries = fs::read_dir(&self.directory).into_iter().flatten();
        entries.take(2).count() > 1
    }
}

fn is_a_file_name(owner: &str) -> bool {
    let fits = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
    !owner.is_empty() && owner.bytes().all(fits)
}

fn path(directory: &Path, owner: &str) -> PathBuf {
    directory.join(owner).with_extension(EXTENSION)
}

/// Whether a lock file is there and nobody holds its lock.
fn is_free(path: &Path) -> bool {
    let Ok(file) = File::open(path) else {
        return false;
    };
    match file.try_lock() {
        Ok(()) => true,
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Leased;

    fn hosts() -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("hosts");
        (directory, path)
    }

    #[test]
    fn a_host_is_gone_once_its_lock_is_let_go_and_not_before() {
        let (_directory, path) = hosts();
        let first = Hosts::join(path.clone()).unwrap();
        let second = Hosts::join(path).unwrap();
        let owner = first.owner().to_owned();
        assert!(!second.is_gone(&owner));
        drop(first);
        assert!(second.is_gone(&owner));
        assert!(second.is_gone(&owner), "and stays so");
    }

    fn lease(owner: &str, until: u64) -> Lease {
        Lease {
            deployment: "d".into(),
            what: Leased::Plan,
            owner: owner.into(),
            until: Timestamp(until),
        }
    }

    #[test]
    fn a_clock_that_is_set_forward_takes_no_lease_from_a_host_that_lives() {
        let (_directory, path) = hosts();
        let living = Hosts::join(path.clone()).unwrap();
        let other = Hosts::join(path).unwrap();
        let a_day_later = Timestamp(86_400_000);
        assert!(!other.has_lapsed(&lease(living.owner(), 10), a_day_later));
        assert!(other.has_lapsed(&lease("nobody-known", 10), a_day_later));
        let owner = living.owner().to_owned();
        drop(living);
        assert!(
            other.has_lapsed(&lease(&owner, 10), Timestamp(0)),
            "gone, whatever the time"
        );
    }

    #[test]
    fn a_living_host_that_renews_no_more_counts_as_hung_after_a_while() {
        let (_directory, path) = hosts();
        let hung = Hosts::join(path.clone()).unwrap();
        let other = Hosts::join_with(path, Duration::ZERO).unwrap();
        assert!(!other.has_lapsed(&lease(hung.owner(), 10), Timestamp(9)));
        assert!(other.has_lapsed(&lease(hung.owner(), 10), Timestamp(10)));
    }

    #[test]
    fn of_an_unknown_owner_nothing_is_known_whatever_its_name() {
        let (directory, path) = hosts();
        fs::write(directory.path().join("outside.lock"), "").unwrap();
        let hosts = Hosts::join(path).unwrap();
        for owner in ["nobody", "", "../outside", "a/b"] {
            assert!(!hosts.is_gone(owner), "{owner:?}");
        }
        assert!(!hosts.is_gone(hosts.owner()));
    }

    #[test]
    fn the_files_of_gone_owners_are_removed_but_those_that_leases_name() {
        let (_directory, path) = hosts();
        let owners: Vec<String> = (0..2)
            .map(|_| Hosts::join(path.clone()).unwrap().owner().to_owned())
            .collect();
        let alive = Hosts::join(path.clone()).unwrap();
        let hosts = Hosts::join(path.clone()).unwrap();
        hosts.tidy(|owner| owner == owners[0]).unwrap();
        let exists = |owner: &str| super::path(&path, owner).exists();
        assert!(exists(&owners[0]));
        assert!(!exists(&owners[1]));
        assert!(exists(alive.owner()) && exists(hosts.owner()));
    }
}
