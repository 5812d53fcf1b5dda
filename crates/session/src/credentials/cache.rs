//! `CredentialCache`: where lazaret keeps what sessions made of a lent file.
//!
//! `$XDG_STATE_HOME/lazaret/files/<digest of the user's path>/renewed` begins with a line that
//! names the user's file as it was lent, by its digest; the contents follow. It is replaced by
//! a rename, mode 0600, in directories of mode 0700. Sessions of all profiles that are lent
//! the same file share it: it is one login.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use lazaret_protocol::MAX_CREDENTIAL_BYTES;
use lazaret_tree::{AtPath as _, Digest, PathError};
use rustix::fs::{Mode, OFlags};
use zeroize::Zeroizing;

use crate::store::file::{private_dir, write_atomically};

/// The file with the contents.
const RENEWED: &str = "renewed";

/// What its first line begins with.
const MAGIC: &[u8] = b"lazaret-lent 1 ";

/// How long its first line is: the magic, a digest, a line break.
const HEAD: usize = MAGIC.len() + 64 + 1;

/// The place of one file.
#[derive(Debug, Clone)]
pub struct CredentialCache {
    folder: PathBuf,
    /// The user's own, as it is now.
    own: Digest,
}

impl CredentialCache {
    /// Returns what is kept in `folder` of a file whose contents have the digest `own`.
    pub fn at(folder: PathBuf, own: Digest) -> Self {
        Self { folder, own }
    }

    /// Returns the directory.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns what a session made of the user's file; `None` if none did, or the user's file
    /// is another one by now.
    ///
    /// # Errors
    /// It can't be read, or others can.
    pub fn read(&self) -> Result<Option<Zeroizing<Vec<u8>>>, PathError> {
        let path = self.folder.join(RENEWED);
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = match rustix::fs::open(&path, flags, Mode::empty()) {
            Err(rustix::io::Errno::NOENT) => return Ok(None),
            opened => File::from(opened.at(&path)?),
        };
        let found = file.metadata().at(&path)?;
        let is_ours = found.uid() == rustix::process::geteuid().as_raw();
        if !found.is_file() || !is_ours || found.mode() & 0o077 != 0 {
            let text = "it is no file that only you can read";
            return Err(io::Error::other(text)).at(&path);
        }
        let mut bytes = Zeroizing::new(Vec::with_capacity(HEAD + MAX_CREDENTIAL_BYTES + 1));
        let limit = (HEAD + MAX_CREDENTIAL_BYTES + 1) as u64;
        file.take(limit).read_to_end(&mut bytes).at(&path)?;
        let is_of = bytes
            .strip_prefix(MAGIC)
            .and_then(|rest| rest.strip_prefix(self.own.to_hex().as_bytes()))
            .and_then(|rest| rest.strip_prefix(b"\n"));
        match is_of {
            Some(contents) if (1..=MAX_CREDENTIAL_BYTES).contains(&contents.len()) => {
                Ok(Some(Zeroizing::new(contents.to_vec())))
            }
            _ => Ok(None),
        }
    }

    /// Keeps what a session made of the file.
    ///
    /// # Errors
    /// The disk's.
    pub fn keep(&self, contents: &[u8]) -> Result<(), PathError> {
        private_dir(&self.folder)?;
        // Synced, since the old one is worth nothing now.
        let mut bytes = Zeroizing::new(Vec::with_capacity(HEAD + contents.len()));
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(self.own.to_hex().as_bytes());
        bytes.push(b'\n');
        bytes.extend_from_slice(contents);
        write_atomically(&self.folder.join(RENEWED), &bytes)
    }
}
