//! One step of a transaction, forwards and back.
//!
//! Every step owns two slots in the staging directory: `N` holds what is new,
//! `N.old` what was saved. Where things lie says how far the step is, so no
//! record is written in between:
//!
//! | state | `N` | `N.old` | path |
//! |---|---|---|---|
//! | not begun | new, if any | – | old, if any |
//! | swapped (`Exchange` only) | old | – | new |
//! | moved away (not `Exchange`) | new | old | – |
//! | happened | – | old, if any | new, if any |
//!
//! Going back moves only what is exactly as the transaction left it, known by
//! its [`Fingerprint`](super::fingerprint::Fingerprint). What another process changed meanwhile stays
//! where it is, and what was saved stays in its slot; both are reported (P5).

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};

use lazaret_tree::{AtPath as _, PathError, RelPath, RelPathBuf};
use rustix::io::Errno;

use super::ApplyError;
use super::attributes::Attributes;
use super::conflict::{Conflict, ConflictKind, State, compare, is, open_parent};
use super::fingerprint::Fingerprint;
use super::journal::{Placement, Step};
use super::ops::{Kind, Ops, Rename, Stat};

/// Where steps happen.
pub(crate) struct StepContext<'a> {
    pub(crate) ops: &'a dyn Ops,
    pub(crate) root: BorrowedFd<'a>,
    pub(crate) staging: BorrowedFd<'a>,
    pub(crate) placement: Placement,
}

/// How a step went back.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reverted {
    /// The path is as it was before the transaction.
    Clean,
    /// Another process changed the path meanwhile, so it was left as it is.
    NotRestored(RelPathBuf),
}

/// The slot of what step `index` brings.
pub(crate) fn slot_new(index: usize) -> String {
    index.to_string()
}

/// The slot of what step `index` saves.
pub(crate) fn slot_old(index: usize) -> String {
    format!("{index}.old")
}

