//! What an agent might try, one system call each.

use std::os::fd::{AsFd as _, BorrowedFd};

use lazaret_protocol::ProtectedKind;
use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, RenameFlags, Timestamps, Uid, XattrFlags};
use rustix::io::Errno;

use super::{DIR, FILE};
use crate::files::root::chmod;

/// The agent, who would like to own what is not its own.
const AGENT: u32 = 1000;

/// One attempt and how it ended.
pub(super) struct Tried {
    pub(super) attempt: &'static str,
    pub(super) outcome: Result<(), Errno>,
}

/// Whether an attempt was refused for the owner's sake.
///
/// # Errors
/// It failed for another reason, so it shows nothing.
pub(super) fn refused(Tried { attempt, outcome }: &Tried) -> Result<bool, Errno> {
    match *outcome {
        Ok(()) => Ok(false),
        // It was in the way itself, not its owner.
        Err(Errno::NOTEMPTY) => Ok(false),
        // There is something, and it stays.
        Err(Errno::EXIST) if attempt.ends_with("-over") => Ok(true),
        Err(
            Errno::ACCESS
            | Errno::PERM
            | Errno::ROFS
            | Errno::BUSY
            // The file system, or an old kernel, does not support the call for any process.
            | Errno::INVAL
            | Errno::NOSYS
            | Errno::OPNOTSUPP,
        ) => Ok(true),
        Err(errno) => Err(errno),
    }
}

fn tried(attempt: &'static str, outcome: Result<(), Errno>) -> Tried {
    Tried { attempt, outcome }
}

/// An entry by its name in an open directory, and a place of the agent's own.
pub(super) struct Attempt<'a> {
    pub(super) parent: BorrowedFd<'a>,
    pub(super) name: &'a str,
    pub(super) own: BorrowedFd<'a>,
    /// An unused name, taken only while an attempt runs.
    pub(super) away: &'a str,
}

