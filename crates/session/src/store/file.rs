//! Files of the state directory: replaced whole, private to the user.

use std::collections::hash_map::RandomState;
use std::fs::{self, DirBuilder, DirEntry};
use std::hash::{BuildHasher as _, Hasher as _};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use lazaret_tree::{AtPath as _, PathError};

pub use lazaret_gate::atomic_file::{
    replace, stage, stream_atomically, sync_dir_of, write_atomically,
};

/// Turns "there is no such file" into `None`.
///
/// # Errors
/// Any other.
pub fn ok_if_absent<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Removes a file, if it is there.
///
/// # Errors
/// The disk's.
pub fn remove_file(path: &Path) -> Result<(), PathError> {
    ok_if_absent(fs::remove_file(path)).at(path).map(drop)
}

/// Removes a directory with all that is in it, if it is there.
///
/// # Errors
/// The disk's.
pub fn remove_dir(path: &Path) -> Result<(), PathError> {
    ok_if_absent(fs::remove_dir_all(path)).at(path).map(drop)
}

/// Lists a directory; nothing if it is not there.
///
/// # Errors
/// The disk's.
pub fn list_dir(path: &Path) -> Result<Vec<DirEntry>, PathError> {
    let entries = ok_if_absent(fs::read_dir(path)).at(path)?;
    let entries: io::Result<_> = entries.into_iter().flatten().collect();
    entries.at(path)
}

/// Makes a directory, and those above it, for the user alone.
///
/// # Errors
/// The disk's.
pub fn private_dir(path: &Path) -> Result<(), PathError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .at(path)
}

/// Sixteen hexadecimal digits from the keys that std seeds its hash maps with: unique
/// enough for names, and not meant to be a secret.
pub fn random_hex() -> String {
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    format!("{:016x}", hasher.finish())
}
