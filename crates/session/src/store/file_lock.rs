//! Locks that go with the process that holds them (flock(2)).

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

use lazaret_tree::{AtPath as _, PathError};
use rustix::fs::FlockOperation;

/// The pause between two tries, while another process may be checking a lock.
pub(crate) const GLANCE: Duration = Duration::from_millis(10);
/// How many pauses there are.
pub(crate) const GLANCES: u32 = 5;

/// As [`take_lock`], but retries: another process may hold it only to check whether it is taken.
pub(crate) fn take_lock_soon(path: &Path) -> Result<Option<File>, PathError> {
    for _ in 0..GLANCES {
        if let Some(lock) = take_lock(path)? {
            return Ok(Some(lock));
        }
        std::thread::sleep(GLANCE);
    }
    take_lock(path)
}

/// Takes a lock that goes with the process; `None` while another holder has it.
///
/// # Errors
/// The file can't be made.
pub fn take_lock(path: &Path) -> Result<Option<File>, PathError> {
    let file = open_lock(path)?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(PathError {
            path: path.to_path_buf(),
            source: error.into(),
        }),
    }
}

/// Returns true if a lock is taken. The check itself shares the lock for a moment.
///
/// # Errors
/// The file can't be made, or not be looked at.
pub(crate) fn is_taken(path: &Path) -> Result<bool, PathError> {
    let file = open_lock(path)?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(false),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(true),
        Err(error) => Err(PathError {
            path: path.to_path_buf(),
            source: error.into(),
        }),
    }
}

fn open_lock(path: &Path) -> Result<File, PathError> {
    OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .mode(0o600)
        .open(path)
        .at(path)
}
