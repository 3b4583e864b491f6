//! A directory as it stands, as a commit: its hash is the digest of its content.

use std::fs;
use std::path::Path;

use sha2::{Digest, Sha256};
use walkdir::WalkDir;

use super::SourceError;
use super::tree::{below, fill, is_executable, open, read_link, walk_error};

/// The digest of a tree: of each entry its path, kind, executable bit and
/// content. Times and owners don't count, so the same files give the same digest
/// wherever they lie.
pub(super) fn digest(root: &Path) -> Result<String, SourceError> {
    let mut hash = Sha256::new();
    for entry in WalkDir::new(root).min_depth(1).sort_by_file_name() {
        let entry = entry.map_err(|error| walk_error(root, error))?;
        let path = entry.path();
        let kind = entry.file_type();
        // Every part is preceded by its length, so that no two trees can be
        // written as the same bytes.
        // As bytes: not every name is a text.
        field(&mut hash, below(root, path)?.as_os_str().as_encoded_bytes());
        if kind.is_dir() {
            field(&mut hash, b"directory");
        } else if kind.is_symlink() {
            field(&mut hash, b"link");
            field(&mut hash, read_link(path)?.as_os_str().as_encoded_bytes());
        } else {
            let metadata = fs::metadata(path).map_err(SourceError::io("could not read", path))?;
            let kind: &[u8] = if is_executable(&metadata) {
                b"executable"
            } else {
                b"file"
            };
            field(&mut hash, kind);
            hash.update(metadata.len().to_be_bytes());
            let mut file = open(path)?;
            let mut chunk = vec![0; 64 * 1024];
            loop {
                let length =
                    fill(&mut file, &mut chunk).map_err(SourceError::io("could not read", path))?;
                if length == 0 {
                    break;
                }
                hash.update(&chunk[..length]);
            }
        }
    }
    Ok(hex(&hash.finalize()))
}

/// Bytes in hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn field(hash: &mut Sha256, bytes: &[u8]) {
    hash.update((bytes.len() as u64).to_be_bytes());
    hash.update(bytes);
}
