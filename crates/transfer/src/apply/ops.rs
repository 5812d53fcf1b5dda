//! The file-system operations of a transaction, each one call of [`Ops`].
//!
//! Everything goes through this trait, reads too, so that a test can make
//! the n-th operation fail, or stop everything there as a crash would.

use std::ffi::{CStr, CString, OsString};
use std::fmt;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;

use lazaret_tree::RelPath;
use rustix::fs::{
    Access, AtFlags, Dir, FileType, IFlags, Mode, OFlags, RenameFlags, Timespec, Timestamps,
    XattrFlags,
};
use rustix::io::Errno;

use crate::workspace_dir::resolve;

/// What kind of thing an inode is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Dir,
    Symlink,
    /// A FIFO, a socket, a device.
    Other,
}

/// The facts of one inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) kind: Kind,
    pub(crate) dev: u64,
    pub(crate) ino: u64,
    /// The lower twelve bits.
    pub(crate) mode: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) size: u64,
    pub(crate) mtime: Time,
}

/// Seconds and nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Time {
    pub(crate) secs: i64,
    pub(crate) nanos: i64,
}

/// What a rename does when its target exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rename {
    /// Replaces it, as rename(2) does. Only inside directories of our own.
    Replace,
    /// Fails with `EEXIST`.
    NoReplace,
    /// Swaps the two; fails with `ENOENT` when there is none.
    Exchange,
}

/// Whether a file may be changed at all, by its inode flags (`chattr`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ImmutableFlag {
    No,
    /// `i`, immutable, or `a`, append-only.
    Yes,
}

