//! Opening one component below a directory.

use std::ffi::CStr;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use lazaret_tree::RelPath;
use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::WalkError;

/// Why a component is not open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenError {
    /// It lies on another file system, or something is mounted there.
    Mount,
    /// Anything else.
    Errno(Errno),
}

impl From<Errno> for OpenError {
    fn from(errno: Errno) -> Self {
        Self::Errno(errno)
    }
}

/// An open directory, by which its entries are opened, now or later.
#[derive(Debug)]
pub(crate) struct OpenDir {
    fd: OwnedFd,
    /// What everything in it has to lie on.
    device: u64,
}

impl OpenDir {
    pub(super) fn new(fd: OwnedFd, device: u64) -> Self {
        Self { fd, device }
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    pub(super) fn device(&self) -> u64 {
        self.device
    }

    /// Opens the regular file at `path`, which is `name` in here; `None` for one on another
    /// file system.
    pub(crate) fn open_file(
        &self,
        name: &CStr,
        path: &RelPath,
    ) -> Result<Option<(OwnedFd, Stat)>, WalkError> {
        let failed = |errno| WalkError::io(path.as_str().as_bytes(), errno);
        let changed = || WalkError::Changed {
            name: path.as_str().as_bytes().to_vec(),
        };
        let file = match open_below(self.fd(), name, OFlags::empty(), self.device) {
            Ok(file) => file,
            Err(OpenError::Mount) => return Ok(None),
            Err(OpenError::Errno(Errno::LOOP | Errno::NXIO)) => return Err(changed()),
            Err(OpenError::Errno(errno)) => return Err(failed(errno)),
        };
        let stat = rustix::fs::fstat(&file).map_err(failed)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok(Some((file, stat))),
            _ => Err(changed()),
        }
    }
}

/// Opens `name`, one component, for reading; never through a link, never into
/// another mount, without blocking on a FIFO.
///
/// With `openat2` the kernel refuses every mount point, bind mounts of the same
/// file system included (APP-05). Without it (before Linux 5.6, or macOS) only
/// another `st_dev` than `device` is noticed.
pub(crate) fn open_below(
    dir: BorrowedFd<'_>,
    name: &CStr,
    flags: OFlags,
    device: u64,
) -> Result<OwnedFd, OpenError> {
    if !is_component(name) {
        return Err(Errno::INVAL.into());
    }
    let flags = flags | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    #[cfg(target_os = "linux")]
    match openat2(dir, name, flags) {
        Err(OpenError::Errno(Errno::NOSYS | Errno::PERM)) => {}
        outcome => return outcome,
    }
    let fd = rustix::fs::openat(dir, name, flags, Mode::empty())?;
    let stat = rustix::fs::fstat(&fd)?;
    if crate::FileIdentity::from(&stat).dev == device {
        Ok(fd)
    } else {
        Err(OpenError::Mount)
    }
}

/// Whether a name leads no further than one step down; no kernel lists another.
fn is_component(name: &CStr) -> bool {
    let name = name.to_bytes();
    name != b".." && !name.contains(&b'/')
}

#[cfg(target_os = "linux")]
fn openat2(dir: BorrowedFd<'_>, name: &CStr, flags: OFlags) -> Result<OwnedFd, OpenError> {
    use rustix::fs::ResolveFlags;

    // Not `BENEATH`: one step down can't lead out, and holding it to that costs the kernel two
    // locks of the directory.
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_XDEV;
    // The kernel says EAGAIN when something was renamed meanwhile.
    for _ in 0..16 {
        match rustix::fs::openat2(dir, name, flags, Mode::empty(), resolve) {
            Ok(fd) => return Ok(fd),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(Errno::XDEV) => return Err(OpenError::Mount),
            Err(errno) => return Err(errno.into()),
        }
    }
    Err(Errno::AGAIN.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_step_down() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("a")).unwrap();
        std::fs::write(dir.path().join("a/b"), "").unwrap();
        let root = std::fs::File::open(dir.path()).unwrap();
        let device = crate::FileIdentity::from(&rustix::fs::fstat(&root).unwrap()).dev;
        let open = |name| open_below(root.as_fd(), name, OFlags::empty(), device);
        assert!(open(c"a").is_ok() && open(c".").is_ok());
        for name in [c"..", c"a/b", c"/", c"a/../..", c"../x"] {
            let refused = open(name).unwrap_err();
            assert_eq!(refused, OpenError::Errno(Errno::INVAL), "{name:?}");
        }
    }
}
