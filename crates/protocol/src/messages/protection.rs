//! `Protection`: what of a volume the agent may read and not change, and who owns the
//! directories on the way to it.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use lazaret_tree::{RelPath, RelPathBuf};

use super::malformed;
use crate::WireError;
use crate::records::{FrameReader, FrameWriter, Magic};

const MAGIC: Magic = *b"lzprot 1";

/// What becomes of one entry of a volume. All of them are root's: what one can't change in
/// it follows from that and from the mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Guarded {
    /// A directory in which the agent makes entries of its own, mode 1777: the sticky bit
    /// keeps it from touching those of others (`man 7 inode`).
    Shared,
    /// A directory in which it makes none, mode 0755, and which holds entries of its own.
    Closed,
    /// A protected directory, mode 0755, which holds what is listed here and nothing else.
    Dir,
    /// A protected file, mode 0644.
    File,
    /// A protected program, mode 0755.
    Program,
    /// A protected link.
    Link,
}

impl Guarded {
    /// Every kind, with the tag that stands for it.
    const TAGS: [(Self, u8); 6] = [
        (Self::Shared, b's'),
        (Self::Closed, b'c'),
        (Self::Dir, b'd'),
        (Self::File, b'f'),
        (Self::Program, b'x'),
        (Self::Link, b'l'),
    ];

    /// The permission bits; a link has none of its own.
    pub fn mode(self) -> Option<u32> {
        match self {
            Self::Shared => Some(0o1777),
            Self::Closed | Self::Dir | Self::Program => Some(0o755),
            Self::File => Some(0o644),
            Self::Link => None,
        }
    }
}

/// Everything of a volume that is root's while the command runs.
///
/// The directories on the way to an entry are listed as well, so whatever is in force for
/// one is in force for all that it takes to reach it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Protection {
    /// The root of the volume: [`Guarded::Shared`] or [`Guarded::Closed`].
    pub root: Guarded,
    /// The entries below it, by path.
    pub entries: BTreeMap<RelPathBuf, Guarded>,
}

impl Protection {
    /// Writes it.
    ///
    /// # Errors
    /// When the writer fails.
    pub fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut frame = FrameWriter::new(out, MAGIC);
        frame.tag(b'r')?.u8(tag_of(self.root));
        for (path, guarded) in &self.entries {
            let path = path.as_str().as_bytes();
            frame.tag(tag_of(*guarded))?.path(path)?;
        }
        frame.finish()
    }

    /// Reads what [`Self::write_to`] wrote.
    ///
    /// # Errors
    /// When it is cut off, changed, not in path order, or names an entry without the
    /// directory that it lies in.
    pub fn read_from(input: &mut dyn Read) -> Result<Self, WireError> {
        let mut frame = FrameReader::new(input, MAGIC, "protection of version 1")?;
        if frame.tag()? != Some(b'r') {
            return Err(malformed("no root"));
        }
        let root = of_tag(frame.u8()?)?;
        if !matches!(root, Guarded::Shared | Guarded::Closed) {
            return Err(malformed("a root that is no directory on the way"));
        }
        let mut entries: BTreeMap<RelPathBuf, Guarded> = BTreeMap::new();
        while let Some(tag) = frame.tag()? {
            let guarded = of_tag(tag)?;
            let path = RelPath::from_bytes(frame.path()?);
            let path = path.map_err(|_| malformed("a path"))?.to_owned();
            if entries
                .last_key_value()
                .is_some_and(|(last, _)| *last >= path)
            {
                return Err(malformed("the order"));
            }
            let held = |parent: &RelPath| match entries.get(parent) {
                Some(Guarded::Shared | Guarded::Closed) => true,
                Some(Guarded::Dir) => !matches!(guarded, Guarded::Shared | Guarded::Closed),
                _ => false,
            };
            if !path.parent().is_none_or(held) {
                return Err(malformed("an entry without its directory"));
            }
            entries.insert(path, guarded);
        }
        Ok(Self { root, entries })
    }
}

fn tag_of(guarded: Guarded) -> u8 {
    let found = Guarded::TAGS.into_iter().find(|(kind, _)| *kind == guarded);
    found.map_or(0, |(_, tag)| tag)
}

fn of_tag(tag: u8) -> Result<Guarded, WireError> {
    let found = Guarded::TAGS.into_iter().find(|(_, known)| *known == tag);
    found.map(|(kind, _)| kind).ok_or(malformed("a tag"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn protection(root: Guarded, entries: &[(&str, Guarded)]) -> Protection {
        let entries = entries.iter();
        let entries = entries.map(|(path, guarded)| (path.parse().expect("a path"), *guarded));
        Protection {
            root,
            entries: entries.collect(),
        }
    }

    fn through(protection: &Protection) -> Result<Protection, WireError> {
        let mut bytes = Vec::new();
        protection.write_to(&mut bytes).expect("to memory");
        Protection::read_from(&mut bytes.as_slice())
    }

    #[test]
    fn reads_what_it_writes() {
        use Guarded::{Closed, Dir, File, Link, Program, Shared};
        let whole = protection(
            Shared,
            &[
                ("AGENTS.md", File),
                ("a", Shared),
                ("a/b", Closed),
                ("a/b/c", Dir),
                ("a/b/c/link", Link),
                ("a/b/c/run", Program),
            ],
        );
        assert_eq!(through(&whole).expect("whole"), whole);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        use Guarded::{Dir, File, Shared};
        let refused = |root, entries: &[_]| through(&protection(root, entries)).is_err();
        assert!(refused(File, &[]));
        assert!(refused(Dir, &[]));
        assert!(refused(Shared, &[("a/b", File)]));
        assert!(refused(Shared, &[("a", File), ("a/b", File)]));
        assert!(refused(Shared, &[("a", Dir), ("a/b", Shared)]));
        let mut bytes = Vec::new();
        protection(Shared, &[("a", File)])
            .write_to(&mut bytes)
            .expect("to memory");
        bytes.pop();
        assert!(Protection::read_from(&mut bytes.as_slice()).is_err());
    }
}