/// The operations. `dir` is always an open directory and `name` one component,
/// so no operation resolves a path that another process can redirect.
pub(crate) trait Ops: fmt::Debug + Send + Sync {
    /// Opens a directory of the host by its path: the journal's, or the root.
    fn open_ambient(&self, path: &Path) -> io::Result<OwnedFd>;
    /// Opens a directory below `root`: no symbolic link, no `..`, no mount point.
    fn open_beneath(&self, root: BorrowedFd<'_>, path: &RelPath) -> io::Result<OwnedFd>;
    /// Opens the same file or directory once more.
    fn dup(&self, fd: BorrowedFd<'_>) -> io::Result<OwnedFd>;
    /// Opens a file for reading; never follows, never blocks on a FIFO.
    fn open_read(&self, dir: BorrowedFd<'_>, name: &str) -> io::Result<OwnedFd>;
    /// Stats an entry, unfollowed; `EXDEV` when it is a mount point.
    fn stat_at(&self, dir: BorrowedFd<'_>, name: &str) -> io::Result<Option<Stat>>;
    /// Stats an open file.
    fn stat(&self, fd: BorrowedFd<'_>) -> io::Result<Stat>;
    /// Lists a directory, without `.` and `..`.
    fn list(&self, dir: BorrowedFd<'_>) -> io::Result<Vec<OsString>>;
    /// Reads a link.
    fn read_link(&self, dir: BorrowedFd<'_>, name: &str) -> io::Result<Vec<u8>>;
    /// Reads some bytes; 0 at the end.
    fn read(&self, fd: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize>;
    /// Lists the names of a file's extended attributes, those of its access control lists
    /// included; none where the file system has none.
    fn attributes(&self, fd: BorrowedFd<'_>) -> io::Result<Vec<CString>>;
    /// Reads an extended attribute; `None` when there is none of this name.
    fn attribute(&self, fd: BorrowedFd<'_>, name: &CStr) -> io::Result<Option<Vec<u8>>>;
    /// Sets an extended attribute.
    fn set_attribute(&self, fd: BorrowedFd<'_>, name: &CStr, value: &[u8]) -> io::Result<()>;
    /// Removes an extended attribute; nothing happens when there is none of this name.
    fn remove_attribute(&self, fd: BorrowedFd<'_>, name: &CStr) -> io::Result<()>;
    /// Reads the inode flags; "not pinned" where there are none.
    fn pinned(&self, fd: BorrowedFd<'_>) -> io::Result<ImmutableFlag>;
    /// Checks that entries of `dir` may be added and removed by this process.
    fn writable(&self, dir: BorrowedFd<'_>) -> io::Result<()>;
    /// Creates a file, 0600, for writing; `EEXIST` when there is something.
    fn create(&self, dir: BorrowedFd<'_>, name: &str) -> io::Result<OwnedFd>;
    /// Writes all of `bytes`.
    fn write(&self, fd: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<()>;
    /// Makes a directory of this mode, less the umask.
    fn mkdir(&self, dir: BorrowedFd<'_>, name: &str, mode: u32) -> io::Result<()>;
    /// Makes a symbolic link.
    fn symlink(&self, target: &str, dir: BorrowedFd<'_>, name: &str) -> io::Result<()>;
    /// Renames.
    fn rename(
        &self,
        from: (BorrowedFd<'_>, &str),
        to: (BorrowedFd<'_>, &str),
        how: Rename,
    ) -> io::Result<()>;
    /// Makes a second name; `EEXIST` when there is something.
    fn link(&self, from: (BorrowedFd<'_>, &str), to: (BorrowedFd<'_>, &str)) -> io::Result<()>;
    /// Removes a file or link.
    fn unlink(&self, dir: BorrowedFd<'_>, name: &str) -> io::Result<()>;
    /// Removes an empty directory.
    fn rmdir(&self, dir: BorrowedFd<'_>, name: &str) -> io::Result<()>;
    /// Sets the permission bits.
    fn chmod(&self, fd: BorrowedFd<'_>, mode: u32) -> io::Result<()>;
    /// Sets owner and group of an entry, unfollowed.
    fn chown(&self, dir: BorrowedFd<'_>, name: &str, uid: u32, gid: u32) -> io::Result<()>;
    /// Sets the time of modification of an entry, unfollowed.
    fn set_mtime(&self, dir: BorrowedFd<'_>, name: &str, time: Time) -> io::Result<()>;
    /// Makes a file durable, with its mode, owner and time; or a directory, with the
    /// names in it. The name of what is synced is for its directory to keep.
    fn sync(&self, fd: BorrowedFd<'_>) -> io::Result<()>;
    /// Makes everything on the file system of `fd` durable.
    fn sync_all(&self, fd: BorrowedFd<'_>) -> io::Result<()>;
}

/// The real thing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HostOps {
    /// How paths are resolved.
    pub(crate) resolver: resolve::Resolver,
}

impl HostOps {
    pub(crate) const fn new() -> Self {
        Self {
            resolver: resolve::Resolver::Kernel,
        }
    }
}

const READ_DIR: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

impl Ops for HostOps {
    fn open_ambient(&self, path: &Path) -> io::Result<OwnedFd> {
        Ok(rustix::fs::open(path, READ_DIR, Mode::empty())?)
    }

    fn open_beneath(&self, root: BorrowedFd<'_>, path: &RelPath) -> io::Result<OwnedFd> {
        self.resolver.open_dir(root, path)
    }

    fn dup(&self, fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
        fd.try_clone_to_owned()
    }

    fn open_read(&self, dir: BorrowedFd<'_>, name: &str) -> io::Result<OwnedFd> {
        let flags =
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        self.resolver.open_at(dir, name, flags)
    }

    fn stat_at(&self, dir: BorrowedFd<'_>, name: &str) -> io::Result<Option<Stat>> {
        match self.resolver.stat_at(dir, name) {
            Ok(stat) => Ok(Some(to_stat(&stat))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn stat(&self, fd: BorrowedFd<'_>) -> io::Result<Stat> {
        Ok(to_stat(&rustix::fs::fstat(fd)?))
    }

    fn list(&self, dir: BorrowedFd<'_>) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(dir)? {
            let name = entry?.file_name().to_bytes().to_vec();
            if name != b"." && name != b".." {
                names.push(OsString::from_vec(name));
            }
        }
        Ok(names)
    }

    fn read_link(&self, dir: BorrowedFd<'_>, name: &str) -> io::Result<Vec<u8>> {
        Ok(rustix::fs::readlinkat(dir, name, Vec::new())?.into_bytes())
    }

    fn read(&self, fd: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::retry_on_intr(|| {
            rustix::io::read(fd, &mut *buffer)
        })?)
    }

    fn attributes(&self, fd: BorrowedFd<'_>) -> io::Result<Vec<CString>> {
        let bytes = match whole(
            || rustix::fs::flistxattr_query(fd),
            |room| rustix::fs::flistxattr(fd, room),
        ) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => return Ok(Vec::new()),
            other => other?,
        };
        let names = bytes
            .split(|&byte| byte == 0)
            .filter(|name| !name.is_empty());
        Ok(names.map(CString::new).collect::<Result<_, _>>()?)
    }

    fn attribute(&self, fd: BorrowedFd<'_>, name: &CStr) -> io::Result<Option<Vec<u8>>> {
        match whole(
            || rustix::fs::fgetxattr_query(fd, name),
            |room| rustix::fs::fgetxattr(fd, name, room),
        ) {
            Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(None),
            other => Ok(Some(other?)),
        }
    }

    fn set_attribute(&self, fd: BorrowedFd<'_>, name: &CStr, value: &[u8]) -> io::Result<()> {
        Ok(rustix::fs::fsetxattr(fd, name, value, XattrFlags::empty())?)
    }

    fn remove_attribute(&self, fd: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
        match rustix::fs::fremovexattr(fd, name) {
            Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
            other => Ok(other?),
        }
    }

    fn pinned(&self, fd: BorrowedFd<'_>) -> io::Result<ImmutableFlag> {
        match rustix::fs::ioctl_getflags(fd) {
            Ok(flags) if flags.intersects(IFlags::IMMUTABLE | IFlags::APPEND) => {
                Ok(ImmutableFlag::Yes)
            }
            Ok(_) | Err(Errno::NOTTY | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {
                Ok(ImmutableFlag::No)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn writable(&self, dir: BorrowedFd<'_>) -> io::Result<()> {
        let access = Access::WRITE_OK | Access::EXEC_OK;
        Ok(rustix::fs::accessat(dir, ".", access, AtFlags::EACCESS)?)
    }

    fn create(&self, dir: BorrowedFd<'_>, name: &str) -> io::Result<OwnedFd> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(dir, name, flags, bits(0o600))?)
    }

    fn write(&self, fd: BorrowedFd<'_>, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let n = rustix::io::retry_on_intr(|| rustix::io::write(fd, bytes))?;
            bytes = bytes.get(n..).unwrap_or_default();
        }
        Ok(())
    }

    fn mkdir(&self, dir: BorrowedFd<'_>, name: &str, mode: u32) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(dir, name, bits(mode))?)
    }

    fn symlink(&self, target: &str, dir: BorrowedFd<'_>, name: &str) -> io::Result<()> {
        Ok(rustix::fs::symlinkat(target, dir, name)?)
    }

    fn rename(
        &self,
        from: (BorrowedFd<'_>, &str),
        to: (BorrowedFd<'_>, &str),
        how: Rename,
    ) -> io::Result<()> {
        let flags = match how {
            Rename::Replace => return Ok(rustix::fs::renameat(from.0, from.1, to.0, to.1)?),
            Rename::NoReplace => RenameFlags::NOREPLACE,
            Rename::Exchange => RenameFlags::EXCHANGE,
        };
        Ok(rustix::fs::renameat_with(
            from.0, from.1, to.0, to.1, flags,
        )?)
    }

    fn link(&self, from: (BorrowedFd<'_>, &str), to: (BorrowedFd<'_>, &str)) -> io::Result<()> {
        Ok(rustix::fs::linkat(
            from.0,
            from.1,
            to.0,
            to.1,
            AtFlags::empty(),
        )?)
    }

    fn unlink(&self, dir: BorrowedFd<'_>, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(dir, name, AtFlags::empty())?)
    }

    fn rmdir(&self, dir: BorrowedFd<'_>, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(dir, name, AtFlags::REMOVEDIR)?)
    }

    fn chmod(&self, fd: BorrowedFd<'_>, mode: u32) -> io::Result<()> {
        Ok(rustix::fs::fchmod(fd, bits(mode))?)
    }

    fn chown(&self, dir: BorrowedFd<'_>, name: &str, uid: u32, gid: u32) -> io::Result<()> {
        Ok(rustix::fs::chownat(
            dir,
            name,
            Some(rustix::fs::Uid::from_raw(uid)),
            Some(rustix::fs::Gid::from_raw(gid)),
            AtFlags::SYMLINK_NOFOLLOW,
        )?)
    }

    fn set_mtime(&self, dir: BorrowedFd<'_>, name: &str, time: Time) -> io::Result<()> {
        let times = Timestamps {
            last_access: Timespec {
                tv_sec: 0,
                tv_nsec: rustix::fs::UTIME_OMIT,
            },
            last_modification: Timespec {
                tv_sec: time.secs,
                tv_nsec: time.nanos,
            },
        };
        Ok(rustix::fs::utimensat(
            dir,
            name,
            &times,
            AtFlags::SYMLINK_NOFOLLOW,
        )?)
    }

    fn sync(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        Ok(rustix::fs::fsync(fd)?)
    }

    fn sync_all(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        Ok(rustix::fs::syncfs(fd)?)
    }
}

/// Reads something whose length is asked for first, again when it has grown since.
fn whole(
    length: impl Fn() -> Result<usize, Errno>,
    read: impl Fn(&mut [u8]) -> Result<usize, Errno>,
) -> Result<Vec<u8>, Errno> {
    loop {
        let mut bytes = vec![0; length()?];
        if bytes.is_empty() {
            return Ok(bytes);
        }
        match read(&mut bytes) {
            Err(Errno::RANGE) => {}
            Err(error) => return Err(error),
            Ok(length) => {
                bytes.truncate(length);
                return Ok(bytes);
            }
        }
    }
}

fn bits(mode: u32) -> Mode {
    Mode::from_raw_mode(mode)
}

fn to_stat(stat: &rustix::fs::Stat) -> Stat {
    Stat {
        kind: match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Dir,
            FileType::Symlink => Kind::Symlink,
            _ => Kind::Other,
        },
        dev: stat.st_dev,
        ino: stat.st_ino,
        mode: stat.st_mode & 0o7777,
        uid: stat.st_uid,
        gid: stat.st_gid,
        size: u64::try_from(stat.st_size).unwrap_or(0),
        mtime: Time {
            secs: stat.st_mtime,
            nanos: i64::try_from(stat.st_mtime_nsec).unwrap_or(0),
        },
    }
}

/// Stats the root behind its path, to see whether it is still the same.
pub(crate) fn stat_ambient(ops: &dyn Ops, path: &Path) -> io::Result<Stat> {
    let fd = ops.open_ambient(path)?;
    ops.stat(fd.as_fd())
}
