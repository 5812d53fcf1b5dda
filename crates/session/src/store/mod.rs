//! `Store`: the sessions on disk, and the locks that say which of them live.
//!
//! `$XDG_STATE_HOME/lazaret/sessions/<id>/` belongs to the launcher that holds the
//! `flock` on its `lock` file. The kernel drops that lock with the process, however it
//! dies, so a lock that can be taken is proof of death: no pid, no boot id and no clock
//! is needed (FLT-12).

mod as_text;
pub mod deferred_sync;
mod dir;
mod error;
#[cfg(test)]
pub(crate) mod example;
pub mod file;
pub mod file_lock;
pub mod from_branch;
pub mod handed_out;
pub mod history;
mod locked;
pub mod moment;
pub mod record;
pub mod request_text;
pub mod run_log;
mod selection_record;
pub mod status;
pub mod sync_state;
pub mod unfinished;
pub mod unlanded;
mod write_scope;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use lazaret_runtime::SessionId;
use lazaret_transfer::WorkspaceDir;
use lazaret_tree::{AtPath as _, PathError};

use crate::store::file::{list_dir, ok_if_absent, private_dir, random_hex, remove_dir, stage};
use crate::store::file_lock::{has_name, is_taken, take_lock, take_lock_soon, take_lock_within};
use crate::store::locked::REMOVED;
use crate::store::record::Phase;
use crate::store::record::{Record, identity};
use crate::store::unfinished::Unfinished;

pub use crate::store::dir::SessionDir;
pub use crate::store::error::StoreError;
pub use crate::store::locked::LockedSession;

/// How many pauses there are at most while a run that is over removes what it had: ten seconds.
const REMOVAL_GLANCES: u32 = 1000;

/// The state directory of one user.
#[derive(Debug)]
pub struct Store {
    root: PathBuf,
    id: String,
}

impl Store {
    /// Opens the store below `state_dir`, creating what is missing, private to the user.
    ///
    /// # Errors
    /// When the directory can't be created or written (FLT-25).
    pub fn open(state_dir: &Path) -> Result<Self, StoreError> {
        let sessions = state_dir.join("sessions");
        private_dir(&sessions)?;
        private_dir(&state_dir.join("locks"))?;
        let id = read_or_make_id(&state_dir.join("store-id"))?;
        Ok(Self {
            root: state_dir.to_path_buf(),
            id,
        })
    }

