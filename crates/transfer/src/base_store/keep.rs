//! `keep_texts`: what a workspace still has of what was sent in.

use std::fs::File;
use std::io::{self, Read as _};

use lazaret_tree::{Digest, Entry, RelPath, Tree};

use super::BaseWriter;
use crate::WorkspaceDir;

/// Adds the texts of `tree` that are still in the workspace as they were sent, and that the
/// store does not have. A file that was changed meanwhile, or can't be read, is passed over.
/// `go_on` is asked before each file that is read; once it says no, the rest is left.
///
/// Nothing of git's own is kept: it is not merged.
pub fn keep_texts(
    workspace: &WorkspaceDir,
    tree: &Tree,
    store: &mut BaseWriter,
    go_on: &mut dyn FnMut() -> bool,
) {
    let mut bytes = Vec::new();
    for (path, entry) in tree.iter() {
        let Entry::File { size, digest, .. } = entry else {
            continue;
        };
        if path.components().next() == Some(".git") || !store.wants(digest, *size) {
            continue;
        }
        if !go_on() {
            return;
        }
        let read = read(workspace, path, *size, &mut bytes);
        if read.is_ok() && Digest::of(&bytes) == *digest {
            store.keep(*digest, &bytes);
        }
    }
}

/// Reads at most one byte more than a file should have.
fn read(
    workspace: &WorkspaceDir,
    path: &RelPath,
    size: u64,
    bytes: &mut Vec<u8>,
) -> io::Result<()> {
    bytes.clear();
    let file: File = workspace.open_file(path).map_err(|error| error.source)?;
    file.take(size + 1).read_to_end(bytes)?;
    Ok(())
}
