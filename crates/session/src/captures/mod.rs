//! `Capture`: what waited in a session that was discarded or removed, kept for a while.
//!
//! `$XDG_STATE_HOME/lazaret/captures/<id>/` is laid out as a session without a volume: a record in
//! [`Phase::Collected`](crate::store::record::Phase::Collected), what was collected of its files, and
//! a pack of what was committed inside for each of its repositories. So restoring one is a rename,
//! and what is restored goes through the gate as any other session does.

mod origin;
mod restore;
mod take;

use std::fs::File;

use lazaret_runtime::SessionId;
use lazaret_tree::{AtPath as _, Digest, PathError, RelPath};

use self::origin::{ORIGIN, Origin, read_origin};
use crate::commits::packer::PackError;
use crate::store::file::{list_dir, ok_if_absent, remove_dir};
use crate::store::moment::Moment;
use crate::store::record::Record;
use crate::store::sync_state::SyncStateError;
use crate::store::{SessionDir, Store, StoreError};

pub use restore::restore;
pub use take::{CaptureRequest, CapturedFiles, PackSource, RepositoryPack, take};

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
    /// What is known of the volume could not be read or written.
    #[error(transparent)]
    State(#[from] SyncStateError),
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

    /// Returns why the session's files are not in it, escaped; `None` if they are.
    pub fn lacks_files(&self) -> Option<&str> {
        self.origin.lacks_files.as_deref()
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

/// Returns the pack of a repository's commits in a session that was restored from a capture;
/// `None` if it has none.
///
/// # Errors
/// The disk's.
pub fn saved_pack(dir: &SessionDir, repository: &RelPath) -> Result<Option<File>, PathError> {
    let path = dir.file(&pack_name(repository));
    ok_if_absent(File::open(&path)).at(&path)
}

/// Returns the name of the file that holds the commits of a repository.
fn pack_name(repository: &RelPath) -> String {
    match repository.as_str() {
        ".git" => "commits.pack".to_owned(),
        other => {
            let digest = Digest::of(other.as_bytes()).to_hex();
            format!("commits-{}.pack", digest.get(..16).unwrap_or(&digest))
        }
    }
}
