//! A state on disk.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use lazaret_protocol::{
    FormatTag, FoundKind, Record, RecordError, RecordReader, RecordWriter, SpecialType, SurveyError,
};
use lazaret_tree::{Entry, LinkTarget, Mode, Tree};

use super::{KnownEntry, Origin, VolumeState};

const MAGIC: FormatTag = *b"lzvol  1";

impl VolumeState {
    /// Writes the state as one checked, versioned list; see [`messages`](lazaret_protocol::messages).
    ///
    /// # Errors
    /// When the writer fails.
    pub fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut frame = RecordWriter::new(out, MAGIC);
        for (path, known) in &self.known {
            frame.record(path, known)?;
        }
        for (name, kind) in &self.unsupported {
            match kind {
                FoundKind::Special(odd) => {
                    frame.tag(b'o')?.path(name)?.u8(odd.tag());
                }
                FoundKind::Cache => {
                    frame.tag(b'c')?.path(name)?;
                }
                FoundKind::Symlink { identity, target } => {
                    let record = frame.tag(b't')?.path(name)?;
                    record.identity(identity).bytes(target)?;
                }
                // Of what has a bad name, the name is all that matters.
                FoundKind::BadName | FoundKind::Dir { .. } | FoundKind::File { .. } => {
                    frame.tag(b'n')?.path(name)?;
                }
            }
        }
        frame.finish()
    }

    /// Reads what [`VolumeState::write_to`] wrote. What it has in common with `alike`, most of
    /// a baseline, is the same text in memory.
    ///
    /// # Errors
    /// When it is cut off, changed, of another version, or no state.
    pub fn read_from(input: &mut dyn Read, alike: &Tree) -> Result<Self, SurveyError> {
        let mut frame = RecordReader::new(input, MAGIC, "state of a volume of version 1")?;
        let mut alike = alike.entries().map(|(path, _)| path).peekable();
        let known = frame.list::<KnownEntry>().map(|record| {
            let (path, known) = record?;
            while alike.next_if(|passed| **passed < path).is_some() {}
            let shared = alike.next_if(|alike| **alike == path).cloned();
            Ok((shared.unwrap_or(path), known))
        });
        let known = known.collect::<Result<_, RecordError>>()?;
        let mut unsupported = BTreeMap::new();
        while let Some(tag) = frame.tag()? {
            let name = frame.path()?.to_vec();
            unsupported.insert(name, other(tag, &mut frame)?);
        }
        let state = Self { known, unsupported };
        match state.orphan() {
            Some(path) => Err(SurveyError::Contradiction {
                name: path.as_str().as_bytes().to_vec(),
            }),
            None => Ok(state),
        }
    }
}

impl Record for KnownEntry {
    const TAGS: &'static [u8] = b"dfl";

    fn tag(&self) -> u8 {
        match self.entry {
            Entry::Dir => b'd',
            Entry::File { .. } => b'f',
            Entry::Symlink { .. } => b'l',
        }
    }

    fn write_fields<W: Write + ?Sized>(&self, record: &mut RecordWriter<'_, W>) -> io::Result<()> {
        // No file has no name, so none is how a sent one is told.
        record.identity(&self.identity).u32(match self.origin {
            Origin::Sent => 0,
            Origin::Found { links } => links.max(1),
        });
        match &self.entry {
            Entry::Dir => {}
            Entry::File { mode, size, digest } => {
                let mode = u8::from(*mode == Mode::Executable);
                record.u8(mode).u64(*size).digest(digest);
            }
            Entry::Symlink { target } => {
                record.bytes(target.as_str().as_bytes())?;
            }
        }
        Ok(())
    }

    fn read_fields(tag: u8, record: &mut RecordReader<'_>) -> Result<Self, RecordError> {
        let identity = record.identity()?;
        let origin = match record.u32()? {
            0 => Origin::Sent,
            links => Origin::Found { links },
        };
        let entry = match tag {
            b'd' => Entry::Dir,
            b'f' => Entry::File {
                mode: match record.u8()? {
                    0 => Mode::Plain,
                    1 => Mode::Executable,
                    _ => return Err(RecordError::malformed("a mode")),
                },
                size: record.u64()?,
                digest: record.digest()?,
            },
            _ => {
                let target = LinkTarget::from_bytes(record.bytes()?);
                let target = target.map_err(|_| RecordError::malformed("a link target"))?;
                Entry::Symlink { target }
            }
        };
        Ok(Self {
            entry,
            identity,
            origin,
        })
    }
}

fn other(tag: u8, frame: &mut RecordReader<'_>) -> Result<FoundKind, RecordError> {
    Ok(match tag {
        b'o' => FoundKind::Special(
            SpecialType::from_tag(frame.u8()?).ok_or(RecordError::malformed("a type"))?,
        ),
        b'c' => FoundKind::Cache,
        b't' => FoundKind::Symlink {
            identity: frame.identity()?,
            target: frame.bytes()?.to_vec(),
        },
        b'n' => FoundKind::BadName,
        _ => return Err(RecordError::malformed("a tag")),
    })
}
