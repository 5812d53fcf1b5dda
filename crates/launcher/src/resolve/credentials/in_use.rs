//! `InUse`: which live sessions use a file that was lent to them.
//!
//! Each has a file beside those of the
//! [`CredentialCache`](lazaret_session::credentials::cache::CredentialCache), and holds its lock.
//! If the lock is free, the session is dead.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use lazaret_runtime::SessionId;
use lazaret_tree::{AtPath as _, PathError};

use lazaret_session::store::file::private_dir;
use lazaret_session::store::file_lock::FileLock;

/// The directory with a file per session.
const IN_USE: &str = "in-use";

/// The use of one file by one session, for as long as this lives.
#[derive(Debug)]
#[must_use = "the session counts as gone once it is dropped"]
pub struct InUse {
    path: PathBuf,
    _lock: File,
}

impl InUse {
    /// Says that `id` uses the file, and returns the names of other live sessions that do.
    ///
    /// # Errors
    /// The disk's.
    pub(super) fn claim(folder: &Path, id: &SessionId) -> Result<(Self, Vec<String>), PathError> {
        let folder = folder.join(IN_USE);
        private_dir(&folder)?;
        let path = folder.join(id.as_str());
        // A session has one launcher at a time; one that lists the sessions locks it for a moment,
        // and may remove it as a dead session's.
        let lock = FileLock::made(&path)?;
        let own = id.as_str();
        let mut others = Vec::new();
        for entry in fs::read_dir(&folder).at(&folder)? {
            let entry = entry.at(&folder)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name != own && is_live(&entry.path()) {
                others.push(name);
            }
        }
        others.sort_unstable();
        Ok((Self { path, _lock: lock }, others))
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        // A file that stays has no lock, so the next session removes it.
        drop(fs::remove_file(&self.path));
    }
}

/// Returns false if no session holds the lock of a file, and removes the file then.
fn is_live(path: &Path) -> bool {
    match FileLock::of(path) {
        Ok(FileLock::Taken(_lock)) => {
            drop(fs::remove_file(path));
            false
        }
        Ok(FileLock::Gone) => false,
        Ok(FileLock::Held) | Err(_) => true,
    }
}
