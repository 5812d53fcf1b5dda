//! `MountPlan`: a volume that the command's container has beside that of the workspace.

use lazaret_runtime::{Access, VolumeId, VolumeMount, VolumeName};
use lazaret_tree::Digest;

use crate::engine::owner::ResourceOwner;

/// A volume, and where it is mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountPlan {
    /// Which volume.
    pub source: MountSource,
    /// An absolute path inside.
    pub target: String,
}

/// Which volume is mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MountSource {
    /// The session's own; it stays until the session is removed.
    Kept(VolumeId),
    /// The session's copy of a shared volume; it goes with the copy of the workspace.
    Copied(VolumeId),
    /// The session's copy of other directories of the host, in the state with this digest. It goes
    /// with the copy of the workspace.
    Extra(Digest),
    /// A volume that is not the session's.
    Shared {
        /// Its name in the engine.
        volume: VolumeName,
        /// Read-only, unless the command is the one that fills it.
        access: Access,
    },
}

impl MountPlan {
    /// Returns the mount in the container of `owner`.
    pub(crate) fn of(&self, owner: &ResourceOwner) -> VolumeMount {
        VolumeMount {
            volume: match &self.source {
                MountSource::Kept(id) => owner.kept_volume(id),
                MountSource::Copied(id) => owner.copied_volume(id),
                MountSource::Extra(_) => owner.extra_volume(),
                MountSource::Shared { volume, .. } => volume.clone(),
            },
            target: self.target.clone(),
            access: self.access(),
        }
    }

    /// Returns whether the command may write to it.
    pub(crate) fn access(&self) -> Access {
        match &self.source {
            MountSource::Kept(_) | MountSource::Copied(_) => Access::ReadWrite,
            MountSource::Extra(_) => Access::ReadOnly,
            MountSource::Shared { access, .. } => *access,
        }
    }
}
