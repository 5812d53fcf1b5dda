//! A state on disk.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use lazaret_protocol::{
    FoundKind, FrameReader, FrameWriter, Magic, OddType, SurveyError, VolumeIdentity, WireError,
};
use lazaret_tree::{Entry, LinkTarget, Mode, RelPath, RelPathBuf, Tree};

use super::{KnownEntry, Origin, VolumeState};

const MAGIC: Magic = *b"lzvol  1";

impl VolumeState {
    /// Writes the state as one checked, versioned list; see [`messages`](lazaret_protocol::messages).
    ///
    /// # Errors
    /// When the writer fails.
    pub fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut frame = FrameWriter::new(out, MAGIC);
        for (path, known) in &self.known {
            let tag = match known.entry {
                Entry::Dir => b'd',
                Entry::File { .. } => b'f',
                Entry::Symlink { .. } => b'l',
            };
            let record = frame.tag(tag)?.path(path.as_str().as_bytes())?;
            known.identity.write_to(record);
            // No file has no name, so none is how a sent one is told.
            record.u32(match known.origin {
                Origin::Sent => 0,
                Origin::Found { links } => links.max(1),
            });
            match &known.entry {
                Entry::Dir => {}
                Entry::File { mode, size, digest } => {
                    let mode = u8::from(*mode == Mode::Executable);
                    record.u8(mode).u64(*size).digest(digest);
                }
                Entry::Symlink { target } => {
                    record.bytes(target.as_str().as_bytes())?;
                }
            }
        }
        for (name, kind) in &self.unsupported {
            match kind {
                FoundKind::Odd(odd) => {
                    frame.tag(b'o')?.path(name)?.u8(odd.tag());
                }
                FoundKind::Cache => {
                    frame.tag(b'c')?.path(name)?;
                }
                FoundKind::Symlink { identity, target } => {
                    let record = frame.tag(b't')?.path(name)?;
                    identity.write_to(record);
                    record.bytes(target)?;
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
        let mut frame = FrameReader::new(input, MAGIC, "state of a volume of version 1")?;
        let mut known: Vec<(RelPathBuf, KnownEntry)> = Vec::new();
        let mut unsupported = BTreeMap::new();
        let mut alike = alike.entries().map(|(path, _)| path).peekable();
        while let Some(tag) = frame.tag()? {
            let name = frame.path()?;
            if !matches!(tag, b'd' | b'f' | b'l') {
                let name = name.to_vec();
                unsupported.insert(name, other(tag, &mut frame)?);
                continue;
            }
            let path = match alike.next_if(|path| path.as_str().as_bytes() == name) {
                Some(path) => path.clone(),
                None => {
                    let path = RelPath::from_bytes(name).map_err(|_| malformed("a path"))?;
                    while alike.next_if(|passed| ***passed <= *path).is_some() {}
                    path.to_owned()
                }
            };
            if known.last().is_some_and(|(last, _)| *last >= path) {
                return Err(malformed("the order").into());
            }
            known.push((path, entry(tag, &mut frame)?));
        }
        let state = Self {
            known: known.into_iter().collect(),
            unsupported,
        };
        match state.orphan() {
            Some(path) => Err(SurveyError::Contradiction {
                name: path.as_str().as_bytes().to_vec(),
            }),
            None => Ok(state),
        }
    }
}

fn entry(tag: u8, frame: &mut FrameReader<'_>) -> Result<KnownEntry, WireError> {
    let identity = VolumeIdentity::read_from(frame)?;
    let origin = match frame.u32()? {
        0 => Origin::Sent,
        links => Origin::Found { links },
    };
    let entry = match tag {
        b'd' => Entry::Dir,
        b'f' => Entry::File {
            mode: match frame.u8()? {
                0 => Mode::Plain,
                1 => Mode::Executable,
                _ => return Err(malformed("a mode")),
            },
            size: frame.u64()?,
            digest: frame.digest()?,
        },
        _ => {
            let target = LinkTarget::from_bytes(frame.bytes()?);
            let target = target.map_err(|_| malformed("a link target"))?;
            Entry::Symlink { target }
        }
    };
    Ok(KnownEntry {
        entry,
        identity,
        origin,
    })
}

fn other(tag: u8, frame: &mut FrameReader<'_>) -> Result<FoundKind, WireError> {
    Ok(match tag {
        b'o' => FoundKind::Odd(OddType::from_tag(frame.u8()?).ok_or(malformed("a type"))?),
        b'c' => FoundKind::Cache,
        b't' => FoundKind::Symlink {
            identity: VolumeIdentity::read_from(frame)?,
            target: frame.bytes()?.to_vec(),
        },
        b'n' => FoundKind::BadName,
        _ => return Err(malformed("a tag")),
    })
}

fn malformed(what: &'static str) -> WireError {
    WireError::Malformed { what }
}
