//! Trees of files: copying one, comparing two.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use super::SourceError;

/// Copies the content of a directory into another, which is made: files with
/// their permissions, directories, links as links. Whatever `skip` says yes to
/// stays behind, with all below it. Fails when there are more than `max` bytes,
/// and on anything that is none of the three.
///
/// Returns the number of bytes copied.
pub fn copy_tree(
    from: &Path,
    to: &Path,
    skip: &dyn Fn(&Path) -> bool,
    max: u64,
) -> Result<u64, SourceError> {
    let mut bytes = 0;
    fs::create_dir_all(to).map_err(SourceError::io("could not make", to))?;
    let entries = WalkDir::new(from)
        .min_depth(1)
        .sort_by_file_name()
        .into_iter()
        .filter_entry(|entry| !skip(entry.path()));
    for entry in entries {
        let entry = entry.map_err(|error| walk_error(from, error))?;
        let path = entry.path();
        let target = to.join(below(from, path)?);
        let kind = entry.file_type();
        if kind.is_dir() {
            fs::create_dir(&target).map_err(SourceError::io("could not make", &target))?;
        } else if kind.is_symlink() {
            copy_link(path, &target)?;
        } else if kind.is_file() {
            bytes += entry
                .metadata()
                .map_err(|error| walk_error(path, error))?
                .len();
            if bytes > max {
                return Err(SourceError::too_large(max, from));
            }
            fs::copy(path, &target).map_err(SourceError::io("could not copy", path))?;
        } else {
            return Err(SourceError::Invalid(format!(
                "{} is no file, directory or link; a source can hold nothing else: remove it",
                path.display()
            )));
        }
    }
    Ok(bytes)
}

/// Removes a directory with all below it. What can't be removed since someone took
/// the rights of its owner away is given them back first. Links are not followed.
///
/// # Errors
/// What the system says; also when there is no such directory.
pub fn remove_tree(directory: &Path) -> io::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            make_removable(directory)?;
            fs::remove_dir_all(directory)
        }
        done => done,
    }
}

/// Gives the owner all rights on a directory and those below it, from the top: it
/// takes them to see what is in one.
fn make_removable(directory: &Path) -> io::Result<()> {
    let mut left = vec![directory.to_owned()];
    while let Some(directory) = left.pop() {
        let mut permissions = fs::symlink_metadata(&directory)?.permissions();
        permissions.set_mode(permissions.mode() | 0o700);
        fs::set_permissions(&directory, permissions)?;
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                left.push(entry.path());
            }
        }
    }
    Ok(())
}

/// The files that differ between two trees, as paths with `/` between names: in
/// one only, or with other content, another link target, or another executable
/// bit.
pub fn changed_files(old: &Path, new: &Path) -> Result<BTreeSet<String>, SourceError> {
    let old_files = list(old)?;
    let new_files = list(new)?;
    let mut changed = BTreeSet::new();
    for (path, file) in &new_files {
        match old_files.get(path) {
            Some(before) if same(before, file)? => {}
            _ => {
                changed.insert(path.clone());
            }
        }
    }
    for path in old_files.into_keys() {
        if !new_files.contains_key(&path) {
            changed.insert(path);
        }
    }
    Ok(changed)
}

/// A file of a tree, as far as comparing needs it.
struct Entry {
    path: PathBuf,
    link: bool,
    size: u64,
    executable: bool,
}

fn list(root: &Path) -> Result<BTreeMap<String, Entry>, SourceError> {
    let mut files = BTreeMap::new();
    for entry in WalkDir::new(root).min_depth(1) {
        let entry = entry.map_err(|error| walk_error(root, error))?;
        if entry.file_type().is_dir() {
            continue;
        }
        let metadata = entry.metadata().map_err(|error| walk_error(root, error))?;
        files.insert(
            slashes(below(root, entry.path())?),
            Entry {
                path: entry.path().to_owned(),
                link: entry.file_type().is_symlink(),
                size: metadata.len(),
                executable: is_executable(&metadata),
            },
        );
    }
    Ok(files)
}

fn same(a: &Entry, b: &Entry) -> Result<bool, SourceError> {
    if a.link != b.link || a.size != b.size || a.executable != b.executable {
        return Ok(false);
    }
    if a.link {
        return Ok(read_link(&a.path)? == read_link(&b.path)?);
    }
    let mut files = [open(&a.path)?, open(&b.path)?];
    let mut chunks = [[0; 64 * 1024], [0; 64 * 1024]];
    loop {
        let mut lengths = [0; 2];
        for ((file, chunk), (length, entry)) in files
            .iter_mut()
            .zip(&mut chunks)
            .zip(lengths.iter_mut().zip([a, b]))
        {
            *length = fill(file, chunk).map_err(SourceError::io("could not read", &entry.path))?;
        }
        if chunks[0][..lengths[0]] != chunks[1][..lengths[1]] {
            return Ok(false);
        }
        if lengths[0] == 0 {
            return Ok(true);
        }
    }
}

/// Reads until the buffer is full or the file ends.
pub(super) fn fill(file: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match file.read(&mut buffer[length..]) {
            Ok(0) => break,
            Ok(count) => length += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

pub(super) fn open(path: &Path) -> Result<File, SourceError> {
    File::open(path).map_err(SourceError::io("could not open", path))
}

pub(super) fn read_link(path: &Path) -> Result<PathBuf, SourceError> {
    fs::read_link(path).map_err(SourceError::io("could not read the link", path))
}

pub(super) fn walk_error(root: &Path, error: walkdir::Error) -> SourceError {
    let path = error.path().unwrap_or(root).to_owned();
    let source = error
        .into_io_error()
        .unwrap_or_else(|| io::Error::other("its links go round in a circle"));
    SourceError::Io {
        doing: "could not read",
        path,
        source,
    }
}

pub(super) fn below<'a>(root: &Path, path: &'a Path) -> Result<&'a Path, SourceError> {
    path.strip_prefix(root).map_err(|_| {
        SourceError::Invalid(format!(
            "{} is not below {}",
            path.display(),
            root.display()
        ))
    })
}

/// A relative path with `/` between names.
pub(super) fn slashes(path: &Path) -> String {
    let names: Vec<_> = path
        .components()
        .map(|name| name.as_os_str().to_string_lossy())
        .collect();
    names.join("/")
}

#[cfg(unix)]
pub(super) fn is_executable(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
pub(super) fn is_executable(_: &fs::Metadata) -> bool {
    false
}

#[cfg(unix)]
fn copy_link(from: &Path, to: &Path) -> Result<(), SourceError> {
    std::os::unix::fs::symlink(read_link(from)?, to)
        .map_err(SourceError::io("could not make the link", to))
}

#[cfg(not(unix))]
fn copy_link(from: &Path, _: &Path) -> Result<(), SourceError> {
    Err(SourceError::Invalid(format!(
        "{} is a link, which this platform can't copy",
        from.display()
    )))
}
