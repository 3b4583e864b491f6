//! The plugins directory: which files in it may be plugins, and their bytes.
//!
//! Files are read into memory, never mapped: whoever overwrites one while it is
//! in use changes nothing that runs.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use crate::model::Digest;
use crate::sandbox::bytes;

/// Why a plugins directory can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DirectoryError {
    /// There is none.
    #[error(
        "there is no plugins directory {}: make it and put the plugins' `.wasm` files there, or \
         name another one in the host's configuration",
        .0.display()
    )]
    Missing(PathBuf),
    /// It is a file.
    #[error("the plugins directory {} is not a directory: name one in the host's configuration", .0.display())]
    NotADirectory(PathBuf),
    /// It has no plugin.
    #[error(
        "the plugins directory {} has no `.wasm` file: put the plugins' `.wasm` files there",
        .0.display()
    )]
    Empty(PathBuf),
    /// The system does not let it be read.
    #[error("the plugins directory {} can't be read: {error}", path.display())]
    Unreadable {
        /// The directory.
        path: PathBuf,
        /// What the system says.
        error: String,
    },
}

/// The bytes of a file, and their digest.
#[derive(Clone, Debug)]
pub(super) struct Content {
    pub(super) bytes: Arc<[u8]>,
    pub(super) digest: Digest,
}

/// The names of the files that may be plugins, in order. Blocks.
pub(super) fn scan(directory: &Path) -> Result<Vec<String>, DirectoryError> {
    let unreadable = |error: io::Error| DirectoryError::Unreadable {
        path: directory.to_owned(),
        error: error.to_string(),
    };
    let entries = fs::read_dir(directory).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => DirectoryError::Missing(directory.to_owned()),
        io::ErrorKind::NotADirectory => DirectoryError::NotADirectory(directory.to_owned()),
        _ => unreadable(error),
    })?;
    let mut names = Vec::new();
    for entry in entries {
        let name = entry.map_err(unreadable)?.file_name();
        let name = name.to_string_lossy();
        if name.ends_with(".wasm") && !name.starts_with('.') {
            names.push(name.into_owned());
        }
    }
    if names.is_empty() {
        return Err(DirectoryError::Empty(directory.to_owned()));
    }
    names.sort();
    Ok(names)
}

/// Reads a file of the directory, or says why it is not read. The text goes on
/// after the file's name. Blocks.
pub(super) fn read(directory: &Path, name: &str, largest: u64) -> Result<Content, String> {
    let system = |error: io::Error| format!("can't be read: {error}");
    let path = fs::canonicalize(directory.join(name)).map_err(system)?;
    let directory = fs::canonicalize(directory).map_err(system)?;
    if path.parent() != Some(directory.as_path()) {
        return Err(format!(
            "is a link that leads out of the plugins directory, to {}: put the file itself there",
            path.display()
        ));
    }
    // Before it is opened: opening a named pipe would wait for its writer.
    let data = fs::metadata(&path).map_err(system)?;
    if !data.is_file() {
        return Err("is not a regular file".to_owned());
    }
    let too_large = |size: &str| {
        format!(
            "is too large: a plugin's file is limited to {}, and this has {size}; raise \
             `limits.maxPluginFileSize` if it is meant to be so large",
            bytes(largest)
        )
    };
    if data.len() > largest {
        return Err(too_large(&bytes(data.len())));
    }
    let mut content = Vec::with_capacity(usize::try_from(data.len()).unwrap_or_default());
    let file = File::open(&path).map_err(system)?;
    // It may grow meanwhile.
    file.take(largest.saturating_add(1))
        .read_to_end(&mut content)
        .map_err(system)?;
    if content.len() as u64 > largest {
        return Err(too_large("more"));
    }
    Ok(Content {
        digest: digest(&content),
        bytes: content.into(),
    })
}

/// The SHA-256 of a component's bytes.
pub(super) fn digest(bytes: &[u8]) -> Digest {
    let mut text = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        for digit in [byte >> 4, byte & 15] {
            text.push(char::from_digit(digit.into(), 16).expect("half a byte is a digit"));
        }
    }
    Digest::new(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_missing_an_empty_and_a_wrong_directory_are_told_apart() {
        let root = tempfile::tempdir().expect("a directory");
        let missing = root.path().join("none");
        assert_eq!(
            scan(&missing),
            Err(DirectoryError::Missing(missing.clone()))
        );
        fs::write(root.path().join("notes.txt"), "").expect("a file");
        fs::write(root.path().join(".hidden.wasm"), "").expect("a file");
        assert_eq!(
            scan(root.path()),
            Err(DirectoryError::Empty(root.path().to_owned()))
        );
        let file = root.path().join("notes.txt");
        assert_eq!(
            scan(&file),
            Err(DirectoryError::NotADirectory(file.clone()))
        );
    }

    #[test]
    fn files_are_found_in_order_and_read_with_their_digest() {
        let root = tempfile::tempdir().expect("a directory");
        for name in ["b.wasm", "a.wasm"] {
            fs::write(root.path().join(name), "abc").expect("a file");
        }
        assert_eq!(
            scan(root.path()),
            Ok(vec!["a.wasm".to_owned(), "b.wasm".to_owned()])
        );
        let content = read(root.path(), "a.wasm", 3).expect("a file");
        assert_eq!(&*content.bytes, b"abc");
        assert_eq!(
            content.digest.as_str(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn links_out_other_kinds_and_large_files_are_refused() {
        let root = tempfile::tempdir().expect("a directory");
        let plugins = root.path().join("plugins");
        fs::create_dir_all(plugins.join("directory.wasm")).expect("a directory");
        fs::write(root.path().join("outside"), "abc").expect("a file");
        fs::write(plugins.join("large.wasm"), "abcd").expect("a file");
        symlink("../outside", plugins.join("link.wasm")).expect("a link");
        symlink("large.wasm", plugins.join("alias.wasm")).expect("a link");
        let refusal = |name| read(&plugins, name, 3).expect_err("a refusal");
        assert!(refusal("link.wasm").contains("leads out of the plugins directory"));
        assert!(refusal("directory.wasm").contains("not a regular file"));
        assert!(refusal("large.wasm").contains("limited to 3 bytes, and this has 4 bytes"));
        assert!(
            read(&plugins, "alias.wasm", 4).is_ok(),
            "a link within is fine"
        );
    }
}
