//! `KnownPrefixes`: which resources in an engine belong to a session, to a slot of the pool or to
//! a shared volume.

use std::collections::BTreeSet;

use crate::pool::{self, PoolStore, SlotFile};
use crate::store::{Store, StoreError};
use crate::volumes::shared::SharedVolumes;

/// The tags of all sessions, of all places in the pool and of all shared volumes; see
/// [`crate::engine::owner::ResourceOwner::tag`].
#[derive(Debug)]
pub struct KnownPrefixes {
    known: BTreeSet<String>,
    /// Whether each record could be read. One that could not may name any slot.
    is_complete: bool,
}

impl KnownPrefixes {
    /// Reads them. A sweep lists what the engine has before this: what is made or taken
    /// meanwhile is in a file before it is in an engine.
    ///
    /// # Errors
    /// The disk's.
    pub fn of(store: &Store) -> Result<Self, StoreError> {
        let pool = PoolStore::of(store);
        let mut files = pool.files()?;
        files.extend(pool.files()?);
        files.sort_unstable();
        files.dedup();
        let mut tags = Self::none();
        // A session's record names a slot before the file of the slot goes.
        for file in files {
            tags.add_slot(&pool, file)?;
        }
        tags.add_sessions(store)?;
        tags.add_shared_volumes(&SharedVolumes::of(store))?;
        Ok(tags)
    }

    pub(crate) fn none() -> Self {
        Self {
            known: BTreeSet::new(),
            is_complete: true,
        }
    }

    pub(crate) fn add_slot(&mut self, pool: &PoolStore, file: SlotFile) -> Result<(), StoreError> {
        if pool.counts(&file)? {
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

    fn add_shared_volumes(&mut self, volumes: &SharedVolumes) -> Result<(), StoreError> {
        let mut files = volumes.files()?;
        files.extend(volumes.files()?);
        files.sort_unstable();
        files.dedup();
        for file in files {
            if volumes.counts(&file)? {
                self.known.insert(file.tag.to_string());
            }
        }
        Ok(())
    }

    /// Returns true if a session, a slot or a shared volume has this tag, or an unreadable record may name it.
    pub fn knows(&self, tag: &str) -> bool {
        self.known.contains(tag) || (!self.is_complete && pool::is_tag(tag))
    }
}
