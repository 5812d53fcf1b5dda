//! `BlobFile`: a file of contents, and the file that says what lies where in it.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lazaret_tree::{AtPath as _, Digest, PathError};
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::blob::Blob;
use super::index::{BlobPlace, IndexRecord};
use super::write_buffer::WriteBuffer;
use super::{BlobStoreError, InsertError};

const CONTENTS: &str = "spool-";
const INDEX: &str = "index-";
/// What an index begins with.
const MAGIC: [u8; 8] = *b"lzindx 1";

/// Part of the names, so that no two files of a process have the same.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A pair of files.
#[derive(Debug)]
pub(super) struct BlobFile {
    contents: Arc<File>,
    index: File,
    /// What follows both prefixes.
    name: String,
    /// For messages.
    path: PathBuf,
    /// Bytes of contents that were written.
    written: u64,
    /// Those that follow.
    waiting: WriteBuffer,
    /// Bytes of the index.
    index_length: u64,
    /// How many blobs of the store need not be noted any more.
    noted: usize,
}

impl BlobFile {
    /// Makes a pair of files in a store of `known` blobs.
    pub(super) fn create(dir: &OwnedFd, path: &Path, known: usize) -> Result<Self, BlobStoreError> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let create = |name: &str| {
            let mode = Mode::RUSR | Mode::WUSR;
            rustix::fs::openat(dir, name, flags | OFlags::CLOEXEC, mode).map(File::from)
        };
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = format!("{}-{number}", rustix::process::getpid().as_raw_nonzero());
            let contents = match create(&format!("{CONTENTS}{name}")) {
                Ok(contents) => contents,
                // Left by a process that was killed and had this number.
                Err(Errno::EXIST) => continue,
                Err(error) => return Err(failed(path, CONTENTS, &name, error)),
            };
            let begun = create(&format!("{INDEX}{name}")).map_err(io::Error::from);
            let begun = begun.and_then(|index| index.write_all_at(&MAGIC, 0).map(|()| index));
            return Ok(Self {
                contents: Arc::new(contents),
                index: begun.map_err(|error| failed(path, INDEX, &name, error))?,
                path: path.join(format!("{CONTENTS}{name}")),
                name,
                written: 0,
                waiting: WriteBuffer::default(),
                index_length: MAGIC.len() as u64,
                noted: known,
            });
        }
    }

    /// Opens every pair for reading.
    pub(super) fn open_all(
        dir: &OwnedFd,
        path: &Path,
    ) -> Result<Vec<(Self, Vec<IndexRecord>)>, BlobStoreError> {
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

    /// Removes the pairs that a killed process left without a record. The caller is the only
    /// writer.
    pub(super) fn remove_unfinished(dir: &OwnedFd, path: &Path) -> Result<(), PathError> {
        for entry in rustix::fs::Dir::read_from(dir).at(path)? {
            let entry = entry.at(path)?;
            let contents = entry.file_name().to_str().unwrap_or_default();
            let Some(name) = contents.strip_prefix(CONTENTS) else {
                continue;
            };
            let index = format!("{INDEX}{name}");
            let has_records = rustix::fs::statat(dir, &*index, AtFlags::SYMLINK_NOFOLLOW)
                .is_ok_and(|stat| stat.st_size > MAGIC.len() as i64);
            if !has_records {
                let _missing = rustix::fs::unlinkat(dir, &*index, AtFlags::empty());
                rustix::fs::unlinkat(dir, contents, AtFlags::empty()).at(path.join(contents))?;
            }
        }
        Ok(())
    }

    fn open(
        dir: &OwnedFd,
        path: &Path,
        name: String,
    ) -> Result<(Self, Vec<IndexRecord>), BlobStoreError> {
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
        let (contents, mut index) = (open(CONTENTS)?, open(INDEX)?);
        let mut bytes = Vec::new();
        let read = index.read_to_end(&mut bytes);
        read.map_err(|error| failed(path, INDEX, &name, error))?;
        // One that was killed before it had written anything has nothing to tell.
        let records = match bytes.split_first_chunk::<8>() {
            Some((&MAGIC, records)) => records,
            Some(_) => return Err(damaged(path, INDEX, &name)),
            None => &[],
        };
        // A record that was cut off belongs to a blob that no caller was told of.
        let (records, _) = records.as_chunks::<{ IndexRecord::BYTES }>();
        let records = records.iter().filter_map(IndexRecord::read).collect();
        let file = Self {
            written: contents.metadata().at(path)?.len(),
            waiting: WriteBuffer::default(),
            contents: Arc::new(contents),
            index,
            index_length: bytes.len() as u64,
            path: path.join(format!("{CONTENTS}{name}")),
            name,
            noted: 0,
        };
        Ok((file, records))
    }

    /// Bytes of contents.
    pub(super) fn length(&self) -> u64 {
        self.written + self.waiting.bytes().len() as u64
    }

    /// How many blobs of the store need not be noted any more.
    pub(super) fn noted_before(&self) -> usize {
        self.noted
    }

    pub(super) fn blob(&mut self, place: BlobPlace) -> Result<Blob, BlobStoreError> {
        self.flush()?;
        let contents = Arc::clone(&self.contents);
        Ok(Blob::new(contents, place.offset, place.length))
    }

    /// Adds what `reader` gives, up to `limit` bytes, and returns digest and size.
    pub(super) fn add(
        &mut self,
        reader: &mut dyn Read,
        limit: u64,
    ) -> Result<(Digest, u64), InsertError> {
        if self.waiting.is_nearly_full() {
            self.flush()?;
        }
        let (mut hasher, mut size) = (blake3::Hasher::new(), 0);
        loop {
            let piece = self.waiting.fill(reader).map_err(InsertError::Read)?;
            size += piece.len() as u64;
            if size > limit {
                return Err(InsertError::TooBig { limit });
            }
            hasher.update(piece);
            if !self.waiting.is_full() {
                return Ok((hasher.finalize().into(), size));
            }
            self.flush()?;
        }
    }

    /// Writes what waits.
    fn flush(&mut self) -> Result<(), BlobStoreError> {
        let bytes = self.waiting.bytes();
        let written = self.contents.write_all_at(bytes, self.written);
        if written.is_err() {
            // A full disk may have taken a part.
            drop(self.contents.set_len(self.written));
        }
        written.at(&self.path)?;
        self.written += bytes.len() as u64;
        self.waiting.truncate(0);
        Ok(())
    }

    /// Writes down where new blobs lie: all of them, or none that counts (FLT-07).
    pub(super) fn note(&mut self, places: &[BlobPlace]) -> Result<(), BlobStoreError> {
        self.flush()?;
        let mut bytes = Vec::with_capacity(places.len() * IndexRecord::BYTES);
        for place in places {
            let record = IndexRecord {
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

    /// Takes back what was added behind the first `length` bytes. If truncating fails, no record
    /// points to the rest.
    pub(super) fn truncate(&mut self, length: u64) {
        let waiting = length.saturating_sub(self.written);
        self.waiting
            .truncate(usize::try_from(waiting).unwrap_or(usize::MAX));
        if length < self.written {
            drop(self.contents.set_len(length));
            self.written = length;
        }
    }

    /// Removes both files, where nothing was noted in them. Says whether it did.
    pub(super) fn unlink(&self, dir: &OwnedFd) -> bool {
        let is_empty = |index: &File| index.metadata().is_ok_and(|meta| meta.len() <= 8);
        let unlink = |prefix: &str| {
            let name = format!("{prefix}{}", self.name);
            rustix::fs::unlinkat(dir, name, AtFlags::empty())
        };
        is_empty(&self.index) && unlink(INDEX).is_ok() && unlink(CONTENTS).is_ok()
    }
}

fn failed(path: &Path, prefix: &str, name: &str, error: impl Into<io::Error>) -> BlobStoreError {
    PathError {
        path: path.join(format!("{prefix}{name}")),
        source: error.into(),
    }
    .into()
}

fn damaged(path: &Path, prefix: &str, name: &str) -> BlobStoreError {
    BlobStoreError::DamagedFile {
        path: path.join(format!("{prefix}{name}")),
    }
}
