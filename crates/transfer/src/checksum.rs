//! `Checksum`: whether a stream arrived as it was sent.

use std::fmt;
use std::str::FromStr;

use xxhash_rust::xxh3::{Xxh3, xxh3_128};

/// The XXH3 of a stream's bytes, written as 32 lower-case hexadecimal digits.
///
/// It tells accidents: a relay that loses or repeats a piece. Nobody who forges a stream is
/// kept from forging this with it, as with any hash that comes along with what it is of; what
/// a file holds is known by its [`Digest`](crate::Digest), which the host computes itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checksum(u128);

/// A text that is not 32 lower-case hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a checksum is 32 lower-case hexadecimal digits")]
pub struct ChecksumParseError;

/// Sums a stream up, piece by piece.
#[derive(Clone, Default)]
pub(crate) struct Summing(Xxh3);

impl Checksum {
    /// Sums up `bytes` in one go.
    pub fn of(bytes: &[u8]) -> Self {
        Self(xxh3_128(bytes))
    }

    /// Returns the number.
    pub(crate) fn to_bits(self) -> u128 {
        self.0
    }

    /// Takes the number that [`Checksum::to_bits`] gave.
    pub(crate) fn from_bits(bits: u128) -> Self {
        Self(bits)
    }
}

impl Summing {
    /// Adds the next piece.
    pub(crate) fn update(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    /// Returns the checksum of all pieces so far.
    pub(crate) fn so_far(&self) -> Checksum {
        Checksum(self.0.digest128())
    }
}

impl fmt::Debug for Summing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Summing").field(&self.so_far()).finish()
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl FromStr for Checksum {
    type Err = ChecksumParseError;

    fn from_str(text: &str) -> Result<Self, ChecksumParseError> {
        let digits = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() != 32 || !text.bytes().all(digits) {
            return Err(ChecksumParseError);
        }
        let bits = u128::from_str_radix(text, 16).map_err(|_| ChecksumParseError)?;
        Ok(Self(bits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_sum_up_to_the_whole() {
        let bytes: Vec<u8> = (0..100_000_u32)
            .map(|n| (n.wrapping_mul(n) >> 3) as u8)
            .collect();
        for size in [1, 7, 256, 512, 65_536, bytes.len()] {
            let mut summing = Summing::default();
            for piece in bytes.chunks(size) {
                summing.update(piece);
            }
            assert_eq!(summing.so_far(), Checksum::of(&bytes), "pieces of {size}");
        }
    }

    #[test]
    fn reads_what_it_writes_and_nothing_else() {
        // The reference value of an empty input, from the specification's test vectors.
        let empty = Checksum::of(b"");
        assert_eq!(empty.to_string(), "99aa06d3014798d86001c324468d497f");
        assert_eq!(empty.to_string().parse(), Ok(empty));
        let upper = empty.to_string().to_uppercase();
        for text in [
            "",
            "0",
            &upper,
            &format!("+{}", &upper[1..]),
            &format!("0{empty}"),
        ] {
            assert_eq!(text.parse::<Checksum>(), Err(ChecksumParseError), "{text}");
        }
    }
}
