//! What goes wrong in a plugin, and how the host is told.
//!
//! [`Error`] mirrors the contract's error. What `?` meets on the way (a refused
//! call, a file error) converts into it; [`Context`] says what was being done.

use std::fmt;

use crate::bindings::types::Error as ContractError;
pub use crate::bindings::types::{ConfigKind, InvalidConfig, Refusal};

/// The result of what a plugin does.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a plugin could not do what it was asked.
///
/// In a planning call it fails the plan, in a stage the stage; its text is the
/// reason that the user reads. A stage that *did its work* and found the result
/// wanting should rather answer [`Outcome::failed`](crate::Outcome::failed).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// A configuration is wrong. The host shows the line of the file.
    InvalidConfig(InvalidConfig),
    /// The plugin was refused something that it needs.
    Denied(String),
    /// The plugin does not do what it was asked.
    Unsupported(String),
    /// The stage was cancelled or has timed out while the plugin waited. Return it
    /// as it is: the host knows which of the two it was.
    Cancelled,
    /// The stage runs again elsewhere; nothing that this call does counts any
    /// more. Return it as it is.
    StaleAttempt,
    /// Anything else.
    Internal(String),
}

impl Error {
    /// Anything that has no kind of its own.
    pub fn internal(message: impl fmt::Display) -> Self {
        Self::Internal(message.to_string())
    }

    /// The plugin does not do what it was asked.
    pub fn unsupported(message: impl fmt::Display) -> Self {
        Self::Unsupported(message.to_string())
    }

    /// The plugin's `config` is wrong at a JSON pointer such as `/endpoint`.
    pub fn invalid_plugin_config(pointer: &str, message: impl fmt::Display) -> Self {
        Self::invalid(ConfigKind::Plugin, "", pointer, message)
    }

    /// The `config` of the deploy target of this name is wrong at a JSON pointer.
    pub fn invalid_deploy_target(target: &str, pointer: &str, message: impl fmt::Display) -> Self {
        Self::invalid(ConfigKind::DeployTarget, target, pointer, message)
    }

    /// The application's section for this plugin is wrong at a JSON pointer.
    pub fn invalid_section(pointer: &str, message: impl fmt::Display) -> Self {
        Self::invalid(ConfigKind::Application, "", pointer, message)
    }

    /// The options of the stage that is executed are wrong at a JSON pointer such
    /// as `/duration`. While planning, use
    /// [`RequestedStage::invalid_options`](crate::RequestedStage::invalid_options).
    pub fn invalid_options(pointer: &str, message: impl fmt::Display) -> Self {
        Self::invalid(ConfigKind::Stage, "", pointer, message)
    }

    pub(crate) fn invalid(
        kind: ConfigKind,
        name: &str,
        pointer: &str,
        message: impl fmt::Display,
    ) -> Self {
        Self::InvalidConfig(InvalidConfig {
            kind,
            name: name.to_owned(),
            path: pointer.to_owned(),
            message: message.to_string(),
        })
    }

    fn map_text(self, change: impl FnOnce(&str) -> String) -> Self {
        match self {
            Self::InvalidConfig(mut wrong) => {
                wrong.message = change(&wrong.message);
                Self::InvalidConfig(wrong)
            }
            Self::Denied(text) => Self::Denied(change(&text)),
            Self::Unsupported(text) => Self::Unsupported(change(&text)),
            Self::Internal(text) => Self::Internal(change(&text)),
            Self::Cancelled | Self::StaleAttempt => self,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidConfig(wrong) => {
                match wrong.kind {
                    ConfigKind::Plugin => f.write_str("the plugin's config")?,
                    ConfigKind::DeployTarget => {
                        write!(f, "the config of the deploy target `{}`", wrong.name)?;
                    }
                    ConfigKind::Application => f.write_str("the application's section")?,
                    ConfigKind::Stage if wrong.name.is_empty() => {
                        f.write_str("the stage's options")?;
                    }
                    ConfigKind::Stage => {
                        write!(f, "the options of stage {} of the pipeline", wrong.name)?;
                    }
                }
                if !wrong.path.is_empty() {
                    write!(f, " at {}", wrong.path)?;
                }
                write!(f, ": {}", wrong.message)
            }
            Self::Denied(text) | Self::Unsupported(text) | Self::Internal(text) => {
                f.write_str(text)
            }
            Self::Cancelled => f.write_str("the stage was cancelled or has timed out"),
            Self::StaleAttempt => f.write_str("the stage runs again elsewhere"),
        }
    }
}

