//! `Fingerprint`: how a transaction knows again what it placed or saved.

use super::ops::{Kind, Stat, Time};

/// Type, inode, size and time of modification of one entry.
///
/// It answers "is this exactly what was put here, untouched?" A change through a
/// shared mapping that was made before the last sync is what it can't see. The
/// device number is left out: it may change over a reboot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    pub(crate) kind: Kind,
    pub(crate) ino: u64,
    pub(crate) size: u64,
    pub(crate) mtime: Time,
}

impl Fingerprint {
    pub(crate) fn of(stat: &Stat) -> Self {
        Self {
            kind: stat.kind,
            ino: stat.ino,
            size: stat.size,
            mtime: stat.mtime,
        }
    }

    /// Whether `stat` is that entry, untouched. A directory's size and time
    /// change with what is put into it, so only its inode counts.
    pub(crate) fn matches(&self, stat: &Stat) -> bool {
        let same = self.kind == stat.kind && self.ino == stat.ino;
        match self.kind {
            Kind::Dir => same,
            Kind::File | Kind::Symlink | Kind::Other => {
                same && self.size == stat.size && self.mtime == stat.mtime
            }
        }
    }
}
