//! Contents of a file within a list: their length, and records of at most [`PIECE`] bytes.

use std::io;

use super::{RecordError, RecordReader, RecordWriter};

/// The most bytes of one piece.
pub(crate) const PIECE: usize = 32 << 10;

const TAG: u8 = b'c';

impl RecordWriter<'_> {
    /// Adds the length to the record that is being written, and the pieces after it.
    pub(crate) fn contents(&mut self, contents: &[u8]) -> io::Result<()> {
        self.u64(contents.len() as u64);
        for piece in contents.chunks(PIECE) {
            self.tag(TAG)?.bytes(piece)?;
        }
        Ok(())
    }
}

impl RecordReader<'_> {
    /// Reads what [`RecordWriter::contents`] has written, of `most` bytes at most.
    pub(crate) fn contents(&mut self, most: usize) -> Result<Vec<u8>, RecordError> {
        let length = usize::try_from(self.u64()?).map_err(|_| RecordError::TooLong)?;
        if length > most {
            return Err(RecordError::TooLong);
        }
        let mut contents = Vec::new();
        while contents.len() < length {
            let wanted = PIECE.min(length - contents.len());
            if self.tag()? != Some(TAG) {
                return Err(RecordError::malformed("a piece is missing"));
            }
            let piece = self.bytes()?;
            if piece.len() != wanted {
                return Err(RecordError::malformed("a piece of another length"));
            }
            contents.extend_from_slice(piece);
        }
        Ok(contents)
    }
}
