//! `ObjectId`: the name of an object of git's.

use std::fmt;

/// The longest id, SHA-256's, in bytes.
const MOST_BYTES: usize = 32;

/// The name of an object, SHA-1 or SHA-256.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId {
    bytes: [u8; MOST_BYTES],
    length: u8,
}

impl ObjectId {
    /// Reads 40 or 64 hexadecimal digits in lower case, as git writes them.
    pub fn from_hex(text: &[u8]) -> Option<Self> {
        if !matches!(text.len(), 40 | 64) {
            return None;
        }
        let mut bytes = [0; MOST_BYTES];
        let (pairs, _) = text.as_chunks::<2>();
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            *byte = digit(*high)? << 4 | digit(*low)?;
        }
        Some(Self {
            bytes,
            length: u8::try_from(pairs.len()).ok()?,
        })
    }

    /// Returns the format of the repositories that it may be in, as `git init
    /// --object-format` takes it.
    pub fn object_format(&self) -> &'static str {
        match usize::from(self.length) {
            MOST_BYTES => "sha256",
            _ => "sha1",
        }
    }

    /// Whether it is the id of no object, by which a reflog says that there was none.
    pub fn is_zero(&self) -> bool {
        self.bytes == [0; MOST_BYTES]
    }

    /// Returns its bytes: 20 or 32.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length.into()).unwrap_or_default()
    }

    /// Takes 20 or 32 bytes.
    pub fn from_bytes(raw: &[u8]) -> Option<Self> {
        let mut bytes = [0; MOST_BYTES];
        let length = match raw.len() {
            20 | 32 => u8::try_from(raw.len()).ok()?,
            _ => return None,
        };
        bytes.get_mut(..raw.len())?.copy_from_slice(raw);
        Some(Self { bytes, length })
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // At once: lists of thousands are written and read back.
        let mut text = [0; 2 * MOST_BYTES];
        let (pairs, _) = text.as_chunks_mut::<2>();
        for (pair, byte) in pairs.iter_mut().zip(self.as_bytes()) {
            *pair = [character(byte >> 4), character(byte & 0xf)];
        }
        let text = text.get(..2 * self.as_bytes().len());
        let text = text.and_then(|text| str::from_utf8(text).ok());
        f.write_str(text.unwrap_or_default())
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn character(digit: u8) -> u8 {
    match digit {
        0..=9 => b'0' + digit,
        _ => b'a' + digit - 10,
    }
}

fn digit(character: u8) -> Option<u8> {
    match character {
        b'0'..=b'9' => Some(character - b'0'),
        b'a'..=b'f' => Some(character - b'a' + 10),
        _ => None,
    }
}
