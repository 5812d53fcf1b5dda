//! Three-way: the host's state against what each change started from.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use lazaret_tree::{
    AtPath as _, Change, Digest, Entry, LinkTarget, Mode, PathError, RelPath, RelPathBuf, escape,
};
use rustix::io::Errno;

use super::ops::{Kind, Ops, Stat};

/// A path where the host is neither as the change expects it nor as it would be
/// after the change. Nothing is applied over it (P5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// Where.
    pub path: RelPathBuf,
    /// How.
    pub kind: ConflictKind,
}

/// How the host differs from what a change expects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConflictKind {
    /// Contents, execute bit or link target were changed here too (APP-06).
    Changed,
    /// It was deleted here (APP-08).
    Deleted,
    /// Something else was created here (APP-08).
    Created,
    /// It is of another type here (APP-08).
    TypeChanged,
    /// The directory to be removed holds something that was not sent in, or was
    /// added since (APP-16).
    Holds {
        /// The raw name of one such entry.
        name: Vec<u8>,
    },
    /// A directory above it is gone, or is no directory (APP-08).
    ParentMissing,
    /// A directory above it is a symbolic link here (APP-01, APP-04).
    BelowLink,
    /// It lies on another file system, or is a mount point (APP-05).
    OtherFileSystem,
}

impl fmt::Display for ConflictKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Changed => "was changed here too",
            Self::Deleted => "was deleted here",
            Self::Created => "was created here too, with other contents",
            Self::TypeChanged => "has become something of another type here",
            Self::Holds { name } => {
                return write!(
                    f,
                    "is to be removed, but holds `{}`, which the session does not know",
                    escape(name)
                );
            }
            Self::ParentMissing => "lies in a directory that is no longer here",
            Self::BelowLink => "lies below what is a symbolic link here",
            Self::OtherFileSystem => "lies on another file system",
        })
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, kind } = self;
        write!(f, "`{}` {kind}", escape(path.as_str().as_bytes()))
    }
}

/// The host's state at one path, as far as a change is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum State {
    /// As the change expects it. `Some` when there is something.
    Before(Option<Stat>),
    /// As it would be after the change: nothing to do (APP-09).
    After,
    /// Neither.
    Conflict(ConflictKind),
}

/// Finds the states of all `changes`, which must be in path order.
pub(crate) fn survey(
    ops: &dyn Ops,
    root: BorrowedFd<'_>,
    changes: &[impl Borrow<Change>],
) -> Result<Vec<State>, PathError> {
    let changes = || changes.iter().map(Borrow::<Change>::borrow);
    let index: BTreeMap<&RelPath, &Change> =
        changes().map(|change| (&*change.path, change)).collect();
    let mut states = Vec::with_capacity(index.len());
    // The directory that this batch makes and everything below which is new.
    let mut made: Option<&RelPath> = None;
    for change in changes() {
        let path = &*change.path;
        if made.is_some_and(|made| path.starts_with(made)) {
            states.push(State::Before(None));
            continue;
        }
        let mut state = classify(ops, root, change, &index)?;
        let found = matches!(state, State::After | State::Conflict(ConflictKind::Created));
        if found
            && change.before.is_none()
            && let Some(other) = listed_as(ops, root, path)?
            && index
                .get(&*other)
                .is_some_and(|other| other.after.is_none())
        {
            // The file system folds case, and this is a rename from `readme` to `README`:
            // what is found is what the batch removes. Taken for there already, it
            // would only be removed (APP-21).
            state = State::Before(None);
        }
        let is_dir = matches!(&state, State::Before(Some(stat)) if stat.kind == Kind::Dir);
        if change.after == Some(Entry::Dir) && matches!(state, State::Before(_)) && !is_dir {
            made = Some(path);
        }
        states.push(state);
    }
    Ok(states)
}

/// Opens the directory that holds `path`.
pub(crate) fn open_parent(
    ops: &dyn Ops,
    root: BorrowedFd<'_>,
    path: &RelPath,
) -> io::Result<OwnedFd> {
    match path.parent() {
        Some(parent) => ops.open_beneath(root, parent),
        None => ops.dup(root),
    }
}

