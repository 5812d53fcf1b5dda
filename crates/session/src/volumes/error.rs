//! Why a command has not the volumes of its profile.

use lazaret_runtime::{EngineError, Unenforceable, VolumeId};
use lazaret_tree::PathError;

use crate::cancel::Interrupted;
use crate::engine::lasting_volume::LastingVolumeError;
use crate::porter::conversation::PorterError;

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
