//! `KnownPrefixes`: what in an engine is somebody's.

use std::collections::BTreeSet;

use crate::pool::{self, PlaceFile, PoolStore};
use crate::store::{Store, StoreError};

/// The tags of all sessions and of all places in the pool; see [`crate::engine::owner::ResourceOwner::tag`].
#[derive(Debug)]
pub struct KnownPrefixes {
    known: BTreeSet<String>,
    /// Whether each record could be read. Where one could not, it may name any place.
    is_complete: bool,
}

impl KnownPrefixes {
    /// Reads them. Whoever sweeps lists what the engine has before this: what is made or
    /// taken meanwhile is in a file before it is in an engine.
    ///
    /// # Errors
    /// The disk's.
    pub fn of(store: &Store) -> Result<Self, StoreError> {
        let shelf = PoolStore::of(store);
        let mut files = shelf.files()?;
        files.extend(shelf.files()?);
        files.sort_unstable();
        files.dedup();
        let mut tags = Self::none();
        // A place that is taken is in a record before it leaves the shelf.
        for file in files {
            tags.add_place(&shelf, file)?;
        }
        tags.add_sessions(store)?;
        Ok(tags)
    }

    pub(crate) fn none() -> Self {
        Self {
            known: BTreeSet::new(),
            is_complete: true,
        }
    }

    pub(crate) fn add_place(
        &mut self,
        shelf: &PoolStore,
        file: PlaceFile,
    ) -> Result<(), StoreError> {
        if shelf.counts(&file)? {
            self.known.insert(file.tag.to_string());
        }
        Ok(())
    }

    pub(crate) fn add_sessions(&mut self, store: &Store) -> Result<(), StoreError> {
        for dir in store.list()? {
            self.known.insert(dir.id().to_string());
            match dir.record() {
                Ok(record) => {
                    self.known.insert(record.owner().tag.to_string());
                }
                Err(_) => self.is_complete = false,
            }
        }
        Ok(())
    }

    /// Whether something with this tag is anybody's.
    pub fn knows(&self, tag: &str) -> bool {
        self.known.contains(tag) || (!self.is_complete && pool::is_tag(tag))
    }
}
