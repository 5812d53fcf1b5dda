//! `SentCredential`: credential files of a session, line by line, and what becomes of them there.
//!
//! ```text
//! host to porter   file 0400 PATH CONTENTS     PATH below the home; both in hexadecimal
//!                  end
//! porter to host   ready
//!                  changed INDEX CONTENTS      the file's place in the list, from 0
//! ```
//!
//! What comes from the porter comes from the agent, who may write into its streams: a line is
//! bounded, and what is none of these is nothing.

use std::fmt;
use std::io::{self, BufRead, Read as _};

use lazaret_tree::{RelPath, RelPathBuf, from_hex, to_hex};

use crate::records::RecordError;

/// The most bytes of one credential file: a login has a few thousand.
pub const MAX_CREDENTIAL_BYTES: usize = 48 << 10;

/// The most credential files of a session.
pub const MAX_CREDENTIALS: usize = 16;

/// The longest line: a longest path and the largest contents, in hexadecimal.
const LONGEST_LINE: u64 = 2 * (MAX_CREDENTIAL_BYTES as u64 + 4096) + 64;

/// How a credential file may be used inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CredentialMode {
    /// Mode 0400: who renews it puts another file in its place.
    ReadOnly,
    /// Mode 0600: it may be written over.
    Writable,
}

impl CredentialMode {
    /// Returns the permission bits.
    pub fn bits(self) -> u32 {
        match self {
            Self::ReadOnly => 0o400,
            Self::Writable => 0o600,
        }
    }
}

/// A credential file to send. Its line holds the contents, so the writer has to wipe the line.
pub struct SentCredential<'a> {
    /// Where, below the home.
    pub path: &'a RelPath,
    /// How it may be used.
    pub mode: CredentialMode,
    /// It.
    pub contents: &'a [u8],
}

/// Shows no contents.
impl fmt::Debug for SentCredential<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SentCredential")
            .field("path", &self.path)
            .field("mode", &self.mode)
            .finish_non_exhaustive()
    }
}

/// A file that has arrived.
pub struct ArrivedCredential {
    /// Where, below the home.
    pub path: RelPathBuf,
    /// How it may be used.
    pub mode: CredentialMode,
    /// It.
    pub contents: Vec<u8>,
}

/// Shows no contents.
impl fmt::Debug for ArrivedCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArrivedCredential")
            .field("path", &self.path)
            .field("mode", &self.mode)
            .finish_non_exhaustive()
    }
}

/// What a porter says of the files that it was given.
#[derive(PartialEq, Eq)]
pub enum CredentialEvent {
    /// They are there.
    Ready,
    /// One has other contents now.
    Changed {
        /// Its place in the list.
        index: usize,
        /// All of them.
        contents: Vec<u8>,
    },
}

/// Shows no contents.
impl fmt::Debug for CredentialEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready => f.write_str("Ready"),
            Self::Changed { index, .. } => write!(f, "Changed({index})"),
        }
    }
}

impl SentCredential<'_> {
    /// Appends the line for the porter. Nothing is left behind by growth if `line` has room
    /// for [`SentCredential::room`] more bytes.
    pub fn write_to(&self, line: &mut Vec<u8>) {
        line.extend_from_slice(match self.mode {
            CredentialMode::ReadOnly => b"file 0400 ",
            CredentialMode::Writable => b"file 0600 ",
        });
        line.extend_from_slice(to_hex(self.path.as_str().as_bytes()).as_bytes());
        line.push(b' ');
        push_hex(line, self.contents);
        line.push(b'\n');
    }

    /// How many bytes its line takes.
    pub fn room(&self) -> usize {
        2 * (self.path.as_str().len() + self.contents.len()) + 16
    }
}

/// Reads what a porter is given, up to the line `end`.
///
/// # Errors
/// A malformed line, or more than may be lent.
pub fn read_credentials(input: &mut dyn BufRead) -> Result<Vec<ArrivedCredential>, RecordError> {
    const MALFORMED: RecordError = RecordError::Malformed {
        what: "a lent file",
    };
    let mut files = Vec::new();
    while let Some(line) = line(input).map_err(RecordError::Read)? {
        if line == b"end" {
            return Ok(files);
        }
        if files.len() == MAX_CREDENTIALS {
            return Err(RecordError::TooLong);
        }
        let text = std::str::from_utf8(&line).map_err(|_| MALFORMED)?;
        let fields: Vec<&str> = text.split(' ').collect();
        let ["file", mode, path, contents] = fields[..] else {
            return Err(MALFORMED);
        };
        let mode = match mode {
            "0400" => CredentialMode::ReadOnly,
            "0600" => CredentialMode::Writable,
            _ => return Err(MALFORMED),
        };
        let path = from_hex(path).ok_or(MALFORMED)?;
        files.push(ArrivedCredential {
            path: RelPath::from_bytes(&path)
                .map_err(|_| MALFORMED)?
                .to_owned(),
            mode,
            contents: from_hex(contents).ok_or(MALFORMED)?,
        });
    }
    Err(RecordError::Truncated)
}

