//! `Dirs`: the directories of the volume, as the agent left them.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use lazaret_transfer::{RelPath, RelPathBuf};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::root::{Root, chmod};

const OWNER_ALL: u32 = 0o700;

/// Opens directories below the root, never through a link, and lets their owner write to
/// those that the agent made read-only, for as long as the update takes.
pub(super) struct Dirs<'a> {
    root: &'a Root,
    /// The directory that was used last.
    open: Option<(RelPathBuf, OwnedFd)>,
    /// What was made writable, and the mode that it had.
    lifted: Vec<(OwnedFd, u32)>,
}

impl<'a> Dirs<'a> {
    pub(super) fn new(root: &'a Root) -> Self {
        Self {
            root,
            open: None,
            lifted: Vec::new(),
        }
    }

    /// Does `work` in the directory that `path` lies in.
    pub(super) fn in_parent<T>(
        &mut self,
        path: &RelPath,
        work: impl Fn(BorrowedFd<'_>) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        self.as_owner(path.parent(), |dirs| work(dirs.dir(path.parent())?))
    }

    /// Does `work`, and once more with the rights of the owner if there were too few in the
    /// directory `path`, or above it.
    pub(super) fn as_owner<T>(
        &mut self,
        path: Option<&RelPath>,
        mut work: impl FnMut(&mut Self) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        match work(self) {
            Err(Errno::ACCESS) => {
                self.lift(path)?;
                work(self)
            }
            outcome => outcome,
        }
    }

    /// Closes what is open.
    pub(super) fn close(&mut self) {
        self.open = None;
    }

    /// Gives every directory the mode back that the agent chose, and returns the first
    /// failure.
    pub(super) fn restore(&mut self) -> Result<(), Errno> {
        let mut outcome = Ok(());
        for (dir, mode) in self.lifted.drain(..).rev() {
            outcome = outcome.and(chmod(&dir, mode));
        }
        outcome
    }

    fn dir(&mut self, path: Option<&RelPath>) -> Result<BorrowedFd<'_>, Errno> {
        let Some(path) = path else {
            return Ok(self.root.as_fd());
        };
        if self.open.as_ref().is_none_or(|(open, _)| **open != *path) {
            let dir = self.root.open_dir(path)?;
            self.open = Some((path.to_owned(), dir));
        }
        let open = self.open.as_ref().ok_or(Errno::NOENT)?;
        Ok(open.1.as_fd())
    }

    /// Gives the owner all rights in `path` and everything above it.
    fn lift(&mut self, path: Option<&RelPath>) -> Result<(), Errno> {
        let mut at = self.lift_one(self.root.as_fd().try_clone_to_owned().map_err(errno)?)?;
        for component in path.iter().flat_map(|path| path.components()) {
            // Needs no right to the directory itself, and never follows a link.
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let dir = rustix::fs::openat(&at, component, flags, Mode::empty())?;
            at = self.lift_one(dir)?;
        }
        Ok(())
    }

    fn lift_one(&mut self, dir: OwnedFd) -> Result<OwnedFd, Errno> {
        let mode = rustix::fs::fstat(&dir)?.st_mode;
        if mode & OWNER_ALL != OWNER_ALL {
            chmod(&dir, mode | OWNER_ALL)?;
            let kept = dir.try_clone().map_err(errno)?;
            self.lifted.push((kept, mode));
        }
        Ok(dir)
    }
}

fn errno(error: std::io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}
