//! `Limiter`: what a walk of a directory that is not trusted may cost.

use lazaret_protocol::{StreamError, StreamLimits};
use lazaret_tree::{Entry, RelPath, Tree};

use super::WalkError;

/// Counts what a known tree does not have: entries at other paths, and files of another size.
#[derive(Debug)]
pub(super) struct Limiter<'a> {
    known: &'a Tree,
    limits: StreamLimits,
    entries: u64,
    bytes: u64,
    name_bytes: u64,
}

impl<'a> Limiter<'a> {
    pub(super) fn new(known: &'a Tree, limits: StreamLimits) -> Self {
        Self {
            known,
            limits,
            entries: 0,
            bytes: 0,
            name_bytes: 0,
        }
    }

    /// Checks how many names one directory has: all are kept before the first of them is met.
    pub(super) fn check_names(&self, names: usize) -> Result<(), WalkError> {
        let limit = self.limits.entries;
        match names as u64 > limit.saturating_add(self.known.len() as u64) {
            true => Err(WalkError::Limit(StreamError::TooManyEntries { limit })),
            false => Ok(()),
        }
    }

    /// Counts an entry by its raw path.
    pub(super) fn add_entry(&mut self, path: &[u8]) -> Result<(), WalkError> {
        if RelPath::from_bytes(path).is_ok_and(|path| self.known.get(path).is_some()) {
            return Ok(());
        }
        self.entries += 1;
        let limit = self.limits.entries;
        match self.entries > limit {
            true => Err(WalkError::Limit(StreamError::TooManyEntries { limit })),
            false => self.add_name_bytes(path.len()),
        }
    }

    /// Counts bytes of a name or of a link target.
    pub(super) fn add_name_bytes(&mut self, bytes: usize) -> Result<(), WalkError> {
        self.name_bytes = self.name_bytes.saturating_add(bytes as u64);
        let limit = self.limits.name_bytes;
        match self.name_bytes > limit {
            true => Err(WalkError::Limit(StreamError::TooManyNames { limit })),
            false => Ok(()),
        }
    }

    /// Counts a file of `size` bytes, before any of them is read.
    pub(super) fn add_file(&mut self, path: &RelPath, size: u64) -> Result<(), WalkError> {
        if matches!(self.known.get(path), Some(Entry::File { size: known, .. }) if *known == size) {
            return Ok(());
        }
        let limit = self.limits.file_bytes;
        if size > limit {
            let name = path.as_str().as_bytes().to_vec();
            let error = StreamError::FileTooBig { name, size, limit };
            return Err(WalkError::Limit(error));
        }
        self.bytes = self.bytes.saturating_add(size);
        let limit = self.limits.total_bytes;
        match self.bytes > limit {
            true => Err(WalkError::Limit(StreamError::TooManyBytes { limit })),
            false => Ok(()),
        }
    }
}
