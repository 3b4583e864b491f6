//! What is in a directory that is published, or was.
//!
//! A release holds regular files, directories and relative links that stay
//! inside. Anything else is refused by name: a copy that leaves something out in
//! silence is no copy.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use stagewright_sdk::Source;

use crate::config::{Published, Section};
use crate::failure::{At, Failure};
use crate::host;

/// The entries of a directory, by their paths.
#[derive(Debug)]
pub(crate) struct Tree {
    /// The directory.
    pub(crate) root: PathBuf,
    /// What is in it, sorted by path; a directory stands before what it holds.
    pub(crate) entries: Vec<Entry>,
}

/// An entry of a directory, at whatever depth.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Its path below the root, with `/` between names.
    pub(crate) path: String,
    /// What it is.
    pub(crate) kind: Kind,
}

/// What an entry is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A directory.
    Directory,
    /// A regular file of this many bytes.
    File(u64),
    /// A symbolic link with this text.
    Link(String),
}

impl Tree {
    /// Reads a directory, leaving out what `left_out` says of a path.
    pub(crate) fn read(root: &Path, left_out: &dyn Fn(&str) -> bool) -> Result<Self, Failure> {
        let mut tree = Self {
            root: root.to_owned(),
            entries: Vec::new(),
        };
        tree.read_below("", 0, left_out)?;
        // By path components, so that `a/x` stands before `a-b` and a directory
        // before what it holds.
        tree.entries
            .sort_by(|one, other| one.path.split('/').cmp(other.path.split('/')));
        Ok(tree)
    }

    /// Where an entry is.
    pub(crate) fn path(&self, entry: &Entry) -> PathBuf {
        self.root.join(&entry.path)
    }

    /// The entry with a path.
    pub(crate) fn get(&self, path: &str) -> Option<&Entry> {
        self.entries
            .binary_search_by(|entry| entry.path.split('/').cmp(path.split('/')))
            .ok()
            .map(|place| &self.entries[place])
    }

    /// All entries but the directories.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Entry> {
        self.entries
            .iter()
            .filter(|entry| entry.kind != Kind::Directory)
    }

    fn read_below(
        &mut self,
        below: &str,
        depth: usize,
        left_out: &dyn Fn(&str) -> bool,
    ) -> Result<(), Failure> {
        host::check_cancelled()?;
        let directory = self.root.join(below);
        for entry in fs::read_dir(&directory).at("list", &directory)? {
            let entry = entry.at("list", &directory)?;
            let name = utf8(&entry.file_name(), &directory)?;
            let path = if below.is_empty() {
                name
            } else {
                format!("{below}/{name}")
            };
            if left_out(&path) {
                continue;
            }
            let kind = entry.file_type().at("look at", &entry.path())?;
            let kind = if kind.is_dir() {
                self.read_below(&path, depth + 1, left_out)?;
                Kind::Directory
            } else if kind.is_file() {
                let metadata = entry.metadata().at("look at", &entry.path())?;
                Kind::File(metadata.len())
            } else if kind.is_symlink() {
                Kind::Link(read_link(&entry.path(), &path, depth)?)
            } else {
                return Err(Failure::Refused(format!(
                    "{path} is neither a file, a directory nor a symbolic link: \
                     it can't be published; remove it or list it under `exclude`"
                )));
            };
            self.entries.push(Entry { path, kind });
        }
        Ok(())
    }
}

/// The files of an application's source that are published; at least one.
pub(crate) fn published(source: &Source, section: &Section) -> Result<Tree, Failure> {
    let application = Path::new(&source.directory);
    let Section {
        directory: Published(directory),
        exclude,
        ..
    } = section;
    let root = published_root(application, directory)?;
    // What the application is deployed with is not what it publishes.
    let mut own = vec![application.join(&source.config_file_name)];
    own.extend(source.shared_directory.as_ref().map(PathBuf::from));
    let tree = Tree::read(&root, &|path| {
        let name = path.rsplit('/').next().unwrap_or(path);
        name == ".git" || own.contains(&root.join(path)) || exclude.matches(path)
    })?;
    if tree.files().next().is_none() {
        return Err(Failure::Directory(format!(
            "the directory {directory} has no file to publish: a site without one is not put live"
        )));
    }
    Ok(tree)
}

/// The directory to publish, which no link leads to: it could lead out of the
/// source.
fn published_root(application: &Path, directory: &str) -> Result<PathBuf, Failure> {
    let mut root = application.to_owned();
    for name in directory
        .split('/')
        .filter(|name| !name.is_empty() && *name != ".")
    {
        root.push(name);
        let metadata = match fs::symlink_metadata(&root) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(Failure::Directory(format!(
                    "the source has no directory {directory} beside the application file"
                )));
            }
            Err(error) => return Err(error).at("look at", &root),
        };
        if metadata.is_symlink() {
            return Err(Failure::Directory(format!(
                "{directory} is or passes through a symbolic link: name the directory that it \
                 leads to"
            )));
        }
        if !metadata.is_dir() {
            return Err(Failure::Directory(format!(
                "{directory} is not a directory: name the directory that holds the files"
            )));
        }
    }
    Ok(root)
}

fn utf8(name: &OsStr, directory: &Path) -> Result<String, Failure> {
    name.to_str().map(str::to_owned).ok_or_else(|| {
        Failure::Refused(format!(
            "the name of {} in {} is not UTF-8: rename it",
            name.display(),
            directory.display()
        ))
    })
}

/// The text of a link that stays inside the tree: `..` only at its start, and no
/// more of them than the link is deep. Wherever other such links stand on its
/// way, it can't leave.
fn read_link(link: &Path, path: &str, depth: usize) -> Result<String, Failure> {
    let leads_out = |to: &str| {
        Failure::Refused(format!(
            "{path} is a symbolic link{to} that leads out of the published directory, or may: \
             replace it by what it leads to, or list it under `exclude`"
        ))
    };
    let target = match fs::read_link(link) {
        Ok(target) => target,
        // The sandbox does not tell where an absolute link leads.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => return Err(leads_out("")),
        Err(error) => return Err(error).at("read the link", link),
    };
    let text = target.to_str().ok_or_else(|| {
        Failure::Refused(format!("{path} is a symbolic link whose text is not UTF-8"))
    })?;
    let (mut up, mut down) = (0, false);
    for component in target.components() {
        match component {
            Component::CurDir => {}
            Component::Normal(_) => down = true,
            Component::ParentDir if !down && up < depth => up += 1,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err(leads_out(&format!(" to {text}")));
            }
        }
    }
    Ok(text.to_owned())
}