impl Attempt<'_> {
    /// Everything but its removal.
    pub(super) fn on_entry(&self, protected: ProtectedKind) -> Vec<Tried> {
        let mut all = match protected {
            ProtectedKind::File | ProtectedKind::Program => self.on_contents(),
            ProtectedKind::Shared
            | ProtectedKind::Closed
            | ProtectedKind::Dir
            | ProtectedKind::Link => Vec::new(),
        };
        all.push(tried("chown", self.chown()));
        all.push(tried("set-times", self.set_times()));
        // A link has no mode of its own.
        if protected != ProtectedKind::Link {
            all.push(tried("chmod", self.chmod()));
        }
        all.extend(self.on_name(protected));
        all
    }

    /// Takes the name away for good.
    pub(super) fn to_remove(&self, protected: ProtectedKind) -> Vec<Tried> {
        let remove = |flags| rustix::fs::unlinkat(self.parent, self.name, flags);
        match protected {
            // rename(2) never replaces a directory that is not empty, whatever its owner.
            ProtectedKind::Shared | ProtectedKind::Closed | ProtectedKind::Dir => {
                vec![tried("remove", remove(AtFlags::REMOVEDIR))]
            }
            ProtectedKind::File | ProtectedKind::Program | ProtectedKind::Link => vec![
                tried("remove", remove(AtFlags::empty())),
                tried(
                    "rename-over",
                    rustix::fs::renameat(self.own, FILE, self.parent, self.name),
                ),
            ],
        }
    }

    fn on_contents(&self) -> Vec<Tried> {
        let open = |flags| {
            let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            rustix::fs::openat(self.parent, self.name, flags, Mode::empty()).map(drop)
        };
        vec![
            tried("write", open(OFlags::WRONLY)),
            tried("read-and-write", open(OFlags::RDWR)),
            tried("append", open(OFlags::WRONLY | OFlags::APPEND)),
            tried("create", open(OFlags::WRONLY | OFlags::CREATE)),
            tried("set-attribute", self.set_attribute()),
        ]
    }

    /// Through a descriptor that may be read: an attribute is written like contents.
    fn set_attribute(&self) -> Result<(), Errno> {
        const NAME: &str = "user.lazaret";
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(self.parent, self.name, flags, Mode::empty())?;
        rustix::fs::fsetxattr(&file, NAME, b"x", XattrFlags::empty())?;
        rustix::fs::fremovexattr(&file, NAME)
    }

    fn chown(&self) -> Result<(), Errno> {
        let (uid, gid) = (Uid::from_raw(AGENT), Gid::from_raw(AGENT));
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        rustix::fs::chownat(self.parent, self.name, Some(uid), Some(gid), flags)
    }

    /// To the mode that it has: only the right to do so is asked for.
    fn chmod(&self) -> Result<(), Errno> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let entry = rustix::fs::openat(self.parent, self.name, flags, Mode::empty())?;
        let mode = rustix::fs::fstat(&entry)?.st_mode;
        chmod(&entry, mode)
    }

    fn set_times(&self) -> Result<(), Errno> {
        let nofollow = AtFlags::SYMLINK_NOFOLLOW;
        let stat = rustix::fs::statat(self.parent, self.name, nofollow)?;
        let time = |seconds, nanos| rustix::fs::Timespec {
            tv_sec: seconds,
            tv_nsec: nanos,
        };
        let times = Timestamps {
            last_access: time(stat.st_atime as _, stat.st_atime_nsec as _),
            last_modification: time(stat.st_mtime as _, stat.st_mtime_nsec as _),
        };
        rustix::fs::utimensat(self.parent, self.name, &times, nofollow)
    }

    fn on_name(&self, protected: ProtectedKind) -> Vec<Tried> {
        let Self {
            parent,
            name,
            own,
            away,
        } = *self;
        let mine = match protected {
            ProtectedKind::Shared | ProtectedKind::Closed | ProtectedKind::Dir => DIR,
            ProtectedKind::File | ProtectedKind::Program | ProtectedKind::Link => FILE,
        };
        // Each is undone at once if it went through.
        let both = |make: Result<(), Errno>, undo: &dyn Fn() -> Result<(), Errno>| {
            make.and_then(|()| undo())
        };
        let exchange = || rustix::fs::renameat_with(own, mine, parent, name, RenameFlags::EXCHANGE);
        let noreplace = RenameFlags::NOREPLACE;
        vec![
            tried(
                "rename",
                both(
                    rustix::fs::renameat_with(parent, name, parent, away, noreplace),
                    &|| rustix::fs::renameat(parent, away, parent, name),
                ),
            ),
            tried(
                "move-out",
                both(
                    rustix::fs::renameat_with(parent, name, own, away, noreplace),
                    &|| rustix::fs::renameat(own, away, parent, name),
                ),
            ),
            tried("exchange", both(exchange(), &exchange)),
            tried(
                "directory-over",
                rustix::fs::mkdirat(parent, name, Mode::RWXU),
            ),
            tried("link-over", rustix::fs::symlinkat("x", parent, name)),
            tried("unnamed-file-over", self.unnamed_over()),
        ]
    }

    /// Makes a file without a name where files may be made, and gives it this one.
    fn unnamed_over(&self) -> Result<(), Errno> {
        let flags = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
        let file = rustix::fs::openat(self.own, c".", flags, Mode::RUSR | Mode::WUSR);
        let file = match file {
            // No such thing on this file system.
            Err(Errno::ISDIR | Errno::NOENT) => return Err(Errno::OPNOTSUPP),
            other => other?,
        };
        let name = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
        let follow = AtFlags::SYMLINK_FOLLOW;
        rustix::fs::linkat(rustix::fs::CWD, name, self.parent, self.name, follow)
    }
}

/// What is tried in a directory itself: to have its mode changed, which takes the sticky
/// bit away, and to make something in one where nothing may be made.
pub(super) fn on_directory(
    dir: BorrowedFd<'_>,
    protected: ProtectedKind,
    away: &str,
) -> Vec<Tried> {
    let mut all = vec![tried("set-mode", same_mode(dir))];
    if protected == ProtectedKind::Shared {
        return all;
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let file = rustix::fs::openat(dir, away, flags, Mode::RUSR | Mode::WUSR);
    let gone = |flags| rustix::fs::unlinkat(dir, away, flags);
    all.push(tried("add-file", file.and_then(|_| gone(AtFlags::empty()))));
    let made = rustix::fs::mkdirat(dir, away, Mode::RWXU);
    all.push(tried(
        "add-directory",
        made.and_then(|()| gone(AtFlags::REMOVEDIR)),
    ));
    let linked = rustix::fs::symlinkat("x", dir, away);
    all.push(tried(
        "add-link",
        linked.and_then(|()| gone(AtFlags::empty())),
    ));
    let flags = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
    let unnamed = match rustix::fs::openat(dir, c".", flags, Mode::RUSR | Mode::WUSR) {
        Err(Errno::ISDIR | Errno::NOENT) => Err(Errno::OPNOTSUPP),
        other => other.map(drop),
    };
    all.push(tried("add-unnamed-file", unnamed));
    all
}

fn same_mode(dir: BorrowedFd<'_>) -> Result<(), Errno> {
    let mode = rustix::fs::fstat(dir)?.st_mode;
    match FileType::from_raw_mode(mode) {
        FileType::Directory => chmod(dir.as_fd(), mode),
        _ => Err(Errno::NOTDIR),
    }
}
