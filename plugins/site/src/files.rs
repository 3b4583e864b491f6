//! Every change that this plugin makes to files, one function a step.
//!
//! A plugin can be killed between any two steps. All of them pass here so that
//! the tests can do that, at each step in turn, and look at what is left.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;

use crate::failure::{At, Failure, GRANT};

/// How much of a file is held in memory at once.
const CHUNK: usize = 128 * 1024;

/// Makes a directory; its parent must be there.
pub(crate) fn create_directory(path: &Path) -> Result<(), Failure> {
    step()
        .and_then(|()| fs::create_dir(path))
        .changing("create the directory", path)
}

/// Makes a directory and those above it, as far as they are missing.
pub(crate) fn ensure_directory(path: &Path) -> Result<(), Failure> {
    if path.is_dir() {
        return Ok(());
    }
    let made = step().and_then(|()| fs::create_dir_all(path));
    match made {
        // What is not granted is not even there.
        Err(error) if error.kind() == ErrorKind::NotFound => Err(Failure::Because(format!(
            "could not create the directory {}: {error}{GRANT}",
            path.display()
        ))),
        made => made.changing("create the directory", path),
    }
}

/// Copies a regular file to a path where nothing is yet, down to the disk, and
/// says how many bytes it has.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<u64, Failure> {
    let mut source = File::open(from).at("read", from)?;
    let mut copy = step()
        .and_then(|()| OpenOptions::new().write(true).create_new(true).open(to))
        .changing("create", to)?;
    let mut chunk = vec![0; CHUNK];
    let mut bytes = 0;
    loop {
        let read = read(&mut source, &mut chunk).at("read", from)?;
        if read == 0 {
            break;
        }
        write(&mut copy, &chunk[..read]).changing("write", to)?;
        bytes += read as u64;
    }
    step()
        .and_then(|()| to_disk(&copy))
        .changing("write to disk", to)?;
    Ok(bytes)
}

/// Makes a symbolic link.
pub(crate) fn link(target: &str, link: &Path) -> Result<(), Failure> {
    step()
        .and_then(|()| stagewright_sdk::fs::symlink(target, link))
        .changing("create the link", link)
}

/// Renames; what has the new name is replaced, in one step, if it is a link or a
/// file. A directory that is not empty never is.
pub(crate) fn rename(from: &Path, to: &Path) -> Result<(), Failure> {
    step()
        .and_then(|()| fs::rename(from, to))
        .changing(&format!("rename {} to", from.display()), to)
}

/// Removes a file or a link, never what a link leads to. No error if there is
/// none.
pub(crate) fn remove_file(path: &Path) -> Result<(), Failure> {
    step()
        .and_then(|()| or_gone(fs::remove_file(path)))
        .changing("remove", path)
}

/// Removes a directory with all that is in it, following no link. No error if
/// there is none: someone else may be removing it too.
pub(crate) fn remove_tree(path: &Path) -> Result<(), Failure> {
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries.collect::<io::Result<Vec<_>>>().at("list", path)?,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).at("list", path),
    };
    for entry in entries {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => remove_tree(&path)?,
            Ok(_) => remove_file(&path)?,
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error).at("look at", &path),
        }
    }
    step()
        .and_then(|()| or_gone(fs::remove_dir(path)))
        .changing("remove the directory", path)
}

/// Brings the names in a directory down to the disk, so that they are there
/// after a loss of power.
pub(crate) fn sync_directory(path: &Path) -> Result<(), Failure> {
    step()
        .and_then(|()| to_disk(&File::open(path)?))
        .changing("write to disk the directory", path)
}

/// Whether two regular files have the same content.
pub(crate) fn same_content(one: &Path, other: &Path) -> Result<bool, Failure> {
    let mut first = File::open(one).at("read", one)?;
    let mut second = File::open(other).at("read", other)?;
    let (mut left, mut right) = (vec![0; CHUNK], vec![0; CHUNK]);
    loop {
        let read_left = read(&mut first, &mut left).at("read", one)?;
        let read_right = read(&mut second, &mut right).at("read", other)?;
        if left[..read_left] != right[..read_right] {
            return Ok(false);
        }
        if read_left == 0 {
            return Ok(true);
        }
    }
}

/// Fills the buffer as far as the file goes.
fn read(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Writes a chunk. A kill leaves a torn one, as a real one can.
fn write(file: &mut File, chunk: &[u8]) -> io::Result<()> {
    if let Err(killed) = step() {
        file.write_all(&chunk[..chunk.len() / 2])?;
        return Err(killed);
    }
    file.write_all(chunk)
}

/// No test can cut the power, and a thousand deployments would wear out the disk.
fn to_disk(file: &File) -> io::Result<()> {
    if cfg!(test) {
        return file.metadata().map(drop);
    }
    file.sync_all()
}

fn or_gone(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Called before each change to the outside.
#[cfg(not(test))]
pub(crate) fn step() -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
pub(crate) use crate::tests::kill::step;