impl CredentialEvent {
    /// Returns the line for the host.
    pub fn line(&self) -> Vec<u8> {
        match self {
            Self::Ready => b"ready\n".to_vec(),
            Self::Changed { index, contents } => {
                let mut line = format!("changed {index} ").into_bytes();
                push_hex(&mut line, contents);
                line.push(b'\n');
                line
            }
        }
    }

    /// Reads the next one; `None` at the end. A line that is none is left out.
    ///
    /// # Errors
    /// The reader's.
    pub fn read(input: &mut dyn BufRead) -> io::Result<Option<Self>> {
        while let Some(line) = line(input)? {
            if let Some(event) = std::str::from_utf8(&line).ok().and_then(Self::parse) {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }

    fn parse(line: &str) -> Option<Self> {
        if line == "ready" {
            return Some(Self::Ready);
        }
        let (index, contents) = line.strip_prefix("changed ")?.split_once(' ')?;
        let index: usize = index.parse().ok()?;
        let contents = from_hex(contents)?;
        let fits = index < MAX_CREDENTIALS && contents.len() <= MAX_CREDENTIAL_BYTES;
        fits.then_some(Self::Changed { index, contents })
    }
}

/// Reads a line, or the end. What is longer than any comes in pieces, which mean nothing.
fn line(input: &mut dyn BufRead) -> io::Result<Option<Vec<u8>>> {
    // Room for all of it: a buffer that grows leaves copies behind.
    let mut line = Vec::with_capacity(LONGEST_LINE as usize);
    match input.take(LONGEST_LINE).read_until(b'\n', &mut line)? {
        0 => Ok(None),
        _ => {
            if line.last() == Some(&b'\n') {
                line.pop();
            }
            Ok(Some(line))
        }
    }
}

fn push_hex(line: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        line.push(DIGITS[usize::from(byte >> 4)]);
        line.push(DIGITS[usize::from(byte & 15)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lent_arrives() {
        let path: RelPathBuf = ".tool/login.json".parse().unwrap();
        let file = SentCredential {
            path: &path,
            mode: CredentialMode::ReadOnly,
            contents: b"{\"a\": \"\n\xff\"}",
        };
        let mut lines = Vec::with_capacity(file.room() + 4);
        let room = lines.capacity();
        file.write_to(&mut lines);
        lines.extend_from_slice(b"end\n");
        assert_eq!(lines.capacity(), room);
        let arrived = read_credentials(&mut &lines[..]).unwrap();
        assert_eq!(arrived.len(), 1);
        assert_eq!(arrived[0].path, path);
        assert_eq!(arrived[0].mode, CredentialMode::ReadOnly);
        assert_eq!(arrived[0].contents, file.contents);
        assert!(matches!(
            read_credentials(&mut &lines[..lines.len() - 4]),
            Err(RecordError::Truncated)
        ));
    }

    #[test]
    fn malformed_lines_and_too_many_are_refused() {
        for wrong in [
            "x\nend\n",
            "file 0777 61 61\nend\n",
            "file 0400 2e2e2f61 61\nend\n",
            "file 0400 2f61 61\nend\n",
            "file 0400 61 6\nend\n",
            "file 0400 61 61 61\nend\n",
        ] {
            assert!(read_credentials(&mut wrong.as_bytes()).is_err(), "{wrong}");
        }
        let many = "file 0400 61 61\n".repeat(MAX_CREDENTIALS + 1) + "end\n";
        assert!(matches!(
            read_credentials(&mut many.as_bytes()),
            Err(RecordError::TooLong)
        ));
    }

    #[test]
    fn a_hostile_porter_says_what_is_bounded_or_nothing() {
        let changed = CredentialEvent::Changed {
            index: 1,
            contents: b"new".to_vec(),
        };
        let mut said = b"noise\nchanged x 61\nchanged 99999 61\nchanged 0 6\n\xff\xfe\n".to_vec();
        said.extend("changed 0 ".bytes());
        said.extend(std::iter::repeat_n(b'6', 2 * MAX_CREDENTIAL_BYTES + 2));
        said.push(b'\n');
        said.extend(std::iter::repeat_n(b'z', 1 << 20));
        said.push(b'\n');
        said.extend(CredentialEvent::Ready.line());
        said.extend(changed.line());
        let mut input = &said[..];
        assert_eq!(
            CredentialEvent::read(&mut input).unwrap(),
            Some(CredentialEvent::Ready)
        );
        assert_eq!(CredentialEvent::read(&mut input).unwrap(), Some(changed));
        assert_eq!(CredentialEvent::read(&mut input).unwrap(), None);
    }
}
