//! `CacheEntry`: one layer, or the layers of one base, and the record that makes them count.
//!
//! Two processes that want the same layer make it once: the second waits. What a killed
//! build left behind is removed by the next one that holds the guard.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::lock::{LockedLayer, hex_of};
use crate::layer::writer::LayerDigest;

/// The record's name; it is written last.
const RECORD: &str = "lock.toml";

/// An empty file beside the layer, written when replacing it failed.
const LAST_TRY: &str = "last-try";

/// The cache could not be read or written: no permission, or no space.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {source}")]
pub struct CacheError {
    /// Which file.
    pub path: PathBuf,
    /// The cause.
    pub source: io::Error,
}

/// Puts a path to an error.
pub(crate) fn at(path: &Path) -> impl Fn(io::Error) -> CacheError {
    move |source| CacheError {
        path: path.to_owned(),
        source,
    }
}

/// One entry of the cache.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CacheEntry<'a> {
    pub(crate) cache: &'a Path,
    /// The hash of everything that the layer is made of.
    pub(crate) key: &'a str,
}

/// The right to fill an entry. It ends with this value, or with the process.
#[derive(Debug)]
pub(crate) struct CacheLock {
    _lock: File,
}

/// The text of an entry's record, and the time since it was written; zero if the clock went
/// back.
#[derive(Debug)]
pub(crate) struct CacheRecord {
    pub(crate) text: String,
    pub(crate) age: Duration,
}

/// Something in the cache, and the time since it was made; zero if the clock went back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Aged<T> {
    pub(crate) value: T,
    pub(crate) age: Duration,
}

impl CacheEntry<'_> {
    /// Returns the directory of the layers and the record.
    pub(crate) fn dir(&self) -> PathBuf {
        self.cache.join(self.key)
    }

    fn guard_path(&self) -> PathBuf {
        self.cache.join(format!("{}.guard", self.key))
    }

    fn scratch_prefix(&self) -> String {
        format!("{}.new-", self.key)
    }

    /// Returns where the layer with that digest is.
    pub(crate) fn layer(&self, digest: &str) -> PathBuf {
        self.dir().join(layer_name(digest))
    }

    /// Returns the record in the file `name`, if it is there.
    pub(crate) fn record(&self, name: &str) -> Option<CacheRecord> {
        let path = self.dir().join(name);
        let age = fs::metadata(&path).ok()?.modified().ok()?;
        Some(CacheRecord {
            text: fs::read_to_string(&path).ok()?,
            age: age.elapsed().unwrap_or_default(),
        })
    }

    /// Returns the layer that the entry holds, if it is there and whole.
    pub(crate) fn load_layer<E>(
        &self,
        parse: impl FnOnce(&str) -> Result<LockedLayer, E>,
    ) -> Option<Aged<LockedLayer>> {
        let CacheRecord { text, age } = self.record(RECORD)?;
        let locked = parse(&text).ok()?;
        let found = fs::metadata(self.layer(&locked.layer)).ok()?;
        (found.len() == locked.bytes).then_some(Aged { value: locked, age })
    }

    /// Takes the right to fill the entry; calls `on_wait` if another process has it.
    pub(crate) fn lock(&self, on_wait: impl FnOnce()) -> Result<CacheLock, CacheError> {
        crate::private_dir(self.cache).map_err(at(self.cache))?;
        let path = self.guard_path();
        let lock = File::create(&path).map_err(at(&path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                on_wait();
                lock.lock().map_err(at(&path))?;
            }
            Err(TryLockError::Error(error)) => return Err(at(&path)(error)),
        }
        Ok(CacheLock { _lock: lock })
    }

    /// Takes the right to fill the entry; `None` if another process has it.
    pub(crate) fn try_lock(&self) -> Result<Option<CacheLock>, CacheError> {
        crate::private_dir(self.cache).map_err(at(self.cache))?;
        let path = self.guard_path();
        let lock = File::create(&path).map_err(at(&path))?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(CacheLock { _lock: lock })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(at(&path)(error)),
        }
    }

    /// Makes a directory for a new layer, and removes those that killed builds left.
    pub(crate) fn scratch(&self, _lock: &CacheLock) -> Result<tempfile::TempDir, CacheError> {
        let prefix = self.scratch_prefix();
        for entry in fs::read_dir(self.cache).map_err(at(self.cache))?.flatten() {
            if entry.file_name().to_string_lossy().starts_with(&prefix) {
                // One that stays costs space, nothing else.
                let _gone = fs::remove_dir_all(entry.path());
            }
        }
        tempfile::Builder::new()
            .prefix(&prefix)
            .tempdir_in(self.cache)
            .map_err(at(self.cache))
    }

    /// Moves a layer and its record in. The record comes last and makes it count.
    pub(crate) fn commit(
        &self,
        scratch: &Path,
        fresh: &Path,
        digest: &LayerDigest,
        record: &str,
    ) -> Result<(), CacheError> {
        let dir = self.dir();
        crate::private_dir(&dir).map_err(at(&dir))?;
        let kept = self.layer(&digest.hex);
        fs::rename(fresh, &kept).map_err(at(&kept))?;

        self.commit_record(scratch, RECORD, record)?;
        for entry in fs::read_dir(&dir).map_err(at(&dir))?.flatten() {
            // The note of a failed try goes, too: this one did not fail.
            if entry.file_name() != RECORD && entry.path() != kept {
                // An older layer that stays costs space, nothing else.
                let _gone = fs::remove_file(entry.path());
            }
        }
        Ok(())
    }

    /// Moves the record `name` in, which makes the layers beside it count.
    pub(crate) fn commit_record(
        &self,
        scratch: &Path,
        name: &str,
        text: &str,
    ) -> Result<(), CacheError> {
        let draft = scratch.join(name);
        let path = self.dir().join(name);
        let mut out = File::create_new(&draft).map_err(at(&draft))?;
        out.write_all(text.as_bytes())
            .and_then(|()| out.sync_all())
            .map_err(at(&draft))?;
        fs::rename(&draft, &path).map_err(at(&path))
    }

    /// Whether a try to replace an old layer failed within the last hour. Without this,
    /// every start of a session on a machine without a network would try.
    pub(crate) fn tried_lately(&self) -> bool {
        const PAUSE: Duration = Duration::from_secs(3_600);
        let modified = fs::metadata(self.dir().join(LAST_TRY)).and_then(|note| note.modified());
        modified.is_ok_and(|time| time.elapsed().is_ok_and(|age| age < PAUSE))
    }

    /// Notes that a try to replace the layer has failed.
    pub(crate) fn note_try(&self) -> Result<(), CacheError> {
        let path = self.dir().join(LAST_TRY);
        fs::write(&path, b"").map_err(at(&path))
    }
}

fn layer_name(digest: &str) -> String {
    let hex = hex_of(digest);
    format!("layer-{}.tar", hex.get(..16).unwrap_or(hex))
}
