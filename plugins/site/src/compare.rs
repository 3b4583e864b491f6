//! What differs between two trees: by content, never by times.

use crate::failure::Failure;
use crate::files;
use crate::host;
use crate::tree::{Entry, Kind, Tree};

/// What a change does to the files of a site. Directories do not count: nobody
/// asks a web server for one that is empty.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    /// Files that are new.
    pub(crate) added: Vec<String>,
    /// Files whose content is another.
    pub(crate) modified: Vec<String>,
    /// Files that are no more.
    pub(crate) removed: Vec<String>,
    /// If the first removed file is there under another name: that name.
    pub(crate) first_renamed_to: Option<String>,
}

impl Changes {
    /// Compares what runs with what is to run.
    pub(crate) fn between(running: &Tree, target: &Tree) -> Result<Self, Failure> {
        let mut changes = Self::default();
        for entry in target.files() {
            host::check_cancelled()?;
            match running.get(&entry.path) {
                Some(old) if old.kind != Kind::Directory => {
                    if !same_entry(running, old, target, entry)? {
                        changes.modified.push(entry.path.clone());
                    }
                }
                _ => changes.added.push(entry.path.clone()),
            }
        }
        let gone = |entry: &&Entry| {
            target
                .get(&entry.path)
                .is_none_or(|new| new.kind == Kind::Directory)
        };
        let removed: Vec<&Entry> = running.files().filter(gone).collect();
        if let Some(first) = removed.first() {
            for path in &changes.added {
                let Some(new) = target.get(path) else {
                    continue;
                };
                if same_entry(running, first, target, new)? {
                    changes.first_renamed_to = Some(path.clone());
                    break;
                }
            }
        }
        changes.removed = removed
            .into_iter()
            .map(|entry| entry.path.clone())
            .collect();
        Ok(changes)
    }
}

/// Whether a directory holds exactly what a tree does. Something in it that no
/// release can hold makes it another.
pub(crate) fn is_copy(tree: &Tree, directory: &std::path::Path) -> Result<bool, Failure> {
    let copy = match Tree::read(directory, &|_| false) {
        Ok(copy) => copy,
        Err(Failure::Refused(_)) => return Ok(false),
        Err(failure) => return Err(failure),
    };
    let alike = tree.entries.len() == copy.entries.len()
        && tree
            .entries
            .iter()
            .zip(&copy.entries)
            .all(|(one, other)| one.path == other.path && one.kind == other.kind);
    if !alike {
        return Ok(false);
    }
    for (one, other) in tree.entries.iter().zip(&copy.entries) {
        host::check_cancelled()?;
        if !same_entry(tree, one, &copy, other)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn same_entry(tree: &Tree, entry: &Entry, other: &Tree, its: &Entry) -> Result<bool, Failure> {
    match (&entry.kind, &its.kind) {
        // Sizes first: most changes need no reading.
        (Kind::File(one), Kind::File(two)) => {
            Ok(one == two && files::same_content(&tree.path(entry), &other.path(its))?)
        }
        (one, two) => Ok(one == two),
    }
}
