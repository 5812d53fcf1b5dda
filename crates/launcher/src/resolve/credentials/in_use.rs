//! `InUse`: which live sessions use a file that was lent to them.
//!
//! Each has a file beside those of the
//! [`CredentialCache`](lazaret_session::credentials::cache::CredentialCache), and holds its lock.
//! If the lock is free, the session is dead.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use lazaret_runtime::SessionId;
use lazaret_tree::{AtPath as _, PathError};
use rustix::fs::{FlockOperation, flock};

use lazaret_session::store::file::private_dir;

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
        let lock = locked(&path)?;
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

/// Opens a session's file and locks it. A session has one launcher at a time, and a launcher
/// that lists the sessions holds the lock only for a moment.
fn locked(path: &Path) -> Result<File, PathError> {
    loop {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(path).at(path)?;
        flock(&file, FlockOperation::LockExclusive).at(path)?;
        // A launcher that lists the sessions may have removed it as a dead session's.
        if fs::symlink_metadata(path).is_ok_and(|found| is_same(&found, &file)) {
            return Ok(file);
        }
    }
}

fn is_same(found: &fs::Metadata, file: &File) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    file.metadata()
        .is_ok_and(|open| (open.dev(), open.ino()) == (found.dev(), found.ino()))
}

/// Returns false if no session holds the lock of a file, and removes the file then.
fn is_live(path: &Path) -> bool {
    let opened = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return false,
        Err(_) => return true,
        Ok(file) => file,
    };
    match flock(&opened, FlockOperation::NonBlockingLockExclusive) {
        Err(_) => true,
        Ok(()) => {
            drop(fs::remove_file(path));
            false
        }
    }
}
