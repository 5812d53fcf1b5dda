//! `Search`: a cache, read along with a walk.

use super::{Known, StatCache};
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

    /// Returns what was known of the file at `path`.
    pub(crate) fn find(&mut self, path: &RelPath) -> Option<&'a Known> {
        while let [passed, rest @ ..] = self.rest
            && *passed.path < *path
        {
            self.rest = rest;
        }
        let [known, rest @ ..] = self.rest else {
            return None;
        };
        if *known.path != *path {
            return None;
        }
        self.rest = rest;
        Some(known)
    }
}
