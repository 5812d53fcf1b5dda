//! `Snapshot`: what every entry of a root is, without its contents.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use super::LayerError;

/// Of what type an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Dir,
    File,
    Symlink,
    /// Device, pipe or socket.
    Special,
}

/// What an entry is. Only the kernel sets a ctime, so a file with an equal stamp was not
/// touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fingerprint {
    pub(super) kind: Kind,
    pub(super) mode: u32,
    pub(super) uid: u32,
    pub(super) gid: u32,
    pub(super) size: u64,
    /// Seconds.
    pub(super) mtime: i64,
    ctime: (i64, i64),
    /// Device and inode of a file with several names.
    pub(super) shared: Option<(u64, u64)>,
}

/// What every entry of a root is, by path relative to it.
#[derive(Debug)]
pub(super) struct Snapshot(pub(super) BTreeMap<Vec<u8>, Fingerprint>);

/// Our own program and what it was given for the build.
const OWN: &[u8] = b"lazaret";

impl Snapshot {
    /// Walks `root`, without following links or entering mounts.
    pub(super) fn take(root: &Path) -> Result<Self, LayerError> {
        let mut entries = BTreeMap::new();
        let device = stat(root, b"")?.dev();
        let mut open: Vec<Vec<u8>> = vec![Vec::new()];
        while let Some(dir) = open.pop() {
            let at = |source| LayerError::Read {
                path: dir.clone(),
                source,
            };
            for entry in fs::read_dir(full(root, &dir)).map_err(at)? {
                let name = entry.map_err(at)?.file_name().into_vec();
                let mut path = dir.clone();
                if !path.is_empty() {
                    path.push(b'/');
                }
                path.extend_from_slice(&name);
                if path == OWN {
                    continue;
                }
                let found = stat(root, &path)?;
                let fingerprint = Fingerprint::of(&found);
                if fingerprint.kind == Kind::Dir && found.dev() == device {
                    open.push(path.clone());
                }
                entries.insert(path, fingerprint);
            }
        }
        Ok(Self(entries))
    }
}

impl Fingerprint {
    fn of(found: &Metadata) -> Self {
        let kind = if found.is_dir() {
            Kind::Dir
        } else if found.is_file() {
            Kind::File
        } else if found.is_symlink() {
            Kind::Symlink
        } else {
            Kind::Special
        };
        let has_names = kind == Kind::File && found.nlink() > 1;
        Self {
            kind,
            mode: found.mode() & 0o7777,
            uid: found.uid(),
            gid: found.gid(),
            size: found.size(),
            mtime: found.mtime(),
            ctime: (found.ctime(), found.ctime_nsec()),
            shared: has_names.then(|| (found.dev(), found.ino())),
        }
    }

    /// Whether a layer must say something of it. A directory's times move with what is
    /// in it, which is said on its own.
    pub(super) fn differs_from(&self, before: &Self) -> bool {
        match (self.kind, before.kind) {
            (Kind::Dir, Kind::Dir) => {
                (self.mode, self.uid, self.gid) != (before.mode, before.uid, before.gid)
            }
            _ => {
                let essence = |fingerprint: &Self| Self {
                    shared: None,
                    ..*fingerprint
                };
                essence(self) != essence(before)
            }
        }
    }
}

fn stat(root: &Path, path: &[u8]) -> Result<Metadata, LayerError> {
    fs::symlink_metadata(full(root, path)).map_err(|source| LayerError::Read {
        path: path.to_vec(),
        source,
    })
}

pub(super) fn full(root: &Path, path: &[u8]) -> std::path::PathBuf {
    match path.is_empty() {
        true => root.to_path_buf(),
        false => root.join(OsStr::from_bytes(path)),
    }
}
