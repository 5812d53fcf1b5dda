//! A line that the host says to a porter on its stdin.

use std::io::{self, Read};

/// The longest line, in bytes: a verb, its root (`PATH_MAX`, limits.h), a flag.
const LONGEST: usize = 32 + 4096;

/// Reads one line without its end, and nothing of what follows it.
///
/// # Errors
/// When the input ends before the line does, or the line is too long or no text.
pub fn read_line(input: &mut dyn Read) -> io::Result<String> {
    let mut line = Vec::new();
    let mut byte = [0];
    while line.len() < LONGEST {
        input.read_exact(&mut byte)?;
        match byte {
            [b'\n'] => return String::from_utf8(line).map_err(io::Error::other),
            [byte] => line.push(byte),
        }
    }
    Err(io::ErrorKind::InvalidData.into())
}
