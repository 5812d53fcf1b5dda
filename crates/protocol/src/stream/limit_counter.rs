//! `LimitCounter`: what a stream has brought so far, against its limits.

use super::member::MemberKind;
use super::name_table::{Kind, NameTable};
use crate::{StreamError, StreamLimits};

/// Counts and names of a stream.
#[derive(Debug)]
pub(super) struct LimitCounter {
    /// The limits.
    pub(super) limits: StreamLimits,
    /// The skeleton of the tree.
    pub(super) names: NameTable,
    /// Members, the root not counted.
    pub(super) entries: u64,
    /// Bytes of files, a hard link counted as a copy.
    pub(super) bytes: u64,
    name_bytes: u64,
}

impl LimitCounter {
    /// Starts with nothing.
    pub(super) fn new(limits: StreamLimits) -> Self {
        Self {
            limits,
            names: NameTable::new(limits.entries),
            entries: 0,
            bytes: 0,
            name_bytes: 0,
        }
    }

    /// Counts a member against the limits, and its name into the skeleton.
    pub(super) fn count(
        &mut self,
        name: &[u8],
        kind: &MemberKind,
        linkname: &[u8],
    ) -> Result<(), StreamError> {
        let (seen, size) = match *kind {
            MemberKind::File { size, .. } | MemberKind::Hard { size, .. } => {
                (Kind::File { size }, size)
            }
            MemberKind::Dir => (Kind::Dir, 0),
            MemberKind::Symlink { .. } => (Kind::Symlink, 0),
            MemberKind::Fifo => (Kind::Fifo, 0),
        };
        self.charge(name.len() + linkname.len())?;
        self.names.add(name, seen)?;
        self.entries += 1;
        if size > self.limits.file_bytes {
            let (name, limit) = (name.to_vec(), self.limits.file_bytes);
            return Err(StreamError::FileTooBig { name, size, limit });
        }
        self.bytes = self.bytes.saturating_add(size);
        if self.bytes > self.limits.total_bytes {
            return Err(StreamError::TooManyBytes {
                limit: self.limits.total_bytes,
            });
        }
        Ok(())
    }

    /// Counts bytes that are kept in memory.
    pub(super) fn charge(&mut self, bytes: usize) -> Result<(), StreamError> {
        self.name_bytes = self.name_bytes.saturating_add(bytes as u64);
        let limit = self.limits.name_bytes;
        if self.name_bytes > limit {
            Err(StreamError::TooManyNames { limit })
        } else {
            Ok(())
        }
    }
}
