//! Words that the host says to a porter on its stdin, a line each.

use std::fs::File;
use std::io::{self, Read as _};

use crate::root;

/// The longest word, in bytes: a verb, its root (`PATH_MAX`, limits.h), a flag.
const LONGEST: usize = 32 + 4096;

/// Reads one word, and nothing of what follows it.
///
/// # Errors
/// When stdin ends before the word does, or the word is too long or no text.
pub(crate) fn word() -> io::Result<String> {
    let mut stdin: File = root::stdin()?;
    let mut word = Vec::new();
    let mut byte = [0];
    while word.len() < LONGEST {
        stdin.read_exact(&mut byte)?;
        match byte {
            [b'\n'] => return String::from_utf8(word).map_err(io::Error::other),
            [byte] => word.push(byte),
        }
    }
    Err(io::ErrorKind::InvalidData.into())
}
