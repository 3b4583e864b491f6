//! The text of a file, and the making of diagnostics that point into it.
//!
//! Everything that can be wrong before the first word is read is told here, each
//! with what to do: no such file, a directory, a device, too large, empty,
//! binary, another encoding.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use super::diagnostic::{Diagnostic, Diagnostics, Severity, Snippet};
use super::yaml::Span;

/// How large a definition may be: 4 MiB. The largest that we have seen in the
/// field has 40 KiB.
pub const MAX_FILE_BYTES: usize = 4 * 1024 * 1024;

/// How many characters of a line a snippet shows.
const SNIPPET_WIDTH: usize = 96;

/// A file's name and text. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Source {
    name: Arc<str>,
    text: Arc<str>,
}

impl Source {
    /// Reads a file of at most [`MAX_FILE_BYTES`].
    ///
    /// # Errors
    /// Says what is wrong with the file and what to do.
    pub fn load(path: &Path) -> Result<Self, Diagnostics> {
        let name = path.display().to_string();
        let refuse = |message: String, help: String| {
            Diagnostics::from(Diagnostic::of_file(
                Severity::Error,
                name.as_str(),
                message,
                help,
            ))
        };
        let unreadable = |error: &io::Error| match error.kind() {
            io::ErrorKind::NotFound if path.is_symlink() => refuse(
                "this is a link to something that is not there".into(),
                "put right what it leads to, or remove it".into(),
            ),
            io::ErrorKind::NotFound => refuse(
                "there is no such file".into(),
                "check the path; it is taken from the directory you are in".into(),
            ),
            io::ErrorKind::PermissionDenied => refuse(
                "this file may not be read".into(),
                "give the user that runs stagewright the right to read it".into(),
            ),
            _ => refuse(
                format!("this file can't be read: {error}"),
                "check the path and the disk".into(),
            ),
        };
        // Asked before the file is opened: opening a pipe would wait for ever.
        let kind = fs::metadata(path)
            .map_err(|error| unreadable(&error))?
            .file_type();
        if kind.is_dir() {
            return Err(refuse(
                "this is a directory, not a file".into(),
                format!(
                    "name the file in it: {}",
                    path.join("app.pipecd.yaml").display()
                ),
            ));
        }
        if !kind.is_file() {
            return Err(refuse(
                "this is not a regular file".into(),
                "name a regular file; pipes, sockets and devices are not read".into(),
            ));
        }
        let mut bytes = Vec::new();
        File::open(path)
            .and_then(|file| file.take(MAX_FILE_BYTES as u64 + 1).read_to_end(&mut bytes))
            .map_err(|error| unreadable(&error))?;
        Self::from_bytes(name.clone(), &bytes)
    }

