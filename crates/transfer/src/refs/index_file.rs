//! The objects that an index names (gitformat-index(5)), versions 2 to 4.

use super::ObjectId;

/// What an entry has before its object: times, identity, mode and size.
const STAT_BYTES: usize = 40;

/// Lists the objects of all entries of an index, conflicted ones included, in a repository whose
/// ids have `id_bytes` bytes. `None` if it is not understood as a whole: a sparse or split index,
/// or an unknown version.
pub(super) fn objects(index: &[u8], id_bytes: usize) -> Option<Vec<ObjectId>> {
    let mut rest = Bytes(index);
    if rest.take(4)? != b"DIRC" {
        return None;
    }
    let version = rest.number()?;
    if !(2..=4).contains(&version) {
        return None;
    }
    let mut found = Vec::new();
    for _ in 0..rest.number()? {
        let before = rest.0.len();
        let mode = u32::from_be_bytes(rest.take(STAT_BYTES)?.get(24..28)?.try_into().ok()?);
        let id = ObjectId::from_bytes(rest.take(id_bytes)?)?;
        let flags = u16::from_be_bytes(rest.take(2)?.try_into().ok()?);
        if version >= 3 && flags & 0x4000 != 0 {
            rest.take(2)?;
        }
        if version == 4 {
            rest.offset()?;
            rest.until_nul()?;
        } else {
            rest.until_nul()?;
            // Padded to eight bytes, one NUL of which is read already.
            let length = before - rest.0.len();
            rest.take((8 - length % 8) % 8)?;
        }
        match mode & 0o170_000 {
            // A directory stands for what is not checked out.
            0o040_000 => return None,
            // A submodule's commit lies in another repository.
            0o160_000 => {}
            _ => found.push(id),
        }
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

    /// Skips a number of variable length.
    fn offset(&mut self) -> Option<()> {
        while self.take(1)?.first()? & 0x80 != 0 {}
        Some(())
    }
}
