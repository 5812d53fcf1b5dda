//! Words the errors of bringing commits home.

use lazaret_commits::git::GitError;
use lazaret_commits::land::LandError;
use lazaret_commits::quarantine::QuarantineError;

use super::{Failure, FailureKind};
use lazaret_session::commits::fetch::FetchError;
use lazaret_session::commits::landed::NoteError;

/// What holds of every failure before something is landed.
const KEPT: &str = "Nothing is lost: the commits stay in the copy.";

impl From<GitError> for Failure {
    fn from(error: GitError) -> Self {
        let kind = match &error {
            GitError::Cancelled => FailureKind::Interrupted,
            GitError::Run(_) | GitError::Failed { .. } => FailureKind::Workspace,
        };
        Self::new(kind, error)
    }
}

impl From<QuarantineError> for Failure {
    fn from(error: QuarantineError) -> Self {
        match error {
            QuarantineError::Git(error @ GitError::Failed { .. }) => {
                Self::new(FailureKind::Transfer, error).hinted(KEPT)
            }
            QuarantineError::Git(error) => error.into(),
            QuarantineError::Io(error) => error.into(),
            error @ (QuarantineError::Source(_)
            | QuarantineError::TooLarge
            | QuarantineError::ManyObjects(_)
            | QuarantineError::NoPack) => Self::new(FailureKind::Transfer, error).hinted(KEPT),
        }
    }
}

impl From<FetchError> for Failure {
    fn from(error: FetchError) -> Self {
        match error {
            FetchError::Pack(error) => error.into(),
            FetchError::Quarantine(error) => error.into(),
            FetchError::Git(error) => error.into(),
            FetchError::Io(error) => error.into(),
        }
    }
}

impl From<LandError> for Failure {
    fn from(error: LandError) -> Self {
        match error {
            LandError::Git(error) => error.into(),
            error @ LandError::CheckedOut(_) => Self::new(FailureKind::Refused, error),
        }
    }
}

impl From<NoteError> for Failure {
    fn from(error: NoteError) -> Self {
        match error {
            NoteError::Io(error) => error.into(),
            NoteError::Store(error) => error.into(),
        }
    }
}
