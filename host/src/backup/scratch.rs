//! The scratch directories of a backup: what plugins and their programs keep there
//! from one stage to the next.
//!
//! They are copied while stages may be writing to them, after the database: so they
//! may be newer than it, never older. That is how a crash leaves them too, and what
//! a plugin has to bear.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use walkdir::WalkDir;

use crate::error::Error;

/// What a directory is called in which a source is still being copied. Whoever needs
/// that copy begins anew.
const UNFINISHED: &str = ".copying-";

/// Copies the scratch directories of all deployments. What vanishes meanwhile is not
/// missed, and what can't be kept or read is told, and left out. Blocks.
pub(super) fn copy_scratch(from: &Path, to: &Path) -> Result<(), Error> {
    let mut directories: Vec<(PathBuf, Permissions)> = Vec::new();
    let whole =
        |name: &std::ffi::OsStr| !name.as_encoded_bytes().starts_with(UNFINISHED.as_bytes());
    let entries = WalkDir::new(from)
        .into_iter()
        .filter_entry(|entry| whole(entry.file_name()));
    for entry in entries {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                let path = error.path().unwrap_or(from).to_owned();
                leave_out(&path, &error.into());
                continue;
            }
        };
        let path = entry.path();
        let Ok(below) = path.strip_prefix(from) else {
            continue;
        };
        let target = to.join(below);
        let kind = entry.file_type();
        if kind.is_dir() {
            fs::create_dir_all(&target).map_err(|error| failed(&target, &error))?;
            match entry.metadata() {
                Ok(data) => directories.push((target, data.permissions())),
                Err(error) => leave_out(path, &error.into()),
            }
        } else if kind.is_symlink() {
            match fs::read_link(path) {
                Ok(link) => symlink(link, &target).map_err(|error| failed(&target, &error))?,
                Err(error) => leave_out(path, &error),
            }
        } else if kind.is_file() {
            match open(path) {
                Ok((file, permissions)) => copy_file(file, permissions, &target)?,
                Err(error) => leave_out(path, &error),
            }
        } else {
            let error = io::Error::other("it is no file, directory or link");
            leave_out(path, &error);
        }
    }
    // When all that is in them is there: they may be read-only.
    for (directory, permissions) in directories.into_iter().rev() {
        fs::set_permissions(&directory, permissions).map_err(|error| failed(&directory, &error))?;
    }
    Ok(())
}

/// Opens a file, and nothing that has taken its place meanwhile: a named pipe would
/// wait for a writer, and a link may lead anywhere.
fn open(path: &Path) -> io::Result<(File, Permissions)> {
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW;
    let flags = i32::try_from(flags.bits()).map_err(io::Error::other)?;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(path)?;
    let data = file.metadata()?;
    if data.is_file() {
        Ok((file, data.permissions()))
    } else {
        Err(io::Error::other("it is no file any more"))
    }
}

fn copy_file(mut from: File, permissions: Permissions, to: &Path) -> Result<(), Error> {
    let copy = || {
        let mut copy = File::create_new(to)?;
        io::copy(&mut from, &mut copy)?;
        copy.set_permissions(permissions)
    };
    copy().map_err(|error| failed(to, &error))
}

/// Tells what is not in the copy; but not what its plugin has removed.
fn leave_out(path: &Path, error: &io::Error) {
    if error.kind() != io::ErrorKind::NotFound {
        tracing::warn!(path = %path.display(), %error, "left out of the backup");
    }
}

fn failed(path: &Path, error: &io::Error) -> Error {
    Error::Input(format!(
        "the scratch directories can't be copied: {}: {error}",
        path.display()
    ))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    use super::*;

    fn mode(path: &Path) -> u32 {
        let data = path.symlink_metadata().expect("it is there");
        data.permissions().mode() & 0o777
    }

    #[test]
    fn files_links_and_modes_are_copied_and_what_is_neither_is_left_out() {
        let place = tempfile::tempdir().expect("a directory");
        let (from, to) = (place.path().join("from"), place.path().join("to"));
        let plugin = from.join("d1/script");
        fs::create_dir_all(plugin.join(".private/target/deep")).expect("a directory");
        fs::create_dir_all(plugin.join(".private/.copying-x/target")).expect("a directory");
        fs::write(plugin.join(".private/target/deep/made"), "kept").expect("a file");
        fs::write(plugin.join("run"), "#!/bin/sh").expect("a file");
        let modes = |path: &str, mode: u32| {
            fs::set_permissions(plugin.join(path), Permissions::from_mode(mode)).expect("a mode");
        };
        modes("run", 0o750);
        modes(".private/target/deep", 0o555);
        symlink("/nowhere", plugin.join("link")).expect("a link");
        let pipe = Command::new("mkfifo").arg(plugin.join("pipe")).status();
        assert!(pipe.expect("mkfifo is there").success());
        copy_scratch(&from, &to).expect("a copy");
        let copy = to.join("d1/script");
        let made = copy.join(".private/target/deep/made");
        assert_eq!(fs::read_to_string(made).expect("a file"), "kept");
        assert_eq!(mode(&copy.join("run")), 0o750);
        assert_eq!(mode(&copy.join(".private/target/deep")), 0o555);
        let link = fs::read_link(copy.join("link")).expect("a link");
        assert_eq!(link, Path::new("/nowhere"));
        assert!(!copy.join("pipe").exists());
        assert!(!copy.join(".private/.copying-x").exists());
        // So that the directory can be removed.
        for root in [&from, &to] {
            crate::source::remove_tree(root).expect("it goes");
        }
    }

    #[test]
    fn where_there_is_nothing_nothing_is_copied() {
        let place = tempfile::tempdir().expect("a directory");
        copy_scratch(&place.path().join("none"), &place.path().join("to")).expect("nothing to do");
        assert!(!place.path().join("to").exists());
    }
}
