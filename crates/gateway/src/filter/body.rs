//! `Body`: lets the body of one request pass and nothing after it (NET-13).

use lazaret_egress::Denied;

use crate::head::Framing;
use crate::pump::{Filter, Then};

/// Lets the body of one request pass and nothing after it.
///
/// A second request behind it, smuggled or not, is never read: it would go to the same
/// server without having been judged. Chunks are read in the one way that is left when
/// sizes are plain hexadecimal, and neither extensions nor trailers are taken.
#[derive(Debug)]
pub struct Body {
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// This much of a body of known length is to come.
    Length(u64),
    /// In a chunk's size: its value, and how many digits it has had.
    Size {
        value: u64,
        digits: u32,
    },
    /// The CR of a size has been there.
    SizeEnd(u64),
    /// This much of a chunk is to come.
    Data(u64),
    /// After a chunk: CR, then LF.
    DataCr,
    DataLf,
    /// After the last size: CR, then LF.
    LastCr,
    LastLf,
    /// The body has ended.
    Over,
}

/// Digits of a chunk's size: sixteen would be 64 bits.
const MOST_DIGITS: u32 = 15;

impl Body {
    /// A body that is framed so.
    pub fn new(framing: Framing) -> Self {
        let state = match framing {
            Framing::Length(0) => State::Over,
            Framing::Length(length) => State::Length(length),
            Framing::Chunked => State::Size {
                value: 0,
                digits: 0,
            },
        };
        Self { state }
    }

    /// Whether all of it has passed.
    pub fn is_over(&self) -> bool {
        self.state == State::Over
    }

    /// Returns how many bytes from the front of `input` belong to the body.
    ///
    /// # Errors
    ///
    /// [`Denied::BadRequest`] for a chunk that is not framed plainly.
    pub fn advance(&mut self, input: &[u8]) -> Result<usize, Denied> {
        let mut at = 0;
        while at < input.len() && self.state != State::Over {
            let rest = &input[at..];
            let (used, next) = match self.state {
                State::Length(left) | State::Data(left) => self.skip(left, rest.len()),
                state => (1, framed(state, rest[0]).ok_or(Denied::BadRequest)?),
            };
            at += used;
            self.state = next;
        }
        Ok(at)
    }

    fn skip(&self, left: u64, available: usize) -> (usize, State) {
        let used = usize::try_from(left).map_or(available, |left| left.min(available));
        let left = left - u64::try_from(used).unwrap_or(left);
        let next = match (self.state, left) {
            (State::Data(_), 0) => State::DataCr,
            (State::Data(_), left) => State::Data(left),
            (_, 0) => State::Over,
            (_, left) => State::Length(left),
        };
        (used, next)
    }
}

/// Returns what follows a byte of the framing; `None` when it can't be there.
fn framed(state: State, byte: u8) -> Option<State> {
    match (state, byte) {
        (State::Size { value, digits }, byte) if byte.is_ascii_hexdigit() => {
            let digit = char::from(byte).to_digit(16)?;
            (digits < MOST_DIGITS).then_some(State::Size {
                value: value << 4 | u64::from(digit),
                digits: digits + 1,
            })
        }
        (State::Size { value, digits: 1.. }, b'\r') => Some(State::SizeEnd(value)),
        (State::SizeEnd(0), b'\n') => Some(State::LastCr),
        (State::SizeEnd(size), b'\n') => Some(State::Data(size)),
        (State::DataCr, b'\r') => Some(State::DataLf),
        (State::DataLf, b'\n') => Some(State::Size {
            value: 0,
            digits: 0,
        }),
        (State::LastCr, b'\r') => Some(State::LastLf),
        (State::LastLf, b'\n') => Some(State::Over),
        _ => None,
    }
}

impl Filter for Body {
    fn pass(&mut self, input: &[u8], output: &mut Vec<u8>) -> Result<Then, Denied> {
        let used = self.advance(input)?;
        output.extend_from_slice(&input[..used]);
        Ok(match self.is_over() {
            true => Then::Deaf,
            false => Then::Filter,
        })
    }
}
