//! Opening things below a root without ever leaving it.
//!
//! On Linux 5.6 and later the kernel does it: openat2(2) with `RESOLVE_BENEATH`,
//! `NO_SYMLINKS`, `NO_XDEV` and `NO_MAGICLINKS`. Elsewhere the path is walked one
//! component at a time with `O_NOFOLLOW | O_DIRECTORY`, and every step must stay
//! on the root's device; what that walk cannot see is a bind mount of the same
//! file system (APP-05, APP-25).
//!
//! Neither prevents this: a process that may write the workspace moves a directory
//! that is open here out of it. Operations relative to that directory then happen
//! at its new place.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use lazaret_tree::RelPath;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

/// How often openat2 may say that something was renamed meanwhile (`EAGAIN`).
const RETRIES: u32 = 128;

/// How paths are resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resolver {
    /// openat2, or the walk where the kernel has none.
    Kernel,
    /// The walk.
    #[cfg_attr(not(test), expect(dead_code, reason = "chosen by name in tests only"))]
    Walk,
}

/// Without `O_NOFOLLOW`, which would say `ENOTDIR` of a link: `NO_SYMLINKS` says
/// `ELOOP`. The walk adds it.
const DIR: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

impl Resolver {
    /// Opens the directory `path` below `root`.
    pub(crate) fn open_dir(self, root: BorrowedFd<'_>, path: &RelPath) -> io::Result<OwnedFd> {
        if self == Self::Kernel {
            match beneath(root, path.as_str(), DIR) {
                Err(Errno::NOSYS) => {}
                other => return Ok(other?),
            }
        }
        let device = rustix::fs::fstat(root)?.st_dev;
        let mut open: Option<OwnedFd> = None;
        for component in path.components() {
            let parent = open.as_ref().map_or(root, |fd| fd.as_fd());
            let next = open_same(parent, component, DIR, device)?;
            open = Some(next);
        }
        open.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))
    }

    /// Opens the entry `name` of `dir`, which must not be a mount point.
    pub(crate) fn open_at(
        self,
        dir: BorrowedFd<'_>,
        name: &str,
        flags: OFlags,
    ) -> io::Result<OwnedFd> {
        if self == Self::Kernel {
            match beneath(dir, name, flags) {
                Err(Errno::NOSYS) => {}
                other => return Ok(other?),
            }
        }
        let device = rustix::fs::fstat(dir)?.st_dev;
        Ok(open_same(dir, name, flags, device)?)
    }

    /// Stats the entry `name` of `dir`, unfollowed.
    pub(crate) fn stat_at(self, dir: BorrowedFd<'_>, name: &str) -> io::Result<Stat> {
        if self == Self::Kernel {
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            match beneath(dir, name, flags) {
                Err(Errno::NOSYS) => {}
                other => return Ok(rustix::fs::fstat(other?)?),
            }
        }
        let stat = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if stat.st_dev == rustix::fs::fstat(dir)?.st_dev {
            Ok(stat)
        } else {
            Err(Errno::XDEV.into())
        }
    }
}

fn beneath(dir: BorrowedFd<'_>, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH
        | ResolveFlags::NO_SYMLINKS
        | ResolveFlags::NO_XDEV
        | ResolveFlags::NO_MAGICLINKS;
    for _ in 0..RETRIES {
        match rustix::fs::openat2(dir, path, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            other => return other,
        }
    }
    Err(Errno::AGAIN)
}

fn open_same(
    dir: BorrowedFd<'_>,
    name: &str,
    flags: OFlags,
    device: u64,
) -> Result<OwnedFd, Errno> {
    let opened = rustix::io::retry_on_intr(|| {
        rustix::fs::openat(dir, name, flags | OFlags::NOFOLLOW, Mode::empty())
    });
    let fd = match opened {
        // What O_DIRECTORY says of a link; openat2 says ELOOP.
        Err(Errno::NOTDIR) if is_link(dir, name) => return Err(Errno::LOOP),
        other => other?,
    };
    if rustix::fs::fstat(&fd)?.st_dev == device {
        Ok(fd)
    } else {
        Err(Errno::XDEV)
    }
}

fn is_link(dir: BorrowedFd<'_>, name: &str) -> bool {
    rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
}
