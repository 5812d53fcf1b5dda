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
        let staged = tempfile::NamedTempFile::new_in(folder(path)).at(path)?;
        let mut out = io::BufWriter::new(staged);
        write(&mut out).at(path)?;
        let staged = out.into_inner().map_err(|error| error.into_error());
        let staged = staged.at(path)?;
        let file = staged.persist(path).map_err(|error| error.error).at(path)?;
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
        let mut folders: Vec<&Path> = self.files.iter().map(|(path, _)| folder(path)).collect();
        folders.sort_unstable();
        folders.dedup();
        for folder in folders {
            File::open(folder)
                .and_then(|folder| folder.sync_all())
                .at(folder)?;
        }
        Ok(())
    }
}

fn folder(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("."))
}
