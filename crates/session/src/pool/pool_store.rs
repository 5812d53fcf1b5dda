//! `PoolStore`: the places on disk, and the locks that keep one from being taken twice.
//!
//! A slot is a file below `pool/` in the state directory. The process that makes or takes the
//! slot holds its lock. The extension says how far it is:
//!
//! | file | lock held | lock free |
//! |---|---|---|
//! | `<tag>.making` | it is being made | its maker died: what there is of it has no owner |
//! | `<tag>.ready` | a process checks it | it can be taken |
//! | `<tag>.taken` | a session is being made of it | a record names it, or its taker died |
//!
//! `rename(2)` is what takes a slot. A session's record names it before the file goes, so a
//! sweep finds the tag in a file or in a record at any moment.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use lazaret_runtime::SessionId;
use lazaret_tree::AtPath as _;
use serde::{Deserialize, Serialize};

use crate::engine::owner::ResourceOwner;
use crate::pool::Fingerprint;
use crate::store::file::{list_dir, private_dir, random_hex};
use crate::store::file_lock::{FileLock, GLANCE, GLANCES};
use crate::store::{Store, StoreError};

/// The largest file of a slot, in bytes.
const MOST: u64 = 64 << 10;

/// What every tag of a slot begins with; see [`is_tag`].
const PREFIX: &str = "pool-";
/// Digits behind it, more than the name of a session that is made from its workspace's has.
const DIGITS: usize = 12;

/// A slot, as it was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolSlot {
    /// The profile that it was made for.
    pub profile: String,
    /// How to reach its engine.
    pub engine: String,
    /// What it was made from.
    pub fit: Fingerprint,
    /// Seconds since 1970 when it was made.
    pub created: u64,
}

/// The places of a state directory.
#[derive(Debug, Clone)]
pub struct PoolStore {
    dir: PathBuf,
    store: String,
}

/// The file of a slot, as it was listed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SlotFile {
    pub(crate) tag: SessionId,
    ending: &'static str,
}

/// A slot that no other process may make, take or remove.
#[derive(Debug)]
#[must_use = "dropping it gives the place up to others"]
pub struct LockedSlot {
    /// It.
    pub slot: PoolSlot,
    /// Whose its things are.
    pub owner: ResourceOwner,
    path: PathBuf,
    _lock: File,
}

impl PoolStore {
    /// Returns the places of a store. Nothing is made on disk before it is needed.
    pub fn of(store: &Store) -> Self {
        Self {
            dir: store.path().join("pool"),
            store: store.id().to_owned(),
        }
    }

    /// Lists the places that could be taken, oldest first.
    ///
    /// # Errors
    /// The disk's.
    pub fn ready(&self) -> Result<Vec<(SessionId, PoolSlot)>, StoreError> {
        let mut found = Vec::new();
        for SlotFile { tag, ending } in self.files()? {
            if ending != READY {
                continue;
            }
            // One that was taken just now, or that another lazaret wrote, is none of ours.
            if let Some(slot) = read(&self.path(&tag, READY)) {
                found.push((tag, slot));
            }
        }
        found.sort_by_key(|(_, slot)| slot.created);
        Ok(found)
    }

    /// Returns true if a listed file gives an owner to the resources of its tag. If not, removes
    /// the file.
    ///
    /// # Errors
    /// The disk's.
    pub(crate) fn counts(&self, file: &SlotFile) -> Result<bool, StoreError> {
        let path = self.path(&file.tag, file.ending);
        Ok(match (file.ending, FileLock::of(&path)?) {
            (MAKING | TAKEN, FileLock::Taken(_lock)) => {
                fs::remove_file(&path).at(&path)?;
                false
            }
            // One that is gone by now has another ending, or is in a record.
            _ => true,
        })
    }

