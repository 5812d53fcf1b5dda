//! The journal's directory: the journal itself, and what is kept for the undo.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use lazaret_tree::{AtPath as _, Blobs, Digest, PathError};

use super::conflict::hash;
use super::journal::{HEAD_BYTES, Journal, JournalError, Phase};
use super::ops::{Kind, Ops, Rename};

const JOURNAL: &str = "journal";
const JOURNAL_NEW: &str = "journal.new";
const KEPT: &str = "kept";
const KEPT_NEW: &str = "new";

/// A transaction's own directory, outside the workspace.
#[derive(Debug)]
pub(crate) struct Store {
    dir: OwnedFd,
    path: PathBuf,
}

/// A journal that can't be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoadError {
    #[error(transparent)]
    Io(#[from] PathError),
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl Store {
    /// Opens the directory; `None` when there is none.
    pub(crate) fn open(ops: &dyn Ops, path: &Path) -> Result<Option<Self>, PathError> {
        match ops.open_ambient(path) {
            Ok(dir) => Ok(Some(Self {
                dir,
                path: path.to_path_buf(),
            })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).at(path),
        }
    }

    /// Opens the directory, creates what is missing of its path, and syncs its name.
    /// Otherwise a power cut could remove the journal with its directory, and leave
    /// half-applied changes that no recovery finds (APP-11).
    pub(crate) fn make(ops: &dyn Ops, path: &Path) -> Result<Self, PathError> {
        let unnamed = || io::Error::from(io::ErrorKind::InvalidInput);
        let name = path.file_name().and_then(|name| name.to_str());
        let (Some(above), Some(name)) = (path.parent(), name) else {
            return Err(unnamed()).at(path);
        };
        let above = match above.as_os_str().is_empty() {
            true => Path::new("."),
            false => above,
        };
        let parent = match ops.open_ambient(above) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::make(ops, above)?.dir,
            other => other.at(above)?,
        };
        match ops.mkdir(parent.as_fd(), name, 0o700) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            other => other.at(path)?,
        }
        ops.sync(parent.as_fd()).at(above)?;
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        Self::open(ops, path)?.ok_or_else(missing).at(path)
    }

    pub(crate) fn dir(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the journal; `None` when there is none.
    pub(crate) fn load(&self, ops: &dyn Ops) -> Result<Option<Journal>, LoadError> {
        let path = self.path.join(JOURNAL);
        let Some(stat) = ops.stat_at(self.dir(), JOURNAL).at(&path)? else {
            return Ok(None);
        };
        if stat.kind != Kind::File {
            return Err(JournalError::Damaged.into());
        }
        let file = ops.open_read(self.dir(), JOURNAL).at(&path)?;
        let mut bytes = Vec::new();
        hash(ops, file.as_fd(), &mut |piece| {
            bytes.extend_from_slice(piece);
            Ok(())
        })
        .at(&path)?;
        Ok(Some(Journal::parse(&bytes)?))
    }

    /// Reads how far the transaction is, and nothing else of the journal; `None` when there
    /// is none.
    pub(crate) fn phase(&self, ops: &dyn Ops) -> Result<Option<Phase>, LoadError> {
        let path = self.path.join(JOURNAL);
        let Some(stat) = ops.stat_at(self.dir(), JOURNAL).at(&path)? else {
            return Ok(None);
        };
        if stat.kind != Kind::File {
            return Err(JournalError::Damaged.into());
        }
        let file = ops.open_read(self.dir(), JOURNAL).at(&path)?;
        let (mut head, mut filled) = ([0; HEAD_BYTES], 0);
        while let Some(room) = head.get_mut(filled..).filter(|room| !room.is_empty()) {
            match ops.read(file.as_fd(), room).at(&path)? {
                0 => break,
                read => filled += read,
            }
        }
        let head = head.get(..filled).unwrap_or_default();
        Ok(Some(Journal::parse_phase(head)?))
    }

    /// Replaces the journal, atomically and durably.
    pub(crate) fn save(&self, ops: &dyn Ops, journal: &Journal) -> Result<(), PathError> {
        let dir = self.dir();
        self.write(ops, journal)
            .and_then(|()| {
                ops.rename((dir, JOURNAL_NEW), (dir, JOURNAL), Rename::Replace)?;
                ops.sync(dir)
            })
            .at(self.path.join(JOURNAL))
    }

    fn write(&self, ops: &dyn Ops, journal: &Journal) -> io::Result<()> {
        let dir = self.dir();
        if ops.stat_at(dir, JOURNAL_NEW)?.is_some() {
            ops.unlink(dir, JOURNAL_NEW)?;
        }
        let file = ops.create(dir, JOURNAL_NEW)?;
        journal.write_to(&mut JournalFile {
            ops,
            file: file.as_fd(),
        })?;
        ops.sync(file.as_fd())
    }

    /// Removes the journal: there is no transaction.
    pub(crate) fn forget(&self, ops: &dyn Ops) -> Result<(), PathError> {
        let dir = self.dir();
        let unlink = |name| match ops.unlink(dir, name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        };
        unlink(JOURNAL_NEW)
            .and_then(|()| unlink(JOURNAL))
            .and_then(|()| ops.sync(dir))
            .at(self.path.join(JOURNAL))
    }

    /// Opens the directory of kept contents, and makes it where it is missing.
    pub(crate) fn kept(&self, ops: &dyn Ops) -> Result<UndoCopy, PathError> {
        let path = self.path.join(KEPT);
        match ops.mkdir(self.dir(), KEPT, 0o700) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(error).at(path);
            }
            _ => {}
        }
        UndoCopy::open(ops, path)
    }

    /// Opens the directory of kept contents as a source.
    pub(crate) fn kept_blobs<'a>(&self, ops: &'a dyn Ops) -> Result<UndoBlobs<'a>, PathError> {
        let kept = UndoCopy::open(ops, self.path.join(KEPT))?;
        Ok(UndoBlobs { ops, kept })
    }
}

