//! `Lifts`: directories that the agent may not use, opened up for as long as a verb needs them.

use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use lazaret_tree::{AtPath as _, PathError, RelPath, RelPathBuf};
use rustix::fs::{Access, AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::files::root::{self, Root, chmod};

const OWNER_ALL: u32 = 0o700;
const OWNER_LOOKS: u32 = 0o500;
const ANY_DIR: OFlags = OFlags::PATH
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Directories that were given all rights of their owner, which the porter is, and the modes
/// that they had.
///
/// They are kept by path, so that no number of them uses up the descriptors. A verb that opens
/// directories up while the agent is there has paused it; if the porter is killed, they stay
/// open, and a mode of a directory is nothing that the gate carries.
#[derive(Debug, Default)]
pub(crate) struct Lifts {
    lifted: Mutex<Vec<Lifted>>,
}

#[derive(Debug)]
struct Lifted {
    /// `None` for the root.
    path: Option<RelPathBuf>,
    mode: u32,
}

impl Lifts {
    /// Opens the root, which the agent may have closed as well.
    ///
    /// # Errors
    /// The path is no directory, or it is neither readable nor the porter's own.
    pub(crate) fn open_root(&self, path: &Path) -> Result<Root, PathError> {
        let dir = rustix::fs::openat(CWD, path, ANY_DIR, Mode::empty()).at(path)?;
        self.open_up(&dir, None, OWNER_LOOKS);
        Root::open(path)
    }

    /// Opens the directory `name` in `parent`, not through a link. `path` is its raw path.
    ///
    /// # Errors
    /// It is no directory, or it is neither readable nor the porter's own.
    pub(crate) fn open_dir(
        &self,
        parent: impl AsFd,
        name: &CStr,
        path: &[u8],
        mode: u32,
    ) -> Result<OwnedFd, Errno> {
        if mode & OWNER_LOOKS != OWNER_LOOKS
            && let Ok(path) = RelPath::from_bytes(path)
        {
            let dir = rustix::fs::openat(&parent, name, ANY_DIR, Mode::empty())?;
            self.open_up(&dir, Some(path), OWNER_LOOKS);
        }
        root::open_dir(parent, name)
    }

    /// Gives the owner all rights in `path` and everything above it.
    ///
    /// # Errors
    /// One of them is no directory, or not the porter's own.
    pub(crate) fn lift(&self, root: &Root, path: Option<&RelPath>) -> Result<(), Errno> {
        let mut at = root.as_fd().try_clone_to_owned().map_err(errno)?;
        self.try_open_up(&at, None, OWNER_ALL)?;
        let way: Vec<&RelPath> = std::iter::successors(path, |path| path.parent()).collect();
        for path in way.into_iter().rev() {
            // Needs no right to the directory itself, and never follows a link.
            at = rustix::fs::openat(&at, path.file_name(), ANY_DIR, Mode::empty())?;
            self.try_open_up(&at, Some(path), OWNER_ALL)?;
        }
        Ok(())
    }

    /// Forgets a directory that was removed: another one may get its name.
    pub(crate) fn forget(&self, path: &RelPath) {
        let is_other = |lifted: &Lifted| lifted.path.as_deref() != Some(path);
        self.lock().retain(is_other);
    }

    /// Gives every directory the mode back that the agent chose, and returns the first
    /// failure.
    ///
    /// # Errors
    /// A mode can't be set.
    pub(crate) fn restore(&self, root: &Root) -> Result<(), Errno> {
        let mut outcome = Ok(());
        // From the bottom up: what is closed again leads nowhere.
        for Lifted { path, mode } in self.lock().drain(..).rev() {
            let restored = match path {
                None => chmod(root, mode),
                Some(path) => match root.open_any(&path) {
                    Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(()),
                    Err(errno) => Err(errno),
                    Ok(dir) => restore_dir(&dir, mode),
                },
            };
            outcome = outcome.and(restored);
        }
        outcome
    }

    /// Opens an open directory up if it may not be looked at. If that fails, it is not the
    /// porter's own, and may be readable in another way: opening it will tell.
    fn open_up(&self, dir: &OwnedFd, path: Option<&RelPath>, needed: u32) {
        // A capability has the exporter read every directory, whatever its mode.
        let looks = Access::READ_OK | Access::EXEC_OK;
        if rustix::fs::accessat(dir, c".", looks, AtFlags::empty()).is_ok() {
            return;
        }
        let _unneeded = self.try_open_up(dir, path, needed);
    }

    fn try_open_up(&self, dir: &OwnedFd, path: Option<&RelPath>, needed: u32) -> Result<(), Errno> {
        let mode = rustix::fs::fstat(dir)?.st_mode;
        if mode & needed == needed {
            return Ok(());
        }
        chmod(dir, mode | OWNER_ALL)?;
        let path = path.map(ToOwned::to_owned);
        self.lock().push(Lifted { path, mode });
        Ok(())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Lifted>> {
        self.lifted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn restore_dir(dir: &OwnedFd, mode: u32) -> Result<(), Errno> {
    match FileType::from_raw_mode(rustix::fs::fstat(dir)?.st_mode) {
        FileType::Directory => chmod(dir, mode),
        _ => Ok(()),
    }
}

fn errno(error: std::io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}