    /// Opens the store to look at it; `None` where no session was ever made. Then nothing is
    /// created either, so that looking works where nothing can be written.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open_if_there(state_dir: &Path) -> Result<Option<Self>, StoreError> {
        let sessions = state_dir.join("sessions");
        match ok_if_absent(fs::metadata(&sessions)).at(&sessions)? {
            None => Ok(None),
            Some(_) => Self::open(state_dir).map(Some),
        }
    }

    /// Returns the state directory.
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// Returns the random id that labels everything created from this store.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Lists the sessions by name, without locking them.
    ///
    /// # Errors
    /// When the directory can't be read.
    pub fn list(&self) -> Result<Vec<SessionDir>, StoreError> {
        let sessions = self.root.join("sessions");
        let mut found = Vec::new();
        for entry in fs::read_dir(&sessions).at(&sessions)? {
            let entry = entry.at(&sessions)?;
            let parsed = entry
                .file_name()
                .to_str()
                .and_then(|name| name.parse().ok());
            if let Some(id) = parsed {
                found.push(self.dir(id));
            }
        }
        found.sort_by(|a, b| a.id().cmp(b.id()));
        Ok(found)
    }

    /// Looks a session up without locking it.
    ///
    /// # Errors
    /// [`StoreError::NotFound`].
    pub fn find(&self, id: &SessionId) -> Result<SessionDir, StoreError> {
        let dir = self.dir(id.clone());
        match dir.path().is_dir() {
            true => Ok(dir),
            false => Err(StoreError::NotFound { id: id.clone() }),
        }
    }

    /// Creates a session, locked from its first moment: it is built under a name that no
    /// session can have, and renamed once its lock is held.
    ///
    /// # Errors
    /// [`StoreError::Exists`], or the disk's.
    pub fn create(&self, record: Record) -> Result<LockedSession, StoreError> {
        let id = record.id.clone();
        let dir = self.dir(id.clone());
        let sessions = self.root.join("sessions");
        let building = sessions.join(format!(".new-{}", random_hex()));
        private_dir(&building)?;
        let built = (|| {
            let lock = take_lock(&building.join("lock"))?
                .ok_or_else(|| StoreError::Busy { id: id.clone() })?;
            let session = SessionDir::new(id.clone(), building.clone());
            let session = LockedSession::new(session, record, lock);
            session.save()?;
            // rename() replaces an empty directory at most, and a session is never empty.
            fs::rename(&building, dir.path()).map_err(|source| match source.kind() {
                io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists => {
                    StoreError::Exists { id: id.clone() }
                }
                _ => PathError {
                    path: dir.path().to_path_buf(),
                    source,
                }
                .into(),
            })?;
            Ok(session.moved_to(dir))
        })();
        if built.is_err() {
            // The half-made directory is ours alone; the first error is the one to report.
            drop(fs::remove_dir_all(&building));
        }
        built
    }

    /// Takes the lock of a session and reads its record.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], [`StoreError::Busy`] while its launcher lives,
    /// [`StoreError::Unfinished`], or a record that can't be understood.
    pub fn lock(&self, id: &SessionId) -> Result<LockedSession, StoreError> {
        let session = self.lock_to_recover(id)?;
        match session.dir().unfinished()? {
            Some(what) => Err(StoreError::Unfinished {
                id: id.clone(),
                what,
            }),
            None => Ok(session),
        }
    }

    /// As [`Store::lock`], for the one who finishes what was cut off.
    ///
    /// # Errors
    /// As [`Store::lock`], but for [`StoreError::Unfinished`].
    pub fn lock_to_recover(&self, id: &SessionId) -> Result<LockedSession, StoreError> {
        let dir = self.find(id)?;
        let path = dir.file("lock");
        // It may be removed between the look-up and the lock, and another made under its name.
        let is_settled = || {
            dir.record()
                .is_ok_and(|record| record.phase == Phase::Settled)
        };
        let lock = match take_lock_soon(&path) {
            // Its run is over, and removes what it had on the engine.
            Ok(None) if is_settled() => take_lock_within(&path, REMOVAL_GLANCES),
            tried => tried,
        };
        let lock = match lock {
            Ok(Some(lock)) if has_name(&lock, &path)? && dir.file("session.json").exists() => lock,
            Ok(None) => return Err(StoreError::Busy { id: id.clone() }),
            Err(error) if error.source.kind() != io::ErrorKind::NotFound => {
                return Err(error.into());
            }
            Ok(Some(_)) | Err(_) => return Err(StoreError::NotFound { id: id.clone() }),
        };
        let record = dir.record()?;
        Ok(LockedSession::new(dir, record, lock))
    }

    /// Whether a launcher is at work on a session, without getting in its way for longer than
    /// a moment.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], or when the lock can't be looked at.
    pub fn is_live(&self, id: &SessionId) -> Result<bool, StoreError> {
        let path = self.find(id)?.file("lock");
        Ok(is_taken(&path)?)
    }

    /// Removes what is left of sessions whose removal was broken off.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn sweep(&self) -> Result<(), StoreError> {
        for entry in list_dir(&self.root.join("sessions"))? {
            if entry.file_name().to_string_lossy().starts_with(REMOVED) {
                remove_dir(&entry.path())?;
            }
        }
        Ok(())
    }

    /// Serialises applies to one workspace (FLT-11): held while its files change. `None`
    /// while another lazaret holds it.
    ///
    /// # Errors
    /// When the lock file can't be made.
    pub fn lock_workspace(&self, workspace: &WorkspaceDir) -> Result<Option<File>, StoreError> {
        let (dev, ino) = identity(workspace.identity());
        let name = format!("workspace-{dev:x}-{ino:x}");
        Ok(take_lock(&self.root.join("locks").join(name))?)
    }

    /// Makes a free session name out of a workspace's directory name.
    ///
    /// # Errors
    /// Never in practice; the name's grammar is checked all the same.
    pub fn fresh_id(&self, workspace: &Path) -> Result<SessionId, StoreError> {
        /// Leaves room for what makes the name free.
        const MOST: usize = 28;
        let name = workspace.file_name().unwrap_or_default();
        let resembling = SessionId::resembling(&name.to_string_lossy(), MOST);
        let base = resembling.as_ref().map_or("session", SessionId::as_str);
        Ok(format!("{base}-{}", &random_hex()[..6]).parse()?)
    }

    fn dir(&self, id: SessionId) -> SessionDir {
        let path = self.session_path(&id);
        SessionDir::new(id, path)
    }

    /// Returns where a session of this name lies.
    pub(crate) fn session_path(&self, id: &SessionId) -> PathBuf {
        self.root.join("sessions").join(id.as_str())
    }

    /// Returns where the captures lie.
    pub(crate) fn captures(&self) -> PathBuf {
        self.root.join("captures")
    }
}

