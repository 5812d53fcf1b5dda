//! Removes an entry of a home, sets it aside, or puts a file in its place.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use lazaret_protocol::{HomeOrder, SET_ASIDE};
use lazaret_tree::{Mode, RelPath};
use rustix::fs::{AtFlags, OFlags};
use rustix::io::Errno;

use super::HomeError;
use crate::files::empty::{Rights, empty};
use crate::files::root::chmod;

/// The name of a file until it is whole.
const PARTIAL: &CStr = c".lazaret-partial";

/// What a new directory lets others do: nothing.
const DIR_MODE: u32 = 0o700;

/// Carries out an order.
pub(super) fn put(home: &OwnedFd, path: &RelPath, order: HomeOrder) -> Result<(), HomeError> {
    let done = match order {
        HomeOrder::Remove => in_parent(home, path, remove),
        HomeOrder::SetAside { name } => {
            let aside = set_aside_dir(home).map_err(HomeError::at(path))?;
            let to = CString::new(name).map_err(|_| HomeError::at(path)(Errno::INVAL))?;
            in_parent(home, path, |parent, from| {
                if let Ok(dir) = Rights::Owned.open(parent, from) {
                    // Its entry for the directory above changes: that takes the right to write.
                    drop(dir);
                }
                rustix::fs::renameat(parent, from, &aside, &*to)
            })
        }
        HomeOrder::Write { mode, contents } => {
            let parent = make_parent(home, path).map_err(HomeError::at(path))?;
            named(path, |name| write(parent.as_fd(), name, mode, &contents))
        }
    };
    done.map_err(HomeError::at(path))
}

fn named<T>(path: &RelPath, act: impl FnOnce(&CStr) -> Result<T, Errno>) -> Result<T, Errno> {
    let name = CString::new(path.file_name()).map_err(|_| Errno::INVAL)?;
    act(&name)
}

/// Acts in the directory that a path lies in. If there is none, there is nothing to do.
fn in_parent(
    home: &OwnedFd,
    path: &RelPath,
    act: impl FnOnce(BorrowedFd<'_>, &CStr) -> Result<(), Errno>,
) -> Result<(), Errno> {
    let mut dir = home.try_clone().map_err(|_| Errno::MFILE)?;
    for component in path.parent().into_iter().flat_map(RelPath::components) {
        let name = CString::new(component).map_err(|_| Errno::INVAL)?;
        dir = match Rights::Owned.open(&dir, &name) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
            opened => opened?,
        };
    }
    match named(path, |name| act(dir.as_fd(), name)) {
        Err(Errno::NOENT) => Ok(()),
        outcome => outcome,
    }
}

fn remove(parent: BorrowedFd<'_>, name: &CStr) -> Result<(), Errno> {
    match rustix::fs::unlinkat(parent, name, AtFlags::empty()) {
        Err(Errno::ISDIR | Errno::PERM) => {
            let dir = Rights::Owned.open(parent, name)?;
            empty(&dir, Rights::Owned)?;
            rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR)
        }
        outcome => outcome,
    }
}

fn set_aside_dir(home: &OwnedFd) -> Result<OwnedFd, Errno> {
    let name = CString::new(SET_ASIDE).map_err(|_| Errno::INVAL)?;
    make_dir(home.as_fd(), &name).or_else(|_| {
        // The agent put something else there.
        remove(home.as_fd(), &name)?;
        make_dir(home.as_fd(), &name)
    })
}

/// Makes a directory unless it is there, and opens it, through no link.
fn make_dir(parent: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    let mode = rustix::fs::Mode::from_raw_mode(DIR_MODE);
    match rustix::fs::mkdirat(parent, name, mode) {
        Ok(()) | Err(Errno::EXIST) => Rights::Owned.open(parent, name),
        Err(errno) => Err(errno),
    }
}

fn make_parent(home: &OwnedFd, path: &RelPath) -> Result<OwnedFd, Errno> {
    let mut dir = home.try_clone().map_err(|_| Errno::MFILE)?;
    for component in path.parent().into_iter().flat_map(RelPath::components) {
        let name = CString::new(component).map_err(|_| Errno::INVAL)?;
        dir = make_dir(dir.as_fd(), &name)?;
    }
    Ok(dir)
}

/// Writes a file under another name, and gives it its own once it is whole.
fn write(parent: BorrowedFd<'_>, name: &CStr, mode: Mode, contents: &[u8]) -> Result<(), Errno> {
    match remove(parent, PARTIAL) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(errno) => return Err(errno),
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let private = rustix::fs::Mode::from_raw_mode(0o600);
    let mut file = File::from(rustix::fs::openat(parent, PARTIAL, flags, private)?);
    let written = file.write_all(contents);
    written.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    // For the user alone: a key or a socket's name may be in it.
    chmod(&file, mode.to_unix() & 0o700)?;
    rustix::fs::renameat(parent, PARTIAL, parent, name)
}
