//! One `From` per error of the crates below: which kind it is, and what to do.

use lazaret_image_builder::BuildError;
use lazaret_protocol::{RecordError, StreamError, SurveyError};
use lazaret_runtime::{NameError, ProbeFailure, Unenforceable};
use lazaret_transfer::{
    ApplyError, BlobStoreError, InsertError, PackError, RecoverError, SelectError, SurveyMismatch,
    UndoError, WalkError,
};
use lazaret_tree::PathError;

use super::{Failure, FailureKind, recover_hint};
use crate::profile::ProfileError;
use lazaret_session::cancel::Interrupted;
use lazaret_session::store::StoreError;

impl From<BuildError> for Failure {
    fn from(error: BuildError) -> Self {
        // That is a word on the command line; a profile's image was checked before.
        let kind = match &error {
            BuildError::Unknown { .. } => FailureKind::Refused,
            _ => FailureKind::Image,
        };
        let hint = match &error {
            BuildError::NoPorter => crate::porter::HOW_TO_BUILD,
            BuildError::Unknown { .. } => "`lazaret image ls` lists the images.",
            BuildError::Spec(_) | BuildError::Catalog(_) => {
                "docs/reference/images.md describes the keys of a declaration."
            }
            BuildError::Combine(_) => {
                "Declare one image with the components of both: docs/reference/images.md."
            }
            _ => "`lazaret image build -v` shows every step.",
        };
        Self::new(kind, error).hinted(hint)
    }
}

impl From<Unenforceable> for Failure {
    fn from(error: Unenforceable) -> Self {
        Self::new(FailureKind::Engine, error).hinted(
            "lazaret never starts a command with a control missing; `lazaret doctor` shows what \
             each engine can enforce.",
        )
    }
}

impl From<NameError> for Failure {
    fn from(error: NameError) -> Self {
        Self::new(FailureKind::Usage, error)
    }
}

impl From<PathError> for Failure {
    fn from(error: PathError) -> Self {
        Self::new(FailureKind::State, error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let unfinished;
        let (kind, hint) = match &error {
            StoreError::Unfinished { id, .. } => {
                unfinished = recover_hint(id);
                (FailureKind::Refused, Some(unfinished.as_str()))
            }
            StoreError::NotFound { .. } => (
                FailureKind::Refused,
                Some("`lazaret ls` lists the sessions."),
            ),
            StoreError::Exists { .. } => (
                FailureKind::Refused,
                Some("Choose another --name, or remove that session with `lazaret rm`."),
            ),
            StoreError::Busy { .. } => (FailureKind::Refused, None),
            StoreError::Io(_) | StoreError::Record { .. } | StoreError::Name(_) => {
                (FailureKind::State, None)
            }
        };
        let failure = Self::new(kind, error);
        match hint {
            Some(hint) => failure.hinted(hint),
            None => failure,
        }
    }
}

impl From<ApplyError> for Failure {
    fn from(error: ApplyError) -> Self {
        let kind = match &error {
            ApplyError::Conflicts(_)
            | ApplyError::Obstacles(_)
            | ApplyError::WorkspaceMoved { .. } => FailureKind::Refused,
            _ => FailureKind::State,
        };
        let hint = match &error {
            ApplyError::Unfinished { .. } => {
                "The workspace may be in between: run `lazaret recover` before anything else."
            }
            _ => "Nothing was applied; the changes are kept in the session.",
        };
        Self::new(kind, error).hinted(hint)
    }
}

impl From<ProbeFailure> for Failure {
    fn from(error: ProbeFailure) -> Self {
        Self::new(FailureKind::Engine, error)
            .context("the container is not closed as it has to be, so the command was not started")
            .hinted("`lazaret doctor` shows what the engine can enforce.")
    }
}

impl From<UndoError> for Failure {
    fn from(error: UndoError) -> Self {
        match error {
            UndoError::Apply(error) => error.into(),
            error => Self::new(FailureKind::Refused, error),
        }
    }
}

impl From<RecoverError> for Failure {
    fn from(error: RecoverError) -> Self {
        Self::new(FailureKind::State, error)
    }
}

impl From<PackError> for Failure {
    fn from(error: PackError) -> Self {
        // A broken stream is the other end's fault, and the other end says why.
        let kind = match &error {
            PackError::Write(_) => FailureKind::Transfer,
            _ => FailureKind::Workspace,
        };
        Self::new(kind, error).context("the workspace could not be copied in")
    }
}

impl From<WalkError> for Failure {
    fn from(error: WalkError) -> Self {
        Self::new(FailureKind::Workspace, error)
    }
}

impl From<SelectError> for Failure {
    fn from(error: SelectError) -> Self {
        Self::new(FailureKind::Workspace, error)
    }
}

impl From<Interrupted> for Failure {
    fn from(error: Interrupted) -> Self {
        Self::new(FailureKind::Interrupted, error)
    }
}

impl From<ProfileError> for Failure {
    fn from(error: ProfileError) -> Self {
        Self::new(FailureKind::Profile, error)
    }
}

/// What to do when the state directory can't be written; the usual cause is a full disk.
const STATE: &str = "Nothing was applied and the session's volume is kept: make room where \
    XDG_STATE_HOME is (~/.local/state), then `lazaret recover`.";

impl From<BlobStoreError> for Failure {
    fn from(error: BlobStoreError) -> Self {
        match error {
            BlobStoreError::Io(_) => Self::new(FailureKind::State, error).hinted(STATE),
            BlobStoreError::NotPrivate { .. }
            | BlobStoreError::Damaged { .. }
            | BlobStoreError::DamagedFile { .. } => Self::new(FailureKind::State, error),
        }
    }
}

impl From<InsertError> for Failure {
    fn from(error: InsertError) -> Self {
        match error {
            InsertError::Store(error) => error.into(),
            InsertError::Read(_) | InsertError::TooBig { .. } => {
                Self::new(FailureKind::Transfer, error)
            }
        }
    }
}

impl From<StreamError> for Failure {
    fn from(error: StreamError) -> Self {
        Self::new(FailureKind::Transfer, error)
    }
}

impl From<SurveyError> for Failure {
    fn from(error: SurveyError) -> Self {
        Self::new(FailureKind::Transfer, error)
    }
}

impl From<RecordError> for Failure {
    fn from(error: RecordError) -> Self {
        Self::new(FailureKind::Transfer, error)
    }
}

impl From<SurveyMismatch> for Failure {
    fn from(error: SurveyMismatch) -> Self {
        Self::new(FailureKind::Transfer, error)
    }
}
