//! `PoolSizes`: how many places each profile should have.

use std::fs;
use std::path::PathBuf;

use crate::store::file::{list_dir, private_dir, remove_file, write_atomically};
use crate::store::{Store, StoreError};

/// The most places of one profile: each of them is a container that runs.
const MOST: u32 = 16;

/// One small file for each profile, so that two that are set at once don't undo each other.
#[derive(Debug)]
pub struct PoolSizes {
    dir: PathBuf,
}

impl PoolSizes {
    /// The most that a profile can have.
    pub const MOST: u32 = MOST;

    /// Returns the targets of a store.
    pub fn of(store: &Store) -> Self {
        Self {
            dir: store.path().join("pool").join("targets"),
        }
    }

    /// Returns how many places a profile should have; 0 if no number is set or it can't be read.
    pub fn get(&self, profile: &str) -> u32 {
        let text = fs::read_to_string(self.dir.join(profile)).unwrap_or_default();
        text.trim().parse().map_or(0, |count: u32| count.min(MOST))
    }

    /// Sets it.
    ///
    /// # Errors
    /// The disk's.
    pub fn set(&self, profile: &str, count: u32) -> Result<(), StoreError> {
        private_dir(&self.dir)?;
        write_atomically(&self.dir.join(profile), format!("{count}\n").as_bytes())?;
        Ok(())
    }

    /// Forgets what was set for a profile.
    ///
    /// # Errors
    /// The disk's.
    pub fn forget(&self, profile: &str) -> Result<(), StoreError> {
        Ok(remove_file(&self.dir.join(profile))?)
    }

    /// Lists the profiles that should have any.
    ///
    /// # Errors
    /// The disk's.
    pub fn list(&self) -> Result<Vec<(String, u32)>, StoreError> {
        let mut found = Vec::new();
        for entry in list_dir(&self.dir)? {
            if let Ok(profile) = entry.file_name().into_string() {
                let count = self.get(&profile);
                found.push((profile, count));
            }
        }
        found.retain(|(_, count)| *count > 0);
        found.sort();
        Ok(found)
    }
}
