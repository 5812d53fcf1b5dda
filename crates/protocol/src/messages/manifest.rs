//! A [`Tree`] on disk, on the wire, and in little memory.

use std::fmt;
use std::io::{self, Read, Write};

use lazaret_tree::{Entry, LinkTarget, Mode, RelPath, Tree};

use crate::records::{
    FormatTag, Record, RecordError, RecordReader, RecordWriter, read_list, write_list,
};

const MAGIC: FormatTag = *b"lztree 1";

/// A [`Tree`] as [`write_tree`] writes it: less memory than that, but nothing can be looked
/// up in it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Manifest {
    list: Vec<u8>,
}

impl Manifest {
    /// Builds the tree.
    ///
    /// # Errors
    /// When the list is not complete, or not in path order.
    pub fn tree(&self) -> Result<Tree, RecordError> {
        read_tree(&mut &self.list[..])
    }
}

impl fmt::Debug for Manifest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("Manifest");
        fields.field("bytes", &self.list.len()).finish()
    }
}

/// Writes a [`Manifest`] entry by entry, in path order.
#[derive(Debug)]
#[must_use = "a manifest is complete only after `finish`"]
pub struct ManifestWriter<'m>(RecordWriter<'m, Vec<u8>>);

impl<'m> ManifestWriter<'m> {
    /// Starts it; `manifest` is empty.
    pub fn new(manifest: &'m mut Manifest) -> Self {
        Self(RecordWriter::new(&mut manifest.list, MAGIC))
    }

    /// Adds the next entry.
    ///
    /// # Errors
    /// When the writer fails.
    pub fn add(&mut self, path: &RelPath, entry: &Entry) -> io::Result<()> {
        self.0.record(path, entry)
    }

    /// Ends it.
    ///
    /// # Errors
    /// When the writer fails.
    pub fn finish(self) -> io::Result<()> {
        self.0.finish()
    }
}

/// Writes a tree as one checked, versioned list; see [`records`](crate::records).
///
/// The same tree always becomes the same bytes.
///
/// # Errors
/// When the writer fails.
pub fn write_tree(tree: &Tree, out: &mut dyn Write) -> io::Result<()> {
    write_list(out, MAGIC, tree.iter())
}

/// Reads what [`write_tree`] wrote.
///
/// # Errors
/// When it is cut off, changed, of another version, or not in path order.
pub fn read_tree(input: &mut dyn Read) -> Result<Tree, RecordError> {
    read_list::<Entry, _>(input, MAGIC, "tree of version 1")
}

impl Record for Entry {
    const TAGS: &'static [u8] = b"dfxl";

    fn tag(&self) -> u8 {
        match self {
            Self::Dir => b'd',
            Self::File { mode, .. } => match mode {
                Mode::Plain => b'f',
                Mode::Executable => b'x',
            },
            Self::Symlink { .. } => b'l',
        }
    }

    fn write_fields<W: Write + ?Sized>(&self, record: &mut RecordWriter<'_, W>) -> io::Result<()> {
        match self {
            Self::Dir => {}
            Self::File { size, digest, .. } => drop(record.u64(*size).digest(digest)),
            Self::Symlink { target } => drop(record.bytes(target.as_str().as_bytes())?),
        }
        Ok(())
    }

    fn read_fields(tag: u8, record: &mut RecordReader<'_>) -> Result<Self, RecordError> {
        Ok(match tag {
            b'd' => Self::Dir,
            b'l' => {
                let target = LinkTarget::from_bytes(record.bytes()?);
                let target = target.map_err(|_| RecordError::malformed("a link target"))?;
                Self::Symlink { target }
            }
            _ => Self::File {
                mode: match tag {
                    b'x' => Mode::Executable,
                    _ => Mode::Plain,
                },
                size: record.u64()?,
                digest: record.digest()?,
            },
        })
    }
}
