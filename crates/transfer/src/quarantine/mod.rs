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
mod waiting;

use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use lazaret_tree::{AtPath as _, Blobs, Digest, PathError};
use rustix::fs::{Mode, OFlags};

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
    /// The bytes are not hashed again here: a caller that relies on them hashes what
    /// it reads.
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
        let mut held = self.lock();
        let Some(place) = held.index.get(digest) else {
            let path = self.path.join(digest.to_hex());
            let source = io::ErrorKind::NotFound.into();
            return Err(PathError { path, source }.into());
        };
        let Some(spool) = held.spools.get_mut(place.spool as usize) else {
            return Err(self.damaged(digest));
        };
        let blob = spool.blob(place)?;
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

    /// Reads `reader` to its end into a blob, and returns its digest and size. The quarantine is
    /// locked meanwhile: a reader that asks it for anything would wait for itself. One that was
    /// [opened](Quarantine::blob) before may come from it.
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
    pub fn remove(self) -> Result<(), QuarantineError> {
        Ok(std::fs::remove_dir_all(&self.path).at(&self.path)?)
    }

    /// As [`Quarantine::insert`], but others find the blob only after [`Quarantine::keep`].
    ///
    /// What is small is hashed before anything is written, so that a blob that is there already
    /// costs no write.
    ///
    /// # Errors
    /// As [`Quarantine::insert`]; what came of it is taken back by [`Quarantine::roll_back`].
    pub(crate) fn put(
        &self,
        reader: &mut dyn Read,
        limit: u64,
    ) -> Result<(Digest, u64), InsertError> {
        let mut held = self.lock();
        let number = held.own(&self.dir, &self.path)?;
        let Held { index, spools, .. } = &mut *held;
        let Some(spool) = spools.get_mut(number as usize) else {
            return Err(QuarantineError::DamagedFile {
                path: self.path.clone(),
            }
            .into());
        };
        let offset = spool.length();
        let (digest, length) = spool.add(reader, limit)?;
        if index.get(&digest).is_some() {
            spool.truncate(offset);
            return Ok((digest, length));
        }
        index.insert(Place {
            digest,
            spool: number,
            offset,
            length,
        });
        Ok((digest, length))
    }

    /// Writes down what was put in, so that others find it.
    pub(crate) fn keep(&self) -> Result<(), QuarantineError> {
        let mut held = self.lock();
        let Held { index, spools, own } = &mut *held;
        if let Some(spool) = own.and_then(|own| spools.get_mut(own as usize)) {
            spool.note(index.since(spool.noted_before()))?;
        }
        held.drop_unused(&self.dir);
        Ok(())
    }

    /// Returns how far it is filled.
    pub(crate) fn mark(&self) -> Mark {
        let held = self.lock();
        let own = held.own.and_then(|own| held.spools.get(own as usize));
        Mark {
            blobs: held.index.len(),
            length: own.map_or(0, Spool::length),
        }
    }

    /// Takes back what was put in since and not kept: a batch has brought it that is rejected.
    pub(crate) fn roll_back(&self, mark: Mark) {
        let mut held = self.lock();
        held.index.truncate(mark.blobs);
        if let Some(spool) = held.own_spool() {
            spool.truncate(mark.length);
        }
        held.drop_unused(&self.dir);
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

    /// Returns the one that is written to, if there is one.
    fn own_spool(&mut self) -> Option<&mut Spool> {
        self.spools.get_mut(self.own? as usize)
    }

    /// Removes the one that is written to, if nothing was.
    fn drop_unused(&mut self, dir: &OwnedFd) {
        let is_unused = |spool: &mut Spool| spool.length() == 0 && spool.unlink(dir);
        if self.own_spool().is_some_and(is_unused) {
            // It was added last.
            self.spools.pop();
            self.own = None;
        }
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
