//! `WorkspaceDir`: the one capability on the host's tree.

pub(crate) mod resolve;

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use lazaret_tree::{AtPath as _, PathError, RelPath};
use rustix::fs::{AtFlags, FileType, Mode, OFlags};

use resolve::Resolver;

/// The longest file that [`WorkspaceDir::small`] reads, in bytes.
const SMALL_BYTES: u64 = 1 << 20;

/// An open directory that everything else is reached through.
///
/// Invariant: the descriptor is opened once and never again by name, so renaming
/// or replacing the path later redirects nothing (APP-03). All access below it is
/// relative to [`WorkspaceDir::fd`], one component at a time, never following a
/// link.
#[derive(Debug)]
pub struct WorkspaceDir {
    fd: OwnedFd,
    path: PathBuf,
    identity: FileIdentity,
}

/// What names an inode on this machine while it is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileIdentity {
    /// The device.
    pub dev: u64,
    /// The inode.
    pub ino: u64,
}

impl From<&rustix::fs::Stat> for FileIdentity {
    #[expect(
        clippy::unnecessary_cast,
        reason = "the fields' widths differ between Linux and macOS"
    )]
    fn from(stat: &rustix::fs::Stat) -> Self {
        Self {
            dev: stat.st_dev as u64,
            ino: stat.st_ino as u64,
        }
    }
}

impl WorkspaceDir {
    /// Opens `path` with the rights of this process: the only ambient access to a
    /// host tree there is.
    ///
    /// Links on the way to the directory are the user's own and are followed once,
    /// here; the last component of the resolved path is not.
    ///
    /// # Errors
    /// When the path cannot be resolved, or is no directory that can be read.
    pub fn open_ambient(path: &Path) -> Result<Self, PathError> {
        let path = std::fs::canonicalize(path).at(path)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::open(&path, flags, Mode::empty()).at(&path)?;
        let identity = FileIdentity::from(&rustix::fs::fstat(&fd).at(&path)?);
        Ok(Self { fd, path, identity })
    }

    /// Borrows the directory's descriptor.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Opens the regular file at `path` for reading, without following a link or leaving
    /// the file system on the way.
    ///
    /// # Errors
    /// When it is not there or no regular file, with its path below the workspace.
    pub fn open_file(&self, path: &RelPath) -> Result<File, PathError> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = match path.parent() {
            None => Resolver::Kernel.open_at(self.fd(), path.as_str(), flags),
            Some(parent) => Resolver::Kernel
                .open_dir(self.fd(), parent)
                .and_then(|dir| Resolver::Kernel.open_at(dir.as_fd(), path.file_name(), flags)),
        };
        let fd = opened.at(path.as_str())?;
        let stat = rustix::fs::fstat(&fd).at(path.as_str())?;
        if !FileType::from_raw_mode(stat.st_mode).is_file() {
            let source = io::Error::new(io::ErrorKind::InvalidInput, "is no regular file");
            return Err(PathError {
                path: path.as_str().into(),
                source,
            });
        }
        Ok(File::from(fd))
    }

    /// Opens a directory below this one, without following a link or leaving the file system.
    pub(crate) fn subdir(&self, path: &RelPath) -> io::Result<Self> {
        let fd = Resolver::Kernel.open_dir(self.fd(), path)?;
        let identity = FileIdentity::from(&rustix::fs::fstat(&fd)?);
        Ok(Self {
            fd,
            path: self.path.join(path.as_str()),
            identity,
        })
    }

    /// Reads a regular file of at most [`SMALL_BYTES`] below this directory, as
    /// [`WorkspaceDir::open_file`] opens it; `None` when there is none to be read.
    pub(crate) fn small(&self, path: &str) -> Option<Vec<u8>> {
        let file = self.open_file(RelPath::new(path).ok()?).ok()?;
        let mut contents = Vec::new();
        let read = file.take(SMALL_BYTES + 1).read_to_end(&mut contents);
        (read.is_ok() && contents.len() as u64 <= SMALL_BYTES).then_some(contents)
    }

    /// Whether there is anything by that name, a link included.
    pub(crate) fn has(&self, path: &str) -> bool {
        rustix::fs::statat(self.fd(), path, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// Returns the resolved path, for messages and for locks; never open it again.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the device and the inode of the directory, as they were when it was opened.
    pub fn identity(&self) -> FileIdentity {
        self.identity
    }
}

impl AsFd for WorkspaceDir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd()
    }
}
