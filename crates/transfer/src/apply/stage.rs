//! Staging: the new entries, complete and durable, beside the workspace's own.
//!
//! ## Modes and owners
//!
//! - A new file is 0644 or 0755 and a new directory 0755, each less the umask
//!   (TAR-30, APP-20). A default ACL takes part through the inherited group
//!   bits only; the mode is set explicitly.
//! - A file that replaces a file keeps the other's permission bits, less setuid,
//!   setgid, sticky and world-writable: contents from outside never land in a
//!   world-writable file. When it becomes executable, every class that may read
//!   it may execute it; when it stops being executable, none may.
//! - It also keeps the other's `user.` attributes and access control list, and its owner
//!   and group, as far as this process may set them (APP-28). The list comes first and the
//!   mode second, so the group bits stay the list's mask and never become the group's.
//! - A file that was renamed takes all of that from where it was, and a directory that
//!   was renamed too (APP-29): see [`Renames`](lazaret_tree::Renames).
//! - What is new gets the group of its directory where that one is setgid, and for root
//!   also its owner.
//! - An undo restores the exact bits and attributes, and the time of modification.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use lazaret_tree::{AtPath as _, Blobs, Digest, Entry, Mode, PathError, RelPath};

use super::attributes::Attributes;
use super::conflict::{is, open_parent};
use super::fingerprint::Fingerprint;
use super::journal::{Placement, Step};
use super::ops::{Kind, Ops, Rename, Stat};
use super::preflight::Identity;
use super::store::Sync;
use super::{ApplyError, Restore};
use rustix::io::Errno;

/// What staging needs to know about its surroundings.
pub(crate) struct Stager<'a> {
    pub(crate) ops: &'a dyn Ops,
    pub(crate) root: BorrowedFd<'a>,
    pub(crate) staging: BorrowedFd<'a>,
    pub(crate) identity: Identity,
    pub(crate) umask: u32,
    pub(crate) sync: Sync,
    /// What this transaction keeps for its undo.
    pub(crate) kept: &'a dyn Blobs,
}

/// What an entry is made like: what it replaces, or what was renamed to it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Model {
    pub(crate) stat: Stat,
    pub(crate) attributes: Option<Digest>,
}

