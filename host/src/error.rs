//! What can go wrong, as an embedder sees it.

use crate::definition::Diagnostics;
use crate::lifecycle::Rejected;
use crate::runner::{PlanFailure, RunError, TransitionError};
use crate::source::SourceError;
use crate::store::StoreError;

/// Why a host did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file that people write is wrong; where, and what would be right.
    #[error("{0}")]
    Definition(Diagnostics),
    /// What was asked for is wrong in another way. The text says what to do.
    #[error("{0}")]
    Input(String),
    /// The files to deploy could not be brought.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The plugins can't plan it.
    #[error("the deployment can't be planned: {0}")]
    Plan(PlanFailure),
    /// There are no plugins to work with. The text says what to do.
    #[error("{0}")]
    Plugins(String),
    /// What someone wanted to do to a deployment does not fit where it stands, or
    /// is not theirs to do.
    #[error(transparent)]
    Refused(#[from] Rejected),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The host itself failed.
    #[error("the host failed: {0}")]
    Host(String),
}

impl Error {
    /// Whether the fault is in what was given, rather than in the host.
    pub fn is_bad_input(&self) -> bool {
        matches!(
            self,
            Self::Definition(_)
                | Self::Input(_)
                | Self::Plan(_)
                | Self::Plugins(_)
                | Self::Refused(_)
                | Self::Source(SourceError::Invalid(_))
                | Self::Store(StoreError::Missing(_))
        )
    }
}

impl From<RunError> for Error {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Store(error) => Self::Store(error),
            RunError::Source(error) => Self::Source(error),
            RunError::Unknown(_) => Self::Input(error.to_string()),
            RunError::Broken(_) => Self::Host(error.to_string()),
        }
    }
}

impl From<TransitionError> for Error {
    fn from(error: TransitionError) -> Self {
        match error {
            TransitionError::Rejected(rejected) => Self::Refused(rejected),
            TransitionError::Run(error) => error.into(),
        }
    }
}
