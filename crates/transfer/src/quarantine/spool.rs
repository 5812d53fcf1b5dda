//! `Spool`: a file of contents, and the file that says what lies where in it.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::QuarantineError;
use super::blob::Blob;
use super::index::{Place, Record};
use crate::{AtPath as _, PathError};

const SPOOL: &str = "spool-";
const INDEX: &str = "index-";
/// What an index begins with.
const MAGIC: [u8; 8] = *b"lzindx 1";

/// Part of the names, so that no two spools of a process have the same.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A pair of files.
#[derive(Debug)]
pub(super) struct Spool {
    contents: Arc<File>,
    index: File,
    /// What follows both prefixes.
    name: String,
    /// For messages.
    path: PathBuf,
    /// Bytes of contents.
    length: u64,
    /// Bytes of the index.
    index_length: u64,
    /// How many blobs of the quarantine need not be noted any more.
    noted: usize,
}

impl Spool {
    /// Makes a pair of files in a quarantine of `known` blobs.
    pub(super) fn create(
        dir: &OwnedFd,
        path: &Path,
        known: usize,
    ) -> Result<Self, QuarantineError> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let create = |name: &str| {
            let mode = Mode::RUSR | Mode::WUSR;
            rustix::fs::openat(dir, name, flags | OFlags::CLOEXEC, mode).map(File::from)
        };
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = format!("{}-{number}", rustix::process::getpid().as_raw_nonzero());
            let contents = match create(&format!("{SPOOL}{name}")) {
                Ok(contents) => contents,
                // Left by a process that was killed and had this number.
                Err(Errno::EXIST) => continue,
                Err(error) => return Err(failed(path, SPOOL, &name, error)),
            };
            let begun = create(&format!("{INDEX}{name}")).map_err(io::Error::from);
            let begun = begun.and_then(|index| index.write_all_at(&MAGIC, 0).map(|()| index));
            return Ok(Self {
                contents: Arc::new(contents),
                index: begun.map_err(|error| failed(path, INDEX, &name, error))?,
                path: path.join(format!("{SPOOL}{name}")),
                name,
                length: 0,
                index_length: MAGIC.len() as u64,
                noted: known,
            });
        }
    }

    /// Opens every pair for reading.
    pub(super) fn open_all(
        dir: &OwnedFd,
        path: &Path,
    ) -> Result<Vec<(Self, Vec<Record>)>, QuarantineError> {
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(dir).at(path)? {
            let entry = entry.at(path)?;
            let name = entry.file_name().to_str().unwrap_or_default();
            names.extend(name.strip_prefix(INDEX).map(str::to_owned));
        }
        names.sort();
        let opened = names.into_iter().map(|name| Self::open(dir, path, name));
        opened.collect()
    }

    fn open(
        dir: &OwnedFd,
        path: &Path,
        name: String,
    ) -> Result<(Self, Vec<Record>), QuarantineError> {
        let open = |prefix: &str| {
            // Without NONBLOCK a FIFO put in its place would hang the opening.
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let file = rustix::fs::openat(dir, format!("{prefix}{name}"), flags, Mode::empty())
                .map_err(|error| failed(path, prefix, &name, error))?;
            let stat = rustix::fs::fstat(&file).at(path)?;
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile => Ok(File::from(file)),
                _ => Err(damaged(path, prefix, &name)),
            }
        };
        let (contents, mut index) = (open(SPOOL)?, open(INDEX)?);
        let mut bytes = Vec::new();
        let read = index.read_to_end(&mut bytes);
        read.map_err(|error| failed(path, INDEX, &name, error))?;
        // One that was killed before it had written anything has nothing to tell.
        let records = match bytes.split_first_chunk::<8>() {
            Some((&MAGIC, records)) => records,
            Some(_) => return Err(damaged(path, INDEX, &name)),
            None => &[],
        };
        // A record that was cut off is one of a blob that nobody was told of.
        let (records, _) = records.as_chunks::<{ Record::BYTES }>();
        let records = records.iter().filter_map(Record::read).collect();
        let spool = Self {
            length: contents.metadata().at(path)?.len(),
            contents: Arc::new(contents),
            index,
            index_length: bytes.len() as u64,
            path: path.join(format!("{SPOOL}{name}")),
            name,
            noted: 0,
        };
        Ok((spool, records))
    }

    /// Bytes of contents.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// How many blobs of the quarantine need not be noted any more.
    pub(super) fn noted_before(&self) -> usize {
        self.noted
    }

    pub(super) fn blob(&self, place: Place) -> Blob {
        Blob::new(Arc::clone(&self.contents), place.offset, place.length)
    }

    /// Adds bytes at the end.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), QuarantineError> {
        let written = self.contents.write_all_at(bytes, self.length);
        written.at(&self.path)?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Writes down where new blobs lie: all of them, or none that counts (FLT-07).
    pub(super) fn note(&mut self, places: &[Place]) -> Result<(), QuarantineError> {
        let mut bytes = Vec::with_capacity(places.len() * Record::BYTES);
        for place in places {
            let record = Record {
                digest: place.digest,
                offset: place.offset,
                length: place.length,
            };
            record.write_to(&mut bytes);
        }
        let written = self.index.write_all_at(&bytes, self.index_length);
        if written.is_err() {
            // What a full disk let through of them must not point to what comes instead.
            drop(self.index.set_len(self.index_length));
        }
        written.at(&self.path)?;
        self.index_length += bytes.len() as u64;
        self.noted += places.len();
        Ok(())
    }

    /// Takes back what was appended behind the first `length` bytes. What stays there all the
    /// same is written over, or found by nobody.
    pub(super) fn truncate(&mut self, length: u64) {
        drop(self.contents.set_len(length));
        self.length = length;
    }

    /// Removes both files, where nothing was noted in them. Says whether it did.
    pub(super) fn unlink(&self, dir: &OwnedFd) -> bool {
        let is_empty = |index: &File| index.metadata().is_ok_and(|meta| meta.len() <= 8);
        let unlink = |prefix: &str| {
            let name = format!("{prefix}{}", self.name);
            rustix::fs::unlinkat(dir, name, AtFlags::empty())
        };
        is_empty(&self.index) && unlink(INDEX).is_ok() && unlink(SPOOL).is_ok()
    }
}

fn failed(path: &Path, prefix: &str, name: &str, error: impl Into<io::Error>) -> QuarantineError {
    PathError {
        path: path.join(format!("{prefix}{name}")),
        source: error.into(),
    }
    .into()
}

fn damaged(path: &Path, prefix: &str, name: &str) -> QuarantineError {
    QuarantineError::DamagedFile {
        path: path.join(format!("{prefix}{name}")),
    }
}
