//! `Capture`: what waited in a session that was discarded or removed, kept for a while.
//!
//! `$XDG_STATE_HOME/lazaret/captures/<id>/` is laid out as a session without a volume: a record in
//! [`Phase::Collected`](crate::store::record::Phase::Collected), what was collected of its files, and
//! a pack of what was committed inside. So restoring one is a rename, and what is restored goes
//! through the gate as any other session does.

mod restore;
mod take;

use std::path::Path;

use lazaret_runtime::SessionId;
use lazaret_tree::{AtPath as _, PathError};
use serde::{Deserialize, Serialize};

use crate::commits::packer::PackError;
use crate::store::file::{list_dir, remove_dir};
use crate::store::moment::Moment;
use crate::store::record::Record;
use crate::store::{SessionDir, Store, StoreError};

pub use restore::restore;
pub use take::{CommitsToPack, take};

/// The pack of a capture's commits, which a restored session keeps.
const PACK: &str = "commits.pack";
/// What says of which session it is, and since when.
const ORIGIN: &str = "capture.json";

/// Why something was not captured, or a capture not used.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The commits could not be packed.
    #[error(transparent)]
    Pack(#[from] PackError),
    /// The disk failed.
    #[error(transparent)]
    Io(#[from] PathError),
    /// A record could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no such capture.
    #[error("there is no capture named {0}")]
    NotFound(SessionId),
}

/// A capture.
#[derive(Debug)]
pub struct Capture {
    dir: SessionDir,
    record: Record,
    origin: Origin,
}

/// Where a capture comes from.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Origin {
    session: String,
    at: Moment,
}

impl Capture {
    /// Lists all captures by name. One that was cut off while it was made is none.
    ///
    /// # Errors
    /// When one can't be read.
    pub fn list(store: &Store) -> Result<Vec<Self>, CaptureError> {
        let mut found = Vec::new();
        for entry in list_dir(&store.captures())? {
            let name = entry.file_name();
            let id = name.to_str().and_then(|name| name.parse().ok());
            if let Some(id) = id {
                found.push(Self::open(store, &id)?);
            }
        }
        found.sort_by(|a, b| a.id().cmp(b.id()));
        Ok(found)
    }

    /// Reads one.
    ///
    /// # Errors
    /// [`CaptureError::NotFound`], or when it can't be read.
    pub fn open(store: &Store, id: &SessionId) -> Result<Self, CaptureError> {
        let dir = SessionDir::new(id.clone(), store.captures().join(id.as_str()));
        if !dir.path().is_dir() {
            return Err(CaptureError::NotFound(id.clone()));
        }
        let path = dir.file(ORIGIN);
        Ok(Self {
            record: dir.record()?,
            origin: read_origin(&path).at(&path)?,
            dir,
        })
    }

    /// Returns its name, which is that of the session that it becomes.
    pub fn id(&self) -> &SessionId {
        self.dir.id()
    }

    /// Returns the name of the session that it was taken of.
    pub fn session(&self) -> &str {
        &self.origin.session
    }

    /// Returns when it was taken.
    pub fn taken(&self) -> &Moment {
        &self.origin.at
    }

    /// Returns its record.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// Removes it for good.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn remove(self) -> Result<(), CaptureError> {
        Ok(remove_dir(self.dir.path())?)
    }
}

/// Returns the name of the session that a restored one was captured of; `None` of any other.
pub fn captured_of(dir: &SessionDir) -> Option<String> {
    let origin = read_origin(&dir.file(ORIGIN)).ok()?;
    Some(origin.session)
}

fn read_origin(path: &Path) -> std::io::Result<Origin> {
    Ok(serde_json::from_slice(&std::fs::read(path)?)?)
}

/// Returns the pack of a session that was restored from a capture; `None` of any other.
///
/// # Errors
/// The disk's.
pub fn saved_pack(dir: &SessionDir) -> Result<Option<std::fs::File>, PathError> {
    let path = dir.file(PACK);
    crate::store::file::ok_if_absent(std::fs::File::open(&path)).at(&path)
}
