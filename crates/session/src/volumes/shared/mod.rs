//! `SharedVolumes`: what a state directory knows of shared volumes.
//!
//! Each fill makes a generation: a volume of its own in the engine, and a file below `volumes/` in
//! the state directory whose stem is the tag of that volume. The newest generation of a name is
//! what sessions get, so a fill that fails changes nothing.
//!
//! | file | lock held | lock free |
//! |---|---|---|
//! | `<tag>.filling` | it is being filled | its launcher died: its volume has no owner |
//! | `<tag>.ready` | sessions use it, or it is removed just now | nothing uses it |
//!
//! A session shares the lock as long as its command runs. `prune` and `recover` remove a generation
//! that is not the newest once its lock is free.

mod generation;
#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use lazaret_runtime::{SessionId, VolumeId};
use lazaret_tree::{AtPath as _, PathError};

use self::generation::read;
use super::error::VolumeError;
use crate::engine::owner::ResourceOwner;
use crate::store::Store;
use crate::store::file::{list_dir, private_dir, random_hex};
use crate::store::file_lock::{FileLock, take_lock_soon};

pub use self::generation::{FillRecord, FillingVolume, PinnedVolume};

/// What every tag of a generation begins with, and the digits behind it.
const PREFIX: &str = "volume-";
const DIGITS: usize = 12;

const FILLING: &str = "filling";
const READY: &str = "ready";

/// The shared volumes of a state directory.
#[derive(Debug, Clone)]
pub struct SharedVolumes {
    dir: PathBuf,
    store: String,
}

/// The file of a generation, as it was listed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct GenerationFile {
    pub(crate) tag: SessionId,
    is_ready: bool,
}

impl SharedVolumes {
    /// Returns the shared volumes of a store. Nothing is made on disk before it is needed.
    pub fn of(store: &Store) -> Self {
        Self {
            dir: store.path().join("volumes"),
            store: store.id().to_owned(),
        }
    }

    /// Lists the newest generation of each name on each engine, by name.
    ///
    /// # Errors
    /// The disk's.
    pub fn list(&self) -> Result<Vec<FillRecord>, PathError> {
        let mut newest: Vec<FillRecord> = Vec::new();
        for (_, record) in self.ready()? {
            newest.retain(|other| !other.is_same(&record));
            newest.push(record);
        }
        newest.sort_by(|a, b| (&a.name, &a.engine).cmp(&(&b.name, &b.engine)));
        Ok(newest)
    }

    /// Pins the newest generation of a name on an engine; `None` if it was never filled there.
    ///
    /// # Errors
    /// The disk's.
    pub fn pin(&self, id: &VolumeId, engine: &str) -> Result<Option<PinnedVolume>, PathError> {
        loop {
            let ready = self.ready()?;
            let newest = ready
                .into_iter()
                .rev()
                .find(|(_, record)| record.is(id, engine));
            let Some((tag, _)) = newest else {
                return Ok(None);
            };
            // One that is gone was replaced or removed since it was listed.
            if let Some(lock) = FileLock::shared(&self.path(&tag, READY))? {
                return Ok(Some(PinnedVolume {
                    owner: self.owner(tag),
                    id: id.clone(),
                    _lock: lock,
                }));
            }
        }
    }

    /// Begins another generation.
    ///
    /// # Errors
    /// [`VolumeError::Busy`], or the disk's.
    pub fn begin(&self, id: &VolumeId, engine: &str) -> Result<FillingVolume, VolumeError> {
        private_dir(&self.dir)?;
        let name_lock = take_lock_soon(&self.dir.join(format!("{id}.lock")))?;
        let name_lock = name_lock.ok_or_else(|| VolumeError::Busy { id: id.clone() })?;
        let tag = format!("{PREFIX}{}", &random_hex()[..DIGITS]);
        let Ok(tag) = tag.parse::<SessionId>() else {
            unreachable!("it is short, and made of lower-case letters, digits and a `-`");
        };
        // An extension that `files` skips, until it is locked.
        let new = self.path(&tag, "new");
        let file = OpenOptions::new()
            .create_new(true)
            .write(true)
            .mode(0o600)
            .open(&new)
            .at(&new)?;
        file.lock().at(&new)?;
        let path = self.path(&tag, FILLING);
        fs::rename(&new, &path).at(&new)?;
        Ok(FillingVolume {
            base: self.pin(id, engine)?,
            owner: self.owner(tag),
            id: id.clone(),
            path,
            file,
            _name_lock: name_lock,
        })
    }

