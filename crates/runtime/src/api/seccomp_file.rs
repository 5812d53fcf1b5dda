//! The seccomp profile as a file: Podman's compatible API takes a path on its own host
//! and nothing else.
//!
//! The file lies beside the engine's socket, where the service reads and other users do
//! not write, and lives for one call: Podman reads it while it creates the container.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Tells the files of one process apart.
static COUNTER: AtomicU32 = AtomicU32::new(0);

/// A profile on disk; removed with this value.
#[derive(Debug)]
pub(super) struct SeccompFile {
    path: PathBuf,
}

impl SeccompFile {
    /// Writes a profile beside a socket, or where that directory is not ours to write,
    /// into the directory for temporary files.
    ///
    /// # Errors
    /// When neither can be written.
    pub(super) fn write(profile: &str, socket: &Path) -> io::Result<Self> {
        let beside = socket.parent().unwrap_or(Path::new("/"));
        Self::create(profile, beside).or_else(|_| Self::create(profile, Path::new("/tmp")))
    }

    fn create(profile: &str, directory: &Path) -> io::Result<Self> {
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let nonce = super::client::nonce();
        let path = directory.join(format!(
            "lazaret-seccomp-{}-{number}-{nonce}.json",
            std::process::id()
        ));
        // O_EXCL: neither an existing file nor a link that someone planted is written to.
        let mut file: File = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?;
        let written = Self { path };
        file.write_all(profile.as_bytes())?;
        // The service may run as another user. The profile is no secret.
        file.set_permissions(std::fs::Permissions::from_mode(0o444))?;
        Ok(written)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SeccompFile {
    fn drop(&mut self) {
        // Left behind it is small, world-readable by design, and never read again.
        drop(std::fs::remove_file(&self.path));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_lies_beside_the_socket_and_goes_away() {
        let dir = tempfile::tempdir().unwrap();
        let file = SeccompFile::write("{}", &dir.path().join("podman.sock")).unwrap();
        assert_eq!(file.path().parent(), Some(dir.path()));
        assert_eq!(std::fs::read_to_string(file.path()).unwrap(), "{}");
        drop(file);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
