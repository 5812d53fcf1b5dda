//! What host and porter say to each other while a volume is brought up to date.

use std::io::{self, Read, Write};

use lazaret_tree::{RelPathBuf, Tree};

use super::read_array;
use crate::records::{Bare, FormatTag, RecordError, RecordReader, RecordWriter};
use crate::{FileTime, Receipt};

const ORDER: FormatTag = *b"lzordr 2";
const RECEIPT: FormatTag = *b"lzupdt 3";
/// The tag of [`UpdateRequest::quiet_since`].
const QUIET: u8 = b'q';
type Removed = Bare<b'r'>;
type Stayed = Bare<b's'>;
/// The longest order that is read, in bytes: as many entries as a volume may have.
const MOST_BYTES: u64 = 1 << 30;

/// What is to be done to a volume: first all removals, from the bottom up, then the files
/// of the stream that follows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UpdateRequest {
    /// What goes, in path order. Of a directory, what lies in it stands here too, or it
    /// stays.
    pub remove: Vec<RelPathBuf>,
    /// What the stream brings: a part of a tree, to which the parents may be missing. A
    /// file is put in its place only if it is what stands here.
    pub send: Tree,
    /// When the agent's last process had ended, at the latest. `None` if one may still be
    /// there, or if host and volume may go by different clocks. Sent files get times that
    /// follow from it.
    pub quiet_since: Option<FileTime>,
}

/// The proof that an order was carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateReceipt {
    /// What was written, with the identities that it has in the volume.
    pub written: Receipt,
    /// Directories that were to go and are not empty, in path order.
    pub stayed: Vec<RelPathBuf>,
}

impl UpdateRequest {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.remove.is_empty() && self.send.is_empty()
    }

    /// Writes the order, its length before it: a stream follows on the same pipe, and
    /// nothing of it may be read with the list.
    ///
    /// # Errors
    /// When the writer fails.
    pub fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut list = Vec::new();
        self.write_frame(&mut list)?;
        out.write_all(&(list.len() as u64).to_le_bytes())?;
        out.write_all(&list)
    }

    pub(crate) fn write_frame(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut frame = RecordWriter::new(out, ORDER);
        if let Some(time) = self.quiet_since {
            frame.tag(QUIET)?.time(time);
        }
        for path in &self.remove {
            frame.record(path, &Bare::<b'r'>)?;
        }
        for (path, entry) in self.send.iter() {
            frame.record(path, entry)?;
        }
        frame.finish()
    }

    /// Reads what [`UpdateRequest::write_to`] wrote, and not a byte more.
    ///
    /// # Errors
    /// When it is cut off, changed, too long, or not in path order.
    pub fn read_from(input: &mut dyn Read) -> Result<Self, RecordError> {
        let length = u64::from_le_bytes(read_array(input)?);
        if length > MOST_BYTES {
            return Err(RecordError::TooLong);
        }
        let mut list = input.take(length);
        let request = Self::read_frame(&mut list)?;
        match list.limit() {
            0 => Ok(request),
            _ => Err(RecordError::Trailing),
        }
    }

    pub(crate) fn read_frame(input: &mut dyn Read) -> Result<Self, RecordError> {
        let mut frame = RecordReader::new(input, ORDER, "order of version 2")?;
        let quiet_since = match frame.tag_among(&[QUIET])? {
            Some(_) => Some(frame.time()?),
            None => None,
        };
        let remove = frame.list::<Removed>();
        let remove = remove.map(|record| Ok(record?.0));
        let remove = remove.collect::<Result<_, RecordError>>()?;
        let send = frame.list().collect::<Result<_, _>>()?;
        frame.finish()?;
        Ok(Self {
            remove,
            send,
            quiet_since,
        })
    }
}

impl UpdateReceipt {
    /// Writes the receipt.
    ///
    /// # Errors
    /// When the writer fails.
    pub fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut frame = RecordWriter::new(out, RECEIPT);
        for path in &self.stayed {
            frame.record(path, &Bare::<b's'>)?;
        }
        self.written.write_records(&mut frame)?;
        frame.finish()
    }

    /// Reads a receipt for `request`.
    ///
    /// # Errors
    /// When it is cut off, changed, or for something else than the order.
    pub fn read_from(input: &mut dyn Read, request: &UpdateRequest) -> Result<Self, RecordError> {
        let mut frame = RecordReader::new(input, RECEIPT, "receipt of an update of version 3")?;
        let stayed = frame.list::<Stayed>().map(|record| {
            let (path, _) = record?;
            match request.remove.binary_search(&path) {
                Ok(_) => Ok(path),
                Err(_) => Err(RecordError::malformed("a path")),
            }
        });
        let stayed = stayed.collect::<Result<_, _>>()?;
        if frame.tag()? != Some(b't') {
            return Err(RecordError::malformed("no total"));
        }
        let written = Receipt::read_records(frame, request.send.len() as u64)?;
        let sent = request.send.iter().map(|(path, _)| path);
        let same = written.identities.keys().map(|path| &**path).eq(sent);
        if !same {
            return Err(RecordError::malformed("a receipt for something else"));
        }
        Ok(Self { written, stayed })
    }
}
