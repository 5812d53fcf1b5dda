//! `MergeBases`: the texts that a session started from, kept for merges and for diffs.
//!
//! If the user edits a file while the command runs, the host no longer has the text that the
//! session started from, and a merge needs it. So the launcher keeps the texts beside the session.
//! It does not do so while it sends them, when the user waits, but reads them from the workspace
//! while the command runs ([`record_merge_bases`]).
//!
//! They are a convenience: a failed write loses merges and nothing else.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::os::fd::OwnedFd;
use std::path::Path;

use lazaret_tree::{AtPath as _, Blobs, Digest, Entry, PathError, RelPath, Tree};
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::blob_file::BlobFile;
use super::{BlobStore, BlobStoreError, InsertError};
use crate::WorkspaceDir;

/// A larger file is neither merged nor shown, so it is not kept either.
const MOST_FILE_BYTES: u64 = 1 << 20;
/// A NUL byte this early makes a file binary, as in git's `buffer_is_binary`.
const HEAD: usize = 8 << 10;

/// Texts by digest.
#[derive(Debug)]
pub struct MergeBases(BlobStore);

impl MergeBases {
    /// Opens what [`record_merge_bases`] has kept at `path`.
    ///
    /// # Errors
    /// When it is missing, a link, or something else.
    pub fn open(path: &Path) -> Result<Self, BlobStoreError> {
        BlobStore::open(path).map(Self)
    }

    /// Reads the text with this digest; `None` when it is not kept.
    ///
    /// # Errors
    /// When it can't be read, or is not what the digest says (`InvalidData`).
    pub fn read(&self, digest: &Digest) -> io::Result<Option<Vec<u8>>> {
        if !self.0.has(digest) {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        let blob = Blobs::open(&self.0, digest)?;
        blob.take(MOST_FILE_BYTES).read_to_end(&mut bytes)?;
        match Digest::of(&bytes) == *digest {
            true => Ok(Some(bytes)),
            false => {
                let text = "the store of base texts is damaged";
                Err(io::Error::new(io::ErrorKind::InvalidData, text))
            }
        }
    }
}

impl Blobs for MergeBases {
    fn open(&self, digest: &Digest) -> io::Result<Box<dyn Read + '_>> {
        match self.read(digest)? {
            Some(bytes) => Ok(Box::new(Cursor::new(bytes))),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

/// Adds the texts of `tree` that are still in the workspace as they were sent to the store at
/// `path`, unless it has them. It is made where there is none, and begins anew where it is damaged;
/// another writer is waited for.
///
/// At most `room` bytes of contents are kept. A text that does not fit, was changed meanwhile or
/// can't be read is passed over, and so is what belongs to git: it is not merged. `go_on` is asked
/// before each file that is read; once it says no, the rest is left.
///
/// # Errors
/// When the store can't be read or written; it is as it was then.
pub fn record_merge_bases(
    workspace: &WorkspaceDir,
    tree: &Tree,
    path: &Path,
    room: u64,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<(), PathError> {
    let recorded = record(workspace, tree, path, room, go_on);
    recorded.map_err(|error| match error {
        BlobStoreError::Io(error) => error,
        other => PathError {
            path: path.to_path_buf(),
            source: io::Error::other(other),
        },
    })
}

fn record(
    workspace: &WorkspaceDir,
    tree: &Tree,
    path: &Path,
    room: u64,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<(), BlobStoreError> {
    let _lock = lock(path)?;
    let store = open_anew(path)?;
    let mark = store.mark();
    let added = add(workspace, tree, &store, room, go_on);
    let kept = added.and_then(|()| store.keep());
    if kept.is_err() {
        store.roll_back(mark);
    }
    kept
}

fn add(
    workspace: &WorkspaceDir,
    tree: &Tree,
    store: &BlobStore,
    room: u64,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<(), BlobStoreError> {
    let mut used = store.bytes();
    let mut bytes = Vec::new();
    for (path, entry) in tree.iter() {
        let Entry::File { size, digest, .. } = entry else {
            continue;
        };
        let is_wanted = (1..=MOST_FILE_BYTES).contains(size)
            && used.saturating_add(*size) <= room
            && path.components().next() != Some(".git")
            && !store.has(digest);
        if !is_wanted {
            continue;
        }
        if !go_on() {
            return Ok(());
        }
        let read = read(workspace, path, *size, &mut bytes);
        let is_text = !bytes.get(..HEAD).unwrap_or(&bytes).contains(&0);
        if read.is_ok() && is_text && Digest::of(&bytes) == *digest {
            match store.put(&mut &*bytes, *size) {
                Ok((_, size)) => used += size,
                Err(InsertError::Store(error)) => return Err(error),
                Err(InsertError::Read(_) | InsertError::TooBig { .. }) => {}
            }
        }
    }
    Ok(())
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

/// Makes the directory if it is missing, waits until it is this writer's, and removes what a
/// killed writer left.
fn lock(path: &Path) -> Result<OwnedFd, BlobStoreError> {
    match rustix::fs::mkdir(path, Mode::RWXU) {
        Err(Errno::EXIST) => {}
        made => made.at(path)?,
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let dir = rustix::fs::open(path, flags, Mode::empty()).at(path)?;
    rustix::fs::flock(&dir, FlockOperation::LockExclusive).at(path)?;
    BlobFile::remove_unfinished(&dir, path)?;
    Ok(dir)
}

/// Opens the store; removes what is in it if that is damaged.
fn open_anew(path: &Path) -> Result<BlobStore, BlobStoreError> {
    match BlobStore::open(path) {
        Err(BlobStoreError::DamagedFile { .. }) => {
            for entry in std::fs::read_dir(path).at(path)? {
                let entry = entry.at(path)?;
                std::fs::remove_file(entry.path()).at(entry.path())?;
            }
            BlobStore::open(path)
        }
        other => other,
    }
}
