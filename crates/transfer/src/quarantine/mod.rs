//! `Quarantine`: where bytes from the other side wait, found by what they are.
//!
//! ```text
//! spool-PID-N   contents, one after the other
//! index-PID-N   of each: digest, offset, length; complete records only
//! ```
//!
//! One pair for each [`Quarantine`] that something was inserted by, so that two programs never
//! write to one file. A file for each blob costs more than its bytes do: of a source tree, four
//! times as much.

mod blob;
mod index;
mod spool;

use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{Mode, OFlags};

use crate::{AtPath as _, Blobs, Digest, PathError};
pub use blob::Blob;
use index::{Index, Place, Record};
use spool::Spool;

/// A private directory of blobs, each found by the BLAKE3 of its bytes.
///
/// Nothing in it has a name, a mode or a type that the other side chose. The
/// directory is 0700, its files are 0600; a blob is there complete or not at all (FLT-07).
/// A power cut may take what was not flushed; then it is collected again from the volume.
#[derive(Debug)]
pub struct Quarantine {
    dir: OwnedFd,
    path: PathBuf,
    held: Mutex<Held>,
}

/// What is known of the directory.
#[derive(Debug, Default)]
struct Held {
    index: Index,
    /// Those of others first; [`Place::spool`] is a place in this list.
    spools: Vec<Spool>,
    /// The one that is written to, once something was inserted.
    own: Option<u32>,
}

/// Why the quarantine, or a blob, cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum QuarantineError {
    /// The file system failed.
    #[error(transparent)]
    Io(#[from] PathError),
    /// The directory belongs to somebody else, or others may enter it.
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
    Store(#[from] QuarantineError),
}

/// How far a quarantine was filled, for [`Quarantine::roll_back`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    blobs: usize,
    /// Bytes of its own spool.
    length: u64,
}

impl Quarantine {
    /// Makes the directory; its parent must exist, it must not.
    ///
    /// # Errors
    /// When it exists or cannot be made.
    pub fn create(path: &Path) -> Result<Self, QuarantineError> {
        rustix::fs::mkdir(path, Mode::RWXU).at(path)?;
        Self::open(path)
    }

