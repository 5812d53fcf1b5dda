//! `Store`: the sessions on disk, and the locks that say which of them live.
//!
//! `$XDG_STATE_HOME/lazaret/sessions/<id>/` belongs to the launcher that holds the
//! `flock` on its `lock` file. The kernel drops that lock with the process, however it
//! dies, so a lock that can be taken is proof of death: no pid, no boot id and no clock
//! is needed (FLT-12).

pub mod deferred_sync;
pub mod file;
pub mod file_lock;
pub mod handed_out;
pub mod history;
pub mod moment;
pub mod record;
pub mod run_log;
pub mod status;
pub mod sync_state;
pub mod unfinished;
pub mod unlanded;

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use lazaret_runtime::{NameError, SessionId};
use lazaret_transfer::WorkspaceDir;
use lazaret_tree::{AtPath as _, PathError};

use crate::store::deferred_sync::DeferredSync;
use crate::store::file::{private_dir, random_hex, write_atomically};
use crate::store::file_lock::{is_taken, take_lock, take_lock_soon};
use crate::store::record::{KeepVolume, Record, RecordError, identity};
use crate::store::unfinished::Unfinished;

/// What is known of a volume, as long as there is one, and the texts of what it started from.
const OF_VOLUME: &[&str] = &[
    "receipt",
    "volume",
    "base",
    "base-index",
    "intent",
    "stat-cache",
    "tips",
];

/// The state directory of one user.
#[derive(Debug)]
pub struct Store {
    root: PathBuf,
    id: String,
}

/// What went wrong with the sessions on disk.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The state directory can't be read or written.
    #[error("the state directory can't be used: {0}")]
    Io(#[from] PathError),
    /// There is no such session.
    #[error("there is no session named {id}")]
    NotFound {
        /// The session.
        id: SessionId,
    },
    /// The name is taken.
    #[error("a session named {id} exists already")]
    Exists {
        /// The session.
        id: SessionId,
    },
    /// Another launcher works on it.
    #[error("session {id} is in use by another lazaret")]
    Busy {
        /// The session.
        id: SessionId,
    },
    /// An apply, an undo or a redo of it was cut off.
    #[error("cannot use session {id}: {what}, so its workspace may be half changed")]
    Unfinished {
        /// The session.
        id: SessionId,
        /// What was cut off.
        what: Unfinished,
    },
    /// Its record can't be understood.
    #[error("session {id}: {source}")]
    Record {
        /// The session.
        id: SessionId,
        /// The cause.
        source: RecordError,
    },
    /// No free name could be made from the workspace's name.
    #[error(transparent)]
    Name(#[from] NameError),
}

/// A session's directory: where everything about it lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionDir {
    id: SessionId,
    path: PathBuf,
}

/// A session that this process alone may change.
#[derive(Debug)]
#[must_use = "dropping it gives the session up to others"]
pub struct LockedSession {
    dir: SessionDir,
    record: Record,
    lock: File,
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
        match fs::metadata(&sessions) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            other => {
                other.at(&sessions)?;
                Self::open(state_dir).map(Some)
            }
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
        found.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(found)
    }

    /// Looks a session up without locking it.
    ///
    /// # Errors
    /// [`StoreError::NotFound`].
    pub fn find(&self, id: &SessionId) -> Result<SessionDir, StoreError> {
        let dir = self.dir(id.clone());
        if dir.path.is_dir() {
            Ok(dir)
        } else {
            Err(StoreError::NotFound { id: id.clone() })
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
            let session = LockedSession {
                dir: SessionDir {
                    id: id.clone(),
                    path: building.clone(),
                },
                record,
                lock,
            };
            session.save()?;
            // rename() replaces an empty directory at most, and a session is never empty.
            fs::rename(&building, &dir.path).map_err(|source| match source.kind() {
                io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists => {
                    StoreError::Exists { id: id.clone() }
                }
                _ => PathError {
                    path: dir.path.clone(),
                    source,
                }
                .into(),
            })?;
            Ok(LockedSession { dir, ..session })
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
        let lock = take_lock_soon(&dir.path.join("lock"))?
            .ok_or_else(|| StoreError::Busy { id: id.clone() })?;
        // It may have been removed between the look-up and the lock.
        if !dir.path.join("session.json").exists() {
            return Err(StoreError::NotFound { id: id.clone() });
        }
        let record = dir.record()?;
        Ok(LockedSession { dir, record, lock })
    }

    /// Whether a launcher is at work on a session, without getting in its way for longer than
    /// a moment.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], or when the lock can't be looked at.
    pub fn is_live(&self, id: &SessionId) -> Result<bool, StoreError> {
        let path = self.find(id)?.path.join("lock");
        Ok(is_taken(&path)?)
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
        let base: String = workspace
            .file_name()
            .map(|name| name.to_string_lossy().to_lowercase())
            .unwrap_or_default()
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
            .collect();
        let base = base.trim_matches('-');
        let base = if base.is_empty() { "session" } else { base };
        let base = base
            .get(..base.len().min(28))
            .unwrap_or("session")
            .trim_end_matches('-');
        Ok(format!("{base}-{}", &random_hex()[..6]).parse()?)
    }

    fn dir(&self, id: SessionId) -> SessionDir {
        let path = self.root.join("sessions").join(id.as_str());
        SessionDir { id, path }
    }
}

