//! `porter protect ROOT` and `porter release ROOT`: makes entries of a volume root's, and
//! gives them back to the agent.
//!
//! Both run in a container of their own that is root inside and has `CAP_CHOWN` alone,
//! while nothing of the agent's runs. What they do is kept to what the order of the two
//! allows with that one capability: an owner may change a mode and look into a directory,
//! so `protect` takes from the top down, and `release` gives from the bottom up. So at
//! each moment whatever is root's lies in directories that are root's, which is all that
//! `release` has to walk; an agent's own tree, however deep, is never entered.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::ExitCode;

use lazaret_protocol::{ProtectedKind, Protection, RecordError};
use lazaret_tree::{PathError, RelPath, escape};
use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, Stat, Uid};
use rustix::io::Errno;

use crate::files::root::{self, Root, chmod};

/// The uid and gid of the agent, in every image of ours.
const AGENT: u32 = 1000;

const ANY: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

#[derive(Debug, thiserror::Error)]
enum ProtectError {
    #[error(transparent)]
    Root(#[from] PathError),
    #[error("the list: {0}")]
    List(#[from] RecordError),
    #[error("stdin: {0}")]
    Stdin(#[source] io::Error),
    #[error("{}: {source}", escape(.name))]
    Own { name: Vec<u8>, source: io::Error },
    #[error("{}: not what was sent", escape(.name))]
    Other { name: Vec<u8> },
}

impl ProtectError {
    fn own(name: &[u8], errno: Errno) -> Self {
        Self::Own {
            name: name.to_vec(),
            source: errno.into(),
        }
    }

    fn other(path: &RelPath) -> Self {
        Self::Other {
            name: path.as_str().as_bytes().to_vec(),
        }
    }
}

/// Runs `protect`: stdin is a [`Protection`].
pub(crate) fn protect(root: &str) -> ExitCode {
    crate::exit_with("protect", take(Path::new(root)))
}

/// Runs `release`.
pub(crate) fn release(root: &str) -> ExitCode {
    crate::exit_with("release", give(Path::new(root)))
}

fn take(path: &Path) -> Result<(), ProtectError> {
    let root = Root::open(path)?;
    let mut stdin = root::stdin().map_err(ProtectError::Stdin)?;
    let Protection {
        root: kind,
        entries,
    } = Protection::read_from(&mut stdin)?;
    seize(root.as_fd(), kind).map_err(|errno| ProtectError::own(b".", errno))?;
    for (path, protected) in &entries {
        let failed = |errno| match errno {
            Errno::NOENT | Errno::NOTDIR | Errno::LOOP => ProtectError::other(path),
            errno => ProtectError::own(path.as_str().as_bytes(), errno),
        };
        let entry = root.open_any(path).map_err(failed)?;
        let stat = rustix::fs::fstat(&entry).map_err(failed)?;
        if !is_kind(*protected, &stat) {
            return Err(ProtectError::other(path));
        }
        seize(entry.as_fd(), *protected).map_err(failed)?;
        if *protected == ProtectedKind::Dir {
            let dir = root.open_dir(path).map_err(failed)?;
            for name in root::names(dir).map_err(failed)? {
                // Whatever lies in a protected directory is protected, so it has to be known.
                let known = name.to_str().ok().and_then(|name| path.join(name).ok());
                if !known.is_some_and(|path| entries.contains_key(&path)) {
                    return Err(ProtectError::other(path));
                }
            }
        }
    }
    Ok(())
}

/// Makes an open entry root's, then sets its mode, as its owner may. The modes give a group no more
/// than others.
fn seize(entry: BorrowedFd<'_>, protected: ProtectedKind) -> Result<(), Errno> {
    own(entry, 0)?;
    match protected.mode() {
        Some(mode) => chmod(entry, mode),
        None => Ok(()),
    }
}

/// Gives an open entry, a link among them, to a user and the agent's group: what is root's and of
/// root's group is the engine's.
fn own(entry: BorrowedFd<'_>, uid: u32) -> Result<(), Errno> {
    let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(AGENT));
    let flags = AtFlags::EMPTY_PATH | AtFlags::SYMLINK_NOFOLLOW;
    rustix::fs::chownat(entry, c"", Some(uid), Some(gid), flags)
}

fn is_kind(protected: ProtectedKind, stat: &Stat) -> bool {
    let kind = FileType::from_raw_mode(stat.st_mode);
    match protected {
        ProtectedKind::Shared | ProtectedKind::Closed | ProtectedKind::Dir => {
            kind == FileType::Directory
        }
        ProtectedKind::File | ProtectedKind::Program => kind == FileType::RegularFile,
        ProtectedKind::Link => kind == FileType::Symlink,
    }
}

fn give(path: &Path) -> Result<(), ProtectError> {
    let root = Root::open(path)?;
    let stat = rustix::fs::fstat(&root).map_err(|errno| ProtectError::own(b".", errno))?;
    match stat.st_uid {
        0 => give_directory(root.as_fd(), &mut Vec::new()),
        _ => Ok(()),
    }
}

/// Gives back what a directory of root's holds, then the directory.
fn give_directory(dir: BorrowedFd<'_>, path: &mut Vec<u8>) -> Result<(), ProtectError> {
    let failed = |path: &[u8], errno| ProtectError::own(path, errno);
    let names = root::names(dir).map_err(|errno| failed(path, errno))?;
    let length = path.len();
    for name in names {
        if length != 0 {
            path.push(b'/');
        }
        path.extend_from_slice(name.to_bytes());
        give_entry(dir, &name, path)?;
        path.truncate(length);
    }
    chmod(dir, 0o755).map_err(|errno| failed(path, errno))?;
    own(dir, AGENT).map_err(|errno| failed(path, errno))
}

fn give_entry(dir: BorrowedFd<'_>, name: &CString, path: &mut Vec<u8>) -> Result<(), ProtectError> {
    let opened = open(dir, name).map_err(|errno| ProtectError::own(path, errno));
    let (entry, stat) = opened?;
    let is_at_the_root = path == name.to_bytes();
    if stat.st_uid != 0 || is_at_the_root && root::is_foreign(dir, name, &stat) {
        return Ok(());
    }
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => {
            let inside = root::open_dir(dir, name);
            let inside = inside.map_err(|errno| ProtectError::own(path, errno))?;
            give_directory(inside.as_fd(), path)
        }
        _ => own(entry.as_fd(), AGENT).map_err(|errno| ProtectError::own(path, errno)),
    }
}

fn open(dir: BorrowedFd<'_>, name: &CStr) -> Result<(OwnedFd, Stat), Errno> {
    let entry = rustix::fs::openat(dir, name, ANY, Mode::empty())?;
    let stat = rustix::fs::fstat(&entry)?;
    Ok((entry, stat))
}
