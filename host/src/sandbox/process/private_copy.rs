//! A private, writable copy of a source, for programs that write where they
//! work: the source itself is shared by all stages and is never written.
//!
//! Made once for a deployment and a plugin, in the plugin's scratch directory, so
//! that what one stage builds is there for the next.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use crate::source::copy_tree;

/// The directory of the copies within the scratch directory.
const PRIVATE: &str = ".private";

/// The copy of a source under a name; made, if there is none. Blocks.
pub(super) fn private_copy(source: &Path, scratch: &Path, name: &str) -> io::Result<PathBuf> {
    let private = scratch.join(PRIVATE);
    match fs::create_dir(&private) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    // The plugin can write to its scratch directory: a link here would lead the
    // host to write elsewhere for it.
    require_directory(&private)?;
    let copy = private.join(name);
    match copy.symlink_metadata() {
        Ok(_) => {
            require_directory(&copy)?;
            return Ok(copy);
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let making = tempfile::Builder::new()
        .prefix(".copying-")
        .tempdir_in(&private)?;
    let tree = making.path().join(name);
    // How large a source may be was asked when it was fetched.
    copy_tree(source, &tree, &|_| false, u64::MAX).map_err(io::Error::other)?;
    make_writable(&tree)?;
    match fs::rename(&tree, &copy) {
        // Another stage was faster: its copy is as good.
        Err(_) if require_directory(&copy).is_ok() => Ok(copy),
        renamed => renamed.map(|()| copy),
    }
}

fn require_directory(path: &Path) -> io::Result<()> {
    if path.symlink_metadata()?.is_dir() {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "{} should be a directory of the host's, and the plugin has put something else there",
        path.display()
    )))
}

/// A program may write to its copy of a file that is read-only in the source.
fn make_writable(tree: &Path) -> io::Result<()> {
    for entry in WalkDir::new(tree) {
        let entry = entry?;
        if entry.file_type().is_file() {
            let mut permissions = entry.metadata()?.permissions();
            permissions.set_mode(permissions.mode() | 0o600);
            fs::set_permissions(entry.path(), permissions)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn read(path: impl AsRef<Path>) -> String {
        fs::read_to_string(path).expect("a file")
    }

    #[test]
    fn the_copy_is_writable_kept_and_has_links_as_links() {
        let source = tempfile::tempdir().expect("a directory");
        let scratch = tempfile::tempdir().expect("a directory");
        fs::create_dir(source.path().join("sub")).expect("a directory");
        let file = source.path().join("sub/file");
        fs::write(&file, "original").expect("a file");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o555)).expect("a mode");
        symlink("/etc/passwd", source.path().join("out")).expect("a link");

        let copy = private_copy(source.path(), scratch.path(), "target").expect("a copy");
        assert_eq!(
            fs::read_link(copy.join("out")).expect("a link"),
            Path::new("/etc/passwd")
        );
        let mode = fs::metadata(copy.join("sub/file"))
            .expect("a file")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o755, "still executable, and writable");
        fs::write(copy.join("sub/file"), "changed").expect("a writable file");

        let again = private_copy(source.path(), scratch.path(), "target").expect("a copy");
        assert_eq!(read(again.join("sub/file")), "changed");
        assert_eq!(read(file), "original");
        let left: Vec<_> = fs::read_dir(scratch.path().join(PRIVATE))
            .expect("a directory")
            .collect();
        assert_eq!(left.len(), 1, "nothing half made stays: {left:?}");
    }

    #[test]
    fn a_link_that_the_plugin_put_in_the_way_is_refused() {
        let source = tempfile::tempdir().expect("a directory");
        let elsewhere = tempfile::tempdir().expect("a directory");
        let scratch = tempfile::tempdir().expect("a directory");
        symlink(elsewhere.path(), scratch.path().join(PRIVATE)).expect("a link");
        let error = private_copy(source.path(), scratch.path(), "target").expect_err("a refusal");
        assert!(error.to_string().contains("has put something else there"));
        assert_eq!(
            fs::read_dir(elsewhere.path()).expect("a directory").count(),
            0
        );
    }

    #[test]
    fn what_is_no_file_is_named_and_nothing_half_made_stays() {
        let source = tempfile::tempdir().expect("a directory");
        let scratch = tempfile::tempdir().expect("a directory");
        let _socket =
            std::os::unix::net::UnixListener::bind(source.path().join("socket")).expect("a socket");
        let error = private_copy(source.path(), scratch.path(), "target").expect_err("a refusal");
        assert!(error.to_string().contains("socket is no file"), "{error}");
        assert_eq!(
            fs::read_dir(scratch.path().join(PRIVATE))
                .expect("a directory")
                .count(),
            0
        );
    }
}
