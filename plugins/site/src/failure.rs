//! Why a step on a deploy target, or on a source, could not be done.

use std::fmt;
use std::io::{self, ErrorKind};
use std::path::Path;

/// What went wrong, as far as the code that hears of it must tell apart.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The directory to publish is none, or empty.
    Directory(String),
    /// A file tree holds something that can't be published.
    Refused(String),
    /// A step did not work; a whole sentence for the operator.
    Because(String),
    /// The host refused a call, or the stage was cancelled: nothing more can be
    /// done.
    Host(stagewright_sdk::Error),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(why) | Self::Refused(why) | Self::Because(why) => f.write_str(why),
            Self::Host(error) => write!(f, "{error}"),
        }
    }
}

impl From<stagewright_sdk::Error> for Failure {
    fn from(error: stagewright_sdk::Error) -> Self {
        Self::Host(error)
    }
}

/// The whole call can't be answered.
impl From<Failure> for stagewright_sdk::Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Directory(why) => Self::invalid_section("/directory", why),
            Failure::Refused(why) => Self::unsupported(why),
            Failure::Because(why) => Self::internal(why),
            Failure::Host(error) => error,
        }
    }
}

/// What a refused change to files mostly comes from.
pub(crate) const GRANT: &str = " (the plugin can write only in or below a `guest` directory that \
    its `allow.filesystem` grants with `access: read-write`)";

/// Says what was tried, and on which path, of a file error. `verb` completes
/// "could not …".
pub(crate) trait At<T> {
    /// Of something that was only read.
    fn at(self, verb: &str, path: &Path) -> Result<T, Failure>;

    /// Of a change, which a grant may be missing for.
    fn changing(self, verb: &str, path: &Path) -> Result<T, Failure>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, verb: &str, path: &Path) -> Result<T, Failure> {
        self.map_err(|error| could_not(verb, path, &error, ""))
    }

    fn changing(self, verb: &str, path: &Path) -> Result<T, Failure> {
        self.map_err(|error| {
            let hint = match error.kind() {
                ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => GRANT,
                _ => "",
            };
            could_not(verb, path, &error, hint)
        })
    }
}

fn could_not(verb: &str, path: &Path, error: &io::Error, hint: &str) -> Failure {
    Failure::Because(format!(
        "could not {verb} {}: {error}{hint}",
        path.display()
    ))
}
