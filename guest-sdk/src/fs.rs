//! What `std::fs` lacks in the sandbox.
//!
//! `std::fs` itself works below the sources (read only), the scratch directory
//! and the directories that the operator granted. Its missing piece is the
//! symbolic link: on `wasm32-wasip2` the standard library has no stable call that
//! makes one.

use std::io;
use std::path::{Path, PathBuf};

use crate::sys;

/// The plugin's scratch directory: writable, and its own for this deployment.
pub fn scratch() -> PathBuf {
    sys::scratch()
}

/// Makes a symbolic link at `link` that holds `target`, which need not exist. An
/// error of the kind `AlreadyExists` if there is something at `link`.
///
/// The sandbox refuses an absolute target.
pub fn symlink(target: impl AsRef<Path>, link: impl AsRef<Path>) -> io::Result<()> {
    sys::symlink(target.as_ref(), link.as_ref())
}

/// Makes the symbolic link `link` hold `target`, whether it exists or not, in one
/// step: whoever looks, sees the old link or the new one, never none.
///
/// The new link is made beside it under a temporary name (`.<name>.new`) and
/// renamed over it. A leftover of that name from a call that was killed is
/// replaced; two calls on one link at once are the caller's to prevent. What
/// stands at `link` and is no directory is replaced too.
pub fn replace_symlink(target: impl AsRef<Path>, link: impl AsRef<Path>) -> io::Result<()> {
    let link = link.as_ref();
    let name = link.file_name().ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{} has no name to link", link.display()),
        )
    })?;
    let mut temporary = std::ffi::OsString::from(".");
    temporary.push(name);
    temporary.push(".new");
    let temporary = link.with_file_name(temporary);
    match std::fs::remove_file(&temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    symlink(target, &temporary)?;
    std::fs::rename(&temporary, link).inspect_err(|_| {
        // The rename's error is the one to report; the next call removes this one.
        let _ = std::fs::remove_file(&temporary);
    })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_replaced_even_if_a_killed_call_left_its_temporary_behind() {
        let directory = tempfile::tempdir().expect("a directory");
        let link = directory.path().join("current");
        symlink("releases/1", directory.path().join(".current.new")).expect("the leftover");
        replace_symlink("releases/2", &link).expect("made");
        replace_symlink("releases/3", &link).expect("replaced");
        assert_eq!(
            std::fs::read_link(&link).expect("a link"),
            Path::new("releases/3")
        );
        assert_eq!(
            std::fs::read_dir(directory.path())
                .expect("readable")
                .count(),
            1
        );
    }

    #[test]
    fn a_directory_at_the_links_place_is_kept() {
        let directory = tempfile::tempdir().expect("a directory");
        let link = directory.path().join("current");
        std::fs::create_dir(&link).expect("made");
        replace_symlink("releases/1", &link).expect_err("a directory is not replaced");
        assert!(link.is_dir());
        assert_eq!(
            std::fs::read_dir(directory.path())
                .expect("readable")
                .count(),
            1
        );
    }

    #[test]
    fn making_a_link_where_something_is_says_so() {
        let directory = tempfile::tempdir().expect("a directory");
        let link = directory.path().join("current");
        std::fs::write(&link, "").expect("written");
        let error = symlink("x", &link).expect_err("there is a file");
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    }
}
