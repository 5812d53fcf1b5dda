//! `Attributes`: the extended attributes of a file or directory, access control lists included.
//!
//! An undo restores all of them. New contents in place of old ones get what an editor keeps
//! when it saves: the `user.` attributes and the access control list. File capabilities and
//! what a security module says of the old contents do not pass to new ones.
//!
//! With an access control list, the group bits of a mode are its mask: the most that any named
//! user or group may do. A file that loses the list must not keep those bits, or its group
//! gets what only the list granted. So list and mode are always set together, the list first.

use std::ffi::{CStr, CString};
use std::io::{self, Read as _};
use std::os::fd::BorrowedFd;

use lazaret_tree::{Blobs, Digest};
use rustix::io::Errno;

use super::ops::Ops;

/// The list that says who may use an entry.
const ACCESS_LIST: &CStr = c"system.posix_acl_access";
/// The list that new entries of a directory get.
const DEFAULT_LIST: &CStr = c"system.posix_acl_default";

/// Names that are not kept: what a file system or the kernel derives from the inode itself.
const NEVER: [&[u8]; 3] = [b"trusted.", b"security.evm", b"security.ima"];

/// What an attribute's name begins with that only the user gives a meaning.
const USER: &[u8] = b"user.";

/// The most bytes that are read back: more than any file system lets one inode have.
const MOST_BYTES: u64 = 64 << 20;

/// Extended attributes, sorted by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Attributes(Vec<(CString, Vec<u8>)>);

impl Attributes {
    /// Reads all that are kept; none where the file system has none.
    pub(crate) fn read(ops: &dyn Ops, file: BorrowedFd<'_>) -> io::Result<Self> {
        let mut all = Vec::new();
        for name in ops.attributes(file)? {
            if NEVER.iter().any(|never| name.to_bytes().starts_with(never)) {
                continue;
            }
            match ops.attribute(file, &name) {
                Err(error) if may_be_lost(&name, &error) => {}
                // It may have gone since it was listed.
                other => all.extend(other?.map(|value| (name, value))),
            }
        }
        all.sort();
        Ok(Self(all))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns those that new contents keep.
    pub(crate) fn for_new_contents(self) -> Self {
        let kept = |name: &CStr| name.to_bytes().starts_with(USER) || is_list(name);
        let all = self.0.into_iter();
        Self(all.filter(|(name, _)| kept(name)).collect())
    }

    /// Gives exactly these to an entry that was just made. A list that it inherited goes: it
    /// is the one of the staging directory. The caller sets the mode afterwards.
    pub(crate) fn put(&self, ops: &dyn Ops, file: BorrowedFd<'_>) -> io::Result<()> {
        for name in ops.attributes(file)? {
            let is_list = is_list(&name);
            if is_list && !self.0.iter().any(|(other, _)| *other == name) {
                ops.remove_attribute(file, &name)?;
            }
        }
        for (name, value) in &self.0 {
            match ops.set_attribute(file, name, value) {
                Err(error) if may_be_lost(name, &error) => {}
                other => other?,
            }
        }
        Ok(())
    }

    /// Writes them down: for each, the length of the name, the name, and the same of the value.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (name, value) in &self.0 {
            for part in [name.to_bytes(), value] {
                bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
                bytes.extend_from_slice(part);
            }
        }
        bytes
    }

    /// Reads those that were kept under a digest.
    pub(crate) fn load(blobs: &dyn Blobs, digest: &Digest) -> io::Result<Self> {
        let mut bytes = Vec::new();
        let blob = blobs.open(digest)?;
        blob.take(MOST_BYTES).read_to_end(&mut bytes)?;
        Self::parse(&bytes, digest)
    }

    /// Reads what [`Attributes::to_bytes`] wrote, if its digest is `expected`.
    fn parse(bytes: &[u8], expected: &Digest) -> io::Result<Self> {
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, "damaged attributes");
        if Digest::of(bytes) != *expected {
            return Err(damaged());
        }
        let mut rest = bytes;
        let mut part = || -> io::Result<Option<Vec<u8>>> {
            if rest.is_empty() {
                return Ok(None);
            }
            let (length, behind) = rest.split_first_chunk().ok_or_else(damaged)?;
            let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| damaged())?;
            let (part, behind) = behind.split_at_checked(length).ok_or_else(damaged)?;
            rest = behind;
            Ok(Some(part.to_vec()))
        };
        let mut all = Vec::new();
        while let Some(name) = part()? {
            let name = CString::new(name).map_err(|_| damaged())?;
            all.push((name, part()?.ok_or_else(damaged)?));
        }
        Ok(Self(all))
    }
}

fn is_list(name: &CStr) -> bool {
    name == ACCESS_LIST || name == DEFAULT_LIST
}

/// Whether an attribute that this process may not read or set is no loss of the user's: security
/// modules and capabilities are an administrator's to set. A list or an attribute of the user's
/// that can't be set is a failure.
fn may_be_lost(name: &CStr, error: &io::Error) -> bool {
    let refused = matches!(
        Errno::from_io_error(error),
        Some(Errno::PERM | Errno::ACCESS | Errno::OPNOTSUPP | Errno::INVAL)
    );
    refused && !name.to_bytes().starts_with(USER) && !is_list(name)
}
