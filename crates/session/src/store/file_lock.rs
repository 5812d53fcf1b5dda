//! Locks that go with the process that holds them (flock(2)).

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::Duration;

use lazaret_tree::{AtPath as _, PathError};

use crate::store::file::ok_if_absent;

/// The pause between two tries, while another process may be checking a lock.
pub(crate) const GLANCE: Duration = Duration::from_millis(10);
/// How many pauses there are.
pub(crate) const GLANCES: u32 = 5;

/// As [`take_lock`], but retries: another process may hold it only to check whether it is taken.
pub(crate) fn take_lock_soon(path: &Path) -> Result<Option<File>, PathError> {
    take_lock_within(path, GLANCES)
}

/// As [`take_lock`], with so many pauses between tries.
pub(crate) fn take_lock_within(path: &Path, pauses: u32) -> Result<Option<File>, PathError> {
    for _ in 0..pauses {
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
    Ok(granted(file.try_lock()).at(path)?.then_some(file))
}

/// Returns true if a lock is taken. The check itself shares the lock for a moment.
///
/// # Errors
/// The file can't be made, or not be looked at.
pub(crate) fn is_taken(path: &Path) -> Result<bool, PathError> {
    let file = open_lock(path)?;
    Ok(!granted(file.try_lock_shared()).at(path)?)
}

/// What became of the try to lock a file that is its own lock.
#[derive(Debug)]
pub enum FileLock {
    /// It is ours as long as this lives.
    Taken(File),
    /// Another process holds it.
    Held,
    /// There is none of this name, or no longer the one that was opened.
    Gone,
}

impl FileLock {
    /// Shares the lock of a file that is there, and that still has its name once it is locked;
    /// `None` if there is no such file.
    ///
    /// # Errors
    /// It can't be opened or looked at.
    pub(crate) fn shared(path: &Path) -> Result<Option<File>, PathError> {
        let Some(file) = ok_if_absent(File::open(path)).at(path)? else {
            return Ok(None);
        };
        file.lock_shared().at(path)?;
        Ok(has_name(&file, path)?.then_some(file))
    }

    /// Locks a file that is there, and that still has its name once it is locked.
    ///
    /// # Errors
    /// It can't be opened or looked at.
    pub fn of(path: &Path) -> Result<Self, PathError> {
        let Some(file) = ok_if_absent(File::open(path)).at(path)? else {
            return Ok(Self::Gone);
        };
        if !granted(file.try_lock()).at(path)? {
            return Ok(Self::Held);
        }
        Ok(match has_name(&file, path)? {
            true => Self::Taken(file),
            false => Self::Gone,
        })
    }

    /// Makes a file if there is none, and waits until it is locked and has its name still.
    ///
    /// # Errors
    /// It can't be made, locked or looked at.
    pub fn made(path: &Path) -> Result<File, PathError> {
        loop {
            let file = open_lock(path)?;
            file.lock().at(path)?;
            if has_name(&file, path)? {
                return Ok(file);
            }
        }
    }

    /// As [`FileLock::of`], but retries: a process that is just being started has every descriptor
    /// of its parent for a moment, and the locks with them.
    ///
    /// # Errors
    /// It can't be opened or looked at.
    pub(crate) fn soon(path: &Path) -> Result<Self, PathError> {
        for _ in 0..GLANCES {
            match Self::of(path)? {
                Self::Held => std::thread::sleep(GLANCE),
                outcome => return Ok(outcome),
            }
        }
        Self::of(path)
    }
}

/// Whether an open file still has the name that it was opened by.
///
/// # Errors
/// It can't be looked at.
pub(super) fn has_name(file: &File, path: &Path) -> Result<bool, PathError> {
    let named = fs::symlink_metadata(path).map(|named| (named.dev(), named.ino()));
    let opened = file.metadata().at(path)?;
    Ok(named.is_ok_and(|named| named == (opened.dev(), opened.ino())))
}

fn granted(tried: Result<(), TryLockError>) -> io::Result<bool> {
    match tried {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
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
