//! `UpdateError`: why a volume was not brought up to date.

use lazaret_protocol::{RecordError, SurveyError};
use lazaret_runtime::EngineError;
use lazaret_transfer::{PackError, WalkError};
use lazaret_tree::{PathError, RelPathBuf, escape};

use crate::cancel::Interrupted;
use crate::lifecycle::file_limit::TooLarge;
use crate::lifecycle::protection_plan::ProtectError;
use crate::porter::conversation::{ExchangeError, PorterError};
use crate::store::sync_state::SyncStateError;

/// Why a volume was not brought up to date. It is sound, and the next update knows of what had arrived.
#[derive(Debug, thiserror::Error)]
pub enum UpdateError {
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The user wants an end.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// The porter failed.
    #[error(transparent)]
    Porter(#[from] PorterError),
    /// What is known of the volume can't be read or written.
    #[error(transparent)]
    State(#[from] SyncStateError),
    /// The disk failed.
    #[error(transparent)]
    Io(#[from] PathError),
    /// The workspace can't be read.
    #[error(transparent)]
    Walk(#[from] WalkError),
    /// A file of the workspace is not what it was.
    #[error(transparent)]
    Pack(#[from] PackError),
    /// What the porter said can't be read.
    #[error(transparent)]
    Wire(#[from] RecordError),
    /// What the porter says of the volume can't be.
    #[error(transparent)]
    Volume(#[from] SurveyError),
    /// A file is too large.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// What is protected can't be told.
    #[error(transparent)]
    Protect(#[from] ProtectError),
    /// The volume is over the limits, or can't be believed: it is not written to.
    #[error("the volume can't be brought up to date: {}", .0.code())]
    Unbelievable(#[source] SurveyError),
    /// The receipt does not fit what was sent.
    #[error("the receipt is for another stream than the one that was sent")]
    OtherReceipt,
    /// It would have changed what the command, which goes on, can only read.
    #[error("{} changed in the workspace, and is protected", escape(.path.as_str().as_bytes()))]
    Protected {
        /// The first such path.
        path: RelPathBuf,
    },
    /// A thread panicked.
    #[error("reading ahead panicked")]
    Panicked,
}

impl ExchangeError for UpdateError {
    fn is_of_stream(&self) -> bool {
        match self {
            Self::Porter(error) => error.is_of_stream(),
            Self::Wire(_) | Self::Volume(_) | Self::OtherReceipt => true,
            _ => false,
        }
    }
}
