//! `frame`: the record format under every list that host and porter exchange or keep.
//!
//! ```text
//! frame  = magic record* end
//! magic  = 8 bytes: what the frame is, and its version
//! record = tag field*               tag: one byte, not 0
//! end    = 0 count digest           count: u64, how many records
//!                                   digest: BLAKE3 of every byte before it
//! field  = u8 | u32 | u64 | i64     little endian
//!        | 32 bytes                 a digest
//!        | length:u16 bytes
//!        | path                     shared:u16 length:u16 bytes
//! ```
//!
//! A path gives only what differs from the path before it in the same frame:
//! lists are sorted, so that halves them. A reader knows the end by itself and
//! never needs the end of the file; a frame that is cut anywhere, or changed in
//! any bit, is refused. Nothing is allocated by a claimed length: a field is at
//! most 64 KiB, and a record exists only once its bytes have arrived.

/// The first bytes of a frame.
pub type FormatTag = [u8; 8];

/// How much of a frame is read or written at once, in bytes.
pub(super) const BUFFER: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use std::io::{self, Read};

    use super::FormatTag;
    use crate::{RecordError, RecordReader, RecordWriter};

    const MAGIC: FormatTag = *b"lztest 1";

    fn write() -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut frame = RecordWriter::new(&mut bytes, MAGIC);
        for path in ["a", "a/b", "a/c/d", "z"] {
            let record = frame.tag(b'p').expect("to memory");
            record.path(path.as_bytes()).expect("short");
            record.u64(7).bytes(b"field").expect("short");
        }
        frame.finish().expect("to memory");
        bytes
    }

    fn read(bytes: &[u8]) -> Result<Vec<String>, RecordError> {
        let mut input = bytes;
        let mut frame = RecordReader::new(&mut input, MAGIC, "test")?;
        let mut paths = Vec::new();
        while let Some(tag) = frame.tag()? {
            assert_eq!(tag, b'p');
            paths.push(String::from_utf8_lossy(frame.path()?).into_owned());
            assert_eq!(frame.u64()?, 7);
            assert_eq!(frame.bytes()?, b"field");
        }
        Ok(paths)
    }

    #[test]
    fn reads_what_it_writes() {
        assert_eq!(read(&write()).expect("whole"), ["a", "a/b", "a/c/d", "z"]);
    }

    #[test]
    fn a_frame_cut_anywhere_is_refused() {
        let whole = write();
        for length in 0..whole.len() {
            assert!(read(&whole[..length]).is_err(), "{length} bytes");
        }
        let mut longer = whole;
        longer.push(0);
        assert!(matches!(read(&longer), Err(RecordError::Trailing)));
    }

    #[test]
    fn a_changed_bit_is_refused() {
        let whole = write();
        for position in 0..whole.len() {
            for bit in 0..8 {
                let mut changed = whole.clone();
                changed[position] ^= 1 << bit;
                let outcome = std::panic::catch_unwind(|| read(&changed));
                // A changed field may trip an assertion above; it is never taken.
                assert!(!matches!(outcome, Ok(Ok(_))), "byte {position}, bit {bit}");
            }
        }
    }

    #[test]
    fn many_records_cross_the_buffer() {
        let mut bytes = Vec::new();
        let mut frame = RecordWriter::new(&mut bytes, MAGIC);
        for number in 0..20_000 {
            let record = frame.tag(b'n').expect("to memory");
            record
                .path(format!("dir/{number}").as_bytes())
                .expect("short");
            record.bytes(&vec![b'x'; number % 300]).expect("short");
        }
        frame.finish().expect("to memory");
        // One byte at a time is the worst a pipe can do.
        let mut input = OneByOne(&bytes);
        let mut frame = RecordReader::new(&mut input, MAGIC, "test").expect("magic");
        let mut number = 0;
        while frame.tag().expect("whole").is_some() {
            assert_eq!(
                frame.path().expect("whole"),
                format!("dir/{number}").as_bytes()
            );
            assert_eq!(frame.bytes().expect("whole").len(), number % 300);
            number += 1;
        }
        assert_eq!(number, 20_000);
    }

    struct OneByOne<'a>(&'a [u8]);

    impl Read for OneByOne<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let length = buffer.len().min(1);
            Read::read(&mut self.0, &mut buffer[..length])
        }
    }
}
