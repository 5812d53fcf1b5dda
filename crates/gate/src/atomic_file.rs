//! Files that are replaced as a whole, or stay as they were.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use lazaret_tree::{AtPath as _, PathError};

/// Writes a file of the state directory: whole or not at all, also over a power cut.
///
/// # Errors
/// The disk's, with the path. The file that was there is untouched then.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), PathError> {
    stream_atomically(path, |out| out.write_all(bytes))
}

/// As [`write_atomically`], piece by piece: a list of a large volume has 50 MiB.
///
/// # Errors
/// The disk's, or those of `write`; the file that was there is untouched then.
pub fn stream_atomically(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), PathError> {
    let dir = path.parent().unwrap_or(Path::new("."));
    let staged = tempfile::NamedTempFile::new_in(dir).at(path)?;
    let mut out = io::BufWriter::new(staged);
    write(&mut out).at(path)?;
    let staged = out
        .into_inner()
        .map_err(|error| error.into_error())
        .at(path)?;
    staged.as_file().sync_all().at(path)?;
    staged.persist(path).map_err(|error| error.error).at(path)?;
    File::open(dir).and_then(|dir| dir.sync_all()).at(dir)
}
