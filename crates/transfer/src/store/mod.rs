//! `BlobStore`: where bytes from the other side wait, found by what they are.
//!
//! ```text
//! spool-PID-N   contents, one after the other
//! index-PID-N   of each: digest, offset, length; complete records only
//! ```
//!
//! One pair for each [`BlobStore`] that something was inserted by, so that two programs never
//! write to one file. A file for each blob costs more than its bytes do: of a source tree, four
//! times as much.

mod blob;
mod blob_file;
mod index;
mod merge_bases;
mod write_buffer;

use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use lazaret_tree::{AtPath as _, Blobs, Digest, PathError};
use rustix::fs::{Mode, OFlags};

pub use blob::Blob;
use blob_file::BlobFile;
use index::{BlobPlace, Index, IndexRecord};
pub use merge_bases::{MergeBases, record_merge_bases};

/// A private directory of blobs, each found by the BLAKE3 of its bytes.
///
/// Nothing in it has a name, a mode or a type that the other side chose. The
/// directory is 0700, its files are 0600; a blob is there complete or not at all (FLT-07).
/// A power cut may take what was not flushed; then it is collected again from the volume.
#[derive(Debug)]
pub struct BlobStore {
    dir: OwnedFd,
    path: PathBuf,
    held: Mutex<OpenStore>,
}

/// What is known of the directory.
#[derive(Debug, Default)]
struct OpenStore {
    index: Index,
    /// Those of others first; [`BlobPlace::file`] is a place in this list.
    files: Vec<BlobFile>,
    /// The one that is written to, once something was inserted.
    own: Option<u32>,
}

/// Why the quarantine, or a blob, cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BlobStoreError {
    /// The file system failed.
    #[error(transparent)]
    Io(#[from] PathError),
    /// The directory belongs to another user, or other users may enter it.
    #[error("{}: not a private directory of this user", .path.display())]
    NotPrivate {
        /// The directory.
        path: PathBuf,
    },
    /// One of its files is no regular file, or not what was written there.
    #[error("{}: damaged", .path.display())]
    DamagedFile {
        /// The file.
        path: PathBuf,
    },
    /// A blob is cut off, or has another size than its entry says.
    #[error("{}: blob {digest} is damaged", .path.display())]
    Damaged {
        /// The directory.
        path: PathBuf,
        /// The blob.
        digest: Digest,
    },
}

/// Why bytes could not be inserted.
#[derive(Debug, thiserror::Error)]
pub enum InsertError {
    /// The reader failed.
    #[error("the bytes cannot be read: {0}")]
    Read(#[source] io::Error),
    /// More bytes than allowed.
    #[error("more than {limit} bytes")]
    TooBig {
        /// The limit, in bytes.
        limit: u64,
    },
    /// The quarantine failed; nothing is left behind.
    #[error(transparent)]
    Store(#[from] BlobStoreError),
}

/// How far a quarantine was filled, for [`BlobStore::roll_back`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    blobs: usize,
    /// Bytes of its own file.
    length: u64,
}

impl BlobStore {
    /// Makes the directory; its parent must exist, it must not.
    ///
    /// # Errors
    /// When it exists or cannot be made.
    pub fn create(path: &Path) -> Result<Self, BlobStoreError> {
        rustix::fs::mkdir(path, Mode::RWXU).at(path)?;
        Self::open(path)
    }

    /// Opens a directory made by [`BlobStore::create`].
    ///
    /// # Errors
    /// When it is missing, a link, not ours, open to others, or holds what was not written by
    /// this program.
    pub fn open(path: &Path) -> Result<Self, BlobStoreError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let dir = rustix::fs::open(path, flags, Mode::empty()).at(path)?;
        let stat = rustix::fs::fstat(&dir).at(path)?;
        let private = stat.st_mode & 0o077 == 0;
        if !private || stat.st_uid != rustix::process::geteuid().as_raw() {
            return Err(BlobStoreError::NotPrivate {
                path: path.to_path_buf(),
            });
        }
        let mut held = OpenStore::default();
        for (file, records) in BlobFile::open_all(&dir, path)? {
            held.add(file, &records);
        }
        Ok(Self {
            dir,
            path: path.to_path_buf(),
            held: Mutex::new(held),
        })
    }

    /// Bytes of all blobs.
    pub(crate) fn bytes(&self) -> u64 {
        self.lock().index.bytes()
    }

    /// Whether the blob is there.
    pub fn has(&self, digest: &Digest) -> bool {
        self.lock().index.get(digest).is_some()
    }

    /// Opens a blob of `size` bytes for reading.
    ///
    /// The bytes are not hashed again here: a caller that relies on them hashes what
    /// it reads.
    ///
    /// # Errors
    /// When it is missing, cut off, or of another size.
    pub fn blob(&self, digest: &Digest, size: u64) -> Result<Blob, BlobStoreError> {
        let blob = self.found(digest)?;
        match blob.left() == size {
            true => Ok(blob),
            false => Err(self.damaged(digest)),
        }
    }

