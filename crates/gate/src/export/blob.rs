//! `Blob`: one side of a change as git stores it.

use std::io::{self, Read};

use lazaret_tree::{Blobs as _, Digest, Entry, RelPath};
use sha1::{Digest as _, Sha1};

use crate::case::Case;
use crate::file_side::{ContentsError, open_old};

/// Text above this many bytes is written as binary: a line-by-line comparison keeps all of
/// it in memory, several times over.
const MOST_TEXT: u64 = 4 << 20;

/// One file of one side.
#[derive(Debug)]
pub(super) struct Blob<'a> {
    entry: &'a Entry,
    id: String,
    form: Form,
}

/// How a patch shows a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Line by line.
    Text,
    /// In full, deflated.
    Binary,
}

impl<'a> Blob<'a> {
    /// Reads the old side; `None` if its contents are gone.
    pub(super) fn old(entry: &'a Entry, path: &RelPath, case: &Case) -> Option<Self> {
        match entry {
            Entry::File { size, digest, .. } => {
                let reader = open_old(case, path, digest).ok()?;
                Self::file(entry, reader, *size, digest).ok()
            }
            Entry::Symlink { .. } | Entry::Dir => Some(Self::link(entry)),
        }
    }

    /// Reads the new side; `None` when there is nothing that git keeps.
    pub(super) fn new(
        entry: Option<&'a Entry>,
        case: &Case,
    ) -> Result<Option<Self>, ContentsError> {
        match entry {
            None | Some(Entry::Dir) => Ok(None),
            Some(entry @ Entry::Symlink { .. }) => Ok(Some(Self::link(entry))),
            Some(entry @ Entry::File { size, digest, .. }) => {
                let blob = case
                    .contents
                    .open(digest)
                    .and_then(|reader| Self::file(entry, reader, *size, digest));
                let blob = blob.map_err(ContentsError)?;
                Ok(Some(blob))
            }
        }
    }

    /// Takes a file whose contents are on the other side as well, and are of no interest.
    pub(super) fn unread(entry: &'a Entry) -> Self {
        let id = String::new();
        let form = Form::Text;
        Self { entry, id, form }
    }

    fn file(entry: &'a Entry, reader: impl Read, size: u64, digest: &Digest) -> io::Result<Self> {
        let mut summed = Summed::new(reader, size, digest);
        let mut hasher = Sha1::new();
        hasher.update(format!("blob {size}\0"));
        let mut form = Form::Text;
        let mut buffer = vec![0; 64 << 10];
        loop {
            let length = summed.read(&mut buffer)?;
            if length == 0 {
                break;
            }
            let bytes = &buffer[..length];
            hasher.update(bytes);
            if bytes.contains(&0) {
                form = Form::Binary;
            }
        }
        if size > MOST_TEXT {
            form = Form::Binary;
        }
        let id = hex(&hasher.finalize());
        Ok(Self { entry, id, form })
    }

    fn link(entry: &'a Entry) -> Self {
        let target = target(entry);
        let mut hasher = Sha1::new();
        hasher.update(format!("blob {}\0", target.len()));
        hasher.update(target);
        let id = hex(&hasher.finalize());
        let form = Form::Text;
        Self { entry, id, form }
    }

    pub(super) fn entry(&self) -> &'a Entry {
        self.entry
    }

    /// Returns git's name of it, 40 hexadecimal digits.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn form(&self) -> Form {
        self.form
    }

    pub(super) fn is_link(&self) -> bool {
        matches!(self.entry, Entry::Symlink { .. })
    }

    pub(super) fn mode(&self) -> &'static str {
        git_mode(self.entry)
    }

    pub(super) fn size(&self) -> u64 {
        match self.entry {
            Entry::File { size, .. } => *size,
            Entry::Symlink { .. } | Entry::Dir => target(self.entry).len() as u64,
        }
    }
}

/// Returns the mode that git stores.
pub(super) fn git_mode(entry: &Entry) -> &'static str {
    match entry {
        Entry::File { mode, .. } => match mode.to_unix() {
            0o755 => "100755",
            _ => "100644",
        },
        Entry::Symlink { .. } => "120000",
        Entry::Dir => "040000",
    }
}

pub(super) fn target(entry: &Entry) -> &[u8] {
    match entry {
        Entry::Symlink { target } => target.as_str().as_bytes(),
        Entry::File { .. } | Entry::Dir => b"",
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A reader that has to have this size and this digest at its end, else fails there with
/// [`io::ErrorKind::InvalidData`].
pub(super) struct Summed<'a, R> {
    inner: R,
    hasher: blake3::Hasher,
    digest: &'a Digest,
    left: u64,
}

impl<'a, R: Read> Summed<'a, R> {
    pub(super) fn new(inner: R, size: u64, digest: &'a Digest) -> Self {
        Self {
            inner,
            hasher: blake3::Hasher::new(),
            digest,
            left: size,
        }
    }
}

impl<R: Read> Read for Summed<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        let other = || io::Error::new(io::ErrorKind::InvalidData, "it holds other bytes now");
        self.left = self.left.checked_sub(length as u64).ok_or_else(other)?;
        self.hasher.update(&buffer[..length]);
        let ended = length == 0 && !buffer.is_empty();
        if ended && (self.left > 0 || Digest::from(self.hasher.finalize()) != *self.digest) {
            return Err(other());
        }
        Ok(length)
    }
}
