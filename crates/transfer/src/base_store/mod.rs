//! `BaseStore`: the texts that a session started from, kept for merges and for diffs.
//!
//! If the user edits a file while the command runs, the host no longer has the text that the
//! session started from, and a merge needs it. So the launcher keeps the texts beside the session.
//! It does not do so while it sends them, when the user waits, but reads them from the workspace
//! while the command runs ([`keep_texts`]).
//!
//! One file holds the contents, one after the other, and only grows. The index beside it, with
//! `-index` after its name, is replaced as a whole:
//!
//! ```text
//! index  = "lazaret base v2\n", number of records (8), record*
//! record = digest (32 bytes), offset (8), length (4), little-endian, sorted by digest
//! ```
//!
//! So a reader always finds a store that was complete at some time, also while a writer runs or
//! after one was killed. The store is a convenience: it is not synced, and a failed write loses
//! merges and nothing else. A reader checks the digest of every text.

mod index;
mod keep;
#[cfg(test)]
mod tests;
mod writer;

use std::fs::{File, OpenOptions};
use std::io::{self, Cursor, Read};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use lazaret_tree::{AtPath as _, Blobs, Digest, PathError};
use rustix::fs::OFlags;

use index::Index;

pub use keep::keep_texts;
pub use writer::BaseWriter;

/// A larger file is neither merged nor shown, so it is not kept either.
const MOST_FILE_BYTES: u64 = 1 << 20;

/// Texts by digest.
#[derive(Debug)]
pub struct BaseStore {
    contents: File,
    index: Index,
}

/// Why a store can't be used.
#[derive(Debug, thiserror::Error)]
pub enum BaseStoreError {
    /// The file system failed, or there is none.
    #[error(transparent)]
    Io(#[from] PathError),
    /// It is cut, or no store.
    #[error("{}: not a complete store of base texts", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
    },
}

impl BaseStore {
    /// Opens what a [`BaseWriter`] has finished at `path`.
    ///
    /// # Errors
    /// When it is missing, a link, cut short, or something else.
    pub fn open(path: &Path) -> Result<Self, BaseStoreError> {
        let index = Index::read(&index_of(path))?;
        let contents = open_own(OpenOptions::new().read(true), path)?;
        let length = contents.metadata().at(path)?.len();
        match index.end() <= length {
            true => Ok(Self { contents, index }),
            false => Err(BaseStoreError::Damaged {
                path: path.to_path_buf(),
            }),
        }
    }

    /// Reads the text with this digest; `None` when it is not kept.
    ///
    /// # Errors
    /// When it can't be read, or is not what the digest says (`InvalidData`).
    pub fn read(&self, digest: &Digest) -> io::Result<Option<Vec<u8>>> {
        let Some(record) = self.index.find(digest) else {
            return Ok(None);
        };
        let mut bytes = vec![0; record.length as usize];
        self.contents.read_exact_at(&mut bytes, record.offset)?;
        if Digest::of(&bytes) != *digest {
            let text = "the store of base texts is damaged";
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        Ok(Some(bytes))
    }

    /// Counts the texts.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Blobs for BaseStore {
    fn open(&self, digest: &Digest) -> io::Result<Box<dyn Read + '_>> {
        match self.read(digest)? {
            Some(bytes) => Ok(Box::new(Cursor::new(bytes))),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

/// Returns where the index of the contents at `path` is.
fn index_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-index");
    name.into()
}

/// Opens a regular file that this user owns, and follows no link.
fn open_own(options: &mut OpenOptions, path: &Path) -> Result<File, BaseStoreError> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = options
        .mode(0o600)
        .custom_flags(flags.bits().cast_signed())
        .open(path)
        .at(path)?;
    let metadata = file.metadata().at(path)?;
    match metadata.is_file() && metadata.uid() == rustix::process::geteuid().as_raw() {
        true => Ok(file),
        false => Err(BaseStoreError::Damaged {
            path: path.to_path_buf(),
        }),
    }
}
