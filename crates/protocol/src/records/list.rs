//! Lists of records, each about one path, in path order.

use std::io::{self, Read, Write};
use std::marker::PhantomData;

use lazaret_tree::{RelPath, RelPathBuf};

use super::VolumeIdentity;
use super::codec::FormatTag;
use super::reader::RecordReader;
use super::record_error::RecordError;
use super::writer::RecordWriter;

/// What a list says about one path: a tag, the path, then the fields.
pub trait Record: Sized {
    /// The tags of these records; none is 0.
    const TAGS: &'static [u8];

    /// The tag of this record.
    fn tag(&self) -> u8;

    /// Appends the fields.
    ///
    /// # Errors
    /// When the writer fails or a field is over 64 KiB.
    fn write_fields<W: Write + ?Sized>(&self, record: &mut RecordWriter<'_, W>) -> io::Result<()>;

    /// Reads the fields of a record with this tag.
    ///
    /// # Errors
    /// When a field is cut off or malformed.
    fn read_fields(tag: u8, record: &mut RecordReader<'_>) -> Result<Self, RecordError>;
}

/// A record without fields: the path is all it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bare<const TAG: u8>;

impl<const TAG: u8> Record for Bare<TAG> {
    const TAGS: &'static [u8] = &[TAG];

    fn tag(&self) -> u8 {
        TAG
    }

    fn write_fields<W: Write + ?Sized>(&self, _: &mut RecordWriter<'_, W>) -> io::Result<()> {
        Ok(())
    }

    fn read_fields(_: u8, _: &mut RecordReader<'_>) -> Result<Self, RecordError> {
        Ok(Self)
    }
}

impl Record for VolumeIdentity {
    const TAGS: &'static [u8] = b"i";

    fn tag(&self) -> u8 {
        b'i'
    }

    fn write_fields<W: Write + ?Sized>(&self, record: &mut RecordWriter<'_, W>) -> io::Result<()> {
        record.identity(self);
        Ok(())
    }

    fn read_fields(_: u8, record: &mut RecordReader<'_>) -> Result<Self, RecordError> {
        record.identity()
    }
}

/// Writes a frame that holds one list; `records` is in path order, each path once.
///
/// # Errors
/// When the writer fails.
pub fn write_list<'a, R: Record + 'a>(
    out: &mut dyn Write,
    magic: FormatTag,
    records: impl IntoIterator<Item = (&'a RelPath, &'a R)>,
) -> io::Result<()> {
    let mut frame = RecordWriter::new(out, magic);
    for (path, record) in records {
        frame.record(path, record)?;
    }
    frame.finish()
}

/// Reads what [`write_list`] wrote; `expected` names the list in errors.
///
/// # Errors
/// When it is cut off, changed, of another version, or not in path order.
pub fn read_list<R: Record, C: FromIterator<(RelPathBuf, R)>>(
    input: &mut dyn Read,
    magic: FormatTag,
    expected: &'static str,
) -> Result<C, RecordError> {
    let mut frame = RecordReader::new(input, magic, expected)?;
    let list = frame.list().collect::<Result<C, _>>()?;
    frame.finish()?;
    Ok(list)
}

impl<W: Write + ?Sized> RecordWriter<'_, W> {
    /// Writes the next record of a list, after the path before it in path order.
    ///
    /// # Errors
    /// When the writer fails or a field is over 64 KiB.
    pub fn record<R: Record>(&mut self, path: &RelPath, record: &R) -> io::Result<()> {
        let path = path.as_str().as_bytes();
        record.write_fields(self.tag(record.tag())?.path(path)?)
    }
}

impl<'r> RecordReader<'r> {
    /// Reads a list up to the first tag that none of its records has.
    ///
    /// Each path must come after the one before it, so none comes twice.
    pub fn list<R: Record>(&mut self) -> List<'_, 'r, R> {
        List {
            frame: self,
            last: None,
            records: PhantomData,
        }
    }

    /// Reads the rest as a path.
    pub(crate) fn rel_path(&mut self) -> Result<RelPathBuf, RecordError> {
        let path = RelPath::from_bytes(self.path()?);
        Ok(path
            .map_err(|_| RecordError::malformed("a path"))?
            .to_owned())
    }
}

/// The records of one list, as they are read. After an error the frame is of no use.
#[derive(Debug)]
pub struct List<'f, 'r, R> {
    frame: &'f mut RecordReader<'r>,
    last: Option<RelPathBuf>,
    records: PhantomData<R>,
}

impl<R: Record> List<'_, '_, R> {
    fn read(&mut self) -> Result<Option<(RelPathBuf, R)>, RecordError> {
        let Some(tag) = self.frame.tag_among(R::TAGS)? else {
            return Ok(None);
        };
        let path = self.frame.rel_path()?;
        if self.last.as_ref().is_some_and(|last| *last >= path) {
            return Err(RecordError::malformed("the order"));
        }
        self.last = Some(path.clone());
        Ok(Some((path, R::read_fields(tag, self.frame)?)))
    }
}

impl<R: Record> Iterator for List<'_, '_, R> {
    type Item = Result<(RelPathBuf, R), RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}
