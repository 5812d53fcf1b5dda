//! A [`Tree`] on disk, on the wire, and in little memory.

use std::fmt;
use std::io::{self, Read, Write};

use lazaret_tree::{Entry, LinkTarget, Mode, RelPath, Tree};

use crate::WireError;
use crate::records::{FrameReader, FrameWriter, Magic};

const MAGIC: Magic = *b"lztree 1";

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
    pub fn tree(&self) -> Result<Tree, WireError> {
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
pub struct ManifestWriter<'m>(FrameWriter<'m, Vec<u8>>);

impl<'m> ManifestWriter<'m> {
    /// Starts it; `manifest` is empty.
    pub fn new(manifest: &'m mut Manifest) -> Self {
        Self(FrameWriter::new(&mut manifest.list, MAGIC))
    }

    /// Adds the next entry.
    ///
    /// # Errors
    /// When the writer fails.
    pub fn add(&mut self, path: &RelPath, entry: &Entry) -> io::Result<()> {
        write_entry(&mut self.0, path, entry)
    }

    /// Ends it.
    ///
    /// # Errors
    /// When the writer fails.
    pub fn finish(self) -> io::Result<()> {
        self.0.finish()
    }
}

/// Writes a tree as one checked, versioned list; see [`wire`](crate::wire).
///
/// The same tree always becomes the same bytes.
///
/// # Errors
/// When the writer fails.
pub fn write_tree(tree: &Tree, out: &mut dyn Write) -> io::Result<()> {
    let mut frame = FrameWriter::new(out, MAGIC);
    for (path, entry) in tree.iter() {
        write_entry(&mut frame, path, entry)?;
    }
    frame.finish()
}

/// Reads what [`write_tree`] wrote.
///
/// # Errors
/// When it is cut off, changed, of another version, or not in path order.
pub fn read_tree(input: &mut dyn Read) -> Result<Tree, WireError> {
    let mut frame = FrameReader::new(input, MAGIC, "tree of version 1")?;
    let mut entries = Vec::new();
    while let Some(tag) = frame.tag()? {
        let path = RelPath::from_bytes(frame.path()?);
        let path = path.map_err(|_| malformed("a path"))?.to_owned();
        let entry = read_entry(&mut frame, tag)?;
        if entries.last().is_some_and(|(last, _)| *last >= path) {
            return Err(malformed("the order"));
        }
        entries.push((path, entry));
    }
    Ok(entries.into_iter().collect())
}

/// Writes one record.
pub fn write_entry<W: Write + ?Sized>(
    frame: &mut FrameWriter<'_, W>,
    path: &RelPath,
    entry: &Entry,
) -> io::Result<()> {
    let path = path.as_str().as_bytes();
    match entry {
        Entry::Dir => {
            frame.tag(b'd')?.path(path)?;
        }
        Entry::File { mode, size, digest } => {
            let tag = match mode {
                Mode::Plain => b'f',
                Mode::Executable => b'x',
            };
            frame.tag(tag)?.path(path)?.u64(*size).digest(digest);
        }
        Entry::Symlink { target } => {
            let target = target.as_str().as_bytes();
            frame.tag(b'l')?.path(path)?.bytes(target)?;
        }
    }
    Ok(())
}

/// Reads what follows tag and path in a record.
pub fn read_entry(frame: &mut FrameReader<'_>, tag: u8) -> Result<Entry, WireError> {
    Ok(match tag {
        b'd' => Entry::Dir,
        b'f' | b'x' => Entry::File {
            mode: match tag {
                b'x' => Mode::Executable,
                _ => Mode::Plain,
            },
            size: frame.u64()?,
            digest: frame.digest()?,
        },
        b'l' => {
            let target = LinkTarget::from_bytes(frame.bytes()?);
            let target = target.map_err(|_| malformed("a link target"))?;
            Entry::Symlink { target }
        }
        _ => return Err(malformed("a tag")),
    })
}

fn malformed(what: &'static str) -> WireError {
    WireError::Malformed { what }
}
