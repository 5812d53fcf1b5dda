//! Volumes of a profile: directories of a command that outlive it and never come to the gate.
//!
//! A volume of scope `session` is written by the commands of one session. A shared one is written
//! by `volume fill` alone: each session has a copy of it, or sees it read-only. So nothing that an
//! agent wrote reaches another session.
//!
//! | file | what |
//! |---|---|
//! | `extra` | other directories of the host, which the command can only read |
//! | `provide` | the volumes of a command, before its container |
//! | `shared` | shared volumes: what a state directory knows of them, and their locks |

mod error;
pub mod extra;
mod provide;
pub mod shared;

use std::sync::Arc;

use lazaret_runtime::{Access, VolumeId};

use self::extra::ExtraDirs;
use self::shared::{FillingVolume, PinnedVolume};
use crate::engine::mount::{MountPlan, MountSource};

pub use self::error::VolumeError;
pub(crate) use self::provide::provide;

/// A volume of a command, beside that of the workspace.
#[derive(Debug, Clone)]
pub struct Volume {
    /// Its name in the profile.
    pub id: VolumeId,
    /// An absolute path inside.
    pub target: String,
    /// Whose it is.
    pub source: VolumeSource,
}

/// Whose a volume is.
#[derive(Debug, Clone)]
pub enum VolumeSource {
    /// The session's.
    Session,
    /// The session's, and a copy of a shared one to begin with; `None` if that was never filled.
    Copy(Option<Arc<PinnedVolume>>),
    /// The session's, with other directories of the host, read-only.
    Extra(Arc<ExtraDirs>),
    /// A shared one, read-only.
    ReadOnly(Arc<PinnedVolume>),
    /// The shared one that this command fills.
    Filled(Arc<FillingVolume>),
}

impl Volume {
    /// Returns what the command's container mounts.
    pub fn mount(&self) -> MountPlan {
        let source = match &self.source {
            VolumeSource::Session => MountSource::Kept(self.id.clone()),
            VolumeSource::Copy(_) => MountSource::Copied(self.id.clone()),
            VolumeSource::Extra(extra) => MountSource::Extra(extra.digest()),
            VolumeSource::ReadOnly(pinned) => MountSource::Shared {
                volume: pinned.volume(),
                access: Access::ReadOnly,
            },
            VolumeSource::Filled(filling) => MountSource::Shared {
                volume: filling.volume(),
                access: Access::ReadWrite,
            },
        };
        MountPlan {
            source,
            target: self.target.clone(),
        }
    }
}
