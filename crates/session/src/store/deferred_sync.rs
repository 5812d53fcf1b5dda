//! `DeferredSync`: files that are written and renamed, but not yet synced.
//!
//! If the process is killed, it loses nothing of that; only a power cut takes what was not
//! synced. The start of a command does not wait for the sync: it takes long just then, because
//! the file system may have to write all that was copied in. So it is done while the command
//! runs.

use std::any::Any;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use lazaret_tree::{AtPath as _, PathError};

use crate::store::file::{replace, sync_dir_of};

/// What has to be synced, in the order in which it was written.
#[derive(Debug, Default)]
#[must_use = "a power cut takes it before it is synced"]
pub struct DeferredSync {
    files: Vec<(PathBuf, File)>,
    spent: Vec<Box<dyn Any + Send>>,
}

impl DeferredSync {
    /// Writes a file: a reader finds it whole, or what was there before.
    ///
    /// # Errors
    /// The disk's, with the path, or those of `write`. The file that was there is untouched
    /// then.
    pub fn put(
        &mut self,
        path: &Path,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), PathError> {
        let file = replace(path, write)?;
        self.files.push((path.to_path_buf(), file));
        Ok(())
    }

    /// Takes a value that is not needed any more: freeing the memory of a large tree takes as
    /// long as writing it, and can wait as well.
    pub fn spend(&mut self, value: impl Any + Send) {
        self.spent.push(Box::new(value));
    }

    /// Adds what another one holds.
    pub fn append(&mut self, mut other: Self) {
        self.files.append(&mut other.files);
        self.spent.append(&mut other.spent);
    }

    /// Waits until all of it outlasts a power cut.
    ///
    /// # Errors
    /// The disk's, with the path.
    pub fn sync(self) -> Result<(), PathError> {
        for (path, file) in &self.files {
            file.sync_all().at(path)?;
        }
        // One file of each directory.
        let mut files: Vec<&Path> = self.files.iter().map(|(path, _)| &**path).collect();
        files.sort_unstable_by_key(|path| path.parent());
        files.dedup_by_key(|path| path.parent());
        files.into_iter().try_for_each(sync_dir_of)
    }
}
