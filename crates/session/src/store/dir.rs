//! `SessionDir`: the directory of one session, and where its files lie.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use lazaret_runtime::SessionId;
use lazaret_tree::{AtPath as _, PathError};

use crate::audit::AuditLog;
use crate::store::error::StoreError;
use crate::store::file::{list_dir, private_dir};
use crate::store::record::Record;
use crate::store::unfinished::Unfinished;

/// A session's directory: where everything about it lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionDir {
    id: SessionId,
    path: PathBuf,
}

impl SessionDir {
    pub(crate) fn new(id: SessionId, path: PathBuf) -> Self {
        Self { id, path }
    }

    /// One that is in no store.
    #[cfg(test)]
    pub(crate) fn at(path: &Path) -> Self {
        Self::new("test".parse().unwrap(), path.to_path_buf())
    }

    /// Returns the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the session's name.
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// Returns the audit log of the store that it is in.
    pub fn audit_log(&self) -> AuditLog {
        AuditLog::of(self.state_dir())
    }

    /// Returns the state directory that it is in.
    pub(crate) fn state_dir(&self) -> &Path {
        let sessions = self.path.parent().unwrap_or(&self.path);
        sessions.parent().unwrap_or(sessions)
    }

    /// Returns a path inside, such as `baseline` or `log`.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Returns the journals of the session's applies, oldest first: `apply/1`, `apply/2`, …
    ///
    /// # Errors
    /// When the directory can't be read.
    pub fn journals(&self) -> Result<Vec<PathBuf>, PathError> {
        let dir = self.file("apply");
        let entries = list_dir(&dir)?;
        let mut numbers: Vec<u32> = (entries.iter())
            .filter_map(|entry| number(&entry.file_name()))
            .collect();
        numbers.sort_unstable();
        Ok(numbers
            .into_iter()
            .map(|number| dir.join(number.to_string()))
            .collect())
    }

    /// Says what a killed launcher left in between; `None` if nothing.
    ///
    /// # Errors
    /// The disk's.
    pub fn unfinished(&self) -> Result<Option<Unfinished>, PathError> {
        Unfinished::of(&self.journals()?)
    }

    /// Returns the number of the next apply, and makes the directory of all of them.
    ///
    /// # Errors
    /// When the directory can't be made or read.
    pub fn next_apply(&self) -> Result<u32, PathError> {
        private_dir(&self.file("apply"))?;
        let numbers = self.journals()?;
        let last = numbers.last().and_then(|path| number(path.file_name()?));
        Ok(last.map_or(1, |last| last + 1))
    }

    /// Returns where an apply keeps its journal.
    pub fn journal(&self, number: u32) -> PathBuf {
        self.file("apply").join(number.to_string())
    }

    /// Reads the record.
    ///
    /// # Errors
    /// When it is missing, cut, or of a version this lazaret does not know.
    pub fn record(&self) -> Result<Record, StoreError> {
        let path = self.file("session.json");
        let mut bytes = Vec::new();
        File::open(&path)
            .and_then(|mut file| file.read_to_end(&mut bytes))
            .at(&path)?;
        Record::parse(&bytes).map_err(|source| StoreError::Record {
            id: self.id.clone(),
            source,
        })
    }
}

/// Reads the number that a journal's directory has for its name.
fn number(name: &std::ffi::OsStr) -> Option<u32> {
    name.to_str()?.parse().ok()
}
