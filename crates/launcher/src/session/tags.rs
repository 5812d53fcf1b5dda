//! `Tags`: what in an engine is somebody's.

use std::collections::BTreeSet;

use super::pool::{self, Shelf};
use super::store::{Store, StoreError};

/// The tags of all sessions and of all places in the pool; see [`super::owner::Owner::tag`].
#[derive(Debug)]
pub struct Tags {
    known: BTreeSet<String>,
    /// Whether each record could be read. Where one could not, it may name any place.
    is_complete: bool,
}

impl Tags {
    /// Reads them. Whoever sweeps lists what the engine has before this: what is made or
    /// taken meanwhile is in a file before it is in an engine.
    ///
    /// # Errors
    /// The disk's.
    pub fn of(store: &Store) -> Result<Self, StoreError> {
        // A place that is taken is in a record before it leaves the shelf.
        let mut known: BTreeSet<String> = (Shelf::of(store).tags()?.into_iter())
            .map(|tag| tag.to_string())
            .collect();
        let mut is_complete = true;
        for dir in store.list()? {
            known.insert(dir.id().to_string());
            match dir.record() {
                Ok(record) => {
                    known.insert(record.owner().tag.to_string());
                }
                Err(_) => is_complete = false,
            }
        }
        Ok(Self { known, is_complete })
    }

    /// Whether something with this tag is anybody's.
    pub fn knows(&self, tag: &str) -> bool {
        self.known.contains(tag) || (!self.is_complete && pool::is_tag(tag))
    }
}
