//! `Body`: the pieces of a body, each as soon as it is there.

use std::io::Read;
use std::time::Duration;

use super::framing::Framing;
use super::source::{Source, SourceError, Timed};

/// A line that tells the size of a chunk, or ends one.
const LONGEST_LINE: usize = 4096;

/// How many bytes of trailers are thrown away before a body is refused.
const LONGEST_TRAILERS: usize = 16 * 1024;

/// What of a body is still to come.
#[derive(Debug)]
pub(super) enum Body {
    Over,
    Left(u64),
    /// Of the chunk that is being read.
    Chunk(u64),
    /// The size of a chunk comes next.
    Size,
    Close,
}

/// Why a body can't be read on.
#[derive(Debug, thiserror::Error)]
pub(super) enum BadBody {
    #[error("a chunk is not what RFC 9112, 7.1 says")]
    Chunk,
    #[error(transparent)]
    Source(#[from] SourceError),
}

impl Body {
    pub(super) fn new(framing: Framing) -> Self {
        match framing {
            Framing::Nothing | Framing::Length(0) => Self::Over,
            Framing::Length(length) => Self::Left(length),
            Framing::Chunked => Self::Size,
            Framing::Close => Self::Close,
        }
    }

    /// Returns the next piece; `None` once there is none, and never an empty one.
    pub(super) fn next<R: Read + Timed>(
        &mut self,
        from: &mut Source<R>,
        idle: Duration,
    ) -> Result<Option<Vec<u8>>, BadBody> {
        loop {
            match self {
                Self::Over => return Ok(None),
                Self::Close => {
                    let piece = from.piece(u64::MAX, idle)?;
                    if piece.is_empty() {
                        *self = Self::Over;
                        continue;
                    }
                    return Ok(Some(piece));
                }
                Self::Left(left) => {
                    let piece = some(from.piece(*left, idle)?)?;
                    *left -= piece.len() as u64;
                    if *left == 0 {
                        *self = Self::Over;
                    }
                    return Ok(Some(piece));
                }
                Self::Chunk(left) => {
                    let piece = some(from.piece(*left, idle)?)?;
                    *left -= piece.len() as u64;
                    if *left == 0 {
                        match from.line(2, idle)?.is_empty() {
                            true => *self = Self::Size,
                            false => return Err(BadBody::Chunk),
                        }
                    }
                    return Ok(Some(piece));
                }
                Self::Size => {
                    let size = size(&from.line(LONGEST_LINE, idle)?).ok_or(BadBody::Chunk)?;
                    *self = Self::Chunk(size);
                    if size == 0 {
                        trailers(from, idle)?;
                        *self = Self::Over;
                    }
                }
            }
        }
    }

    /// Whether all of it was read.
    pub(super) fn is_over(&self) -> bool {
        matches!(self, Self::Over)
    }
}

fn some(piece: Vec<u8>) -> Result<Vec<u8>, BadBody> {
    match piece.is_empty() {
        true => Err(SourceError::Cut.into()),
        false => Ok(piece),
    }
}

/// Plain hexadecimal digits: extensions mean nothing to anybody, and have been used to
/// smuggle requests.
fn size(line: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(line).ok()?;
    let is_number =
        (1..=15).contains(&digits.len()) && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    u64::from_str_radix(digits, 16).ok().filter(|_| is_number)
}

/// Trailers could carry what was stripped from the head, so they end here.
fn trailers<R: Read + Timed>(from: &mut Source<R>, idle: Duration) -> Result<(), BadBody> {
    let mut read = 0;
    loop {
        let line = from.line(LONGEST_LINE, idle)?;
        read += line.len();
        if line.is_empty() {
            return Ok(());
        }
        if read > LONGEST_TRAILERS {
            return Err(BadBody::Chunk);
        }
    }
}