fn classify(
    ops: &dyn Ops,
    root: BorrowedFd<'_>,
    change: &Change,
    index: &BTreeMap<&RelPath, &Change>,
) -> Result<State, PathError> {
    let path = &*change.path;
    let parent = match open_parent(ops, root, path) {
        Ok(parent) => parent,
        Err(error) => return unreachable_state(change, error),
    };
    let found = match ops.stat_at(parent.as_fd(), path.file_name()) {
        Ok(found) => found,
        Err(error) if is(&error, Errno::XDEV) => {
            return Ok(State::Conflict(ConflictKind::OtherFileSystem));
        }
        Err(error) => return Err(error).at(path.as_str()),
    };
    let state = compare(ops, parent.as_fd(), change, found)?;
    if let (State::Before(Some(stat)), false) = (&state, change.after == Some(Entry::Dir))
        && stat.kind == Kind::Dir
        && let Some(name) = stranger(ops, root, path, index)?
    {
        return Ok(State::Conflict(ConflictKind::Holds { name }));
    }
    Ok(state)
}

/// What it means that the parent can't be opened.
fn unreachable_state(change: &Change, error: io::Error) -> Result<State, PathError> {
    let kind = match Errno::from_io_error(&error) {
        // Gone with its directory, or its directory is something else: then the
        // path is gone too, as the change wants it.
        Some(Errno::NOENT | Errno::NOTDIR) if change.after.is_none() => return Ok(State::After),
        Some(Errno::NOENT | Errno::NOTDIR) if change.before.is_some() => ConflictKind::Deleted,
        Some(Errno::NOENT | Errno::NOTDIR) => ConflictKind::ParentMissing,
        Some(Errno::LOOP) => ConflictKind::BelowLink,
        Some(Errno::XDEV) => ConflictKind::OtherFileSystem,
        _ => return Err(error).at(change.path.as_str()),
    };
    Ok(State::Conflict(kind))
}

/// Compares what is at a path with both ends of a change.
pub(crate) fn compare(
    ops: &dyn Ops,
    parent: BorrowedFd<'_>,
    change: &Change,
    found: Option<Stat>,
) -> Result<State, PathError> {
    let Change {
        path,
        before,
        after,
    } = change;
    let Some(stat) = found else {
        return Ok(match (before, after) {
            (None, _) => State::Before(None),
            (Some(_), None) => State::After,
            (Some(_), Some(_)) => State::Conflict(ConflictKind::Deleted),
        });
    };
    let entry = read_entry(ops, parent, path, &stat, [before, after])?;
    if entry.is_some() && entry == *before {
        return Ok(State::Before(Some(stat)));
    }
    if entry.is_some() && entry == *after {
        return Ok(State::After);
    }
    let kind = match before {
        None => ConflictKind::Created,
        Some(before) if kind_of(before) == stat.kind => ConflictKind::Changed,
        Some(_) => ConflictKind::TypeChanged,
    };
    Ok(State::Conflict(kind))
}

/// Reads what is at a path as an [`Entry`]; `None` when it is surely none of
/// `expected`, so that a large file of another size is not hashed in vain.
fn read_entry(
    ops: &dyn Ops,
    parent: BorrowedFd<'_>,
    path: &RelPath,
    stat: &Stat,
    expected: [&Option<Entry>; 2],
) -> Result<Option<Entry>, PathError> {
    match stat.kind {
        Kind::Dir | Kind::Other | Kind::Symlink => entry_of(ops, parent, path, stat),
        Kind::File => {
            let worth = expected
                .iter()
                .any(|entry| matches!(entry, Some(Entry::File { size, .. }) if *size == stat.size));
            if !worth {
                return Ok(None);
            }
            entry_of(ops, parent, path, stat)
        }
    }
}

