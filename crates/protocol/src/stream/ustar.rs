//! `Header`: one 512-byte block of POSIX ustar.
//!
//! Offsets are those of POSIX.1-1988, as pax(1) and tar(5) give them. Owner
//! numbers and owner names are not read at all: nothing is ever set from them
//! (TAR-32). Device numbers are read as the part of a second, as `StreamWriter` has
//! it, and are no reason to refuse anything.

use super::number;
use crate::{FileTime, StreamError};

/// The unit of a tar stream, in bytes.
pub(super) const BLOCK: usize = 512;

/// A header block with a right checksum, the right magic and a known typeflag.
#[derive(Debug)]
pub(super) struct Header<'a> {
    block: &'a [u8; BLOCK],
    /// What the typeflag says.
    pub(super) flag: Flag,
}

/// The typeflags of the grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flag {
    /// `0`.
    File,
    /// `1`.
    Hard,
    /// `2`.
    Symlink,
    /// `3` and `4`: known so that they can be named.
    Device,
    /// `5`.
    Dir,
    /// `6`.
    Fifo,
    /// `x`: a PAX header for the next member.
    Pax,
}

impl<'a> Header<'a> {
    /// Checks what all headers have in common.
    pub(super) fn parse(block: &'a [u8; BLOCK]) -> Result<Self, StreamError> {
        let claimed = number::octal(&block[148..156]).ok_or(StreamError::Checksum)?;
        let blanks = 8 * u64::from(b' ');
        let outside = block[..148].iter().chain(&block[156..]);
        let sum: u64 = outside.map(|&byte| u64::from(byte)).sum();
        // Some ancient writers summed signed bytes; that form is not accepted.
        if sum + blanks != claimed {
            return Err(StreamError::Checksum);
        }
        let flag = match block[156] {
            b'0' => Flag::File,
            b'1' => Flag::Hard,
            b'2' => Flag::Symlink,
            b'3' | b'4' => Flag::Device,
            b'5' => Flag::Dir,
            b'6' => Flag::Fifo,
            b'x' => Flag::Pax,
            flag => return Err(StreamError::Typeflag { flag }),
        };
        // GNU's own format, "ustar  \0", gives the prefix field other meanings.
        if &block[257..265] != b"ustar\x0000" {
            return Err(StreamError::Magic);
        }
        if block[500..].iter().any(|&byte| byte != 0) {
            return Err(StreamError::HiddenBytes { field: "padding" });
        }
        Ok(Self { block, flag })
    }

    /// The prefix and the name, joined.
    pub(super) fn name(&self) -> Result<Vec<u8>, StreamError> {
        let name = text(&self.block[..100], "name")?;
        let prefix = text(&self.block[345..500], "prefix")?;
        Ok(match prefix {
            b"" => name.to_vec(),
            prefix => [prefix, b"/", name].concat(),
        })
    }

    /// The target of a link.
    pub(super) fn linkname(&self) -> Result<&'a [u8], StreamError> {
        text(&self.block[157..257], "linkname")
    }

    /// Bytes of the body.
    pub(super) fn size(&self) -> Result<u64, StreamError> {
        number::octal(&self.block[124..136]).ok_or(StreamError::Number { field: "size" })
    }

    /// Permission bits; the file type bits that Docker adds are cut off.
    pub(super) fn mode(&self) -> Result<u32, StreamError> {
        let mode =
            number::octal(&self.block[100..108]).ok_or(StreamError::Number { field: "mode" })?;
        Ok((mode & 0o7777) as u32)
    }

    /// Modification time.
    pub(super) fn mtime(&self) -> Result<FileTime, StreamError> {
        let mut field = [0; 12];
        field.copy_from_slice(&self.block[136..148]);
        let seconds = number::time(&field).ok_or(StreamError::Number { field: "mtime" })?;
        let nanos = self.nanos().unwrap_or(0);
        Ok(FileTime { seconds, nanos })
    }

    /// The part of the second: microseconds where a device's major number would be, and
    /// nanoseconds where its minor one would. Other writers have zeros or nothing there.
    fn nanos(&self) -> Option<u32> {
        let micros = number::octal(&self.block[329..337]).filter(|micros| *micros < 1_000_000)?;
        let nanos = number::octal(&self.block[337..345]).filter(|nanos| *nanos < 1000)?;
        u32::try_from(micros * 1000 + nanos).ok()
    }
}

/// Reads a text field: up to the first NUL, and only NUL behind it.
fn text<'a>(bytes: &'a [u8], field: &'static str) -> Result<&'a [u8], StreamError> {
    let end = bytes
        .iter()
        .position(|&byte| byte == 0)
        .unwrap_or(bytes.len());
    let (text, rest) = bytes.split_at(end);
    if rest.iter().any(|&byte| byte != 0) {
        return Err(StreamError::HiddenBytes { field });
    }
    Ok(text)
}
