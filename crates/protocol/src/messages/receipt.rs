//! `Receipt`: what the porter answers once a stream has arrived.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use lazaret_tree::{RelPath, RelPathBuf};

use super::malformed;
use crate::records::{FrameReader, FrameWriter, Magic};
use crate::{Trailer, VolumeIdentity, WireError};

const MAGIC: Magic = *b"lzrcpt 3";

/// The proof that a stream arrived as a whole, and what lies in the volume since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// What arrived, counted and summed up on the other side. No command is started
    /// unless this equals what was sent (the trailer of the pack).
    pub arrived: Trailer,
    /// Every entry's identity in the volume.
    pub identities: BTreeMap<RelPathBuf, VolumeIdentity>,
}

impl Receipt {
    /// Writes the receipt.
    ///
    /// # Errors
    /// When the writer fails.
    pub fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut frame = FrameWriter::new(out, MAGIC);
        self.write_records(&mut frame)?;
        frame.finish()
    }

    /// Reads a receipt of at most `entries` entries.
    ///
    /// # Errors
    /// When it is cut off, changed, too long, or contradicts itself.
    pub fn read_from(input: &mut dyn Read, entries: u64) -> Result<Self, WireError> {
        let mut frame = FrameReader::new(input, MAGIC, "receipt of version 3")?;
        let Some(b't') = frame.tag()? else {
            return Err(malformed("no total"));
        };
        let receipt = Self::read_records(&mut frame, entries)?;
        Ok(receipt)
    }

    pub(super) fn write_records(&self, frame: &mut FrameWriter<'_>) -> io::Result<()> {
        let Trailer {
            entries,
            bytes,
            stream,
        } = &self.arrived;
        let record = frame.tag(b't')?.u64(*entries).u64(*bytes);
        record.checksum(*stream);
        for (path, identity) in &self.identities {
            identity.write_to(frame.tag(b'i')?.path(path.as_str().as_bytes())?);
        }
        Ok(())
    }

    /// Reads the records behind the tag of the first.
    pub(super) fn read_records(
        frame: &mut FrameReader<'_>,
        entries: u64,
    ) -> Result<Self, WireError> {
        let arrived = Trailer {
            entries: frame.u64()?,
            bytes: frame.u64()?,
            stream: frame.checksum()?,
        };
        if arrived.entries > entries {
            return Err(WireError::TooLong);
        }
        let mut identities = Vec::new();
        while let Some(tag) = frame.tag()? {
            if tag != b'i' {
                return Err(malformed("a tag"));
            }
            let path = RelPath::from_bytes(frame.path()?);
            let path = path.map_err(|_| malformed("a path"))?.to_owned();
            if identities.last().is_some_and(|(last, _)| *last >= path) {
                return Err(malformed("the order"));
            }
            if identities.len() as u64 == arrived.entries {
                return Err(malformed("the number of entries"));
            }
            identities.push((path, VolumeIdentity::read_from(frame)?));
        }
        if identities.len() as u64 != arrived.entries {
            return Err(malformed("the number of entries"));
        }
        Ok(Self {
            arrived,
            identities: identities.into_iter().collect(),
        })
    }
}
