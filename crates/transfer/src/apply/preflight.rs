//! What would make an apply fail halfway, looked for before anything is touched.

use std::collections::BTreeSet;
use std::fmt;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::Arc;

use lazaret_tree::{
    AtPath as _, Change, Entry, PathError, RelPath, RelPathBuf, escape, is_git_name, is_reserved,
};
use rustix::io::Errno;

use super::conflict::{State, is, open_parent};
use super::ops::{ImmutableFlag, Kind, Ops, Stat};

/// A path that can't be changed here, though it did not change meanwhile (APP-14).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Obstacle {
    /// Where.
    pub path: RelPathBuf,
    /// Why.
    pub kind: ObstacleKind,
}

/// Why a path can't be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObstacleKind {
    /// The file is read-only for its owner. A rename could replace it, but the mode
    /// says that the user does not want that.
    ReadOnlyFile,
    /// The directory that holds it is read-only, or not ours to write.
    ReadOnlyDir,
    /// Immutable or append-only (`chattr`).
    Pinned,
    /// It belongs to another user.
    ForeignOwner,
    /// `.git`, under whatever name, never crosses.
    Git,
    /// The name is one that lazaret stages under.
    Reserved,
    /// The same path twice in one list of changes.
    Twice,
}

impl fmt::Display for ObstacleKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReadOnlyFile => "is read-only; `chmod u+w` it if it may change",
            Self::ReadOnlyDir => "lies in a directory that can't be written",
            Self::Pinned => "is immutable or append-only (see `lsattr`)",
            Self::ForeignOwner => "belongs to another user",
            Self::Git => "lies in `.git`, or in what some file system takes for it",
            Self::Reserved => "has a name that is reserved for staging",
            Self::Twice => "is changed twice",
        })
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, kind } = self;
        write!(f, "`{}` {kind}", escape(path.as_str().as_bytes()))
    }
}

/// Refuses what no list of changes may hold. `changes` are in path order.
pub(crate) fn names(changes: &[Arc<Change>]) -> Vec<Obstacle> {
    let mut obstacles = Vec::new();
    let mut last: Option<&RelPath> = None;
    for path in changes.iter().map(|change| &change.path) {
        let kind = if path.components().any(is_git_name) {
            Some(ObstacleKind::Git)
        } else if is_reserved(path) {
            Some(ObstacleKind::Reserved)
        } else if last == Some(path) {
            Some(ObstacleKind::Twice)
        } else {
            None
        };
        last = Some(path);
        obstacles.extend(kind.map(|kind| Obstacle {
            path: path.clone(),
            kind,
        }));
    }
    obstacles
}

/// Who this process is, as far as ownership goes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Identity {
    pub(crate) uid: u32,
}

impl Identity {
    pub(crate) fn current() -> Self {
        Self {
            uid: rustix::process::geteuid().as_raw(),
        }
    }

    pub(crate) fn is_root(self) -> bool {
        self.uid == 0
    }
}

/// Looks at the targets of all changes that have something to do.
pub(crate) fn targets(
    ops: &dyn Ops,
    root: BorrowedFd<'_>,
    identity: Identity,
    changes: &[(&Arc<Change>, &State)],
) -> Result<Vec<Obstacle>, PathError> {
    let mut obstacles = Vec::new();
    let mut parents: BTreeSet<Option<&RelPath>> = BTreeSet::new();
    let git = match ops.stat_at(root, ".git") {
        // A mount point: whatever is reached elsewhere is not on this file system.
        Err(error) if is(&error, Errno::XDEV) => None,
        other => other.at(".git")?,
    };
    for (change, state) in changes {
        let path = &*change.path;
        let State::Before(found) = state else {
            continue;
        };
        let mut push = |kind| {
            obstacles.push(Obstacle {
                path: path.to_owned(),
                kind,
            });
        };
        let parent = match open_parent(ops, root, path) {
            Ok(parent) => parent,
            // Made by this batch: checked where it is made.
            Err(error) if is(&error, Errno::NOENT) || is(&error, Errno::NOTDIR) => continue,
            Err(error) if is(&error, Errno::LOOP) => continue,
            Err(error) => return Err(error).at(path.as_str()),
        };
        if parents.insert(path.parent()) {
            let stat = ops.stat(parent.as_fd()).at(path.as_str())?;
            if git.is_some_and(|git| (git.dev, git.ino) == (stat.dev, stat.ino)) {
                push(ObstacleKind::Git);
            } else if ops.pinned(parent.as_fd()).at(path.as_str())? == ImmutableFlag::Yes {
                push(ObstacleKind::Pinned);
            } else if stat.mode & 0o200 == 0 || ops.writable(parent.as_fd()).is_err() {
                push(ObstacleKind::ReadOnlyDir);
            }
        }
        if let Some(stat) = found
            && let Some(kind) = target(ops, parent.as_fd(), change, stat, identity)?
        {
            push(kind);
        }
    }
    Ok(obstacles)
}

fn target(
    ops: &dyn Ops,
    parent: BorrowedFd<'_>,
    change: &Change,
    stat: &Stat,
    identity: Identity,
) -> Result<Option<ObstacleKind>, PathError> {
    let path = &*change.path;
    if !identity.is_root() && stat.uid != identity.uid {
        return Ok(Some(ObstacleKind::ForeignOwner));
    }
    let read_only = stat.mode & 0o200 == 0;
    match stat.kind {
        Kind::Symlink | Kind::Other => return Ok(None),
        Kind::File if read_only => return Ok(Some(ObstacleKind::ReadOnlyFile)),
        Kind::Dir if read_only => return Ok(Some(ObstacleKind::ReadOnlyDir)),
        Kind::File | Kind::Dir => {}
    }
    let fd = if change.before == Some(Entry::Dir) {
        ops.open_beneath(parent, RelPath::new(path.file_name()).unwrap_or(path))
    } else {
        ops.open_read(parent, path.file_name())
    };
    let fd = fd.at(path.as_str())?;
    Ok(match ops.pinned(fd.as_fd()).at(path.as_str())? {
        ImmutableFlag::Yes => Some(ObstacleKind::Pinned),
        ImmutableFlag::No => None,
    })
}