    /// Takes the bytes of a file that was read elsewhere, from a commit for
    /// example. A byte order mark is dropped.
    ///
    /// # Errors
    /// Says what is wrong with the bytes and what to do.
    pub fn from_bytes(name: impl Into<String>, bytes: &[u8]) -> Result<Self, Diagnostics> {
        let name = name.into();
        let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        let refuse = |at: Option<usize>, message: &str, help: &str| {
            let mut diagnostic = Diagnostic::of_file(Severity::Error, name.as_str(), message, help);
            if let Some(at) = at {
                (diagnostic.line, diagnostic.column) = place_of(bytes, at);
            }
            Err(Diagnostics::from(diagnostic))
        };
        if bytes.len() > MAX_FILE_BYTES {
            return refuse(
                None,
                &format!(
                    "this file is larger than {} MiB, the limit",
                    MAX_FILE_BYTES >> 20
                ),
                "a definition holds settings only; keep data in files of their own",
            );
        }
        if bytes.starts_with(&[0xFE, 0xFF]) || bytes.starts_with(&[0xFF, 0xFE]) {
            return refuse(None, "this file is UTF-16", "save it as UTF-8");
        }
        if let Some(at) = bytes.iter().position(|byte| *byte == 0) {
            return refuse(
                Some(at),
                "this is a binary file: it has a NUL byte",
                "name a YAML file, which is text in UTF-8",
            );
        }
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Self::from_text(name, text)),
            Err(error) => refuse(
                Some(error.valid_up_to()),
                &format!("the byte 0x{:02X} is not UTF-8", bytes[error.valid_up_to()]),
                "save the file as UTF-8; if it isn't text, name a YAML file",
            ),
        }
    }

    /// Takes a text that was made in code.
    pub fn from_text(name: impl Into<String>, text: &str) -> Self {
        Self {
            name: name.into().into(),
            text: text.into(),
        }
    }

    /// The file, as the user named it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text, without a byte order mark.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// An error at a place; of the file as a whole if the place is unknown.
    pub fn error(
        &self,
        at: Option<Span>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Diagnostic {
        self.diagnostic(Severity::Error, at, message.into(), help.into())
    }

    /// A warning at a place; of the file as a whole if the place is unknown.
    pub fn warning(
        &self,
        at: Option<Span>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Diagnostic {
        self.diagnostic(Severity::Warning, at, message.into(), help.into())
    }

    fn diagnostic(
        &self,
        severity: Severity,
        at: Option<Span>,
        message: String,
        help: String,
    ) -> Diagnostic {
        Diagnostic {
            severity,
            file: self.name.to_string(),
            line: at.map(|span| span.line),
            column: at.map(|span| span.column),
            message: bounded(message),
            help: (!help.is_empty()).then(|| bounded(help)),
            snippet: at.and_then(|span| self.snippet(span)),
        }
    }

    /// The line around a place. Its cost depends on the width that is shown, not
    /// on the line: a hostile file may have a million problems in one of
    /// megabytes.
    fn snippet(&self, span: Span) -> Option<Snippet> {
        let (start, end) = (span.start as usize, span.end as usize);
        let on_line = |c: &char| !matches!(c, '\n' | '\r');
        let shown = |c: char| if c.is_control() { ' ' } else { c };
        let most_before = SNIPPET_WIDTH - 16;
        let mut before: Vec<char> = (self.text.get(..start)?.chars().rev())
            .take_while(on_line)
            .take(most_before + 1)
            .map(shown)
            .collect();
        let cut = before.len() > most_before;
        if cut {
            before.truncate(SNIPPET_WIDTH / 4);
        }
        before.reverse();
        let room = SNIPPET_WIDTH - before.len();
        let after: Vec<char> = (self.text.get(start..)?.chars())
            .take_while(on_line)
            .take(room + 1)
            .map(shown)
            .collect();
        let meant = self.text.get(start..end).unwrap_or_default();
        let meant = meant
            .chars()
            .take_while(on_line)
            .take(room)
            .collect::<String>();
        let mut text = String::new();
        if cut {
            text.push_str("... ");
        }
        let caret = text.len() + before.len();
        text.extend(&before);
        text.extend(after.iter().take(room));
        if after.len() > room {
            text.push_str(" ...");
        }
        let width = meant.trim_end().chars().count().max(1);
        Some(Snippet {
            text: text.trim_end().to_owned(),
            caret,
            width,
        })
    }
}

/// A message repeats names from the file, and a name may have megabytes.
fn bounded(mut text: String) -> String {
    if let Some((cut, _)) = text.char_indices().nth(600) {
        text.truncate(cut);
        text.push_str("...");
    }
    text
}

fn place_of(bytes: &[u8], at: usize) -> (Option<u32>, Option<u32>) {
    let before = &bytes[..at];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let line_start = before
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |found| found + 1);
    let column = String::from_utf8_lossy(&before[line_start..])
        .chars()
        .count()
        + 1;
    (u32::try_from(line).ok(), u32::try_from(column).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(bytes: &[u8]) -> String {
        Source::from_bytes("f.yaml", bytes).unwrap_err().to_string()
    }

    #[test]
    fn a_missing_file_is_told_as_such() {
        let error = Source::load(Path::new("no/such/file.yaml")).unwrap_err();
        assert_eq!(error.iter().next().unwrap().file, "no/such/file.yaml");
        assert!(error.to_string().contains("no such file"), "{error}");
    }

    #[test]
    fn a_directory_is_refused_with_the_name_of_the_file_that_was_likely_meant() {
        let directory = tempfile::tempdir().unwrap();
        let error = Source::load(directory.path()).unwrap_err().to_string();
        assert!(error.contains("is a directory"), "{error}");
        assert!(error.contains("app.pipecd.yaml"), "{error}");
    }

    #[test]
    fn a_device_is_refused_before_it_is_opened() {
        let error = Source::load(Path::new("/dev/zero"))
            .unwrap_err()
            .to_string();
        assert!(error.contains("not a regular file"), "{error}");
    }

    #[test]
    fn a_huge_file_is_refused_after_the_limit_and_one_byte() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("huge.yaml");
        // Sparse: fifty megabytes that need no disk.
        File::create(&path).unwrap().set_len(50 << 20).unwrap();
        let error = Source::load(&path).unwrap_err().to_string();
        assert!(error.contains("larger than 4 MiB"), "{error}");
    }

    #[test]
    fn binary_files_and_other_encodings_are_refused_with_the_place() {
        let error = refused(b"kind: A\n\x00");
        assert!(
            error.contains("f.yaml:2:1") && error.contains("binary"),
            "{error}"
        );
        let error = refused(b"kind: A\nname: \xFF\n");
        assert!(
            error.contains("f.yaml:2:7") && error.contains("0xFF"),
            "{error}"
        );
        assert!(refused(b"\xFF\xFEk\0").contains("UTF-16"));
    }

    #[test]
    fn a_byte_order_mark_is_dropped() {
        assert_eq!(
            Source::from_bytes("f", b"\xEF\xBB\xBFa: 1").unwrap().text(),
            "a: 1"
        );
    }

    #[test]
    fn a_line_of_megabytes_is_shown_around_its_place_only() {
        let text = format!("a: {}x{}", "ä".repeat(10_000), "y".repeat(10_000));
        let at = text.find('x').unwrap() as u32;
        let source = Source::from_text("f", &text);
        let span = Span {
            line: 1,
            column: 10_004,
            start: at,
            end: at + 5_000,
        };
        let snippet = source.error(Some(span), "m", "").snippet.unwrap();
        assert!(snippet.text.chars().count() < 120);
        assert_eq!(snippet.text.chars().nth(snippet.caret), Some('x'));
        assert!(snippet.text.starts_with("... ") && snippet.text.ends_with(" ..."));
    }
}