    /// Gives up every generation of a name on an engine, and returns their owners: what those have
    /// in the engine is to be removed.
    ///
    /// # Errors
    /// [`VolumeError::InUse`] while a session uses the newest, or the disk's.
    pub fn remove(&self, id: &VolumeId, engine: &str) -> Result<Vec<ResourceOwner>, VolumeError> {
        let mut ready = self.ready()?;
        ready.retain(|(_, record)| record.is(id, engine));
        let mut owners = Vec::new();
        // The newest first: while that is in use, no older one becomes the newest.
        for (tag, _) in ready.into_iter().rev() {
            let path = self.path(&tag, READY);
            match FileLock::soon(&path)? {
                FileLock::Taken(_lock) => fs::remove_file(&path).at(&path)?,
                FileLock::Held if owners.is_empty() => {
                    return Err(VolumeError::InUse { id: id.clone() });
                }
                FileLock::Held | FileLock::Gone => continue,
            }
            owners.push(self.owner(tag));
        }
        Ok(owners)
    }

    /// Gives up what [`FillingVolume::finish`] has replaced and nothing uses; see [`Self::remove`].
    ///
    /// # Errors
    /// The disk's.
    pub fn replaced(&self) -> Result<Vec<ResourceOwner>, PathError> {
        let mut owners = Vec::new();
        for file in self.files()? {
            if !self.counts(&file)? {
                owners.push(self.owner(file.tag));
            }
        }
        Ok(owners)
    }

    /// Returns true if a listed file gives an owner to the resources of its tag. If not, removes
    /// the file.
    ///
    /// # Errors
    /// The disk's.
    pub(crate) fn counts(&self, file: &GenerationFile) -> Result<bool, PathError> {
        let path = match file.is_ready {
            true => self.path(&file.tag, READY),
            false => self.path(&file.tag, FILLING),
        };
        if file.is_ready && !self.is_replaced(&file.tag)? {
            return Ok(true);
        }
        Ok(match FileLock::soon(&path)? {
            FileLock::Taken(_lock) => {
                fs::remove_file(&path).at(&path)?;
                false
            }
            // One that is gone by now has the other ending, or its remover sees to the rest.
            FileLock::Held | FileLock::Gone => true,
        })
    }

    /// Whether there is a newer generation. One whose file can't be read has none.
    fn is_replaced(&self, tag: &SessionId) -> Result<bool, PathError> {
        let ready = self.ready()?;
        let Some(at) = ready.iter().position(|(other, _)| other == tag) else {
            return Ok(false);
        };
        let (older, newer) = ready.split_at(at + 1);
        let record = older.last().map(|(_, record)| record);
        Ok(record.is_some_and(|record| newer.iter().any(|(_, other)| other.is_same(record))))
    }

    /// Lists the files of generations. As with the pool, who must not miss one lists twice.
    ///
    /// # Errors
    /// The disk's.
    pub(crate) fn files(&self) -> Result<Vec<GenerationFile>, PathError> {
        let mut files = Vec::new();
        for entry in list_dir(&self.dir)? {
            let name = PathBuf::from(entry.file_name());
            let tag = name.file_stem().and_then(OsStr::to_str);
            let is_ready = match name.extension().and_then(OsStr::to_str) {
                Some(READY) => true,
                Some(FILLING) => false,
                _ => continue,
            };
            if let Some(Ok(tag)) = tag.map(str::parse) {
                files.push(GenerationFile { tag, is_ready });
            }
        }
        Ok(files)
    }

    /// Reads the generations that can be used, oldest first.
    fn ready(&self) -> Result<Vec<(SessionId, FillRecord)>, PathError> {
        let files = self.files()?.into_iter().filter(|file| file.is_ready);
        let mut found: Vec<_> = files
            .filter_map(|GenerationFile { tag, .. }| {
                let record = read(&self.path(&tag, READY))?;
                Some((tag, record))
            })
            .collect();
        found.sort_by_key(|(_, record)| record.filled);
        Ok(found)
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
}