    /// Opens a directory made by [`Quarantine::create`].
    ///
    /// # Errors
    /// When it is missing, a link, not ours, open to others, or holds what was not written by
    /// this program.
    pub fn open(path: &Path) -> Result<Self, QuarantineError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let dir = rustix::fs::open(path, flags, Mode::empty()).at(path)?;
        let stat = rustix::fs::fstat(&dir).at(path)?;
        let private = stat.st_mode & 0o077 == 0;
        if !private || stat.st_uid != rustix::process::geteuid().as_raw() {
            return Err(QuarantineError::NotPrivate {
                path: path.to_path_buf(),
            });
        }
        let mut held = Held::default();
        for (spool, records) in Spool::open_all(&dir, path)? {
            held.add(spool, &records);
        }
        Ok(Self {
            dir,
            path: path.to_path_buf(),
            held: Mutex::new(held),
        })
    }

    /// Whether the blob is there.
    pub fn has(&self, digest: &Digest) -> bool {
        self.lock().index.get(digest).is_some()
    }

    /// Opens a blob of `size` bytes for reading.
    ///
    /// The bytes are not hashed again here: whoever writes them to a place that
    /// matters hashes them on the way.
    ///
    /// # Errors
    /// When it is missing, cut off, or of another size.
    pub fn blob(&self, digest: &Digest, size: u64) -> Result<Blob, QuarantineError> {
        let blob = self.found(digest)?;
        match blob.left() == size {
            true => Ok(blob),
            false => Err(self.damaged(digest)),
        }
    }

    fn found(&self, digest: &Digest) -> Result<Blob, QuarantineError> {
        let held = self.lock();
        let Some(place) = held.index.get(digest) else {
            let path = self.path.join(digest.to_hex());
            let source = io::ErrorKind::NotFound.into();
            return Err(PathError { path, source }.into());
        };
        let blob = held.spool(place.spool).map(|spool| spool.blob(place));
        let blob = blob.ok_or_else(|| self.damaged(digest))?;
        match blob.is_whole().at(&self.path)? {
            true => Ok(blob),
            false => Err(self.damaged(digest)),
        }
    }

    fn damaged(&self, digest: &Digest) -> QuarantineError {
        QuarantineError::Damaged {
            path: self.path.clone(),
            digest: *digest,
        }
    }

    /// Reads `reader` to its end into a blob, and returns its digest and size.
    ///
    /// # Errors
    /// When more than `limit` bytes come, or either side fails; nothing is left then.
    pub fn insert(&self, reader: &mut dyn Read, limit: u64) -> Result<(Digest, u64), InsertError> {
        let mark = self.mark();
        let put = self.put(reader, limit, &mut vec![0; 64 << 10]);
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
    pub fn remove(self) -> Result<(), QuarantineError> {
        Ok(std::fs::remove_dir_all(&self.path).at(&self.path)?)
    }

    /// As [`Quarantine::insert`], with the caller's buffer, which is not empty. Nobody else
    /// finds the blob before [`Quarantine::keep`].
    ///
    /// What fits into the buffer is hashed before anything is written, so that a
    /// blob that is there already costs no write.
    ///
    /// # Errors
    /// As [`Quarantine::insert`]; what was written of it is taken back by
    /// [`Quarantine::roll_back`], or written over.
    pub(crate) fn put(
        &self,
        reader: &mut dyn Read,
        limit: u64,
        buffer: &mut [u8],
    ) -> Result<(Digest, u64), InsertError> {
        let check = |size: u64| match size > limit {
            true => Err(InsertError::TooBig { limit }),
            false => Ok(size),
        };
        let mut length = fill(reader, buffer)?;
        let mut size = check(length as u64)?;
        let mut hasher = blake3::Hasher::new();
        hasher.update(&buffer[..length]);
        let mut held = self.lock();
        let is_small = length < buffer.len();
        if is_small && held.index.get(&hasher.finalize().into()).is_some() {
            return Ok((hasher.finalize().into(), size));
        }
        let number = held.own(&self.dir, &self.path)?;
        let Held { index, spools, .. } = &mut *held;
        let Some(spool) = spools.get_mut(number as usize) else {
            return Err(QuarantineError::DamagedFile {
                path: self.path.clone(),
            }
            .into());
        };
        let offset = spool.length();
        spool.append(&buffer[..length])?;
        while length == buffer.len() {
            length = fill(reader, buffer)?;
            size = check(size + length as u64)?;
            hasher.update(&buffer[..length]);
            spool.append(&buffer[..length])?;
        }
        let digest = hasher.finalize().into();
        if index.get(&digest).is_some() {
            spool.truncate(offset);
            return Ok((digest, size));
        }
        index.insert(Place {
            digest,
            spool: number,
            offset,
            length: size,
        });
        Ok((digest, size))
    }

    /// Writes down what was put in, so that others find it.
    pub(crate) fn keep(&self) -> Result<(), QuarantineError> {
        let mut held = self.lock();
        let Held { index, spools, own } = &mut *held;
        match own.and_then(|own| spools.get_mut(own as usize)) {
            Some(spool) => spool.note(index.since(spool.noted_before())),
            None => Ok(()),
        }
    }

    /// Returns how far it is filled.
    pub(crate) fn mark(&self) -> Mark {
        let held = self.lock();
        let own = held.own.and_then(|own| held.spool(own));
        Mark {
            blobs: held.index.len(),
            length: own.map_or(0, Spool::length),
        }
    }

    /// Takes back what was put in since and not kept: a batch has brought it that is rejected.
    pub(crate) fn roll_back(&self, mark: Mark) {
        let mut held = self.lock();
        let Held { index, spools, own } = &mut *held;
        index.truncate(mark.blobs);
        let Some(spool) = own.and_then(|own| spools.get_mut(own as usize)) else {
            return;
        };
        spool.truncate(mark.length);
        if mark.length == 0
            && spools
                .last_mut()
                .is_some_and(|spool| spool.unlink(&self.dir))
        {
            spools.pop();
            *own = None;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    fn add(&mut self, spool: Spool, records: &[Record]) -> u32 {
        // A process makes one, and a session sees few of them.
        let number = self.spools.len() as u32;
        self.index.extend(number, records);
        self.spools.push(spool);
        number
    }

    fn spool(&self, number: u32) -> Option<&Spool> {
        self.spools.get(number as usize)
    }

    /// Returns which spool is written to.
    fn own(&mut self, dir: &OwnedFd, path: &Path) -> Result<u32, QuarantineError> {
        if let Some(own) = self.own {
            return Ok(own);
        }
        let spool = Spool::create(dir, path, self.index.len())?;
        let own = self.add(spool, &[]);
        self.own = Some(own);
        Ok(own)
    }
}

impl Blobs for Quarantine {
    fn open(&self, digest: &Digest) -> io::Result<Box<dyn Read + '_>> {
        match self.found(digest) {
            Ok(blob) => Ok(Box::new(blob)),
            Err(QuarantineError::Io(PathError { source, .. })) => Err(source),
            Err(error) => Err(io::Error::new(io::ErrorKind::InvalidData, error)),
        }
    }
}

/// Reads until the buffer is full or the reader ends.
fn fill(reader: &mut dyn Read, buffer: &mut [u8]) -> Result<usize, InsertError> {
    let mut length = 0;
    while length < buffer.len() {
        match reader.read(&mut buffer[length..]) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(InsertError::Read(error)),
        }
    }
    Ok(length)
}
