//! Files of the state directory: replaced whole, private to the user.

use std::collections::hash_map::RandomState;
use std::fs::{DirBuilder, File};
use std::hash::{BuildHasher as _, Hasher as _};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt as _;
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

/// Makes a directory, and those above it, for the user alone.
///
/// # Errors
/// The disk's.
pub(crate) fn private_dir(path: &Path) -> Result<(), PathError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .at(path)
}

/// Sixteen hexadecimal digits from the keys that std seeds its hash maps with: unique
/// enough for names, and not meant to be a secret.
pub(crate) fn random_hex() -> String {
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    format!("{:016x}", hasher.finish())
}
