//! `WorkspaceDir`: the one capability on the host's tree.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use crate::{AtPath as _, PathError};

/// The user's workspace, opened once. Everything below it is reached relative to
/// this descriptor, never by a path of the host.
#[derive(Debug)]
pub struct WorkspaceDir {
    fd: OwnedFd,
    path: PathBuf,
}

impl WorkspaceDir {
    /// Opens the directory at `path`, which is made absolute. This is the one
    /// place where a host path becomes a capability.
    ///
    /// # Errors
    /// When `path` is no directory or can't be opened.
    pub fn open_ambient(path: &Path) -> Result<Self, PathError> {
        let path = std::fs::canonicalize(path).at(path)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::open(&path, flags, Mode::empty()).at(&path)?;
        Ok(Self { fd, path })
    }

    /// Returns the absolute path it was opened at, for messages and records.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl AsFd for WorkspaceDir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
