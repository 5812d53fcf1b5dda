//! Undos and redos that stop at one operation as if their process had been killed there:
//! for the tests of crates that have to deal with what is left.

use std::ffi::{CStr, CString, OsString};
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use lazaret_tree::RelPath;
use rustix::io::Errno;

use super::ops::{HostOps, ImmutableFlag, Ops, Rename, Stat, Time};
use super::undo::{Direction, undo_or_redo};
use crate::{Attempt, WorkspaceDir};

/// How a turn ended that was to be killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Died {
    /// At the operation that was named.
    Killed,
    /// By itself: it has fewer operations than that.
    Finished,
}

/// Undoes, or does again, the transaction in `journal_dir`, up to its `at`-th operation on a
/// file system, counted from 0. Neither that one happens nor any after it; of a write, half.
///
/// # Panics
/// When the turn fails before that, or when it is to be an apply.
pub fn killed_at(
    at: usize,
    attempt: Attempt,
    journal_dir: &Path,
    workspace: &WorkspaceDir,
) -> Died {
    let which = match attempt {
        Attempt::Undo => Direction::Undo,
        Attempt::Redo => Direction::Redo,
        Attempt::Apply => panic!("an apply is no turn"),
    };
    let ops = Arc::new(Killed {
        host: HostOps::new(),
        at,
        count: AtomicUsize::new(0),
    });
    let turned = undo_or_redo(Arc::clone(&ops) as _, journal_dir, workspace, which);
    match (turned, ops.count.load(Ordering::Relaxed) > at) {
        // A turn that is killed in its last steps may count as done.
        (_, true) => Died::Killed,
        (Ok(_), false) => Died::Finished,
        (Err(error), false) => panic!("{error}"),
    }
}

/// The host's operations, up to one.
#[derive(Debug)]
struct Killed {
    host: HostOps,
    at: usize,
    count: AtomicUsize,
}

impl Killed {
    fn step(&self) -> io::Result<&HostOps> {
        match self.count.fetch_add(1, Ordering::Relaxed) < self.at {
            true => Ok(&self.host),
            false => Err(Errno::CANCELED.into()),
        }
    }
}

type At<'a> = (BorrowedFd<'a>, &'a str);

impl Ops for Killed {
    fn open_ambient(&self, path: &Path) -> io::Result<OwnedFd> {
        self.step()?.open_ambient(path)
    }
    fn open_beneath(&self, root: BorrowedFd<'_>, path: &RelPath) -> io::Result<OwnedFd> {
        self.step()?.open_beneath(root, path)
    }
    fn dup(&self, fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
        self.step()?.dup(fd)
    }
    fn open_read(&self, dir: BorrowedFd<'_>, name: &str) -> io::Result<OwnedFd> {
        self.step()?.open_read(dir, name)
    }
    fn stat_at(&self, dir: BorrowedFd<'_>, name: &str) -> io::Result<Option<Stat>> {
        self.step()?.stat_at(dir, name)
    }
    fn stat(&self, fd: BorrowedFd<'_>) -> io::Result<Stat> {
        self.step()?.stat(fd)
    }
    fn list(&self, dir: BorrowedFd<'_>) -> io::Result<Vec<OsString>> {
        self.step()?.list(dir)
    }
    fn read_link(&self, dir: BorrowedFd<'_>, name: &str) -> io::Result<Vec<u8>> {
        self.step()?.read_link(dir, name)
    }
    fn read(&self, fd: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
        self.step()?.read(fd, buffer)
    }
    fn attributes(&self, fd: BorrowedFd<'_>) -> io::Result<Vec<CString>> {
        self.step()?.attributes(fd)
    }
    fn attribute(&self, fd: BorrowedFd<'_>, name: &CStr) -> io::Result<Option<Vec<u8>>> {
        self.step()?.attribute(fd, name)
    }
    fn set_attribute(&self, fd: BorrowedFd<'_>, name: &CStr, value: &[u8]) -> io::Result<()> {
        self.step()?.set_attribute(fd, name, value)
    }
    fn remove_attribute(&self, fd: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
        self.step()?.remove_attribute(fd, name)
    }
    fn pinned(&self, fd: BorrowedFd<'_>) -> io::Result<ImmutableFlag> {
        self.step()?.pinned(fd)
    }
    fn writable(&self, dir: BorrowedFd<'_>) -> io::Result<()> {
        self.step()?.writable(dir)
    }
    fn create(&self, dir: BorrowedFd<'_>, name: &str) -> io::Result<OwnedFd> {
        self.step()?.create(dir, name)
    }
    fn write(&self, fd: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<()> {
        let first = self.count.load(Ordering::Relaxed) == self.at;
        match self.step() {
            Ok(host) => host.write(fd, bytes),
            Err(error) => {
                if first {
                    let half = bytes.get(..bytes.len() / 2).unwrap_or_default();
                    self.host.write(fd, half)?;
                }
                Err(error)
            }
        }
    }
    fn mkdir(&self, dir: BorrowedFd<'_>, name: &str, mode: u32) -> io::Result<()> {
        self.step()?.mkdir(dir, name, mode)
    }
    fn symlink(&self, target: &str, dir: BorrowedFd<'_>, name: &str) -> io::Result<()> {
        self.step()?.symlink(target, dir, name)
    }
    fn rename(&self, from: At<'_>, to: At<'_>, how: Rename) -> io::Result<()> {
        self.step()?.rename(from, to, how)
    }
    fn link(&self, from: At<'_>, to: At<'_>) -> io::Result<()> {
        self.step()?.link(from, to)
    }
    fn unlink(&self, dir: BorrowedFd<'_>, name: &str) -> io::Result<()> {
        self.step()?.unlink(dir, name)
    }
    fn rmdir(&self, dir: BorrowedFd<'_>, name: &str) -> io::Result<()> {
        self.step()?.rmdir(dir, name)
    }
    fn chmod(&self, fd: BorrowedFd<'_>, mode: u32) -> io::Result<()> {
        self.step()?.chmod(fd, mode)
    }
    fn chown(&self, dir: BorrowedFd<'_>, name: &str, uid: u32, gid: u32) -> io::Result<()> {
        self.step()?.chown(dir, name, uid, gid)
    }
    fn set_mtime(&self, dir: BorrowedFd<'_>, name: &str, time: Time) -> io::Result<()> {
        self.step()?.set_mtime(dir, name, time)
    }
    // A kill takes nothing from the page cache, so a sync shows nothing here, and costs much.
    fn sync(&self, _fd: BorrowedFd<'_>) -> io::Result<()> {
        self.step().map(drop)
    }
    fn sync_all(&self, _fd: BorrowedFd<'_>) -> io::Result<()> {
        self.step().map(drop)
    }
}
