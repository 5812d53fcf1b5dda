//! What host and porter say to each other while a volume is brought up to date.

use std::io::{self, Read, Write};

use lazaret_tree::{RelPath, RelPathBuf, Tree};

use super::malformed;
use super::manifest::{read_entry, write_entry};
use crate::records::{FrameReader, FrameWriter, Magic};
use crate::{FileTime, Receipt, WireError};

const ORDER: Magic = *b"lzordr 2";
const RECEIPT: Magic = *b"lzupdt 3";
/// The longest order that is read, in bytes: as many entries as a volume may have.
const MOST_BYTES: u64 = 1 << 30;

/// What is to be done to a volume: first all removals, from the bottom up, then the files
/// of the stream that follows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UpdateOrder {
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

impl UpdateOrder {
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
        let mut frame = FrameWriter::new(&mut list, ORDER);
        if let Some(time) = self.quiet_since {
            frame.tag(b'q')?.i64(time.seconds).u32(time.nanos);
        }
        for path in &self.remove {
            frame.tag(b'r')?.path(path.as_str().as_bytes())?;
        }
        for (path, entry) in self.send.iter() {
            write_entry(&mut frame, path, entry)?;
        }
        frame.finish()?;
        out.write_all(&(list.len() as u64).to_le_bytes())?;
        out.write_all(&list)
    }

    /// Reads what [`UpdateOrder::write_to`] wrote, and not a byte more.
    ///
    /// # Errors
    /// When it is cut off, changed, too long, or not in path order.
    pub fn read_from(input: &mut dyn Read) -> Result<Self, WireError> {
        let mut length = [0; 8];
        input
            .read_exact(&mut length)
            .map_err(|error| match error.kind() {
                io::ErrorKind::UnexpectedEof => WireError::Truncated,
                _ => WireError::Read(error),
            })?;
        let length = u64::from_le_bytes(length);
        if length > MOST_BYTES {
            return Err(WireError::TooLong);
        }
        let mut list = input.take(length);
        let mut frame = FrameReader::new(&mut list, ORDER, "order of version 2")?;
        let mut remove: Vec<RelPathBuf> = Vec::new();
        let mut send: Vec<(RelPathBuf, _)> = Vec::new();
        let mut quiet_since = None;
        while let Some(tag) = frame.tag()? {
            if tag == b'q' {
                let time = FileTime {
                    seconds: frame.i64()?,
                    nanos: frame.u32()?,
                };
                let is_first = remove.is_empty() && send.is_empty();
                if !is_first || quiet_since.replace(time).is_some() {
                    return Err(malformed("the order"));
                }
                continue;
            }
            let path = path(&mut frame)?;
            let last = match (tag, send.last()) {
                (b'r', None) => remove.last(),
                (b'r', Some(_)) => return Err(malformed("the order")),
                (_, last) => last.map(|(path, _)| path),
            };
            if last.is_some_and(|last| *last >= path) {
                return Err(malformed("the order"));
            }
            match tag {
                b'r' => remove.push(path),
                _ => send.push((path, read_entry(&mut frame, tag)?)),
            }
        }
        if list.limit() != 0 {
            return Err(WireError::Trailing);
        }
        let send = send.into_iter().collect();
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
        let mut frame = FrameWriter::new(out, RECEIPT);
        for path in &self.stayed {
            frame.tag(b's')?.path(path.as_str().as_bytes())?;
        }
        self.written.write_records(&mut frame)?;
        frame.finish()
    }

    /// Reads a receipt for `order`.
    ///
    /// # Errors
    /// When it is cut off, changed, or for something else than the order.
    pub fn read_from(input: &mut dyn Read, order: &UpdateOrder) -> Result<Self, WireError> {
        let mut frame = FrameReader::new(input, RECEIPT, "receipt of an update of version 3")?;
        let mut stayed: Vec<RelPathBuf> = Vec::new();
        loop {
            match frame.tag()? {
                Some(b's') => {}
                Some(b't') => break,
                _ => return Err(malformed("no total")),
            }
            let path = path(&mut frame)?;
            if stayed.last().is_some_and(|last| *last >= path)
                || order.remove.binary_search(&path).is_err()
            {
                return Err(malformed("a path"));
            }
            stayed.push(path);
        }
        let written = Receipt::read_records(&mut frame, order.send.len() as u64)?;
        let sent = order.send.iter().map(|(path, _)| path);
        let same = written.identities.keys().map(|path| &**path).eq(sent);
        if !same {
            return Err(malformed("a receipt for something else"));
        }
        Ok(Self { written, stayed })
    }
}

fn path(frame: &mut FrameReader<'_>) -> Result<RelPathBuf, WireError> {
    let path = RelPath::from_bytes(frame.path()?);
    Ok(path.map_err(|_| malformed("a path"))?.to_owned())
}
