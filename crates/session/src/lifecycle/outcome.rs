//! What a run came to before the gate.

use std::io;

use lazaret_runtime::SessionId;
use lazaret_tree::PathError;

use crate::cancel::Interrupted;
use crate::lifecycle::collect::{CollectError, Collected};
use crate::lifecycle::create::CreateError;
use crate::lifecycle::fill::FillError;
use crate::lifecycle::guard::GuardError;
use crate::lifecycle::stop::StopError;
use crate::lifecycle::supervise::CommandError;
use crate::lifecycle::update_summary::UpdateSummary;
use crate::services::ServiceError;
use crate::setup_steps::SetupStepError;
use crate::store::StoreError;

/// What a run came to, before the gate.
#[derive(Debug)]
pub struct RunOutcome {
    /// What was collected.
    pub collected: Collected,
    /// How the volume was updated before the command; `None` if it was filled.
    pub update: Option<UpdateSummary>,
}

/// Why a run ended before the gate.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The user wants an end.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// What it runs in could not be made.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// The volume does not hold the workspace.
    #[error(transparent)]
    Fill(#[from] FillError),
    /// The command may not start on it.
    #[error(transparent)]
    Guard(#[from] GuardError),
    /// A service does not run.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// A setup step failed.
    #[error(transparent)]
    Setup(#[from] SetupStepError),
    /// The session could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The disk failed.
    #[error(transparent)]
    Io(#[from] PathError),
    /// Clients can't reach the session.
    #[error("clients can't reach the session")]
    Unreachable {
        /// The session.
        id: SessionId,
        /// Why.
        source: io::Error,
    },
    /// How the command ended is not known. What it did is in the volume.
    #[error("lost sight of the command")]
    Lost {
        /// The session.
        id: SessionId,
        /// Why.
        source: CommandError,
    },
    /// The command could not be ended in good order. What it did is in the volume.
    #[error("{source}")]
    NotStopped {
        /// The session.
        id: SessionId,
        /// Why.
        source: StopError,
    },
    /// What the command did is still in the volume.
    #[error("{source}")]
    NotCollected {
        /// The session.
        id: SessionId,
        /// Why.
        source: CollectError,
    },
    /// The user did not want to wait for the collection.
    #[error("interrupted")]
    Insisted {
        /// The session.
        id: SessionId,
    },
}
