//! `Preconditions`: what is believed to lie where an update writes.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use lazaret_tree::RelPathBuf;

use super::read_array;
use crate::VolumeIdentity;
use crate::records::{
    FormatTag, Record, RecordError, RecordReader, RecordWriter, read_list, write_list,
};

const MAGIC: FormatTag = *b"lzgrnd 1";
/// One byte each.
const MET: u8 = b'y';
const FAILED: u8 = b'n';

/// What an update expects at one path of a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedEntry {
    /// Nothing.
    Nothing,
    /// A directory, whatever it holds.
    Dir,
    /// A file or a link that still has this identity.
    Entry(VolumeIdentity),
    /// Something that only a survey can tell of: no precondition that rests on it is met.
    Unclear,
}

/// All that an update rests on, by path. If all of it is met, the update does what it would have
/// been told to do after a survey.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Preconditions(pub BTreeMap<RelPathBuf, ExpectedEntry>);

impl Preconditions {
    /// Writes it.
    ///
    /// # Errors
    /// When the writer fails.
    pub fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        let records = self.0.iter().map(|(path, expected)| (&**path, expected));
        write_list(out, MAGIC, records)
    }

    /// Reads what [`Self::write_to`] wrote. It may read bytes that follow too, so the writer
    /// has to wait for the answer before it sends more.
    ///
    /// # Errors
    /// When it is cut off, changed, or not in path order.
    pub fn read_from(input: &mut dyn Read) -> Result<Self, RecordError> {
        read_list(input, MAGIC, "ground of version 1").map(Self)
    }
}

impl Record for ExpectedEntry {
    const TAGS: &'static [u8] = b"ndue";

    fn tag(&self) -> u8 {
        match self {
            Self::Nothing => b'n',
            Self::Dir => b'd',
            Self::Unclear => b'u',
            Self::Entry(_) => b'e',
        }
    }

    fn write_fields<W: Write + ?Sized>(&self, record: &mut RecordWriter<'_, W>) -> io::Result<()> {
        if let Self::Entry(identity) = self {
            record.identity(identity);
        }
        Ok(())
    }

    fn read_fields(tag: u8, record: &mut RecordReader<'_>) -> Result<Self, RecordError> {
        Ok(match tag {
            b'n' => Self::Nothing,
            b'd' => Self::Dir,
            b'u' => Self::Unclear,
            _ => Self::Entry(record.identity()?),
        })
    }
}

/// What a porter says of the preconditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreconditionResult {
    /// All of it is so.
    Met,
    /// Something is not: only a survey can tell what to do.
    Failed,
}

impl PreconditionResult {
    /// Writes it, and flushes: the host waits for it.
    ///
    /// # Errors
    /// When the writer fails.
    pub fn write_to(self, out: &mut dyn Write) -> io::Result<()> {
        let byte = match self {
            Self::Met => MET,
            Self::Failed => FAILED,
        };
        out.write_all(&[byte])?;
        out.flush()
    }

    /// Reads what [`Self::write_to`] wrote.
    ///
    /// # Errors
    /// When there is none.
    pub fn read_from(input: &mut dyn Read) -> Result<Self, RecordError> {
        match read_array(input)? {
            [MET] => Ok(Self::Met),
            [FAILED] => Ok(Self::Failed),
            _ => Err(RecordError::malformed("neither yes nor no")),
        }
    }
}
