//! Where files are written before they get their names.

use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};

use lazaret_transfer::RESERVED_NAME;
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use crate::root::{self, Root, chmod};

/// Makes the directory, which is not there.
pub(super) fn make(root: &Root) -> Result<OwnedFd, Errno> {
    rustix::fs::mkdirat(root, RESERVED_NAME, Mode::RWXU)?;
    root::open_dir(root, RESERVED_NAME)
}

/// Removes whatever lies under the name: what an update left, or what the agent put there,
/// however deep that is.
pub(super) fn clear(root: &Root) -> Result<(), Errno> {
    match rustix::fs::unlinkat(root, RESERVED_NAME, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => return Ok(()),
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(errno) => return Err(errno),
    }
    let top = open_as_owner(root, RESERVED_NAME)?;
    let mut moved = 0_u64;
    loop {
        let names = root::names(&top)?;
        if names.is_empty() {
            return rustix::fs::unlinkat(root, RESERVED_NAME, AtFlags::REMOVEDIR);
        }
        for name in names {
            if is_dir(rustix::fs::unlinkat(&top, &*name, AtFlags::empty()))? {
                let dir = open_as_owner(&top, &name)?;
                for inside in root::names(&dir)? {
                    if is_dir(rustix::fs::unlinkat(&dir, &*inside, AtFlags::empty()))? {
                        raise(&dir, &inside, &top, &mut moved)?;
                    }
                }
                rustix::fs::unlinkat(&top, &*name, AtFlags::REMOVEDIR)?;
            }
        }
    }
}

/// Moves a directory to the top, so that two descriptors are enough for any depth.
fn raise(from: &OwnedFd, name: &CStr, top: &OwnedFd, moved: &mut u64) -> Result<(), Errno> {
    // Its entry for the directory above changes: that takes the right to write to it.
    drop(open_as_owner(from, name)?);
    loop {
        *moved += 1;
        match rustix::fs::renameat(from, name, top, format!("{moved}")) {
            Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => {}
            outcome => return outcome,
        }
    }
}

/// Reads out of a failed `unlinkat` that it met a directory.
fn is_dir(unlinked: Result<(), Errno>) -> Result<bool, Errno> {
    match unlinked {
        Ok(()) => Ok(false),
        Err(Errno::ISDIR | Errno::PERM) => Ok(true),
        Err(errno) => Err(errno),
    }
}

/// Opens a directory and gives its owner all rights to it.
fn open_as_owner(parent: impl AsFd, name: &CStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let dir = rustix::fs::openat(&parent, name, flags, Mode::empty())?;
    chmod(&dir, 0o700)?;
    root::open_dir(parent, name)
}