impl Stager<'_> {
    /// Stages what `step` puts at its path into the slot `name`.
    pub(crate) fn stage(
        &self,
        name: &str,
        step: &Step,
        model: Option<&Model>,
        restore: Option<&Restore>,
        blobs: &dyn Blobs,
    ) -> Result<Option<Fingerprint>, ApplyError> {
        let path = &*step.change.path;
        let Some(after) = &step.change.after else {
            return Ok(None);
        };
        // The owner first: giving a file away takes its setuid bit. Then the attributes: an
        // access control list changes the mode. The sync last: it covers what was set before.
        let open = match after {
            Entry::Dir => {
                let dir = self.make_dir(name).at(path.as_str())?;
                self.set_owner(name, path, model).at(path.as_str())?;
                let model = model.filter(|model| model.stat.kind == Kind::Dir);
                self.set_attributes(dir.as_fd(), path, model, restore, blobs)?;
                let mode = match restore {
                    Some(restore) => restore.mode,
                    None => self.dir_mode(path, model).at(path.as_str())?,
                };
                self.ops.chmod(dir.as_fd(), mode).at(path.as_str())?;
                Some(dir)
            }
            Entry::Symlink { target } => {
                let target = target.as_str();
                let made = self.ops.symlink(target, self.staging, name);
                made.and_then(|()| self.set_owner(name, path, model))
                    .at(path.as_str())?;
                None
            }
            Entry::File { mode, size, digest } => {
                let file = self.write_file(name, path, (*size, *digest), blobs)?;
                self.set_owner(name, path, model).at(path.as_str())?;
                let model = model.filter(|model| model.stat.kind == Kind::File);
                self.set_attributes(file.as_fd(), path, model, restore, blobs)?;
                let mode = match restore {
                    Some(restore) => restore.mode,
                    None => self.file_mode(*mode, model),
                };
                self.ops.chmod(file.as_fd(), mode).at(path.as_str())?;
                Some(file)
            }
        };
        if let (Some(restore), false) = (restore, *after == Entry::Dir) {
            self.ops
                .set_mtime(self.staging, name, restore.mtime)
                .at(path.as_str())?;
        }
        if let (Some(open), Sync::Each) = (&open, self.sync) {
            self.ops.sync(open.as_fd()).at(path.as_str())?;
        }
        let stat = self.ops.stat_at(self.staging, name).at(path.as_str())?;
        let stat = stat.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound));
        Ok(Some(Fingerprint::of(&stat.at(path.as_str())?)))
    }

    fn make_dir(&self, name: &str) -> io::Result<OwnedFd> {
        self.ops.mkdir(self.staging, name, 0o700)?;
        let name = RelPath::new(name).map_err(io::Error::other)?;
        self.ops.open_beneath(self.staging, name)
    }

    /// Sets the attributes of what was just made. What is new keeps what it inherited.
    fn set_attributes(
        &self,
        made: BorrowedFd<'_>,
        path: &RelPath,
        model: Option<&Model>,
        restore: Option<&Restore>,
        blobs: &dyn Blobs,
    ) -> Result<(), ApplyError> {
        let load = |blobs, digest: Option<Digest>| match digest {
            None => Ok(Attributes::default()),
            Some(digest) => Attributes::load(blobs, &digest).map_err(|source| ApplyError::Blob {
                path: path.to_owned(),
                digest,
                source,
            }),
        };
        let attributes = match (restore, model) {
            (Some(restore), _) => load(blobs, restore.attributes)?,
            (None, Some(model)) => load(self.kept, model.attributes)?.for_new_contents(),
            (None, None) => return Ok(()),
        };
        Ok(attributes.put(self.ops, made).at(path.as_str())?)
    }

    fn dir_mode(&self, path: &RelPath, model: Option<&Model>) -> io::Result<u32> {
        let above = self.nearest_dir(path)?;
        let setgid = self.ops.stat(above.as_fd())?.mode & 0o2000;
        let bits = model.map_or(0o755 & !self.umask, |model| model.stat.mode & 0o775);
        Ok(bits | setgid)
    }

    fn write_file(
        &self,
        name: &str,
        path: &RelPath,
        expected: (u64, Digest),
        blobs: &dyn Blobs,
    ) -> Result<OwnedFd, ApplyError> {
        let blob_error = |source| ApplyError::Blob {
            path: path.to_owned(),
            digest: expected.1,
            source,
        };
        let mut blob = blobs.open(&expected.1).map_err(blob_error)?;
        let file = self.ops.create(self.staging, name).at(path.as_str())?;
        let mut hasher = blake3::Hasher::new();
        let mut buffer = vec![0; 64 << 10];
        let mut size = 0;
        loop {
            let n = match blob.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other.map_err(blob_error)?,
            };
            let piece = buffer.get(..n).unwrap_or_default();
            if piece.is_empty() {
                break;
            }
            size += piece.len() as u64;
            if size > expected.0 {
                break;
            }
            hasher.update(piece);
            self.ops.write(file.as_fd(), piece).at(path.as_str())?;
        }
        if (size, Digest::from(hasher.finalize())) != expected {
            return Err(blob_error(io::Error::new(
                io::ErrorKind::InvalidData,
                "the contents are not those of the digest",
            )));
        }
        Ok(file)
    }

    fn file_mode(&self, mode: Mode, model: Option<&Model>) -> u32 {
        match model {
            Some(model) => {
                let kept = model.stat.mode & 0o775;
                match mode {
                    Mode::Executable => kept | ((kept & 0o444) >> 2) | 0o100,
                    Mode::Plain => kept & !0o111,
                }
            }
            None => mode.to_unix() & !self.umask,
        }
    }

    /// Gives a staged entry to whom it should belong.
    fn set_owner(&self, name: &str, path: &RelPath, model: Option<&Model>) -> io::Result<()> {
        let (uid, gid) = match model {
            Some(model) => (model.stat.uid, model.stat.gid),
            None => {
                let parent = self.nearest_dir(path)?;
                let stat = self.ops.stat(parent.as_fd())?;
                match (self.identity.is_root(), stat.mode & 0o2000 != 0) {
                    (true, _) => (stat.uid, stat.gid),
                    (false, true) => (self.identity.uid, stat.gid),
                    (false, false) => return Ok(()),
                }
            }
        };
        let staged = self.ops.stat_at(self.staging, name)?;
        if staged.is_some_and(|staged| (staged.uid, staged.gid) == (uid, gid)) {
            return Ok(());
        }
        match self.ops.chown(self.staging, name, uid, gid) {
            // A group that this user is not in: the file stays the user's own.
            Err(error) if is(&error, Errno::PERM) && !self.identity.is_root() => Ok(()),
            other => other,
        }
    }

    /// Opens the nearest directory above `path` that exists already.
    fn nearest_dir(&self, path: &RelPath) -> io::Result<OwnedFd> {
        let mut path = path;
        loop {
            match open_parent(self.ops, self.root, path) {
                Ok(dir) => return Ok(dir),
                Err(error) => match path.parent() {
                    Some(parent)
                        if is(&error, Errno::NOENT)
                            || is(&error, Errno::NOTDIR)
                            || is(&error, Errno::LOOP) =>
                    {
                        path = parent;
                    }
                    _ => return Err(error),
                },
            }
        }
    }
}

/// Finds out how an entry can be placed on this file system, by trying.
pub(crate) fn probe_placement(
    ops: &dyn Ops,
    staging: BorrowedFd<'_>,
) -> Result<Placement, PathError> {
    let probe = || -> io::Result<Placement> {
        let (a, b) = ("probe-a", "probe-b");
        drop(ops.create(staging, a)?);
        drop(ops.create(staging, b)?);
        let exchanged = ops.rename((staging, a), (staging, b), Rename::Exchange);
        ops.unlink(staging, b)?;
        let placement = if exchanged.map_or_else(unsupported, |()| Ok(true))? {
            Placement::Exchange
        } else {
            let renamed = ops.rename((staging, a), (staging, b), Rename::NoReplace);
            if renamed.map_or_else(unsupported, |()| Ok(true))? {
                ops.unlink(staging, b)?;
                return Ok(Placement::NoReplace);
            }
            ops.link((staging, a), (staging, b))?;
            ops.unlink(staging, b)?;
            Placement::Link
        };
        ops.unlink(staging, a)?;
        Ok(placement)
    };
    probe().at("the staging directory")
}

/// Tells "this file system can't" from a real failure.
fn unsupported(error: io::Error) -> io::Result<bool> {
    match Errno::from_io_error(&error) {
        Some(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => Ok(false),
        _ => Err(error),
    }
}
