//! `BaseWriter`: adds texts to a store.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use lazaret_tree::{AtPath as _, Digest, PathError};

use super::index::{Index, Record};
use super::{BaseStoreError, MOST_FILE_BYTES, index_of, open_own};

/// A NUL byte this early makes a file binary, as in git's `buffer_is_binary`.
pub(super) const HEAD: usize = 8 << 10;
/// One write for this much.
pub(super) const FLUSH: usize = 256 << 10;

/// Adds texts to a store. There is one writer at a time.
#[derive(Debug)]
pub struct BaseWriter {
    contents: File,
    path: PathBuf,
    /// What is not written yet.
    buffer: Vec<u8>,
    /// How many bytes were written before the buffer.
    written: u64,
    /// How many bytes of contents there may be.
    room: u64,
    /// What was there.
    old: Index,
    new: Vec<Record>,
    known: HashSet<Digest>,
    failed: Option<io::Error>,
}

impl BaseWriter {
    /// Opens the store, makes it where there is none, and waits for another writer to end.
    /// At most `room` bytes of contents are kept; texts that come when it is full are passed
    /// over. A store that is damaged begins anew.
    ///
    /// # Errors
    /// When it can't be read or made.
    pub fn open(path: &Path, room: u64) -> Result<Self, PathError> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let contents = match open_own(&mut options, path) {
            Ok(contents) => contents,
            Err(BaseStoreError::Io(error)) => return Err(error),
            Err(error @ BaseStoreError::Damaged { .. }) => {
                return Err(io::Error::other(error.to_string())).at(path);
            }
        };
        contents.lock().at(path)?;
        Self::over(contents, path, room)
    }

    /// Continues the contents behind all that its index knows.
    pub(super) fn over(mut contents: File, path: &Path, room: u64) -> Result<Self, PathError> {
        let length = contents.metadata().at(path)?.len();
        // One that is missing or damaged knows nothing.
        let old = Index::read(&index_of(path)).unwrap_or_default();
        let old = match old.end() <= length {
            true => old,
            false => Index::default(),
        };
        let written = old.end();
        contents.seek(SeekFrom::Start(written)).at(path)?;
        Ok(Self {
            contents,
            path: path.to_path_buf(),
            buffer: Vec::with_capacity(FLUSH),
            written,
            room,
            old,
            new: Vec::new(),
            known: HashSet::new(),
            failed: None,
        })
    }

    /// Whether a file with this digest and of this size would be kept, if it is text.
    pub(super) fn wants(&self, digest: &Digest, size: u64) -> bool {
        let end = self.written + self.buffer.len() as u64;
        self.failed.is_none()
            && (1..=MOST_FILE_BYTES).contains(&size)
            && end.saturating_add(size) <= self.room
            && self.old.find(digest).is_none()
            && !self.known.contains(digest)
    }

    /// Keeps a text that is wanted.
    pub(super) fn keep(&mut self, digest: Digest, text: &[u8]) {
        let head = text.get(..HEAD).unwrap_or(text);
        if head.contains(&0) {
            return;
        }
        self.new.push(Record {
            digest,
            offset: self.written + self.buffer.len() as u64,
            length: u32::try_from(text.len()).unwrap_or(u32::MAX),
        });
        self.known.insert(digest);
        self.buffer.extend_from_slice(text);
        if self.buffer.len() >= FLUSH {
            self.flush();
        }
    }

    /// Makes what was added part of the store.
    ///
    /// # Errors
    /// The first error of all writes. The store is as it was before then.
    pub fn finish(mut self) -> Result<(), PathError> {
        if self.new.is_empty() {
            return Ok(());
        }
        self.flush();
        if let Some(error) = self.failed {
            // Frees the space: the disk may be full.
            drop(self.contents.set_len(self.old.end()));
            return Err(error).at(&self.path);
        }
        self.old.extend(self.new);
        self.old.write(&index_of(&self.path))
    }

    fn flush(&mut self) {
        if self.failed.is_none()
            && let Err(error) = self.contents.write_all(&self.buffer)
        {
            self.failed = Some(error);
        }
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
    }
}
