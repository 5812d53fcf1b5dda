//! `Body`: the bytes of a body, told from its framing and from what follows it (NET-13).

use super::framing::Framing;

/// The body of one message, read from its first byte.
///
/// Chunks are read in the one way that is left if sizes are plain hexadecimal digits: chunk
/// extensions mean nothing to any recipient and have been used to smuggle requests, so they
/// are refused.
#[derive(Debug)]
pub struct Body {
    state: State,
    trailers: Trailers,
    trailer_bytes: usize,
}

/// What becomes of fields after the last chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trailers {
    /// They are an error: the framing is passed on as it came.
    Refuse,
    /// They are framing, which ends here: they could carry what was removed from the head.
    Discard,
}

/// What the first bytes of an input are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// This many bytes of framing.
    Framing(usize),
    /// This many bytes of content.
    Content(usize),
}

impl Span {
    /// Returns the length in bytes.
    pub fn length(self) -> usize {
        match self {
            Self::Framing(length) | Self::Content(length) => length,
        }
    }
}

/// Why a body can't be read to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadBody {
    /// A chunk or a trailer that RFC 9112 section 7.1 does not know, or that is refused here.
    #[error("a chunk is not what RFC 9112, 7.1 says")]
    Chunk,
    /// The connection ended first.
    #[error("the connection ended too early")]
    Truncated,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// This much of a body of known length is to come, never 0.
    Length(u64),
    /// Everything until the connection ends.
    UntilClose,
    /// In a chunk's size: its value, and how many digits it has had.
    Size {
        value: u64,
        digits: u32,
    },
    /// The CR of a size has been there.
    SizeLf(u64),
    /// This much of a chunk is to come, never 0.
    Data(u64),
    /// After a chunk: CR, then LF.
    DataCr,
    DataLf,
    /// At the start of a line after the last size: a trailer, or the empty line.
    LineStart,
    /// In a trailer: this many bytes of its line have been there.
    Trailer(usize),
    TrailerLf,
    /// The CR of the empty line has been there.
    LastLf,
    /// The body has ended.
    Complete,
}

const NEW_CHUNK: State = State::Size {
    value: 0,
    digits: 0,
};

/// Digits of a chunk's size: sixteen would be 64 bits.
const MOST_DIGITS: u32 = 15;

/// The longest trailer, in bytes, without its line end.
const LONGEST_TRAILER: usize = 4094;

/// The most bytes of trailers that are discarded.
const MOST_TRAILER_BYTES: usize = 16 * 1024;

/// The chunk that ends a body.
pub(crate) const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// Returns `content` as a chunk; empty content is the last one.
pub(crate) fn encode_chunk(content: &[u8]) -> Vec<u8> {
    let mut chunk = format!("{:x}\r\n", content.len()).into_bytes();
    chunk.extend_from_slice(content);
    chunk.extend_from_slice(b"\r\n");
    chunk
}

impl Body {
    /// Returns the body that is framed so.
    pub fn new(framing: Framing, trailers: Trailers) -> Self {
        let state = match framing {
            Framing::Nothing | Framing::Length(0) => State::Complete,
            Framing::Length(length) => State::Length(length),
            Framing::Chunked => NEW_CHUNK,
            Framing::UntilClose => State::UntilClose,
        };
        Self {
            state,
            trailers,
            trailer_bytes: 0,
        }
    }

    /// Returns true once all of it has been read.
    pub fn is_complete(&self) -> bool {
        self.state == State::Complete
    }

    /// Reads one span from the front of `input`; its length is 0 only if `input` is empty or
    /// the body is complete.
    ///
    /// # Errors
    ///
    /// [`BadBody::Chunk`]; the body can't be read any further then.
    pub fn read(&mut self, input: &[u8]) -> Result<Span, BadBody> {
        let Some(&first) = input.first() else {
            return Ok(Span::Framing(0));
        };
        match self.state {
            State::Complete => Ok(Span::Framing(0)),
            State::UntilClose => Ok(Span::Content(input.len())),
            State::Length(left) => {
                let (length, left) = take(left, input.len());
                self.state = if left == 0 {
                    State::Complete
                } else {
                    State::Length(left)
                };
                Ok(Span::Content(length))
            }
            State::Data(left) => {
                let (length, left) = take(left, input.len());
                self.state = if left == 0 {
                    State::DataCr
                } else {
                    State::Data(left)
                };
                Ok(Span::Content(length))
            }
            state => {
                self.state = self.after(state, first).ok_or(BadBody::Chunk)?;
                Ok(Span::Framing(1))
            }
        }
    }

    /// Returns how many bytes from the front of `input` belong to the body.
    ///
    /// # Errors
    ///
    /// [`BadBody::Chunk`].
    pub fn advance(&mut self, input: &[u8]) -> Result<usize, BadBody> {
        let mut at = 0;
        while at < input.len() && !self.is_complete() {
            at += self.read(&input[at..])?.length();
        }
        Ok(at)
    }

    /// Tells the body that the connection has ended.
    ///
    /// # Errors
    ///
    /// [`BadBody::Truncated`] if more had to come.
    pub fn close(&mut self) -> Result<(), BadBody> {
        match self.state {
            State::UntilClose | State::Complete => {
                self.state = State::Complete;
                Ok(())
            }
            _ => Err(BadBody::Truncated),
        }
    }

    /// Returns the state after a byte of framing; `None` if it can't be there.
    fn after(&mut self, state: State, byte: u8) -> Option<State> {
        match (state, byte) {
            (State::Size { value, digits }, byte) if byte.is_ascii_hexdigit() => {
                let digit = char::from(byte).to_digit(16)?;
                (digits < MOST_DIGITS).then_some(State::Size {
                    value: value << 4 | u64::from(digit),
                    digits: digits + 1,
                })
            }
            (State::Size { value, digits: 1.. }, b'\r') => Some(State::SizeLf(value)),
            (State::SizeLf(0), b'\n') => Some(State::LineStart),
            (State::SizeLf(size), b'\n') => Some(State::Data(size)),
            (State::DataCr, b'\r') => Some(State::DataLf),
            (State::DataLf, b'\n') => Some(NEW_CHUNK),
            (State::LineStart, b'\r') => Some(State::LastLf),
            (State::LastLf, b'\n') => Some(State::Complete),
            (State::LineStart, byte) if self.trailers == Trailers::Discard => {
                self.in_trailer(1, byte)
            }
            (State::Trailer(_), b'\r') => Some(State::TrailerLf),
            (State::Trailer(length), byte) => self.in_trailer(length + 1, byte),
            (State::TrailerLf, b'\n') => Some(State::LineStart),
            _ => None,
        }
    }

    fn in_trailer(&mut self, length: usize, byte: u8) -> Option<State> {
        self.trailer_bytes += 1;
        let is_text = byte == b'\t' || (byte >= b' ' && byte != 0x7f);
        let fits = length <= LONGEST_TRAILER && self.trailer_bytes <= MOST_TRAILER_BYTES;
        (is_text && fits).then_some(State::Trailer(length))
    }
}

/// Returns how much of `left` is in `available` bytes, and what is left then.
fn take(left: u64, available: usize) -> (usize, u64) {
    let length = usize::try_from(left).map_or(available, |left| left.min(available));
    (length, left - u64::try_from(length).unwrap_or(left))
}
