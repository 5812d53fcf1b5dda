//! `Search`: a cache, read along with a walk.

use rustix::fs::Stat;

use super::{Known, Seen, StatCache};
use crate::RelPath;

/// Both are in path order, so one look ahead is all it takes.
pub(crate) struct Search<'a> {
    rest: &'a [Known],
}

impl<'a> Search<'a> {
    pub(crate) fn new(cache: &'a StatCache) -> Self {
        Self {
            rest: &cache.entries,
        }
    }

    /// Returns what is known of the file at `path` if it is as it was; `stat` is asked only
    /// if there is anything.
    pub(crate) fn find<E>(
        &mut self,
        path: &RelPath,
        stat: impl FnOnce() -> Result<Stat, E>,
    ) -> Result<Option<&'a Known>, E> {
        while let [passed, rest @ ..] = self.rest
            && *passed.path < *path
        {
            self.rest = rest;
        }
        let [known, rest @ ..] = self.rest else {
            return Ok(None);
        };
        if *known.path != *path {
            return Ok(None);
        }
        self.rest = rest;
        let is_same = Seen::of(&stat()?) == Some(known.seen);
        Ok(is_same.then_some(known))
    }
}
