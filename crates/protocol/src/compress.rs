//! Compressed streams, for engines on other machines: one zlib stream (RFC 1950) in each
//! direction.
//!
//! A writer flushes whenever it pauses: what one side has said the other can read. An engine
//! on this machine takes bytes faster than they can be compressed.

use std::io::{self, Read, Write};

use flate2::write::ZlibEncoder;
use flate2::{Compression, Decompress, FlushDecompress, Status};

/// What is read at once.
const CHUNK: usize = 64 << 10;

/// Writes a stream. Dropping it ends it, as far as that goes without an error.
#[derive(Debug)]
pub struct Compressor<W: Write>(ZlibEncoder<W>);

impl<W: Write> Compressor<W> {
    /// Starts a stream.
    pub fn new(to: W) -> Self {
        Self(ZlibEncoder::new(to, Compression::fast()))
    }

    /// Ends the stream, and returns what it went to.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn finish(self) -> io::Result<W> {
        self.0.finish()
    }
}

impl<W: Write> Write for Compressor<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Reads a zlib stream as it comes: it never waits for more than what was asked for takes.
/// (flate2's own readers may, where the decoder holds back what it has decoded.)
#[derive(Debug)]
pub struct Decompressor<R> {
    from: R,
    decoder: Decompress,
    buffer: Vec<u8>,
    /// What of the buffer was decoded, and what of it is filled.
    taken: usize,
    filled: usize,
    is_over: bool,
}

impl<R: Read> Decompressor<R> {
    /// Starts to read.
    pub fn new(from: R) -> Self {
        Self {
            from,
            decoder: Decompress::new(true),
            buffer: vec![0; CHUNK],
            taken: 0,
            filled: 0,
            is_over: false,
        }
    }
}

impl<R: Read> Read for Decompressor<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while !self.is_over && !out.is_empty() {
            let input = self.buffer.get(self.taken..self.filled);
            let (read, written) = (self.decoder.total_in(), self.decoder.total_out());
            let status =
                self.decoder
                    .decompress(input.unwrap_or_default(), out, FlushDecompress::None)?;
            self.is_over = status == Status::StreamEnd;
            // No more than there was of either.
            self.taken += usize::try_from(self.decoder.total_in() - read).unwrap_or_default();
            let made = usize::try_from(self.decoder.total_out() - written).unwrap_or_default();
            if made > 0 {
                return Ok(made);
            }
            if !self.is_over && self.taken == self.filled {
                (self.taken, self.filled) = (0, self.from.read(&mut self.buffer)?);
                if self.filled == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives its pieces one by one, and fails where one too many is asked for.
    struct Pieces(Vec<Vec<u8>>);

    impl Read for Pieces {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let piece = self.0.pop().ok_or(io::ErrorKind::WouldBlock)?;
            out[..piece.len()].copy_from_slice(&piece);
            Ok(piece.len())
        }
    }

    fn deflated(pieces: &[&[u8]]) -> Vec<Vec<u8>> {
        let mut encoder = Compressor::new(Vec::new());
        let mut packed: Vec<Vec<u8>> = pieces
            .iter()
            .map(|piece| {
                encoder.write_all(piece).unwrap();
                encoder.flush().unwrap();
                std::mem::take(encoder.0.get_mut())
            })
            .collect();
        packed.push(encoder.finish().unwrap());
        packed.reverse();
        packed
    }

    #[test]
    fn what_was_flushed_can_be_read_without_waiting_for_more() {
        let zeros = vec![0; 300_000];
        for size in [1, 7, 4096, 1 << 20] {
            let mut packed = deflated(&[b"one", &zeros, b"two"]);
            // The end has not come yet.
            packed.remove(0);
            let mut reader = Decompressor::new(Pieces(packed));
            let mut read = Vec::new();
            let mut out = vec![0; size];
            while read.len() < 300_006 {
                let length = reader.read(&mut out).unwrap();
                read.extend_from_slice(&out[..length]);
            }
            assert_eq!(read.len(), 300_006, "{size}");
            assert!(
                read.starts_with(b"one\0") && read.ends_with(b"\0two"),
                "{size}"
            );
        }
    }

    #[test]
    fn an_end_is_one_only_where_the_stream_has_one() {
        let mut read = Vec::new();
        let whole = Decompressor::new(Pieces(deflated(&[b"all"]))).read_to_end(&mut read);
        assert_eq!((whole.unwrap(), &*read), (3, &b"all"[..]));
        let mut cut = deflated(&[b"all"]);
        cut[0] = Vec::new();
        let error = Decompressor::new(Pieces(cut))
            .read_to_end(&mut read)
            .unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        let noise = Decompressor::new(&b"no zlib at all"[..]).read_to_end(&mut read);
        noise.unwrap_err();
    }
}
