//! What an index of git's holds (gitformat-index(5)), versions 2 to 4.

use super::ObjectId;

/// What an entry has before its object: times, identity, mode and size.
const STAT_BYTES: usize = 40;

/// An entry of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexEntry {
    /// The path from the top of the work tree, raw.
    pub name: Vec<u8>,
    /// What is staged: contents, or the commit of a submodule.
    pub id: ObjectId,
    /// What kind of entry it is.
    pub kind: IndexKind,
}

/// What an entry of an index stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexKind {
    /// A file or a link.
    File,
    /// A submodule; its commit lies in another repository.
    Submodule,
    /// A file that is only intended to be added; its object says nothing.
    Intended,
}

/// Reads all entries, conflicted ones included, of an index in a repository whose ids have
/// `id_bytes` bytes. `None` if it is not understood as a whole: a sparse or split index, or an
/// unknown version.
pub fn read_index(index: &[u8], id_bytes: usize) -> Option<Vec<IndexEntry>> {
    let mut rest = Bytes(index);
    if rest.take(4)? != b"DIRC" {
        return None;
    }
    let version = rest.number()?;
    if !(2..=4).contains(&version) {
        return None;
    }
    let mut found = Vec::new();
    let mut name: Vec<u8> = Vec::new();
    for _ in 0..rest.number()? {
        let before = rest.0.len();
        let mode = u32::from_be_bytes(rest.take(STAT_BYTES)?.get(24..28)?.try_into().ok()?);
        let id = ObjectId::from_bytes(rest.take(id_bytes)?)?;
        let flags = u16::from_be_bytes(rest.take(2)?.try_into().ok()?);
        let extended = match version >= 3 && flags & 0x4000 != 0 {
            true => u16::from_be_bytes(rest.take(2)?.try_into().ok()?),
            false => 0,
        };
        if version == 4 {
            let cut = rest.offset()?;
            name.truncate(name.len().checked_sub(cut)?);
            name.extend(rest.until_nul()?);
        } else {
            name.clear();
            name.extend(rest.until_nul()?);
            // Padded to eight bytes, one NUL of which is read already.
            let length = before - rest.0.len();
            rest.take((8 - length % 8) % 8)?;
        }
        let kind = match mode & 0o170_000 {
            // A directory stands for what is not checked out.
            0o040_000 => return None,
            0o160_000 => IndexKind::Submodule,
            _ if extended & 0x2000 != 0 => IndexKind::Intended,
            _ => IndexKind::File,
        };
        found.push(IndexEntry {
            name: name.clone(),
            id,
            kind,
        });
    }
    // Extensions, and a checksum at the end.
    while rest.0.len() > id_bytes {
        let name = rest.take(4)?;
        let size = usize::try_from(rest.number()?).ok()?;
        rest.take(size)?;
        // The other part of a split index is in another file.
        if name == b"link" {
            return None;
        }
    }
    (rest.0.len() == id_bytes).then_some(found)
}

/// Lists the contents that are staged; `None` as of [`read_index`].
pub(super) fn objects(index: &[u8], id_bytes: usize) -> Option<Vec<ObjectId>> {
    let entries = read_index(index, id_bytes)?.into_iter();
    let staged = entries.filter(|entry| entry.kind == IndexKind::File);
    Some(staged.map(|entry| entry.id).collect())
}

/// What is still to be read.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    fn until_nul(&mut self) -> Option<&'a [u8]> {
        let end = self.0.iter().position(|&byte| byte == 0)?;
        let name = self.take(end)?;
        self.take(1)?;
        Some(name)
    }

    /// Reads a number of variable length, as packs have them.
    fn offset(&mut self) -> Option<usize> {
        let mut byte = *self.take(1)?.first()?;
        let mut value = usize::from(byte & 0x7f);
        while byte & 0x80 != 0 {
            byte = *self.take(1)?.first()?;
            let next = value.checked_add(1)?.checked_mul(128)?;
            value = next | usize::from(byte & 0x7f);
        }
        Some(value)
    }
}
