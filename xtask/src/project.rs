//! Where the repository is.

use std::path::{Path, PathBuf};

/// The repository's root: the parent of the folder that this crate was built from.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask/ lies in the repository")
        .to_path_buf()
}
