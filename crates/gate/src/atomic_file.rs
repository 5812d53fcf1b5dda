//! Files that are replaced as a whole, or stay as they were.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use lazaret_tree::{AtPath as _, PathError};
use tempfile::NamedTempFile;

/// Writes a file of the state directory: whole or not at all, also over a power cut. No buffer
/// in between keeps a copy of a secret.
///
/// # Errors
/// The disk's, with the path. The file that was there is untouched then.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), PathError> {
    let mut staged = NamedTempFile::new_in(dir_of(path)).at(path)?;
    staged.write_all(bytes).at(path)?;
    commit(staged, path)
}

/// As [`write_atomically`], piece by piece: a list of a large volume has 50 MiB.
///
/// # Errors
/// The disk's, or those of `write`; the file that was there is untouched then.
pub fn stream_atomically(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), PathError> {
    commit(stage(path, write)?, path)
}

/// Replaces a file without waiting for the disk: a reader finds it whole, or what was there
/// before, but a power cut may take it until it is synced. Returns the new file.
///
/// # Errors
/// The disk's, or those of `write`; the file that was there is untouched then.
pub fn replace(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<File, PathError> {
    let staged = stage(path, write)?;
    staged.persist(path).map_err(|error| error.error).at(path)
}

/// Writes a file beside its place, private to the user, from where it can be renamed.
///
/// # Errors
/// The disk's, or those of `write`.
pub fn stage(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<NamedTempFile, PathError> {
    let staged = NamedTempFile::new_in(dir_of(path)).at(path)?;
    let mut out = io::BufWriter::new(staged);
    write(&mut out).at(path)?;
    let staged = out.into_inner().map_err(|error| error.into_error());
    staged.at(path)
}

/// Waits until the names in the directory of a file outlast a power cut.
///
/// # Errors
/// The disk's, with the directory.
pub fn sync_dir_of(path: &Path) -> Result<(), PathError> {
    let dir = dir_of(path);
    File::open(dir).and_then(|dir| dir.sync_all()).at(dir)
}

fn commit(staged: NamedTempFile, path: &Path) -> Result<(), PathError> {
    staged.as_file().sync_all().at(path)?;
    staged.persist(path).map_err(|error| error.error).at(path)?;
    sync_dir_of(path)
}

fn dir_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("."))
}
