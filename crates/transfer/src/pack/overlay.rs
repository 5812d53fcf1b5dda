//! `Overlay`: files of the launcher's that an update sends beside those of the workspace.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use lazaret_protocol::{FileTime, StreamWriter};
use lazaret_tree::{AtPath as _, Digest, Entry, Mode, PathError, RelPath, RelPathBuf, Tree};

use super::{PackError, send_file};
use crate::WalkError;

/// Files by where they go. An update sends those that its order names, instead of what the
/// workspace may have there.
#[derive(Debug, Default)]
pub struct Overlay {
    tree: Tree,
    contents: BTreeMap<RelPathBuf, Contents>,
}

#[derive(Debug)]
enum Contents {
    Text(Vec<u8>),
    File(PathBuf),
}

impl Overlay {
    /// Adds a file of the host's. It must stay as it is until it is sent.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn add_file(&mut self, path: RelPathBuf, file: &Path) -> Result<(), PathError> {
        let mut hasher = blake3::Hasher::new();
        let size = io::copy(&mut File::open(file).at(file)?, &mut hasher).at(file)?;
        let entry = Entry::File {
            mode: Mode::Plain,
            size,
            digest: hasher.finalize().into(),
        };
        self.tree.insert(path.clone(), entry);
        self.contents.insert(path, Contents::File(file.to_owned()));
        Ok(())
    }

    /// Adds a short text.
    pub fn add_text(&mut self, path: RelPathBuf, text: Vec<u8>) {
        let entry = self.entry_of(&text);
        self.tree.insert(path.clone(), entry);
        self.contents.insert(path, Contents::Text(text));
    }

    /// Returns all files.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Returns the entry that a text is sent as.
    pub(crate) fn entry_of(&self, text: &[u8]) -> Entry {
        Entry::File {
            mode: Mode::Plain,
            size: text.len() as u64,
            digest: Digest::of(text),
        }
    }

    /// Sends the file at `path`; `None` if there is none.
    pub(super) fn send(
        &self,
        path: &RelPath,
        stream: &mut StreamWriter<&mut dyn io::Write>,
        progress: &mut dyn FnMut(u64),
    ) -> Option<Result<Entry, PackError>> {
        Some(match self.contents.get(path)? {
            Contents::Text(text) => {
                progress(text.len() as u64);
                let sent = stream.contents(path, Mode::Plain, text, FileTime::default());
                sent.map_err(PackError::Write).map(|()| self.entry_of(text))
            }
            Contents::File(file) => send_one(file, path, stream, progress),
        })
    }
}

fn send_one(
    file: &Path,
    path: &RelPath,
    stream: &mut StreamWriter<&mut dyn io::Write>,
    progress: &mut dyn FnMut(u64),
) -> Result<Entry, PackError> {
    let failed = |error: io::Error| WalkError::io(path.as_str().as_bytes(), error);
    let file = OwnedFd::from(File::open(file).map_err(failed)?);
    let stat = rustix::fs::fstat(&file).map_err(|errno| failed(errno.into()))?;
    let digest = send_file(stream, path, &file, &stat, progress)?;
    Ok(Entry::File {
        mode: crate::walk::mode(&stat),
        size: crate::walk::size(&stat),
        digest,
    })
}
