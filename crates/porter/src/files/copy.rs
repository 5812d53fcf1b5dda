//! `porter copy FROM TO`: everything in one volume into another, empty one.
//!
//! Runs as the agent in a container that sees these two volumes and nothing else, FROM read-only.
//! Links are copied and never followed. Regular files, directories and links arrive with their
//! modification times and permission bits, without set-id bits; what is none of these is left out.
//! A hard link becomes a file of its own.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::process::ExitCode;

use lazaret_tree::{MAX_DEPTH, PathError, escape};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, Timespec, Timestamps, UTIME_OMIT};
use rustix::io::Errno;

use crate::files::root::{self, LOST_AND_FOUND, Root, chmod};

/// What a file is made with; its own mode comes last.
const NEW: OFlags = OFlags::WRONLY
    .union(OFlags::CREATE)
    .union(OFlags::EXCL)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

#[derive(Debug, thiserror::Error)]
enum CopyError {
    #[error(transparent)]
    Root(#[from] PathError),
    #[error("the directory to copy into is not empty")]
    NotEmpty,
    #[error("{}: {source}", escape(.name))]
    Entry { name: Vec<u8>, source: io::Error },
}

/// Runs the verb.
pub(crate) fn run(from: &str, to: &str) -> ExitCode {
    crate::exit_with("copy", copy(Path::new(from), Path::new(to)))
}

fn copy(from: &Path, to: &Path) -> Result<(), CopyError> {
    let (from, to) = (Root::open(from)?.reopen()?, Root::open(to)?.reopen()?);
    let there = root::names(&to).map_err(|errno| at(c".", errno))?;
    if there.iter().any(|name| **name != *LOST_AND_FOUND) {
        return Err(CopyError::NotEmpty);
    }
    let first = Dir {
        from: &from,
        to: &to,
        depth: 0,
    };
    first.copy()
}

/// A directory and its copy, both open.
struct Dir<'a> {
    from: &'a OwnedFd,
    to: &'a OwnedFd,
    /// How many directories lie above it.
    depth: usize,
}

impl Dir<'_> {
    fn copy(&self) -> Result<(), CopyError> {
        if self.depth > MAX_DEPTH {
            return Err(at(c".", Errno::NAMETOOLONG));
        }
        for name in root::names(self.from).map_err(|errno| at(c".", errno))? {
            let is_of_the_file_system = self.depth == 0 && *name == *LOST_AND_FOUND;
            if !is_of_the_file_system {
                self.entry(&name)?;
            }
        }
        Ok(())
    }

    fn entry(&self, name: &CStr) -> Result<(), CopyError> {
        let stat = rustix::fs::statat(self.from, name, AtFlags::SYMLINK_NOFOLLOW);
        let stat = stat.map_err(|errno| at(name, errno))?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => self.directory(name, &stat),
            FileType::RegularFile => self.file(name, &stat).map_err(|error| entry(name, error)),
            FileType::Symlink => self.link(name, &stat).map_err(|errno| at(name, errno)),
            _ => Ok(()),
        }
    }

    fn directory(&self, name: &CStr, stat: &Stat) -> Result<(), CopyError> {
        let open = || {
            rustix::fs::mkdirat(self.to, name, Mode::RWXU)?;
            let from = root::open_dir(self.from, name)?;
            Ok((from, root::open_dir(self.to, name)?))
        };
        let (from, to) = open().map_err(|errno| at(name, errno))?;
        let inside = Dir {
            from: &from,
            to: &to,
            depth: self.depth + 1,
        };
        inside.copy()?;
        finish(&to, stat).map_err(|errno| at(name, errno))
    }

    fn file(&self, name: &CStr, stat: &Stat) -> io::Result<()> {
        let mut from = root::open_regular(self.from, name)?;
        let to = rustix::fs::openat(self.to, name, NEW, Mode::RUSR | Mode::WUSR)?;
        let mut to = File::from(to);
        // By copy_file_range(2): where the file system can, both share their blocks.
        io::copy(&mut from, &mut to)?;
        Ok(finish(&to.into(), stat)?)
    }

    fn link(&self, name: &CStr, stat: &Stat) -> Result<(), Errno> {
        let target = rustix::fs::readlinkat(self.from, name, Vec::new())?;
        rustix::fs::symlinkat(&*target, self.to, name)?;
        rustix::fs::utimensat(self.to, name, &times(stat), AtFlags::SYMLINK_NOFOLLOW)
    }
}

/// Gives a copy the mode and the time of what it is a copy of.
fn finish(copy: &OwnedFd, stat: &Stat) -> Result<(), Errno> {
    chmod(copy.as_fd(), stat.st_mode & 0o777)?;
    rustix::fs::futimens(copy, &times(stat))
}

fn times(stat: &Stat) -> Timestamps {
    Timestamps {
        last_access: Timespec {
            tv_sec: 0,
            tv_nsec: UTIME_OMIT,
        },
        last_modification: Timespec {
            tv_sec: stat.st_mtime as _,
            tv_nsec: stat.st_mtime_nsec as _,
        },
    }
}

fn at(name: &CStr, errno: Errno) -> CopyError {
    entry(name, errno.into())
}

fn entry(name: &CStr, source: io::Error) -> CopyError {
    CopyError::Entry {
        name: name.to_bytes().to_vec(),
        source,
    }
}
