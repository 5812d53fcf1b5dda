//! One generation of a shared volume: how it was filled, and who holds its file.

use std::fs::{self, File};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use lazaret_runtime::{VolumeId, VolumeName};
use lazaret_tree::{AtPath as _, PathError};
use serde::{Deserialize, Serialize};

use super::READY;
use crate::engine::owner::ResourceOwner;

/// The largest file of a generation, in bytes: a command line fits.
const MOST: u64 = 4 << 20;

/// How a shared volume was filled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FillRecord {
    /// Its name in profiles.
    pub name: String,
    /// The engine that it is in.
    pub engine: String,
    /// The profile whose image and network rules held.
    pub profile: String,
    /// The image, pinned.
    pub image: String,
    /// The command.
    pub command: Vec<String>,
    /// Nanoseconds since 1970 when it was filled.
    pub filled: u64,
}

/// A generation that is not removed as long as this lives.
#[derive(Debug)]
pub struct PinnedVolume {
    pub(super) owner: ResourceOwner,
    pub(super) id: VolumeId,
    pub(super) _lock: File,
}

/// A generation that is being filled.
#[derive(Debug)]
pub struct FillingVolume {
    pub(super) owner: ResourceOwner,
    pub(super) id: VolumeId,
    pub(super) base: Option<PinnedVolume>,
    pub(super) path: PathBuf,
    pub(super) file: File,
    /// One fill of a name at a time.
    pub(super) _name_lock: File,
}

/// Reads the file of a generation; `None` if it is gone, or another lazaret wrote it.
pub(super) fn read(path: &Path) -> Option<FillRecord> {
    let mut bytes = Vec::new();
    let file = File::open(path).ok()?;
    file.take(MOST).read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

impl FillRecord {
    pub(super) fn is(&self, id: &VolumeId, engine: &str) -> bool {
        self.name == id.as_str() && self.engine == engine
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        (&self.name, &self.engine) == (&other.name, &other.engine)
    }
}

impl PinnedVolume {
    /// Names the volume in the engine.
    pub fn volume(&self) -> VolumeName {
        self.owner.kept_volume(&self.id)
    }
}

impl FillingVolume {
    /// Names the volume in the engine.
    pub fn volume(&self) -> VolumeName {
        self.owner.kept_volume(&self.id)
    }

    /// Returns its name in profiles.
    pub fn id(&self) -> &VolumeId {
        &self.id
    }

    /// Returns whose it is.
    pub fn owner(&self) -> &ResourceOwner {
        &self.owner
    }

    /// Returns what it begins with a copy of.
    pub(in crate::volumes) fn base(&self) -> Option<&PinnedVolume> {
        self.base.as_ref()
    }

    /// Makes it what sessions get from now on; returns the record with the time.
    ///
    /// # Errors
    /// The disk's; it is as it was then.
    pub fn finish(&self, mut record: FillRecord) -> Result<FillRecord, PathError> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        record.filled = now.map_or(0, |age| u64::try_from(age.as_nanos()).unwrap_or(u64::MAX));
        let mut file = &self.file;
        file.rewind().at(&self.path)?;
        serde_json::to_writer(file, &record).at(&self.path)?;
        file.flush().and_then(|()| file.sync_all()).at(&self.path)?;
        fs::rename(&self.path, self.path.with_extension(READY)).at(&self.path)?;
        Ok(record)
    }

    /// Gives it up: what it has in the engine is to be removed first.
    ///
    /// # Errors
    /// The disk's.
    pub fn forget(&self) -> Result<(), PathError> {
        fs::remove_file(&self.path).at(&self.path)
    }
}
