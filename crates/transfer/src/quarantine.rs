//! `Quarantine`: where bytes from the other side wait, named by what they are.

use std::fs::File;
use std::io::{self, Read, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::{AtPath as _, Blobs, Digest, PathError};

/// A private directory of blobs, each named by the BLAKE3 of its bytes.
///
/// Nothing in it has a name, a mode or a type that the other side chose. The
/// directory is 0700, the blobs are 0600; a blob appears under its name complete or
/// not at all (FLT-07). A power cut may take blobs that were not flushed; then
/// they are collected again from the volume.
#[derive(Debug)]
pub struct Quarantine {
    dir: OwnedFd,
    path: PathBuf,
    next: AtomicU64,
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
    /// A blob is no regular file, or has another size than its entry says.
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

/// Whether a blob was there before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Inserted {
    New,
    Known,
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
    /// When it is missing, a link, not ours, or open to others.
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
        Ok(Self {
            dir,
            path: path.to_path_buf(),
            next: AtomicU64::new(0),
        })
    }

    /// Whether the blob is there.
    ///
    /// # Errors
    /// When the file system fails.
    pub fn has(&self, digest: &Digest) -> Result<bool, QuarantineError> {
        let name = digest.to_hex();
        match rustix::fs::statat(&self.dir, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(self.error(&name, error)),
        }
    }

    /// Opens a blob of `size` bytes for reading.
    ///
    /// The bytes are not hashed again here: whoever writes them to a place that
    /// matters hashes them on the way.
    ///
    /// # Errors
    /// When it is missing, no regular file, or of another size.
    pub fn blob(&self, digest: &Digest, size: u64) -> Result<File, QuarantineError> {
        let (blob, found) = self.regular(digest)?;
        if found != size {
            return Err(self.damaged(digest));
        }
        Ok(blob)
    }

    /// Opens a blob, and returns its size.
    fn regular(&self, digest: &Digest) -> Result<(File, u64), QuarantineError> {
        let name = digest.to_hex();
        // Without NONBLOCK a FIFO put in its place would hang the opening.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let blob = rustix::fs::openat(&self.dir, &name, flags, Mode::empty())
            .map_err(|error| self.error(&name, error))?;
        let stat = rustix::fs::fstat(&blob).map_err(|error| self.error(&name, error))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(self.damaged(digest));
        }
        let size = u64::try_from(stat.st_size).map_err(|_| self.damaged(digest))?;
        Ok((blob.into(), size))
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
        let (digest, size, _) = self.put(reader, limit, &mut vec![0; 64 << 10])?;
        Ok((digest, size))
    }

    /// Removes the directory and everything in it.
    ///
    /// # Errors
    /// When the file system fails.
    pub fn remove(self) -> Result<(), QuarantineError> {
        Ok(std::fs::remove_dir_all(&self.path).at(&self.path)?)
    }

    /// As [`Quarantine::insert`], with the caller's buffer, which is not empty.
    ///
    /// What fits into the buffer is hashed before anything is written, so that a
    /// blob that is there already costs no write.
    pub(crate) fn put(
        &self,
        reader: &mut dyn Read,
        limit: u64,
        buffer: &mut [u8],
    ) -> Result<(Digest, u64, Inserted), InsertError> {
        let check = |size: u64| {
            if size > limit {
                Err(InsertError::TooBig { limit })
            } else {
                Ok(size)
            }
        };
        let mut length = fill(reader, buffer)?;
        let mut size = check(length as u64)?;
        let mut hasher = blake3::Hasher::new();
        hasher.update(&buffer[..length]);
        let small = length < buffer.len();
        if small && self.knows(&hasher.finalize().into(), size)? {
            return Ok((hasher.finalize().into(), size, Inserted::Known));
        }
        let mut partial = self.partial()?;
        partial.write(&buffer[..length])?;
        while length == buffer.len() {
            length = fill(reader, buffer)?;
            size = check(size + length as u64)?;
            hasher.update(&buffer[..length]);
            partial.write(&buffer[..length])?;
        }
        let digest = hasher.finalize().into();
        if !small && self.knows(&digest, size)? {
            return Ok((digest, size, Inserted::Known));
        }
        partial.publish(&digest.to_hex())?;
        Ok((digest, size, Inserted::New))
    }

    /// Whether the blob is there; one that was damaged since is an error.
    fn knows(&self, digest: &Digest, size: u64) -> Result<bool, QuarantineError> {
        Ok(self.has(digest)? && self.blob(digest, size).map(|_| true)?)
    }

    /// Takes blobs back that a batch has brought which is rejected.
    pub(crate) fn forget(&self, digests: &[Digest]) {
        for digest in digests {
            // The batch is rejected anyway; a blob that stays is never looked up.
            let _ = rustix::fs::unlinkat(&self.dir, digest.to_hex(), AtFlags::empty());
        }
    }

    fn partial(&self) -> Result<Partial<'_>, QuarantineError> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let name = format!(
                "partial-{}-{number}",
                rustix::process::getpid().as_raw_nonzero()
            );
            match rustix::fs::openat(&self.dir, &name, flags, Mode::RUSR | Mode::WUSR) {
                Ok(file) => {
                    return Ok(Partial {
                        quarantine: self,
                        name: Some(name),
                        file: file.into(),
                    });
                }
                // Left by a process that was killed and had this number.
                Err(Errno::EXIST) => {}
                Err(error) => return Err(self.error(&name, error)),
            }
        }
    }

    fn error(&self, name: &str, error: impl Into<io::Error>) -> QuarantineError {
        let path = self.path.join(name);
        PathError {
            path,
            source: error.into(),
        }
        .into()
    }
}

impl Blobs for Quarantine {
    fn open(&self, digest: &Digest) -> io::Result<Box<dyn Read + '_>> {
        match self.regular(digest) {
            Ok((blob, _)) => Ok(Box::new(blob)),
            Err(QuarantineError::Io(PathError { source, .. })) => Err(source),
            Err(error) => Err(io::Error::new(io::ErrorKind::InvalidData, error)),
        }
    }
}

/// A blob that has no name yet, removed unless it gets one.
struct Partial<'a> {
    quarantine: &'a Quarantine,
    /// Nothing once it is published.
    name: Option<String>,
    file: File,
}

impl Partial<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<(), QuarantineError> {
        let written = self.file.write_all(bytes);
        written.map_err(|error| {
            self.quarantine
                .error(self.name.as_deref().unwrap_or_default(), error)
        })
    }

    fn publish(mut self, name: &str) -> Result<(), QuarantineError> {
        let dir = &self.quarantine.dir;
        let partial = self.name.as_deref().unwrap_or_default();
        rustix::fs::renameat(dir, partial, dir, name)
            .map_err(|error| self.quarantine.error(name, error))?;
        self.name = None;
        Ok(())
    }
}

impl Drop for Partial<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            // Nobody looks for a partial blob; the next `remove` takes it.
            let _ = rustix::fs::unlinkat(&self.quarantine.dir, name, AtFlags::empty());
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