/// A journal that is being written.
struct JournalFile<'a> {
    ops: &'a dyn Ops,
    file: BorrowedFd<'a>,
}

impl io::Write for JournalFile<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.ops.write(self.file, bytes).map(|()| bytes.len())
    }

    /// The caller syncs.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Old contents, by digest, for the undo.
#[derive(Debug)]
pub(crate) struct UndoCopy {
    dir: OwnedFd,
    path: PathBuf,
}

impl UndoCopy {
    fn open(ops: &dyn Ops, path: PathBuf) -> Result<Self, PathError> {
        let dir = ops.open_ambient(&path).at(&path)?;
        Ok(Self { dir, path })
    }

    pub(crate) fn dir(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }

    /// Copies a file in and returns its size and digest.
    pub(crate) fn keep(
        &self,
        ops: &dyn Ops,
        file: BorrowedFd<'_>,
        sync: Sync,
    ) -> Result<(u64, Digest), PathError> {
        self.copy(ops, file, sync).at(&self.path)
    }

    /// Puts bytes in, unless they are there, and returns their digest.
    pub(crate) fn keep_bytes(
        &self,
        ops: &dyn Ops,
        bytes: &[u8],
        sync: Sync,
    ) -> Result<Digest, PathError> {
        let digest = Digest::of(bytes);
        self.put(ops, bytes, &digest, sync).at(&self.path)?;
        Ok(digest)
    }

    fn put(&self, ops: &dyn Ops, bytes: &[u8], digest: &Digest, sync: Sync) -> io::Result<()> {
        let (dir, name) = (self.dir(), digest.to_hex());
        if ops.stat_at(dir, &name)?.is_some() {
            return Ok(());
        }
        let copy = self.create(ops)?;
        ops.write(copy.as_fd(), bytes)?;
        if sync == Sync::Each {
            ops.sync(copy.as_fd())?;
        }
        ops.rename((dir, KEPT_NEW), (dir, &name), Rename::Replace)
    }

    fn create(&self, ops: &dyn Ops) -> io::Result<OwnedFd> {
        let dir = self.dir();
        if ops.stat_at(dir, KEPT_NEW)?.is_some() {
            ops.unlink(dir, KEPT_NEW)?;
        }
        ops.create(dir, KEPT_NEW)
    }

    fn copy(&self, ops: &dyn Ops, file: BorrowedFd<'_>, sync: Sync) -> io::Result<(u64, Digest)> {
        let dir = self.dir();
        let copy = self.create(ops)?;
        let (size, digest) = hash(ops, file, &mut |piece| ops.write(copy.as_fd(), piece))?;
        if sync == Sync::Each {
            ops.sync(copy.as_fd())?;
        }
        ops.rename((dir, KEPT_NEW), (dir, &digest.to_hex()), Rename::Replace)?;
        Ok((size, digest))
    }
}

/// Kept contents as a source for staging.
#[derive(Debug)]
pub(crate) struct UndoBlobs<'a> {
    ops: &'a dyn Ops,
    kept: UndoCopy,
}

impl Blobs for UndoBlobs<'_> {
    fn open(&self, digest: &Digest) -> io::Result<Box<dyn io::Read + '_>> {
        let file = self.ops.open_read(self.kept.dir(), &digest.to_hex())?;
        let ops = self.ops;
        Ok(Box::new(KeptBlob { ops, file }))
    }
}

struct KeptBlob<'a> {
    ops: &'a dyn Ops,
    file: OwnedFd,
}

impl io::Read for KeptBlob<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.ops.read(self.file.as_fd(), buffer)
    }
}

/// When files are made durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sync {
    /// Each by itself.
    Each,
    /// All at once with `syncfs`, which is cheaper for many.
    Together,
}

impl Sync {
    /// Chooses for so many files.
    pub(crate) fn for_count(count: usize) -> Self {
        if count <= 64 {
            Self::Each
        } else {
            Self::Together
        }
    }
}