impl SessionDir {
    /// One that is in no store.
    #[cfg(test)]
    pub(crate) fn at(path: &Path) -> Self {
        Self {
            id: "test".parse().unwrap(),
            path: path.to_path_buf(),
        }
    }

    /// Returns the session's name.
    pub fn id(&self) -> &SessionId {
        &self.id
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
        let entries = match fs::read_dir(&dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.at(&dir)?,
        };
        let mut numbers = Vec::new();
        for entry in entries {
            let name = entry.at(&dir)?.file_name();
            numbers.extend(number(&name));
        }
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

impl LockedSession {
    /// Returns the session's directory.
    pub fn dir(&self) -> &SessionDir {
        &self.dir
    }

    /// Returns the record.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// Returns another hold on the lock: the session is given up to others once both are gone.
    ///
    /// # Errors
    /// When the process has no descriptor left.
    pub(crate) fn share_lock(&self) -> Result<File, StoreError> {
        let path = self.dir.file("lock");
        Ok(self.lock.try_clone().at(&path)?)
    }

    /// Changes the record and writes it, atomically.
    ///
    /// # Errors
    /// When the disk refuses; the old record is still there then.
    pub fn update(&mut self, change: impl FnOnce(&mut Record)) -> Result<(), StoreError> {
        change(&mut self.record);
        self.save()
    }

    /// As [`LockedSession::update`]; only a power cut finds the old record before `unsynced`
    /// is synced.
    ///
    /// # Errors
    /// When the disk refuses; the old record is still there then.
    pub(crate) fn update_soon(
        &mut self,
        unsynced: &mut DeferredSync,
        change: impl FnOnce(&mut Record),
    ) -> Result<(), StoreError> {
        change(&mut self.record);
        let bytes = self.bytes()?;
        let path = self.dir.file("session.json");
        Ok(unsynced.put(&path, |out| out.write_all(&bytes))?)
    }

    /// Removes what the gate worked on, once it is settled; the record, the log and what
    /// an undo needs stay, and of a kept session what is known of its volume.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn remove_collection(&self) -> Result<(), StoreError> {
        let quarantine = self.dir.file("quarantine");
        absent_is_fine(fs::remove_dir_all(&quarantine)).at(&quarantine)?;
        let known: &[&str] = match self.record.keep {
            KeepVolume::UntilSettled => OF_VOLUME,
            KeepVolume::Always => &[],
        };
        for name in known.iter().chain(&["survey"]) {
            let path = self.dir.file(name);
            absent_is_fine(fs::remove_file(&path)).at(&path)?;
        }
        Ok(())
    }

    /// Removes all that is known of a volume that is gone; the record, the log and what an
    /// undo needs stay.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn forget_volume(&self) -> Result<(), StoreError> {
        for name in ["quarantine", "settled"] {
            let path = self.dir.file(name);
            absent_is_fine(fs::remove_dir_all(&path)).at(&path)?;
        }
        for name in OF_VOLUME.iter().chain(&["survey"]) {
            let path = self.dir.file(name);
            absent_is_fine(fs::remove_file(&path)).at(&path)?;
        }
        Ok(())
    }

    /// Removes the session from the disk, record first, so that a half-removed one is
    /// no session any more.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn remove(self) -> Result<(), StoreError> {
        let record = self.dir.file("session.json");
        fs::remove_file(&record).at(&record)?;
        fs::remove_dir_all(&self.dir.path).at(&self.dir.path)?;
        Ok(())
    }

    fn save(&self) -> Result<(), StoreError> {
        Ok(write_atomically(
            &self.dir.file("session.json"),
            &self.bytes()?,
        )?)
    }

    fn bytes(&self) -> Result<Vec<u8>, StoreError> {
        self.record.to_bytes().map_err(|source| StoreError::Record {
            id: self.dir.id.clone(),
            source,
        })
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

/// Reads the number that a journal's directory has for its name.
fn number(name: &std::ffi::OsStr) -> Option<u32> {
    name.to_str()?.parse().ok()
}

fn absent_is_fine(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn read_or_make_id(path: &Path) -> Result<String, PathError> {
    for _ in 0..2 {
        match fs::read_to_string(path) {
            Ok(id) if is_store_id(&id) => return Ok(id),
            Ok(_) => {
                let source = io::Error::new(io::ErrorKind::InvalidData, "not a store id");
                return Err(PathError {
                    path: path.to_path_buf(),
                    source,
                });
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => {
                return Err(PathError {
                    path: path.to_path_buf(),
                    source,
                });
            }
        }
        let dir = path.parent().unwrap_or(Path::new("."));
        let mut staged = tempfile::NamedTempFile::new_in(dir).at(path)?;
        staged.write_all(random_hex().as_bytes()).at(path)?;
        // Of two first starts at once, one wins and both read its id.
        match staged.persist_noclobber(path) {
            Ok(_) => {}
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                return Err(PathError {
                    path: path.to_path_buf(),
                    source: error.error,
                });
            }
        }
    }
    fs::read_to_string(path).at(path)
}

fn is_store_id(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