impl std::error::Error for Error {}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Denied(text) => Self::Denied(text),
            Refusal::QuotaExceeded(text) | Refusal::Invalid(text) => Self::Internal(text),
            Refusal::StaleAttempt => Self::StaleAttempt,
            Refusal::Cancelled => Self::Cancelled,
        }
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::Internal(error.to_string())
    }
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::Internal(error.to_string())
    }
}

impl From<String> for Error {
    fn from(message: String) -> Self {
        Self::Internal(message)
    }
}

impl From<&str> for Error {
    fn from(message: &str) -> Self {
        Self::Internal(message.to_owned())
    }
}

impl From<Error> for ContractError {
    fn from(error: Error) -> Self {
        match error {
            Error::InvalidConfig(wrong) => Self::InvalidConfig(wrong),
            Error::Denied(text) => Self::Denied(text),
            Error::Unsupported(text) => Self::Unsupported(text),
            // The host knows both better than the plugin does. It knows the first by
            // its very text, and says itself what it was; the second's is seen by nobody.
            Error::Cancelled | Error::StaleAttempt => Self::Internal(error.to_string()),
            Error::Internal(text) => Self::Internal(text),
        }
    }
}

impl From<ContractError> for Error {
    fn from(error: ContractError) -> Self {
        match error {
            ContractError::InvalidConfig(wrong) => Self::InvalidConfig(wrong),
            ContractError::Denied(text) => Self::Denied(text),
            ContractError::Unsupported(text) => Self::Unsupported(text),
            ContractError::Internal(text) => Self::Internal(text),
        }
    }
}

/// Says what was being done when something went wrong.
///
/// ```
/// use stagewright_sdk::{Context, Result};
///
/// fn read(path: &str) -> Result<String> {
///     std::fs::read_to_string(path).context(format_args!("reading {path}"))
/// }
/// # let error = read("/nowhere").expect_err("there is no such file");
/// # assert!(error.to_string().starts_with("reading /nowhere: "), "{error}");
/// ```
pub trait Context<T> {
    /// Puts `what: ` before the error's text. The error keeps its kind.
    fn context(self, what: impl fmt::Display) -> Result<T>;

    /// The same, with a text that is made only when needed.
    fn with_context<D: fmt::Display>(self, what: impl FnOnce() -> D) -> Result<T>;
}

impl<T, E: Into<Error>> Context<T> for std::result::Result<T, E> {
    fn context(self, what: impl fmt::Display) -> Result<T> {
        self.with_context(|| what)
    }

    fn with_context<D: fmt::Display>(self, what: impl FnOnce() -> D) -> Result<T> {
        self.map_err(|error| error.into().map_text(|text| format!("{}: {text}", what())))
    }
}

impl<T> Context<T> for Option<T> {
    fn context(self, what: impl fmt::Display) -> Result<T> {
        self.ok_or_else(|| Error::internal(what))
    }

    fn with_context<D: fmt::Display>(self, what: impl FnOnce() -> D) -> Result<T> {
        self.ok_or_else(|| Error::internal(what()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_stands_before_the_text_and_the_error_keeps_its_kind() {
        let refused: Result<(), Refusal> = Err(Refusal::Denied("no".to_owned()));
        assert_eq!(
            refused.context("starting git"),
            Err(Error::Denied("starting git: no".to_owned()))
        );
        let wrong: Result<()> = Err(Error::invalid_section("/a", "too long"));
        let error = wrong.with_context(|| "the name").expect_err("it is wrong");
        assert_eq!(
            error.to_string(),
            "the application's section at /a: the name: too long"
        );
        assert_eq!(
            None::<u8>.context("no link"),
            Err(Error::Internal("no link".to_owned()))
        );
    }

    #[test]
    fn a_cancel_and_a_stale_attempt_stay_what_they_are_on_their_way_out() {
        for (refusal, expected) in [
            (Refusal::Cancelled, Error::Cancelled),
            (Refusal::StaleAttempt, Error::StaleAttempt),
        ] {
            let refused: Result<(), Refusal> = Err(refusal);
            assert_eq!(refused.context("waiting"), Err(expected));
        }
    }

    #[test]
    fn a_limit_that_was_reached_is_told_in_the_hosts_own_words() {
        let limit = Refusal::QuotaExceeded("state.bytes is 1 MiB; 2 MiB were wanted".to_owned());
        assert_eq!(
            Error::from(limit).to_string(),
            "state.bytes is 1 MiB; 2 MiB were wanted"
        );
    }
}
