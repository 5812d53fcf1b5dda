//! `Slot`: a place in the cache for one layer and the record that makes it count.
//!
//! Two processes that want the same layer make it once: the second waits. What a killed
//! build left behind is removed by the next one that holds the guard.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::layer::LayerDigest;

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

/// A place in the cache for one layer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slot<'a> {
    pub(crate) cache: &'a Path,
    /// The hash of everything that the layer is made of.
    pub(crate) key: &'a str,
}

/// The right to fill a slot. It ends with this value, or with the process.
#[derive(Debug)]
pub(crate) struct Guard {
    _lock: File,
}

/// What a slot holds: the text of its record, and the time since it was written; zero
/// when the clock went back.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) record: String,
    pub(crate) age: Duration,
}

impl Slot<'_> {
    fn dir(&self) -> PathBuf {
        self.cache.join(self.key)
    }

    fn guard_path(&self) -> PathBuf {
        self.cache.join(format!("{}.guard", self.key))
    }

    fn scratch_prefix(&self) -> String {
        format!("{}.new-", self.key)
    }

    /// Where the layer with that digest lies.
    pub(crate) fn layer(&self, digest: &str) -> PathBuf {
        self.dir().join(layer_name(digest))
    }

    /// Returns what the slot holds, if anything.
    pub(crate) fn held(&self) -> Option<Held> {
        let path = self.dir().join(RECORD);
        let age = fs::metadata(&path).ok()?.modified().ok()?;
        Some(Held {
            record: fs::read_to_string(&path).ok()?,
            age: age.elapsed().unwrap_or_default(),
        })
    }

    /// Takes the right to fill the slot; `on_wait` is told when somebody else has it.
    pub(crate) fn lock(&self, on_wait: impl FnOnce()) -> Result<Guard, CacheError> {
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
        Ok(Guard { _lock: lock })
    }

    /// Takes the right to fill the slot; `None` when somebody else has it.
    pub(crate) fn try_lock(&self) -> Result<Option<Guard>, CacheError> {
        crate::private_dir(self.cache).map_err(at(self.cache))?;
        let path = self.guard_path();
        let lock = File::create(&path).map_err(at(&path))?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(Guard { _lock: lock })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(at(&path)(error)),
        }
    }

    /// Makes a directory for a new layer, and removes those that killed builds left.
    pub(crate) fn scratch(&self, _guard: &Guard) -> Result<tempfile::TempDir, CacheError> {
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

        let draft = scratch.join(RECORD);
        let path = dir.join(RECORD);
        let mut out = File::create_new(&draft).map_err(at(&draft))?;
        out.write_all(record.as_bytes())
            .and_then(|()| out.sync_all())
            .map_err(at(&draft))?;
        fs::rename(&draft, &path).map_err(at(&path))?;

        for entry in fs::read_dir(&dir).map_err(at(&dir))?.flatten() {
            // The note of a failed try goes, too: this one did not fail.
            if entry.file_name() != RECORD && entry.path() != kept {
                // An older layer that stays costs space, nothing else.
                let _gone = fs::remove_file(entry.path());
            }
        }
        Ok(())
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

/// Returns the hexadecimal part of `sha256:…`.
pub(crate) fn hex_of(digest: &str) -> &str {
    digest.strip_prefix("sha256:").unwrap_or(digest)
}

fn layer_name(digest: &str) -> String {
    let hex = hex_of(digest);
    format!("layer-{}.tar", hex.get(..16).unwrap_or(hex))
}