/// Reads what is at a path as an [`Entry`]; `None` when no tree can hold it, or it changed
/// just now.
pub(crate) fn entry_of(
    ops: &dyn Ops,
    parent: BorrowedFd<'_>,
    path: &RelPath,
    stat: &Stat,
) -> Result<Option<Entry>, PathError> {
    let name = path.file_name();
    match stat.kind {
        Kind::Dir => Ok(Some(Entry::Dir)),
        Kind::Other => Ok(None),
        Kind::Symlink => {
            let target = ops.read_link(parent, name).at(path.as_str())?;
            let target = LinkTarget::from_bytes(&target).ok();
            Ok(target.map(|target| Entry::Symlink { target }))
        }
        Kind::File => {
            let file = ops.open_read(parent, name).at(path.as_str())?;
            let opened = ops.stat(file.as_fd()).at(path.as_str())?;
            if opened.kind != Kind::File || opened.ino != stat.ino {
                return Ok(None);
            }
            let (size, digest) = hash(ops, file.as_fd(), &mut |_| Ok(())).at(path.as_str())?;
            Ok(Some(Entry::File {
                mode: Mode::from_unix(opened.mode),
                size,
                digest,
            }))
        }
    }
}

/// Reads a file to its end, hashing it and handing every piece to `tee`.
pub(crate) fn hash(
    ops: &dyn Ops,
    file: BorrowedFd<'_>,
    tee: &mut dyn FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<(u64, Digest)> {
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; 64 << 10];
    let mut size = 0;
    loop {
        let n = ops.read(file, &mut buffer)?;
        let piece = buffer.get(..n).unwrap_or_default();
        if piece.is_empty() {
            return Ok((size, hasher.finalize().into()));
        }
        hasher.update(piece);
        tee(piece)?;
        size += piece.len() as u64;
    }
}

/// Finds an entry of a directory that is to go which the batch does not remove.
fn stranger(
    ops: &dyn Ops,
    root: BorrowedFd<'_>,
    path: &RelPath,
    index: &BTreeMap<&RelPath, &Change>,
) -> Result<Option<Vec<u8>>, PathError> {
    let dir = ops.open_beneath(root, path).at(path.as_str())?;
    for name in ops.list(dir.as_fd()).at(path.as_str())? {
        let known = name
            .to_str()
            .and_then(|name| path.join(name).ok())
            .and_then(|child| index.get(&*child).copied())
            .is_some_and(|change| change.before.is_some() && change.after.is_none());
        if !known {
            return Ok(Some(name.into_encoded_bytes()));
        }
    }
    Ok(None)
}

/// Returns the path by which the host lists what is found at `path`, where that is another:
/// on a file system that folds names.
fn listed_as(
    ops: &dyn Ops,
    root: BorrowedFd<'_>,
    path: &RelPath,
) -> Result<Option<RelPathBuf>, PathError> {
    let listed = || -> io::Result<Option<RelPathBuf>> {
        let parent = open_parent(ops, root, path)?;
        let parent = parent.as_fd();
        let names = ops.list(parent)?;
        if names.iter().any(|name| name == path.file_name()) {
            return Ok(None);
        }
        let found = ops.stat_at(parent, path.file_name())?.map(|stat| stat.ino);
        for name in names.iter().filter_map(|name| name.to_str()) {
            let there = match ops.stat_at(parent, name) {
                // A mount point: no other name of anything here.
                Err(error) if is(&error, Errno::XDEV) => None,
                other => other?,
            };
            if there.is_some() && there.map(|stat| stat.ino) == found {
                let listed = match path.parent() {
                    Some(parent) => parent.join(name),
                    None => name.parse(),
                };
                return Ok(listed.ok());
            }
        }
        Ok(None)
    };
    listed().at(path.as_str())
}

pub(crate) fn kind_of(entry: &Entry) -> Kind {
    match entry {
        Entry::Dir => Kind::Dir,
        Entry::File { .. } => Kind::File,
        Entry::Symlink { .. } => Kind::Symlink,
    }
}

pub(crate) fn is(error: &io::Error, errno: Errno) -> bool {
    Errno::from_io_error(error) == Some(errno)
}
