//! What a user does to a workspace between two runs, and takes back again.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};

use super::Corpus;

/// Files that are other than the corpus has them, until this is dropped.
#[derive(Debug)]
#[must_use = "dropping it takes the edits back"]
pub(crate) struct Edits(Vec<(PathBuf, Vec<u8>)>);

impl Corpus {
    /// Adds a line to `count` files, none of which [`Corpus::some_files`] of the same number
    /// names.
    pub(crate) fn edit(&self, count: usize) -> Result<Edits> {
        let mut edits = Edits(Vec::new());
        // Every second one of twice as many lies between those.
        for file in self.some_files(2 * count)?.iter().skip(1).step_by(2) {
            let path = self.path.join(file);
            let before = fs::read(&path).with_context(|| path.display().to_string())?;
            let after = [&before[..], b"edited\n"].concat();
            edits.0.push((path.clone(), before));
            fs::write(&path, after).with_context(|| path.display().to_string())?;
        }
        Ok(edits)
    }
}

impl Drop for Edits {
    fn drop(&mut self) {
        for (path, before) in &self.0 {
            if let Err(error) = fs::write(path, before) {
                eprintln!("{} stays edited: {error}", path.display());
            }
        }
    }
}
