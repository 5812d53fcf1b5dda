//! The porter, where every user may start it, wherever the test was built.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Returns a copy of the porter that every user may start.
pub(super) fn porter() -> &'static Path {
    static PORTER: OnceLock<PathBuf> = OnceLock::new();
    PORTER.get_or_init(|| {
        let dir = tempfile::tempdir().expect("a temporary directory").keep();
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).expect("ours");
        let porter = dir.join("porter");
        // By another process: a fork of another test would inherit a descriptor that is open for
        // writing here, and the program could not start (ETXTBSY, `man 2 execve`).
        let copy = duct::cmd!("cp", env!("CARGO_BIN_EXE_lazaret-porter"), &porter);
        copy.run().expect("it was built");
        porter
    })
}
