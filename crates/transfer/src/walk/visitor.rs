//! `Visitor`: who takes what the walk finds.

use std::os::fd::OwnedFd;

use lazaret_protocol::FileTime;
use lazaret_tree::{LinkTarget, RelPath};
use rustix::fs::Stat;

use super::WalkError;
use super::open::OpenDir;
use crate::select::LOOKED_INTO;

/// Who takes what the walk finds, in path order.
pub(crate) trait Visitor {
    type Error: From<WalkError>;

    fn dir(&mut self, path: &RelPath) -> Result<(), Self::Error>;

    fn symlink(
        &mut self,
        path: &RelPath,
        target: LinkTarget,
        mtime: FileTime,
    ) -> Result<(), Self::Error>;

    /// Takes an open regular file at its start, unless what `check` looks for keeps it out.
    fn file(
        &mut self,
        path: &RelPath,
        file: OwnedFd,
        stat: &Stat,
        check: KeyCheck,
    ) -> Result<(), Self::Error>;

    /// Returns true if the sink reads this regular file itself; the walk then does not open it.
    /// `dir` contains it, under the last component of its path.
    fn takes(
        &mut self,
        _path: &RelPath,
        _dir: &OpenDir,
        _check: KeyCheck,
    ) -> Result<bool, Self::Error> {
        Ok(false)
    }

    /// Is told how many names a directory has, while it is listed.
    fn listed(&mut self, _names: usize) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Whether an entry, by its raw path, or anything below it is of use: the rest is passed
    /// over without a look.
    fn wants(&mut self, _path: &[u8]) -> bool {
        true
    }

    /// Receives the raw path of each entry before the walk judges it. A sink with limits returns
    /// its error here or from [`Self::listed`].
    fn meet(&mut self, _path: &[u8]) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Takes a file that exists only in the copy.
    fn made(&mut self, path: &RelPath, contents: &[u8]) -> Result<(), Self::Error>;
}

/// Whether a file's contents may still keep it out. The reader decides, since they
/// are to be read once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyCheck {
    /// It goes in whatever it holds.
    None,
    /// It stays out if it holds a private key.
    PrivateKey,
}

impl KeyCheck {
    /// Whether a file of this size has to be read as a whole to be judged.
    pub(crate) fn looks_into(self, size: u64) -> bool {
        self == Self::PrivateKey && size <= LOOKED_INTO as u64
    }
}
