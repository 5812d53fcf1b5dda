//! `Trailer`: the last block of a stream, which proves that nothing is missing.
//!
//! The tar format has no such proof: every common reader takes a stream that was
//! cut at a member boundary for a complete one (TAR-35). After the two zero blocks
//! our streams carry one more block of 512 bytes:
//!
//! ```text
//! lazaret-trailer 3\n
//! entries N\n
//! bytes N\n
//! stream HEX\n
//! ```
//!
//! padded with NUL. Numbers are decimal without sign or leading zero.

use crate::Checksum;

/// The length of a trailer, in bytes: one tar block.
pub const TRAILER_BYTES: usize = 512;

/// What a sender says it has sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trailer {
    /// Members of the stream.
    pub entries: u64,
    /// Bytes of all files together.
    pub bytes: u64,
    /// Of every byte of the stream before the trailer.
    pub stream: Checksum,
}

/// A block that is not a [`Trailer`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a trailer of version 3")]
pub struct TrailerError;

impl Trailer {
    /// Writes the block.
    pub fn encode(&self) -> [u8; TRAILER_BYTES] {
        let text = self.text();
        let mut block = [0; TRAILER_BYTES];
        block[..text.len()].copy_from_slice(text.as_bytes());
        block
    }

    /// Reads a block. There is exactly one way to write each trailer.
    ///
    /// # Errors
    /// When it is not what [`Trailer::encode`] writes.
    pub fn parse(block: &[u8; TRAILER_BYTES]) -> Result<Self, TrailerError> {
        let end = block
            .iter()
            .position(|&byte| byte == 0)
            .unwrap_or(block.len());
        let text = std::str::from_utf8(&block[..end]).map_err(|_| TrailerError)?;
        let mut lines = text.split('\n');
        let mut field = |key: &str| lines.next()?.strip_prefix(key)?.strip_prefix(' ');
        let mut fields = || {
            field("lazaret-trailer")?;
            Some(Self {
                entries: field("entries")?.parse().ok()?,
                bytes: field("bytes")?.parse().ok()?,
                stream: field("stream")?.parse().ok()?,
            })
        };
        let trailer = fields().ok_or(TrailerError)?;
        if trailer.encode() == *block {
            Ok(trailer)
        } else {
            Err(TrailerError)
        }
    }

    fn text(&self) -> String {
        let Self {
            entries,
            bytes,
            stream,
        } = self;
        format!("lazaret-trailer 3\nentries {entries}\nbytes {bytes}\nstream {stream}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes_and_nothing_else() {
        let trailer = Trailer {
            entries: u64::MAX,
            bytes: 0,
            stream: Checksum::of(b"x"),
        };
        let block = trailer.encode();
        assert_eq!(Trailer::parse(&block), Ok(trailer));
        for position in 0..block.len() {
            for value in [0, b'0', b'+', b' ', b'\n', block[position] ^ 1, 0xff] {
                let mut changed = block;
                changed[position] = value;
                // Another digit is another trailer; whatever is accepted is canonical.
                if let Ok(parsed) = Trailer::parse(&changed) {
                    assert_eq!(parsed.encode(), changed, "byte {position} = {value}");
                }
            }
        }
        assert_eq!(Trailer::parse(&[0; 512]), Err(TrailerError));
    }
}
