//! One `From` per error of the gate: which kind it is, and what to do.

use lazaret_gate::allowlist::AllowlistError;
use lazaret_gate::check::CheckError;
use lazaret_gate::check::candidate::CandidateError;
use lazaret_gate::drift::DriftError;
use lazaret_gate::export::ExportError;
use lazaret_gate::export::file::FileError;
use lazaret_gate::export::git_patch::PatchError;
use lazaret_gate::export::html::HtmlError;
use lazaret_gate::file_side::ContentsError;
use lazaret_gate::proposal::ApproveError;
use lazaret_gate::propose::{CaseError, ProposeError};
use lazaret_review::backend::ReviewBackendError;

use super::{Failure, FailureKind};

impl From<CaseError> for Failure {
    fn from(error: CaseError) -> Self {
        match error {
            CaseError::Drift(error) => error.into(),
            CaseError::Propose(error) => error.into(),
        }
    }
}

impl From<DriftError> for Failure {
    fn from(error: DriftError) -> Self {
        match error {
            DriftError::Workspace(error) => error.into(),
            DriftError::Store(error) => error.into(),
        }
    }
}

impl From<ProposeError> for Failure {
    fn from(error: ProposeError) -> Self {
        match error {
            ProposeError::Store(error) => error.into(),
            ProposeError::NotText { .. } => Self::new(FailureKind::Refused, error),
        }
    }
}

impl From<ApproveError> for Failure {
    fn from(error: ApproveError) -> Self {
        Self::new(FailureKind::Internal, error)
    }
}

impl From<AllowlistError> for Failure {
    fn from(error: AllowlistError) -> Self {
        match error {
            AllowlistError::Write(error) => error.into(),
            AllowlistError::NoPlace => Self::new(FailureKind::State, error)
                .hinted("Set HOME or XDG_CONFIG_HOME to an absolute path."),
            AllowlistError::Read { .. } | AllowlistError::Parse(_) => {
                Self::new(FailureKind::Profile, error)
            }
        }
    }
}

impl From<ContentsError> for Failure {
    fn from(error: ContentsError) -> Self {
        Self::new(FailureKind::State, error)
    }
}

impl From<ExportError> for Failure {
    fn from(error: ExportError) -> Self {
        match error {
            ExportError::Propose(error) => error.into(),
            ExportError::Contents(error) => error.into(),
            ExportError::Patch(error) => error.into(),
            ExportError::Html(error) => error.into(),
            ExportError::File(error) => error.into(),
            ExportError::Write(_) => Self::new(FailureKind::State, error),
        }
    }
}

impl From<PatchError> for Failure {
    fn from(error: PatchError) -> Self {
        match error {
            PatchError::Contents(error) => error.into(),
            PatchError::Changed { .. } => Self::new(FailureKind::Refused, error)
                .hinted("Export again when nothing else writes to the workspace."),
            PatchError::Part { .. } | PatchError::Write(_) => Self::new(FailureKind::State, error),
        }
    }
}

impl From<HtmlError> for Failure {
    fn from(error: HtmlError) -> Self {
        match error {
            HtmlError::Contents(error) => error.into(),
            HtmlError::Write(_) => Self::new(FailureKind::State, error),
        }
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        match error {
            FileError::Write { .. } => Self::new(FailureKind::State, error),
            FileError::Exists { .. } => {
                Self::new(FailureKind::Refused, error).hinted("--force replaces it.")
            }
            FileError::NoName { .. }
            | FileError::NoDirectory { .. }
            | FileError::InGit { .. }
            | FileError::NotRegular { .. } => Self::new(FailureKind::Refused, error),
        }
    }
}

impl From<CheckError> for Failure {
    fn from(error: CheckError) -> Self {
        match error {
            CheckError::NoSpool(_) => Self::new(FailureKind::State, error),
            CheckError::Base(_) => Self::new(FailureKind::Workspace, error),
            CheckError::Quarantine(error) => error.into(),
            CheckError::Exclude(error) => error.into(),
            CheckError::BaseLimit(error) => error.into(),
            CheckError::Selection(error) => error.into(),
            CheckError::Candidate(error) => error.into(),
            CheckError::Case(error) => error.into(),
        }
    }
}

impl From<CandidateError> for Failure {
    fn from(error: CandidateError) -> Self {
        match error {
            CandidateError::Walk(_) => Self::new(FailureKind::Workspace, error),
            CandidateError::Archive(_) => Self::new(FailureKind::Transfer, error),
            CandidateError::Changed { .. } => Self::new(FailureKind::Refused, error)
                .hinted("Nothing may write to the candidate while it is judged."),
            CandidateError::Copy(error) => error.into(),
            CandidateError::Store(error) => error.into(),
        }
    }
}

impl From<ReviewBackendError> for Failure {
    fn from(error: ReviewBackendError) -> Self {
        match error {
            ReviewBackendError::Commit(error) => Self::new(FailureKind::Workspace, error),
            ReviewBackendError::Propose(error) => error.into(),
            ReviewBackendError::Contents(error) => error.into(),
            ReviewBackendError::Export(error) => error.into(),
            ReviewBackendError::NoSession => Self::new(FailureKind::Refused, error),
        }
    }
}
