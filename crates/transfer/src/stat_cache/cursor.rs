//! `CacheCursor`: a cache, read along with a walk.

use lazaret_tree::RelPath;

use super::{CacheEntry, StatCache};

/// Both are in path order, so one look ahead is all it takes.
pub(crate) struct CacheCursor<'a> {
    rest: &'a [CacheEntry],
    /// How many are behind.
    passed: usize,
}

impl<'a> CacheCursor<'a> {
    pub(crate) fn new(cache: &'a StatCache) -> Self {
        Self {
            rest: &cache.entries,
            passed: 0,
        }
    }

    /// Returns what was known of the file at `path`, and its number in the cache.
    pub(crate) fn find(&mut self, path: &RelPath) -> Option<(usize, &'a CacheEntry)> {
        while let [passed, rest @ ..] = self.rest
            && *passed.path < *path
        {
            self.rest = rest;
            self.passed += 1;
        }
        let [known, rest @ ..] = self.rest else {
            return None;
        };
        if *known.path != *path {
            return None;
        }
        self.rest = rest;
        self.passed += 1;
        Some((self.passed - 1, known))
    }
}
