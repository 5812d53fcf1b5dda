//! `Checksum`: whether a stream arrived as it was sent.

use std::fmt;
use std::str::FromStr;

use crc_fast::{CrcAlgorithm, Digest};

/// The CRC-64/NVME of a stream's bytes, written as 16 lower-case hexadecimal digits.
///
/// It detects accidents: a relay that loses or repeats a piece. It does not detect a forgery: an
/// attacker that forges a stream can forge its checksum too. The host identifies a file's contents
/// by their [`Digest`](lazaret_tree::Digest), which it computes itself.
///
/// A CRC is linear, so pieces can be summed separately, each while it is in the processor's cache
/// ([`ChecksumBuilder::append`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checksum(u64);

/// A text that is not 16 lower-case hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a checksum is 16 lower-case hexadecimal digits")]
pub struct ChecksumParseError;

/// Sums a stream up, piece by piece.
#[derive(Clone)]
pub struct ChecksumBuilder(Digest);

const ALGORITHM: CrcAlgorithm = CrcAlgorithm::Crc64Nvme;
/// Its polynomial without x^64, from x^0 in the highest bit on ("reflected").
const POLYNOMIAL: u64 = 0x9a6c_9329_ac4b_c9b5;
/// What a state and the sum that it stands for differ by.
const FINAL_XOR: u64 = u64::MAX;

impl Checksum {
    /// Sums up `bytes` in one go.
    pub fn of(bytes: &[u8]) -> Self {
        Self(crc_fast::checksum(ALGORITHM, bytes))
    }

    /// Returns the number.
    pub fn to_bits(self) -> u64 {
        self.0
    }

    /// Takes the number that [`Checksum::to_bits`] gave.
    pub fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// Returns the checksum of what this is of and the `length` bytes after it, whose own is
    /// `next`.
    ///
    /// As zlib's `crc32_combine`: to append zeros is to multiply by a power of x.
    fn then(self, next: Self, length: u64) -> Self {
        Self(multiply(self.0, power_of_x(length * 8)) ^ next.0)
    }
}

/// Multiplies two polynomials over GF(2), modulo that of the sum.
const fn multiply(one: u64, mut other: u64) -> u64 {
    let mut product = 0;
    let mut bit = u64::BITS;
    while bit > 0 {
        bit -= 1;
        product ^= other & (one >> bit & 1).wrapping_neg();
        other = other >> 1 ^ POLYNOMIAL & (other & 1).wrapping_neg();
    }
    product
}

/// Returns x^`exponent`, modulo the polynomial of the sum.
fn power_of_x(exponent: u64) -> u64 {
    /// x^(2^k) at k.
    const SQUARES: [u64; 64] = {
        let mut squares = [1 << 62; 64];
        let mut k = 1;
        while k < squares.len() {
            squares[k] = multiply(squares[k - 1], squares[k - 1]);
            k += 1;
        }
        squares
    };
    let factors = SQUARES.iter().enumerate();
    let factors = factors.filter(|(k, _)| exponent >> k & 1 == 1);
    factors.fold(1 << 63, |product, (_, square)| multiply(product, *square))
}

impl ChecksumBuilder {
    /// Adds the next piece.
    pub fn update(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    /// Adds the next piece, of `length` bytes, whose checksum is known.
    pub fn append(&mut self, piece: Checksum, length: u64) {
        let Checksum(sum) = self.so_far().then(piece, length);
        self.0 = Digest::new_with_init_state(ALGORITHM, sum ^ FINAL_XOR);
    }

    /// Returns the checksum of all pieces so far.
    pub fn so_far(&self) -> Checksum {
        Checksum(self.0.finalize())
    }
}

impl Default for ChecksumBuilder {
    fn default() -> Self {
        Self(Digest::new(ALGORITHM))
    }
}

impl fmt::Debug for ChecksumBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ChecksumBuilder")
            .field(&self.so_far())
            .finish()
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for Checksum {
    type Err = ChecksumParseError;

    fn from_str(text: &str) -> Result<Self, ChecksumParseError> {
        let digits = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() != 16 || !text.bytes().all(digits) {
            return Err(ChecksumParseError);
        }
        let bits = u64::from_str_radix(text, 16).map_err(|_| ChecksumParseError)?;
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
            let mut builder = ChecksumBuilder::default();
            for piece in bytes.chunks(size) {
                builder.update(piece);
            }
            assert_eq!(builder.so_far(), Checksum::of(&bytes), "pieces of {size}");
        }
    }

    #[test]
    fn pieces_that_were_summed_up_apart_sum_up_to_the_whole() {
        let bytes: Vec<u8> = (0..300_000_u32)
            .map(|n| (n.wrapping_mul(n) >> 5) as u8)
            .collect();
        for size in [1000, 512, 262_144, 299_999, 300_000] {
            let mut builder = ChecksumBuilder::default();
            for (turn, piece) in bytes.chunks(size).enumerate() {
                match turn % 3 {
                    0 => builder.update(piece),
                    _ => builder.append(Checksum::of(piece), piece.len() as u64),
                }
                builder.append(Checksum::of(b""), 0);
            }
            assert_eq!(builder.so_far(), Checksum::of(&bytes), "pieces of {size}");
            builder.update(b"more");
            let more = [&bytes[..], b"more"].concat();
            assert_eq!(builder.so_far(), Checksum::of(&more), "pieces of {size}");
        }
    }

    #[test]
    fn reads_what_it_writes_and_nothing_else() {
        // The check value of the CRC RevEng catalogue, from the NVM Express specification.
        let check = Checksum::of(b"123456789");
        assert_eq!(check.to_string(), "ae8b14860a799888");
        assert_eq!(check.to_string().parse(), Ok(check));
        let upper = check.to_string().to_uppercase();
        for text in [
            "",
            "0",
            &upper,
            &format!("+{}", &upper[1..]),
            &format!("0{check}"),
        ] {
            assert_eq!(text.parse::<Checksum>(), Err(ChecksumParseError), "{text}");
        }
    }
}
