//! `porter empty ROOT`: removes everything in a volume, however deep it is.
//!
//! An engine removes a volume with one descriptor for each level of directories, so an agent
//! could make one that no engine can remove (CON-28). Here every directory is moved up to the
//! top before it is looked into, so three descriptors and no recursion are enough, and an
//! emptying that was cut short goes on with the next.
//!
//! The verb runs in the container of the [`guard`](crate::protect): root with `CAP_CHOWN` alone,
//! which makes a directory its own before it opens it, whatever its owner and mode. Links are
//! never followed, and a directory of another file system is an error.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;

use lazaret_tree::escape;
use rustix::fs::{AtFlags, CWD, Gid, Mode, OFlags, Uid};
use rustix::io::Errno;

use crate::files::root::{self, LOST_AND_FOUND, chmod};

/// What a directory is opened as before it is looked into.
const DIR: OFlags = OFlags::PATH
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

#[derive(Debug, thiserror::Error)]
#[error("cannot empty {}: {source}", escape(.root))]
struct EmptyError {
    root: Vec<u8>,
    source: io::Error,
}

/// Runs the verb.
pub(crate) fn run(root: &str) -> ExitCode {
    let emptied = empty_root(root).map_err(|errno| EmptyError {
        root: root.as_bytes().to_vec(),
        source: errno.into(),
    });
    crate::exit_with("empty", emptied)
}

fn empty_root(path: &str) -> Result<(), Errno> {
    let path = CString::new(path).map_err(|_| Errno::INVAL)?;
    let top = Rights::Taken.open(CWD, &path)?;
    empty(&top, Rights::Taken)
}

/// How a directory is made readable and writable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rights {
    /// It belongs to this process's user.
    Owned,
    /// It may be another user's: it is taken over first, which needs `CAP_CHOWN`.
    Taken,
}

impl Rights {
    /// Opens a directory and gives its owner all rights to it.
    pub(crate) fn open(self, parent: impl AsFd, name: &CStr) -> Result<OwnedFd, Errno> {
        let dir = rustix::fs::openat(&parent, name, DIR, Mode::empty())?;
        if self == Self::Taken {
            let (uid, gid) = (rustix::process::geteuid(), rustix::process::getegid());
            own(&dir, uid, gid)?;
        }
        chmod(&dir, 0o700)?;
        root::open_dir(parent, name)
    }
}

fn own(dir: &OwnedFd, uid: Uid, gid: Gid) -> Result<(), Errno> {
    rustix::fs::chownat(dir, c"", Some(uid), Some(gid), AtFlags::EMPTY_PATH)
}

/// Removes what lies in an open directory, to which its owner has all rights.
///
/// # Errors
/// The first thing that can't be removed; what was removed until then is gone.
pub(crate) fn empty(top: &OwnedFd, rights: Rights) -> Result<(), Errno> {
    let device = rustix::fs::fstat(top)?.st_dev;
    let mut moved = 0_u64;
    let mut pending = root::names(top)?;
    // What the file system itself keeps there.
    pending.retain(|name| {
        let stat = rustix::fs::statat(top, name, AtFlags::SYMLINK_NOFOLLOW);
        **name != *LOST_AND_FOUND || stat.is_ok_and(|stat| stat.st_uid != 0)
    });
    while let Some(name) = pending.pop() {
        if !is_dir(rustix::fs::unlinkat(top, &*name, AtFlags::empty()))? {
            continue;
        }
        let dir = rights.open(top, &name)?;
        if rustix::fs::fstat(&dir)?.st_dev != device {
            return Err(Errno::XDEV);
        }
        for inside in root::names(&dir)? {
            if is_dir(rustix::fs::unlinkat(&dir, &*inside, AtFlags::empty()))? {
                // Its entry for the directory above changes: that takes the right to write to it.
                drop(rights.open(&dir, &inside)?);
                pending.push(raise(&dir, &inside, top, &mut moved)?);
            }
        }
        rustix::fs::unlinkat(top, &*name, AtFlags::REMOVEDIR)?;
    }
    Ok(())
}

/// Moves a directory to the top, and returns its name there.
fn raise(from: &OwnedFd, name: &CStr, top: &OwnedFd, moved: &mut u64) -> Result<CString, Errno> {
    loop {
        *moved += 1;
        let raised = CString::new(moved.to_string()).map_err(|_| Errno::INVAL)?;
        match rustix::fs::renameat(from, name, top, &*raised) {
            Ok(()) => return Ok(raised),
            // The name is taken.
            Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => {}
            Err(errno) => return Err(errno),
        }
    }
}

/// Reads out of a failed `unlinkat` that it met a directory.
fn is_dir(unlinked: Result<(), Errno>) -> Result<bool, Errno> {
    match unlinked {
        // A raised directory may have taken the place of an empty one.
        Ok(()) | Err(Errno::NOENT) => Ok(false),
        Err(Errno::ISDIR | Errno::PERM) => Ok(true),
        Err(errno) => Err(errno),
    }
}