    fn found(&self, digest: &Digest) -> Result<Blob, BlobStoreError> {
        let mut held = self.lock();
        let Some(place) = held.index.get(digest) else {
            let path = self.path.join(digest.to_hex());
            let source = io::ErrorKind::NotFound.into();
            return Err(PathError { path, source }.into());
        };
        let Some(file) = held.files.get_mut(place.file as usize) else {
            return Err(self.damaged(digest));
        };
        let blob = file.blob(place)?;
        match blob.is_whole().at(&self.path)? {
            true => Ok(blob),
            false => Err(self.damaged(digest)),
        }
    }

    fn damaged(&self, digest: &Digest) -> BlobStoreError {
        BlobStoreError::Damaged {
            path: self.path.clone(),
            digest: *digest,
        }
    }

    /// Reads `reader` to its end into a blob, and returns its digest and size. The quarantine is
    /// locked meanwhile: a reader that asks it for anything would wait for itself. One that was
    /// [opened](BlobStore::blob) before may come from it.
    ///
    /// # Errors
    /// When more than `limit` bytes come, or either side fails; nothing is left then.
    pub fn insert(&self, reader: &mut dyn Read, limit: u64) -> Result<(Digest, u64), InsertError> {
        let mark = self.mark();
        let put = self.put(reader, limit);
        let kept = put.and_then(|put| Ok(self.keep().map(|()| put)?));
        if kept.is_err() {
            self.roll_back(mark);
        }
        kept
    }

    /// Removes the directory and everything in it.
    ///
    /// # Errors
    /// When the file system fails.
    pub fn remove(self) -> Result<(), BlobStoreError> {
        Ok(std::fs::remove_dir_all(&self.path).at(&self.path)?)
    }

    /// As [`BlobStore::insert`], but others find the blob only after [`BlobStore::keep`].
    ///
    /// What is small is hashed before anything is written, so that a blob that is there already
    /// costs no write.
    ///
    /// # Errors
    /// As [`BlobStore::insert`]; what came of it is taken back by [`BlobStore::roll_back`].
    pub(crate) fn put(
        &self,
        reader: &mut dyn Read,
        limit: u64,
    ) -> Result<(Digest, u64), InsertError> {
        let mut held = self.lock();
        let number = held.own(&self.dir, &self.path)?;
        let OpenStore { index, files, .. } = &mut *held;
        let Some(file) = files.get_mut(number as usize) else {
            return Err(BlobStoreError::DamagedFile {
                path: self.path.clone(),
            }
            .into());
        };
        let offset = file.length();
        let (digest, length) = file.add(reader, limit)?;
        if index.get(&digest).is_some() {
            file.truncate(offset);
            return Ok((digest, length));
        }
        index.insert(BlobPlace {
            digest,
            file: number,
            offset,
            length,
        });
        Ok((digest, length))
    }

    /// Writes down what was put in, so that others find it.
    pub(crate) fn keep(&self) -> Result<(), BlobStoreError> {
        let mut held = self.lock();
        let OpenStore { index, files, own } = &mut *held;
        if let Some(file) = own.and_then(|own| files.get_mut(own as usize)) {
            file.note(index.since(file.noted_before()))?;
        }
        held.drop_unused(&self.dir);
        Ok(())
    }

    /// Returns how far it is filled.
    pub(crate) fn mark(&self) -> Mark {
        let held = self.lock();
        let own = held.own.and_then(|own| held.files.get(own as usize));
        Mark {
            blobs: held.index.len(),
            length: own.map_or(0, BlobFile::length),
        }
    }

    /// Takes back what was put in since and not kept: a batch has brought it that is rejected.
    pub(crate) fn roll_back(&self, mark: Mark) {
        let mut held = self.lock();
        held.index.truncate(mark.blobs);
        if let Some(file) = held.own_file() {
            file.truncate(mark.length);
        }
        held.drop_unused(&self.dir);
    }

    fn lock(&self) -> MutexGuard<'_, OpenStore> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenStore {
    fn add(&mut self, file: BlobFile, records: &[IndexRecord]) -> u32 {
        // A process makes one, and a session sees few of them.
        let number = self.files.len() as u32;
        self.index.extend(number, records);
        self.files.push(file);
        number
    }

    /// Returns the one that is written to, if there is one.
    fn own_file(&mut self) -> Option<&mut BlobFile> {
        self.files.get_mut(self.own? as usize)
    }

    /// Removes the one that is written to, if nothing was.
    fn drop_unused(&mut self, dir: &OwnedFd) {
        let is_unused = |file: &mut BlobFile| file.length() == 0 && file.unlink(dir);
        if self.own_file().is_some_and(is_unused) {
            // It was added last.
            self.files.pop();
            self.own = None;
        }
    }

    /// Returns which file is written to.
    fn own(&mut self, dir: &OwnedFd, path: &Path) -> Result<u32, BlobStoreError> {
        if let Some(own) = self.own {
            return Ok(own);
        }
        let file = BlobFile::create(dir, path, self.index.len())?;
        let own = self.add(file, &[]);
        self.own = Some(own);
        Ok(own)
    }
}

impl Blobs for BlobStore {
    fn open(&self, digest: &Digest) -> io::Result<Box<dyn Read + '_>> {
        match self.found(digest) {
            Ok(blob) => Ok(Box::new(blob)),
            Err(BlobStoreError::Io(PathError { source, .. })) => Err(source),
            Err(error) => Err(io::Error::new(io::ErrorKind::InvalidData, error)),
        }
    }
}