    /// Begins a slot.
    ///
    /// # Errors
    /// The disk's.
    pub(crate) fn begin(
        &self,
        profile: &str,
        engine: &str,
        fit: Fingerprint,
    ) -> Result<LockedSlot, StoreError> {
        private_dir(&self.dir)?;
        let tag: SessionId = format!("{PREFIX}{}", &random_hex()[..DIGITS]).parse()?;
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let slot = PoolSlot {
            profile: profile.to_owned(),
            engine: engine.to_owned(),
            fit,
            created: now.map_or(0, |age| age.as_secs()),
        };
        // An extension that `files` skips, until it is locked.
        let path = self.path(&tag, "new");
        let file = OpenOptions::new()
            .create_new(true)
            .write(true)
            .mode(0o600)
            .open(&path)
            .at(&path)?;
        file.lock().at(&path)?;
        serde_json::to_writer(&file, &slot).at(&path)?;
        let mut locked = LockedSlot {
            slot,
            owner: self.owner(tag),
            path,
            _lock: file,
        };
        locked.rename(MAKING)?;
        Ok(locked)
    }

    /// Locks a slot that is ready; `None` if another process has it, or had it.
    ///
    /// # Errors
    /// The disk's.
    pub fn lock(&self, tag: &SessionId) -> Result<Option<LockedSlot>, StoreError> {
        let path = self.path(tag, READY);
        let mut found = FileLock::of(&path)?;
        for _ in 0..GLANCES {
            if !matches!(found, FileLock::Held) {
                break;
            }
            std::thread::sleep(GLANCE);
            found = FileLock::of(&path)?;
        }
        let FileLock::Taken(lock) = found else {
            return Ok(None);
        };
        Ok(read(&path).map(|slot| LockedSlot {
            slot,
            owner: self.owner(tag.clone()),
            path,
            _lock: lock,
        }))
    }

    fn owner(&self, tag: SessionId) -> ResourceOwner {
        ResourceOwner {
            tag,
            store: self.store.clone(),
            workspace: None,
        }
    }

    fn path(&self, tag: &SessionId, ending: &str) -> PathBuf {
        self.dir.join(format!("{tag}.{ending}"))
    }

    /// Lists the files of places. A directory that is read while a file in it is renamed may
    /// show neither name, so who must not miss one lists twice.
    ///
    /// # Errors
    /// The disk's.
    pub(crate) fn files(&self) -> Result<Vec<SlotFile>, StoreError> {
        let mut files = Vec::new();
        for entry in list_dir(&self.dir)? {
            let name = PathBuf::from(entry.file_name());
            let tag = name.file_stem().and_then(OsStr::to_str);
            let ending = name.extension().and_then(OsStr::to_str);
            let ending = [MAKING, READY, TAKEN]
                .into_iter()
                .find(|known| ending == Some(known));
            if let (Some(tag), Some(ending)) = (tag, ending)
                && is_tag(tag)
                && let Ok(tag) = tag.parse()
            {
                files.push(SlotFile { tag, ending });
            }
        }
        Ok(files)
    }
}

const MAKING: &str = "making";
const READY: &str = "ready";
const TAKEN: &str = "taken";

impl LockedSlot {
    /// Makes a finished slot ready to be taken.
    ///
    /// # Errors
    /// The disk's.
    pub(crate) fn ready(mut self) -> Result<(), StoreError> {
        self.rename(READY)
    }

    /// Takes it; from here on no other process can.
    ///
    /// # Errors
    /// The disk's.
    pub(crate) fn take(&mut self) -> Result<(), StoreError> {
        self.rename(TAKEN)
    }

    /// Forgets it: it is a session's now, or gone.
    ///
    /// # Errors
    /// The disk's.
    pub fn forget(self) -> Result<(), StoreError> {
        fs::remove_file(&self.path).at(&self.path)?;
        Ok(())
    }

    fn rename(&mut self, ending: &str) -> Result<(), StoreError> {
        let to = self.path.with_extension(ending);
        fs::rename(&self.path, &to).at(&self.path)?;
        self.path = to;
        Ok(())
    }
}

/// Whether a tag is one of a slot. A session that is named so by its user is one as well:
/// that only keeps its things from being swept while a record can't be read.
pub(crate) fn is_tag(tag: &str) -> bool {
    let digits = tag.strip_prefix(PREFIX).unwrap_or_default();
    digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn read(path: &Path) -> Option<PoolSlot> {
    let mut bytes = Vec::new();
    let file = File::open(path).ok()?;
    file.take(MOST).read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}
