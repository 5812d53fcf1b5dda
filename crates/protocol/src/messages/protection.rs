//! `Protection`: what of a volume the agent may read and not change, and who owns the
//! directories on the way to it.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use lazaret_tree::RelPathBuf;

use crate::records::{FormatTag, Record, RecordError, RecordReader, RecordWriter};

const MAGIC: FormatTag = *b"lzprot 1";

/// What becomes of one entry of a volume. All of them are root's: what one can't change in
/// it follows from that and from the mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProtectedKind {
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

impl ProtectedKind {
    /// The permission bits; a link has none of its own.
    pub fn mode(self) -> Option<u32> {
        match self {
            Self::Shared => Some(0o1777),
            Self::Closed | Self::Dir | Self::Program => Some(0o755),
            Self::File => Some(0o644),
            Self::Link => None,
        }
    }

    /// Whether the agent may own entries in it.
    fn is_open(self) -> bool {
        matches!(self, Self::Shared | Self::Closed)
    }

    fn from_tag(tag: u8) -> Result<Self, RecordError> {
        let all = [
            Self::Shared,
            Self::Closed,
            Self::Dir,
            Self::File,
            Self::Program,
            Self::Link,
        ];
        let found = all.into_iter().find(|kind| kind.tag() == tag);
        found.ok_or(RecordError::malformed("a tag"))
    }
}

/// Everything of a volume that is root's while the command runs.
///
/// The directories on the way to an entry are listed as well, so whatever is in force for
/// one is in force for all that it takes to reach it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Protection {
    /// The root of the volume: [`ProtectedKind::Shared`] or [`ProtectedKind::Closed`].
    pub root: ProtectedKind,
    /// The entries below it, by path.
    pub entries: BTreeMap<RelPathBuf, ProtectedKind>,
}

impl Protection {
    /// Writes it.
    ///
    /// # Errors
    /// When the writer fails.
    pub fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut frame = RecordWriter::new(out, MAGIC);
        frame.tag(b'r')?.u8(self.root.tag());
        for (path, protected) in &self.entries {
            frame.record(path, protected)?;
        }
        frame.finish()
    }

    /// Reads what [`Self::write_to`] wrote.
    ///
    /// # Errors
    /// When it is cut off, changed, not in path order, or names an entry without the
    /// directory that it lies in.
    pub fn read_from(input: &mut dyn Read) -> Result<Self, RecordError> {
        let mut frame = RecordReader::new(input, MAGIC, "protection of version 1")?;
        if frame.tag()? != Some(b'r') {
            return Err(RecordError::malformed("no root"));
        }
        let root = ProtectedKind::from_tag(frame.u8()?)?;
        if !root.is_open() {
            return Err(RecordError::malformed(
                "a root that is no directory on the way",
            ));
        }
        let mut entries: BTreeMap<RelPathBuf, ProtectedKind> = BTreeMap::new();
        for record in frame.list::<ProtectedKind>() {
            let (path, protected) = record?;
            let has_parent = match path.parent().map(|parent| entries.get(parent)) {
                None => true,
                Some(Some(ProtectedKind::Dir)) => !protected.is_open(),
                Some(parent) => parent.is_some_and(|parent| parent.is_open()),
            };
            if !has_parent {
                return Err(RecordError::malformed("an entry without its directory"));
            }
            entries.insert(path, protected);
        }
        frame.finish()?;
        Ok(Self { root, entries })
    }
}

impl Record for ProtectedKind {
    const TAGS: &'static [u8] = b"scdfxl";

    fn tag(&self) -> u8 {
        match self {
            Self::Shared => b's',
            Self::Closed => b'c',
            Self::Dir => b'd',
            Self::File => b'f',
            Self::Program => b'x',
            Self::Link => b'l',
        }
    }

    fn write_fields<W: Write + ?Sized>(&self, _: &mut RecordWriter<'_, W>) -> io::Result<()> {
        Ok(())
    }

    fn read_fields(tag: u8, _: &mut RecordReader<'_>) -> Result<Self, RecordError> {
        Self::from_tag(tag)
    }
}