impl Store {
    /// Finds a session whose apply, undo or redo to this workspace, to one in it or to one
    /// around it, was cut off. Those with a launcher at work are left out: theirs is under way.
    ///
    /// # Errors
    /// The disk's, where the state directory itself can't be read.
    pub fn unfinished_on(
        &self,
        workspace: &WorkspaceDir,
    ) -> Result<Option<(SessionId, Unfinished)>, StoreError> {
        for dir in self.list()? {
            let what = match dir.unfinished() {
                Ok(None) => continue,
                Ok(Some(what)) => what,
                Err(_) => Unfinished::Unreadable,
            };
            let is_here = dir
                .record()
                .is_ok_and(|record| overlaps(&record, workspace));
            // One that is gone by now has no journal either.
            if is_here && matches!(self.is_live(dir.id()), Ok(false)) {
                return Ok(Some((dir.id().clone(), what)));
            }
        }
        Ok(None)
    }
}

/// Whether a session's workspace has entries in common with another one.
fn overlaps(record: &Record, workspace: &WorkspaceDir) -> bool {
    let theirs = record.workspace.as_path();
    let ours = workspace.path();
    record.workspace_identity == identity(workspace.identity())
        || theirs.starts_with(ours)
        || ours.starts_with(theirs)
}

fn read_or_make_id(path: &Path) -> Result<String, PathError> {
    for _ in 0..2 {
        match ok_if_absent(fs::read_to_string(path)).at(path)? {
            Some(id) if is_store_id(&id) => return Ok(id),
            Some(_) => {
                let damaged = io::Error::new(io::ErrorKind::InvalidData, "not a store id");
                return Err(damaged).at(path);
            }
            None => {}
        }
        let staged = stage(path, |out| out.write_all(random_hex().as_bytes()))?;
        // Of two first starts at once, one wins and both read its id.
        match staged.persist_noclobber(path) {
            Ok(_) => {}
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error.error).at(path),
        }
    }
    fs::read_to_string(path).at(path)
}

fn is_store_id(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::Store;
    use super::example::example_record;

    #[test]
    fn no_process_sees_a_session_that_is_removed_by_half() {
        let state = tempfile::tempdir().unwrap();
        let store = Store::open(state.path()).unwrap();
        for _ in 0..20 {
            let session = store.create(example_record()).unwrap();
            let path = session.dir().path().to_path_buf();
            for number in 0..200 {
                std::fs::write(path.join(format!("file-{number}")), "").unwrap();
            }
            thread::scope(|scope| {
                let removal = scope.spawn(|| session.remove().unwrap());
                while !removal.is_finished() {
                    let has_record = path.join("session.json").exists();
                    assert!(has_record || !path.exists());
                }
            });
        }
    }

    #[test]
    fn a_sweep_ends_a_removal_that_was_broken_off() {
        let state = tempfile::tempdir().unwrap();
        let store = Store::open(state.path()).unwrap();
        drop(store.create(example_record()).unwrap());
        let sessions = state.path().join("sessions");
        let left = sessions.join(".removed-0123456789abcdef");
        std::fs::create_dir_all(left.join("runs")).unwrap();
        store.sweep().unwrap();
        assert!(!left.exists());
        assert_eq!(store.list().unwrap().len(), 1);
    }
}
