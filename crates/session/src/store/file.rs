//! Files of the state directory: replaced whole, private to the user.

use std::collections::hash_map::RandomState;
use std::fs::DirBuilder;
use std::hash::{BuildHasher as _, Hasher as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use lazaret_tree::{AtPath as _, PathError};

pub use lazaret_gate::atomic_file::{stream_atomically, write_atomically};

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
