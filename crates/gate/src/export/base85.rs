//! Base 85 as git writes it: the lines of a `GIT binary patch` (git, base85.c, diff.c).

use std::io::{self, Write};

/// The digits, by value. RFC 1924 names the same ones.
const DIGITS: &[u8; 85] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

/// The most bytes that one line carries.
const LINE: usize = 52;

/// Writes bytes as lines: a letter for how many bytes the line carries, then five digits for
/// four bytes, the last group filled up with zeros.
#[derive(Debug)]
pub(super) struct Lines<W> {
    out: W,
    held: Vec<u8>,
}

impl<W: Write> Lines<W> {
    pub(super) fn new(out: W) -> Self {
        let held = Vec::with_capacity(LINE);
        Self { out, held }
    }

    /// Writes the last line and gives the writer back.
    pub(super) fn finish(mut self) -> io::Result<W> {
        self.line()?;
        Ok(self.out)
    }

    fn line(&mut self) -> io::Result<()> {
        let Ok(length @ 1..=52) = u8::try_from(self.held.len()) else {
            return Ok(());
        };
        let letter = match length {
            1..=26 => b'A' + length - 1,
            _ => b'a' + length - 27,
        };
        let mut line = vec![letter];
        for group in self.held.chunks(4) {
            let mut bytes = [0; 4];
            bytes[..group.len()].copy_from_slice(group);
            let mut value = u32::from_be_bytes(bytes);
            let mut digits = [0; 5];
            for digit in digits.iter_mut().rev() {
                *digit = DIGITS[(value % 85) as usize];
                value /= 85;
            }
            line.extend_from_slice(&digits);
        }
        line.push(b'\n');
        self.held.clear();
        self.out.write_all(&line)
    }
}

impl<W: Write> Write for Lines<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = LINE - self.held.len();
        let taken = bytes.len().min(room);
        self.held.extend_from_slice(&bytes[..taken]);
        if self.held.len() == LINE {
            self.line()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(bytes: &[u8]) -> String {
        let mut lines = Lines::new(Vec::new());
        lines.write_all(bytes).unwrap();
        String::from_utf8(lines.finish().unwrap()).unwrap()
    }

    #[test]
    fn lines_carry_their_length() {
        assert_eq!(encoded(b""), "");
        assert_eq!(encoded(&[0]), "A00000\n");
        assert_eq!(encoded(&[0xff; 4]), "D|NsC0\n");
        // What git writes for the deflated empty file.
        assert_eq!(
            encoded(&[0x78, 0x01, 0x03, 0x00, 0x00, 0x00, 0x00, 0x01]),
            "HcmV?d00001\n"
        );
        let long = encoded(&[0; 53]);
        let lengths: Vec<usize> = long.lines().map(str::len).collect();
        assert_eq!(lengths, [1 + 65, 1 + 5]);
        assert!(long.starts_with('z'));
        assert!(encoded(&[0; 26]).starts_with('Z'));
        assert!(encoded(&[0; 27]).starts_with('a'));
    }
}
