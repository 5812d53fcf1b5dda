//! `Origin`: of which session a capture is, since when, and in which state that was.

use std::fs;
use std::io;
use std::path::Path;

use lazaret_tree::{AtPath as _, FieldHasher, PathError};
use serde::{Deserialize, Serialize};

use crate::store::file::{ok_if_absent, write_atomically};
use crate::store::moment::Moment;
use crate::store::record::Record;
use crate::store::{SessionDir, StoreError};

/// The file that holds it.
pub(super) const ORIGIN: &str = "capture.json";

/// What says, beside the record, what a session holds.
const STATE_FILES: [&str; 3] = ["baseline", "volume", "tips"];

/// Where a capture comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Origin {
    pub(super) session: String,
    pub(super) at: Moment,
    /// The digest of what the session held, as [`state_of`] makes it; `None` in a capture of an
    /// earlier lazaret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) state: Option<String>,
    /// Why the session's files are not in it, escaped; `None` if they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) lacks_files: Option<String>,
}

pub(super) fn read_origin(path: &Path) -> io::Result<Origin> {
    Ok(serde_json::from_slice(&fs::read(path)?)?)
}

impl Origin {
    pub(super) fn write(&self, dir: &Path) -> Result<(), PathError> {
        let path = dir.join(ORIGIN);
        let text = serde_json::to_vec(self).map_err(io::Error::from);
        write_atomically(&path, &text.at(&path)?)
    }
}

/// Returns a digest of what a session holds, by the record that its capture gets.
pub(super) fn state_of(dir: &SessionDir, record: &Record) -> Result<String, StoreError> {
    let mut hasher = FieldHasher::default();
    let bytes = record.to_bytes().map_err(|source| StoreError::Record {
        id: record.id.clone(),
        source,
    })?;
    hasher.field(&bytes);
    for name in STATE_FILES {
        let path = dir.file(name);
        let contents = ok_if_absent(fs::read(&path)).at(&path)?;
        hasher.field(&contents.unwrap_or_default());
    }
    Ok(hasher.finish().to_hex())
}
