//! Why a command has not the volumes of its profile.

use lazaret_protocol::RecordError;
use lazaret_runtime::{EngineError, Unenforceable, VolumeId};
use lazaret_transfer::PackError;
use lazaret_tree::{PathError, RelPathBuf};

use crate::cancel::Interrupted;
use crate::engine::lasting_volume::LastingVolumeError;
use crate::porter::conversation::{ExchangeError, PorterError};

/// Why a volume could not be made.
#[derive(Debug, thiserror::Error)]
pub enum VolumeError {
    /// The user wants an end.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The engine can't enforce a control.
    #[error(transparent)]
    Unenforceable(#[from] Unenforceable),
    /// A volume of the session could not be made.
    #[error(transparent)]
    Lasting(#[from] LastingVolumeError),
    /// The porter failed.
    #[error(transparent)]
    Porter(#[from] PorterError),
    /// The disk failed.
    #[error(transparent)]
    Io(#[from] PathError),
    /// An extra directory can't be read, or changed meanwhile.
    #[error(transparent)]
    Pack(#[from] PackError),
    /// What arrived is not known.
    #[error("the receipt")]
    Receipt(#[source] RecordError),
    /// Something else arrived.
    #[error("the receipt is for another tree than the one that was sent")]
    OtherReceipt,
    /// What was sent is not what was read before.
    #[error("the extra directory {name} changed while it was copied")]
    ExtraChanged {
        /// Its name inside.
        name: RelPathBuf,
    },
    /// A thread panicked.
    #[error("creating a volume panicked")]
    Panicked,
    /// There is nothing to mount read-only.
    #[error("shared volume {id} is empty on this engine")]
    Unfilled {
        /// The volume.
        id: VolumeId,
    },
    /// Two fills at once.
    #[error("shared volume {id} is being filled by another lazaret")]
    Busy {
        /// The volume.
        id: VolumeId,
    },
    /// A session uses it.
    #[error("cannot remove shared volume {id}: a session uses it")]
    InUse {
        /// The volume.
        id: VolumeId,
    },
}

impl ExchangeError for VolumeError {
    fn is_of_stream(&self) -> bool {
        match self {
            Self::Porter(error) => error.is_of_stream(),
            Self::Pack(PackError::Write(_)) | Self::Receipt(_) | Self::OtherReceipt => true,
            _ => false,
        }
    }
}