impl StepContext<'_> {
    /// Carries a step out, if its precondition still holds.
    pub(crate) fn execute(&self, index: usize, step: &Step) -> Result<(), ApplyError> {
        let path = &*step.change.path;
        let parent = self.open_parent(path)?;
        let parent = parent.as_fd();
        let name = path.file_name();
        let found = self.ops.stat_at(parent, name).at(path.as_str())?;
        match compare(self.ops, parent, &step.change, found)? {
            State::Before(_) => {}
            // It was something to do when it was looked at last.
            State::After => return Err(conflict(path, ConflictKind::Changed)),
            State::Conflict(kind) => return Err(conflict(path, kind)),
        }
        self.check_staged(index, step)?;
        let Some(found) = found else {
            return self.place(index, step, parent);
        };
        let saved = slot_old(index);
        self.check_empty(&found, parent, name, path)?;
        if self.placement == Placement::Exchange && step.new.is_some() {
            let slot = slot_new(index);
            let swapped = self.rename((self.staging, &slot), (parent, name), Rename::Exchange);
            if !stays_put(&found, &swapped) {
                swapped.at(path.as_str())?;
                self.check_saved(&slot, &found, path)?;
                self.rename(
                    (self.staging, &slot),
                    (self.staging, &saved),
                    Rename::Replace,
                )
                .at(path.as_str())?;
                return Ok(());
            }
        }
        let moved = self.rename((parent, name), (self.staging, &saved), Rename::Replace);
        if stays_put(&found, &moved) {
            self.replace_by_empty_dir(&saved, &found, (parent, name), path)?;
        } else {
            moved.at(path.as_str())?;
            self.check_saved(&saved, &found, path)?;
        }
        match step.new {
            Some(_) => self.place(index, step, parent),
            None => Ok(()),
        }
    }

    /// Saves an empty directory that can't be renamed, by making one like it.
    fn replace_by_empty_dir(
        &self,
        saved: &str,
        found: &Stat,
        (parent, name): (BorrowedFd<'_>, &str),
        path: &RelPath,
    ) -> Result<(), ApplyError> {
        let made = || -> io::Result<()> {
            self.ops.mkdir(self.staging, saved, 0o700)?;
            let slot = RelPath::new(saved).map_err(io::Error::other)?;
            let dir = self.ops.open_beneath(self.staging, slot)?;
            let name = RelPath::new(name).map_err(io::Error::other)?;
            let old = self.ops.open_beneath(parent, name)?;
            Attributes::read(self.ops, old.as_fd())?.put(self.ops, dir.as_fd())?;
            self.ops.chmod(dir.as_fd(), found.mode)?;
            // It has to outlast the other: this is no rename, which has both or none.
            self.ops.sync(dir.as_fd())?;
            self.ops.sync(self.staging)
        };
        made().at(path.as_str())?;
        match self.ops.rmdir(parent, name) {
            Err(error) if is(&error, Errno::NOTEMPTY) => {
                self.check_empty(found, parent, name, path)?;
                Err(error).at(path.as_str())?
            }
            other => Ok(other.at(path.as_str())?),
        }
    }

    /// Undoes as much of a step as has happened.
    pub(crate) fn revert(&self, index: usize, step: &Step) -> Result<Reverted, PathError> {
        let path = &*step.change.path;
        self.try_revert(index, step).at(path.as_str())
    }

    fn try_revert(&self, index: usize, step: &Step) -> io::Result<Reverted> {
        let path = &*step.change.path;
        let name = path.file_name();
        let (new, old) = (slot_new(index), slot_old(index));
        let in_new = self.ops.stat_at(self.staging, &new)?;
        let in_old = self.ops.stat_at(self.staging, &old)?;
        let is_staged = |stat: Option<&Stat>| match (&step.new, stat) {
            (Some(fingerprint), Some(stat)) => fingerprint.matches(stat),
            _ => false,
        };
        let replaces = step.old.is_some() && step.new.is_some();
        let swapped =
            replaces && in_new.is_some() && in_old.is_none() && !is_staged(in_new.as_ref());
        let not_restored = || -> io::Result<Reverted> {
            if swapped {
                self.rename((self.staging, &new), (self.staging, &old), Rename::Replace)?;
            }
            Ok(Reverted::NotRestored(path.to_owned()))
        };
        let parent = match open_parent(self.ops, self.root, path) {
            // Its directory is gone: news only if there is something to put back.
            Err(error) if is_gone(&error) => {
                return if in_old.is_some() || swapped {
                    not_restored()
                } else {
                    Ok(Reverted::Clean)
                };
            }
            other => other?,
        };
        let parent = parent.as_fd();
        let here = match self.ops.stat_at(parent, name) {
            Err(error) if is(&error, Errno::XDEV) => return not_restored(),
            other => other?,
        };
        let ours = match &here {
            Some(stat) if is_staged(Some(stat)) => self.is_empty(stat, parent, name)?,
            _ => false,
        };
        if swapped {
            if !ours {
                return not_restored();
            }
            self.rename((self.staging, &new), (parent, name), Rename::Exchange)?;
            return Ok(Reverted::Clean);
        }
        match (&in_new, &in_old) {
            // Linked into place, but not yet removed from its slot.
            (Some(_), _) if ours && self.placement == Placement::Link => {
                self.ops.unlink(parent, name)?;
            }
            (None, Some(_)) if ours && self.placement == Placement::Exchange => {
                self.rename((self.staging, &old), (self.staging, &new), Rename::Replace)?;
                self.rename((self.staging, &new), (parent, name), Rename::Exchange)?;
                return Ok(Reverted::Clean);
            }
            (None, _) if ours => {
                self.rename((parent, name), (self.staging, &new), Rename::Replace)?;
            }
            // Another process replaced or filled what a creation made.
            (None, None) if !replaces && step.new.is_some() && here.is_some() => {
                return not_restored();
            }
            _ => {}
        }
        if in_old.is_none() {
            return Ok(Reverted::Clean);
        }
        match self.put((self.staging, &old), (parent, name)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let is_dir = |stat: &Option<Stat>| stat.is_some_and(|stat| stat.kind == Kind::Dir);
                if is_dir(&here) && is_dir(&in_old) {
                    // A stand-in whose directory had not gone yet.
                    self.ops.rmdir(self.staging, &old)?;
                    return Ok(Reverted::Clean);
                }
                not_restored()
            }
            Err(error) => Err(error),
            Ok(()) => Ok(Reverted::Clean),
        }
    }

    /// Puts what is staged at its path, where nothing may be.
    fn place(&self, index: usize, step: &Step, parent: BorrowedFd<'_>) -> Result<(), ApplyError> {
        let path = &*step.change.path;
        let slot = slot_new(index);
        match self.put((self.staging, &slot), (parent, path.file_name())) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(conflict(path, ConflictKind::Created))
            }
            other => Ok(other.at(path.as_str())?),
        }
    }

    /// Moves an entry to where nothing may be.
    fn put(&self, from: (BorrowedFd<'_>, &str), to: (BorrowedFd<'_>, &str)) -> io::Result<()> {
        if self.placement != Placement::Link {
            return self.rename(from, to, Rename::NoReplace);
        }
        let stat = self.ops.stat_at(from.0, from.1)?;
        if stat.is_some_and(|stat| stat.kind == Kind::Dir) {
            // No hard link to a directory; but rename(2) replaces nothing with a
            // directory except an empty one, and that is looked for.
            if self.ops.stat_at(to.0, to.1)?.is_some() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            return self.rename(from, to, Rename::Replace);
        }
        match self.ops.link(from, to) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let there = self.ops.stat_at(to.0, to.1)?;
                if there.map(|there| there.ino) != stat.map(|stat| stat.ino) {
                    return Err(error);
                }
            }
            other => other?,
        }
        self.ops.unlink(from.0, from.1)
    }

    fn rename(
        &self,
        from: (BorrowedFd<'_>, &str),
        to: (BorrowedFd<'_>, &str),
        how: Rename,
    ) -> io::Result<()> {
        self.ops.rename(from, to, how)
    }

    fn open_parent(&self, path: &RelPath) -> Result<std::os::fd::OwnedFd, ApplyError> {
        open_parent(self.ops, self.root, path).map_err(|error| {
            let kind = match Errno::from_io_error(&error) {
                Some(Errno::LOOP) => ConflictKind::BelowLink,
                Some(Errno::XDEV) => ConflictKind::OtherFileSystem,
                Some(Errno::NOENT | Errno::NOTDIR) => ConflictKind::ParentMissing,
                _ => {
                    let path = path.as_str();
                    return ApplyError::Io(PathError {
                        path: path.into(),
                        source: error,
                    });
                }
            };
            conflict(path, kind)
        })
    }

    /// Checks that what was staged is still there, untouched.
    fn check_staged(&self, index: usize, step: &Step) -> Result<(), ApplyError> {
        let Some(fingerprint) = &step.new else {
            return Ok(());
        };
        let path = step.change.path.as_str();
        let staged = self.ops.stat_at(self.staging, &slot_new(index)).at(path)?;
        match staged {
            Some(stat) if fingerprint.matches(&stat) => Ok(()),
            _ => Err(ApplyError::StagingChanged {
                path: step.change.path.clone(),
            }),
        }
    }

    /// Checks that what was saved is what was looked at just before.
    fn check_saved(&self, slot: &str, seen: &Stat, path: &RelPath) -> Result<(), ApplyError> {
        let saved = self.ops.stat_at(self.staging, slot).at(path.as_str())?;
        match saved {
            Some(stat) if Fingerprint::of(seen).matches(&stat) => {
                self.check_empty(&stat, self.staging, slot, path)
            }
            _ => Err(conflict(path, ConflictKind::Changed)),
        }
    }

    /// Checks that a directory that is to be moved away is empty.
    fn check_empty(
        &self,
        stat: &Stat,
        parent: BorrowedFd<'_>,
        name: &str,
        path: &RelPath,
    ) -> Result<(), ApplyError> {
        match self.first_child(stat, parent, name).at(path.as_str())? {
            Some(name) => Err(conflict(path, ConflictKind::Holds { name })),
            None => Ok(()),
        }
    }

    fn is_empty(&self, stat: &Stat, parent: BorrowedFd<'_>, name: &str) -> io::Result<bool> {
        Ok(self.first_child(stat, parent, name)?.is_none())
    }

    fn first_child(
        &self,
        stat: &Stat,
        parent: BorrowedFd<'_>,
        name: &str,
    ) -> io::Result<Option<Vec<u8>>> {
        if stat.kind != Kind::Dir {
            return Ok(None);
        }
        let name = RelPath::new(name).map_err(io::Error::other)?;
        let dir = self.ops.open_beneath(parent, name)?;
        let names = self.ops.list(dir.as_fd())?;
        Ok(names
            .into_iter()
            .next()
            .map(|name| name.into_encoded_bytes()))
    }
}

fn conflict(path: &RelPath, kind: ConflictKind) -> ApplyError {
    ApplyError::Conflicts(vec![Conflict {
        path: path.to_owned(),
        kind,
    }])
}

/// Whether a directory can't be renamed where it is, though it can be removed:
/// overlayfs says so of one from a lower layer (APP-25).
fn stays_put(found: &Stat, renamed: &io::Result<()>) -> bool {
    let across = renamed.as_ref().is_err_and(|error| is(error, Errno::XDEV));
    across && found.kind == Kind::Dir
}

/// Whether the directory of a path is no longer one that can be reached.
pub(crate) fn is_gone(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV)
    )
}
