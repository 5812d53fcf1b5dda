//! `Root`: the one directory that files are moved to and from.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::Path;

use lazaret_tree::{AtPath as _, EXTRA_DIR, PathError, RelPath};
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, StatxAttributes, StatxFlags,
};
use rustix::io::Errno;

/// What `mkfs.ext4` leaves in a fresh file system; some volumes are one.
pub(crate) const LOST_AND_FOUND: &CStr = c"lost+found";

const DIR: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);
const FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC);

/// An open directory. Everything below it is reached relative to its descriptor,
/// and never through a link.
#[derive(Debug)]
pub(crate) struct Root(OwnedFd);

impl Root {
    pub(crate) fn open(path: &Path) -> Result<Self, PathError> {
        let fd = rustix::fs::open(path, DIR, Mode::empty()).at(path)?;
        Ok(Self(fd))
    }

    /// Returns another descriptor of the same directory.
    ///
    /// # Errors
    /// When there is none to be had.
    pub(crate) fn reopen(&self) -> Result<OwnedFd, PathError> {
        self.0.try_clone().at(".")
    }

    /// Opens a regular file below the root, as it is.
    pub(crate) fn open_file(&self, path: &RelPath) -> Result<(OwnedFd, Stat), Errno> {
        let file = self.open_path(path, FILE)?;
        let stat = rustix::fs::fstat(&file)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok((file, stat)),
            _ => Err(Errno::LOOP),
        }
    }

    /// Opens a directory below the root, as it is.
    pub(crate) fn open_dir(&self, path: &RelPath) -> Result<OwnedFd, Errno> {
        self.open_path(path, DIR)
    }

    /// Opens whatever lies at `path`, a link among them, without any right to it.
    pub(crate) fn open_any(&self, path: &RelPath) -> Result<OwnedFd, Errno> {
        self.open_path(path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC)
    }

    fn open_path(&self, path: &RelPath, last: OFlags) -> Result<OwnedFd, Errno> {
        let resolve = ResolveFlags::BENEATH
            | ResolveFlags::NO_SYMLINKS
            | ResolveFlags::NO_MAGICLINKS
            | ResolveFlags::NO_XDEV;
        match rustix::fs::openat2(&self.0, path.as_str(), last, Mode::empty(), resolve) {
            // An old kernel, or a profile that does not know the call.
            Err(Errno::NOSYS | Errno::PERM) => {}
            outcome => return outcome,
        }
        let mut parent: Option<OwnedFd> = None;
        let mut components = path.components().peekable();
        while let Some(component) = components.next() {
            let flags = match components.peek() {
                Some(_) => DIR,
                None => last,
            };
            let at = parent.as_ref().map_or(self.0.as_fd(), AsFd::as_fd);
            parent = Some(rustix::fs::openat(at, component, flags, Mode::empty())?);
        }
        parent.ok_or(Errno::NOENT)
    }
}

impl AsFd for Root {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Opens the directory `name` in `parent`, not through a link.
pub(crate) fn open_dir(parent: impl AsFd, name: &CStr) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(parent, name, DIR, Mode::empty())
}

/// Opens the regular file `name` in `parent`, not through a link.
pub(crate) fn open_regular(parent: impl AsFd, name: &CStr) -> Result<File, Errno> {
    let file = rustix::fs::openat(parent, name, FILE, Mode::empty())?;
    match FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode) {
        FileType::RegularFile => Ok(file.into()),
        _ => Err(Errno::LOOP),
    }
}

/// Whether an entry of a volume's root is no part of the workspace: the file system or the engine
/// made it. The agent can't make one like it.
pub(crate) fn is_foreign(root: impl AsFd, name: &CStr, stat: &Stat) -> bool {
    if *name == *LOST_AND_FOUND {
        return stat.st_uid == 0;
    }
    let is_dir = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
    // What `protect` owns is of the agent's group.
    let is_engines = (stat.st_uid, stat.st_gid) == (0, 0);
    name.to_bytes() == EXTRA_DIR.as_bytes() && is_dir && (is_engines || is_mounted(root, name))
}

/// Whether something is mounted at an entry. Linux before 5.8 does not say (`man 2 statx`).
fn is_mounted(dir: impl AsFd, name: &CStr) -> bool {
    let flags = AtFlags::SYMLINK_NOFOLLOW;
    let found = rustix::fs::statx(dir, name, flags, StatxFlags::empty());
    found.is_ok_and(|found| found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

/// Lists the names in a directory, sorted by bytes: that is the order of paths.
pub(crate) fn names(dir: impl AsFd) -> Result<Vec<CString>, Errno> {
    let mut names = Vec::new();
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        if name != c"." && name != c".." {
            names.push(name.to_owned());
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Changes the mode of what is open, also if it is open without any right.
pub(crate) fn chmod(file: impl AsFd, mode: u32) -> Result<(), Errno> {
    let (file, mode) = (file.as_fd(), Mode::from_raw_mode(mode & 0o7777));
    match rustix::fs::fchmod(file, mode) {
        // Such a descriptor is no way to change anything, but its name is.
        Err(Errno::BADF) => {
            let name = format!("/proc/self/fd/{}", file.as_raw_fd());
            rustix::fs::chmodat(CWD, name, mode, AtFlags::empty())
        }
        outcome => outcome,
    }
}

/// The capacity of a pipe, in bytes: the default maximum without privileges (`man 7 pipe`). An
/// engine's relay fills the usual 64 KiB while the porter creates a file, so each would keep
/// waiting for the other.
const PIPE: usize = 1 << 20;

/// Stdin without a buffer of std's in between.
pub(crate) fn stdin() -> io::Result<File> {
    let stdin = io::stdin().as_fd().try_clone_to_owned()?;
    widen(&stdin);
    Ok(File::from(stdin))
}

/// Stdout without std's line buffer, which would search contents for line ends.
pub(crate) fn stdout() -> io::Result<File> {
    let stdout = io::stdout().as_fd().try_clone_to_owned()?;
    widen(&stdout);
    Ok(File::from(stdout))
}

/// Lets a pipe hold more, where it is one and the kernel has room (`man 7 pipe`).
fn widen(end: &OwnedFd) {
    let _slower = rustix::pipe::fcntl_setpipe_size(end, PIPE);
}
