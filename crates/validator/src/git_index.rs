//! `GitIndex`: the files that the workspace's repository has in its index, and their blobs
//! (SUS-36).

use std::collections::BTreeMap;

use lazaret_tree::{RelPath, RelPathBuf};
use sha1::{Digest as _, Sha1};

/// The name that git gives to contents: the SHA-1 of a blob object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlobId([u8; 20]);

/// What the index of the workspace's repository says, as it is on the host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GitIndex {
    files: BTreeMap<RelPathBuf, BlobId>,
}

impl BlobId {
    /// Takes an id as an index holds it.
    pub fn new(id: [u8; 20]) -> Self {
        Self(id)
    }

    /// Returns the id that git gives to contents which no filter changes.
    pub fn of(contents: &[u8]) -> Self {
        let mut hasher = Sha1::new();
        hasher.update(format!("blob {}\0", contents.len()));
        hasher.update(contents);
        Self(hasher.finalize().into())
    }
}

impl GitIndex {
    /// Returns the blob of a file, if git knows the file.
    pub fn blob(&self, path: &RelPath) -> Option<BlobId> {
        self.files.get(path).copied()
    }
}

impl FromIterator<(RelPathBuf, BlobId)> for GitIndex {
    fn from_iter<I: IntoIterator<Item = (RelPathBuf, BlobId)>>(files: I) -> Self {
        Self {
            files: files.into_iter().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::BlobId;

    /// `git hash-object` says so.
    #[test]
    fn blobs_have_the_ids_that_git_gives_them() {
        let empty = [
            0xe6, 0x9d, 0xe2, 0x9b, 0xb2, 0xd1, 0xd6, 0x43, 0x4b, 0x8b, 0x29, 0xae, 0x77, 0x5a,
            0xd8, 0xc2, 0xe4, 0x8c, 0x53, 0x91,
        ];
        assert_eq!(BlobId::of(b""), BlobId::new(empty));
    }
}
