//! `Dirs`: the directories of the volume, as the agent left them.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use lazaret_tree::{RelPath, RelPathBuf};
use rustix::io::Errno;

use crate::files::lifts::Lifts;
use crate::files::root::Root;

/// Opens directories below the root, never through a link, and lets their owner write to
/// those that the agent made read-only, for as long as the update takes.
pub(super) struct Dirs<'a> {
    root: &'a Root,
    lifts: &'a Lifts,
    /// The directory that was used last.
    open: Option<(RelPathBuf, OwnedFd)>,
}

impl<'a> Dirs<'a> {
    pub(super) fn new(root: &'a Root, lifts: &'a Lifts) -> Self {
        Self {
            root,
            lifts,
            open: None,
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
                self.lifts.lift(self.root, path)?;
                work(self)
            }
            outcome => outcome,
        }
    }

    /// Takes note that a directory is gone.
    pub(super) fn removed(&self, path: &RelPath) {
        self.lifts.forget(path);
    }

    /// Closes what is open.
    pub(super) fn close(&mut self) {
        self.open = None;
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
}
