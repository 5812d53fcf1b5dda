//! `Receipt`: what the porter answers once a stream has arrived.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use lazaret_tree::RelPathBuf;

use crate::records::{FormatTag, Record as _, RecordError, RecordReader, RecordWriter};
use crate::{Trailer, VolumeIdentity};

const MAGIC: FormatTag = *b"lzrcpt 3";

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
        let mut frame = RecordWriter::new(out, MAGIC);
        self.write_records(&mut frame)?;
        frame.finish()
    }

    /// Reads a receipt of at most `entries` entries.
    ///
    /// # Errors
    /// When it is cut off, changed, too long, or contradicts itself.
    pub fn read_from(input: &mut dyn Read, entries: u64) -> Result<Self, RecordError> {
        let mut frame = RecordReader::new(input, MAGIC, "receipt of version 3")?;
        if frame.tag()? != Some(b't') {
            return Err(RecordError::malformed("no total"));
        }
        Self::read_records(frame, entries)
    }

    pub(super) fn write_records(&self, frame: &mut RecordWriter<'_>) -> io::Result<()> {
        let arrived = &self.arrived;
        let record = frame.tag(b't')?.u64(arrived.entries).u64(arrived.bytes);
        record.checksum(arrived.stream);
        for (path, identity) in &self.identities {
            frame.record(path, identity)?;
        }
        Ok(())
    }

    /// Reads what follows the tag of the first record, to the end of the frame.
    pub(super) fn read_records(
        mut frame: RecordReader<'_>,
        entries: u64,
    ) -> Result<Self, RecordError> {
        let arrived = Trailer {
            entries: frame.u64()?,
            bytes: frame.u64()?,
            stream: frame.checksum()?,
        };
        if arrived.entries > entries {
            return Err(RecordError::TooLong);
        }
        // One more ends the list, so a longer one takes no memory.
        let promised = usize::try_from(arrived.entries).unwrap_or(usize::MAX);
        let identities = frame.list().take(promised);
        let identities = identities.collect::<Result<BTreeMap<_, _>, _>>()?;
        if identities.len() != promised || frame.tag_among(VolumeIdentity::TAGS)?.is_some() {
            return Err(RecordError::malformed("the number of entries"));
        }
        frame.finish()?;
        Ok(Self {
            arrived,
            identities,
        })
    }
}
