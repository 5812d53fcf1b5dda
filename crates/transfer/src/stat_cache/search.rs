//! `Search`: a cache, read along with a walk.

use rustix::fs::Stat;

use super::{Seen, StatCache};
use crate::{Digest, RelPath, RelPathBuf};

/// Both are in path order, so one look ahead is all it takes.
pub(crate) struct Search<'a> {
    rest: &'a [(RelPathBuf, Seen, Digest)],
}

impl<'a> Search<'a> {
    pub(crate) fn new(cache: &'a StatCache) -> Self {
        Self {
            rest: &cache.entries,
        }
    }

    /// Returns the digest of the file at `path` if it is as it was; `stat` is asked only if
    /// anything is known.
    pub(crate) fn find<E>(
        &mut self,
        path: &RelPath,
        stat: impl FnOnce() -> Result<Stat, E>,
    ) -> Result<Option<(Seen, Digest)>, E> {
        while let [(known, ..), rest @ ..] = self.rest
            && **known < *path
        {
            self.rest = rest;
        }
        let [(known, seen, digest), rest @ ..] = self.rest else {
            return Ok(None);
        };
        if **known != *path {
            return Ok(None);
        }
        self.rest = rest;
        let same = Seen::of(&stat()?) == Some(*seen);
        Ok(same.then_some((*seen, *digest)))
    }
}
