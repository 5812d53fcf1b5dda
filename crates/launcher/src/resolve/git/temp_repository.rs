//! A private directory that goes away, with its owner if need be.

use std::fs::File;
use std::path::Path;

use lazaret_tree::{AtPath as _, PathError};
use tempfile::TempDir;

use crate::failure::{Failure, FailureKind};
use lazaret_session::store::file::{private_dir, remove_dir};
use lazaret_session::store::file_lock::FileLock;

/// What the names of these directories begin with.
pub(crate) const PREFIX: &str = "git-";

/// How often a directory is made anew.
const TRIES: usize = 50;

/// The directory. Its lock is held while a launcher uses it.
#[derive(Debug)]
pub(super) struct TempRepository {
    dir: TempDir,
    _lock: File,
}

impl TempRepository {
    /// Makes one in the state directory, and removes those whose owners are dead.
    pub(super) fn create(state: &Path) -> Result<Self, Failure> {
        private_dir(state)?;
        for entry in std::fs::read_dir(state).at(state)?.flatten() {
            if entry.file_name().to_string_lossy().starts_with(PREFIX) {
                // One that can't be removed does no harm.
                drop(sweep(&entry.path()));
            }
        }
        for _ in 0..TRIES {
            let dir = tempfile::Builder::new().prefix(PREFIX).tempdir_in(state);
            let dir = dir.at(state)?;
            // A sweep that comes between directory and lock takes the directory away.
            if let FileLock::Taken(lock) = FileLock::of(dir.path())? {
                return Ok(Self { dir, _lock: lock });
            }
        }
        let text = format!("no directory in {} stays", state.display());
        Err(Failure::message(FailureKind::State, text))
    }

    pub(super) fn path(&self) -> &Path {
        self.dir.path()
    }
}

fn sweep(dir: &Path) -> Result<(), PathError> {
    match FileLock::of(dir)? {
        FileLock::Taken(_lock) => remove_dir(dir),
        FileLock::Held | FileLock::Gone => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_at_once_leave_each_other_alone() {
        let state = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        let temp = TempRepository::create(state.path()).unwrap();
                        std::fs::write(temp.path().join("index"), "x").unwrap();
                    }
                });
            }
        });
    }

    #[test]
    fn what_a_dead_owner_left_is_removed_and_what_is_in_use_is_not() {
        let state = tempfile::tempdir().unwrap();
        let used = TempRepository::create(state.path()).unwrap();
        std::fs::create_dir(state.path().join("git-dead")).unwrap();
        std::fs::create_dir(state.path().join("sessions")).unwrap();
        let other = TempRepository::create(state.path()).unwrap();
        assert!(used.path().is_dir() && other.path().is_dir());
        assert!(!state.path().join("git-dead").exists());
        assert!(state.path().join("sessions").is_dir());
        let path = used.path().to_owned();
        drop(used);
        assert!(!path.exists());
    }
}
