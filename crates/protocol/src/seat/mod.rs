//! What host and `porter seat` say to each other.
//!
//! A seat carries one process, in frames on its own stdin and stdout:
//!
//! ```text
//! frame = KIND (1 byte) LENGTH (4 bytes, big-endian) payload
//!
//! host → seat    1 DATA bytes    2 EOF    3 RESIZE columns rows    4 SIGNAL number    5 HANGUP
//!                6 KEEP ticket    7 RECEIVED count
//! seat → host    17 STDOUT bytes    18 STDERR bytes    19 EXIT code    20 CREDIT bytes
//!                21 RECEIVED count
//! ```
//!
//! Numbers of a payload are big-endian: two bytes each for columns and rows, one for a signal and
//! an exit code, four for a credit, eight for a count. A payload has at most [`MAX_PAYLOAD`] bytes.
//!
//! The host may send [`WINDOW`] bytes of DATA, and as many more as CREDIT has given back: so a
//! seat reads its stdin even if its process does not, and a SIGNAL is never stuck behind DATA.
//! STDOUT and STDERR have no window. If the host stops reading, the process stops writing.
//! EXIT is the last frame.
//!
//! HANGUP says what the end of the seat's stdin says: the host has let go of the process. Not
//! every engine passes that end on.
//!
//! # Resumable seats
//!
//! A seat with a grace outlives its connection. KEEP is the host's first frame, and the process
//! starts after it. Each side keeps what it sent ([`Unacknowledged`]) until RECEIVED says that it
//! has arrived; a count is of bytes of whole frames since the first one. The end of the seat's
//! stdin is no HANGUP then: the seat waits, for its grace at most, until `porter rejoin` brings
//! it other streams with a [`RejoinRequest`]. The seat's first frame on them is RECEIVED, which is
//! not counted; then each side sends again what the other has not received. EXIT is kept until
//! RECEIVED covers it.

mod ticket;
mod unacknowledged;

pub use ticket::{RejoinRequest, TICKET_BYTES, Ticket};
pub use unacknowledged::{Arrived, CountError, Unacknowledged};

use crate::TerminalSize;

/// The longest payload, in bytes.
pub const MAX_PAYLOAD: usize = 64 << 10;

/// Bytes of DATA that the host may send before a seat has passed any on.
pub const WINDOW: usize = 256 << 10;

/// Bytes before a payload.
const HEAD: usize = 5;

/// What the host says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToSeat<'a> {
    /// Bytes for the process; at least one.
    Data(&'a [u8]),
    /// The process's input ends here.
    Eof,
    /// The terminal has another size.
    Resize(TerminalSize),
    /// Signals every process of the session.
    Signal(u8),
    /// The host has let go of the process.
    Hangup,
    /// What brings the seat other streams when these are lost.
    Keep(Ticket),
    /// So many bytes of the seat's frames have arrived, since the first one.
    Received(u64),
}

/// What a seat says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FromSeat<'a> {
    /// What the process wrote to stdout or to its terminal; at least one byte.
    Stdout(&'a [u8]),
    /// What the process wrote to stderr; at least one byte.
    Stderr(&'a [u8]),
    /// The process has ended, with this exit code.
    Exit(u8),
    /// The host may send so many bytes more.
    Credit(u32),
    /// So many bytes of the host's frames have arrived, since the first one.
    Received(u64),
}

/// Bytes that are no frame of the other side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The payload is longer than [`MAX_PAYLOAD`].
    #[error("a frame of {length} bytes")]
    TooLong {
        /// Its length.
        length: u32,
    },
    /// No frame is of this kind.
    #[error("a frame of the unknown kind {kind}")]
    UnknownKind {
        /// The kind.
        kind: u8,
    },
    /// The payload is not one of this kind.
    #[error("a frame of kind {kind} with another payload")]
    Payload {
        /// The kind.
        kind: u8,
    },
}

/// A frame that was taken out of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    kind: u8,
    payload: &'a [u8],
}

impl Frame<'_> {
    /// Returns how many bytes of the stream it was.
    pub fn length(&self) -> usize {
        HEAD + self.payload.len()
    }
}

/// Takes frames out of a stream, however its bytes arrive.
#[derive(Debug, Default)]
pub struct FrameReader {
    bytes: Vec<u8>,
    /// How many of them were taken.
    taken: usize,
}

impl FrameReader {
    /// Adds what has arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.taken);
        self.taken = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// Takes the next frame; `None` until the rest of it has arrived.
    ///
    /// # Errors
    /// When it is longer than any frame.
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, FrameError> {
        let rest = self.bytes.get(self.taken..).unwrap_or_default();
        let Some((&[kind, a, b, c, d], rest)) = rest.split_first_chunk::<HEAD>() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes([a, b, c, d]);
        let bytes = usize::try_from(length).unwrap_or(usize::MAX);
        if bytes > MAX_PAYLOAD {
            return Err(FrameError::TooLong { length });
        }
        let Some(payload) = rest.get(..bytes) else {
            return Ok(None);
        };
        self.taken += HEAD + bytes;
        Ok(Some(Frame { kind, payload }))
    }

    /// Whether the stream ends between two frames here.
    pub fn is_empty(&self) -> bool {
        self.taken == self.bytes.len()
    }
}

impl<'a> ToSeat<'a> {
    /// Reads a frame of the host's.
    ///
    /// # Errors
    /// When it is none.
    pub fn parse(frame: Frame<'a>) -> Result<Self, FrameError> {
        let Frame { kind, payload } = frame;
        match (kind, payload) {
            (1, [_, ..]) => Ok(Self::Data(payload)),
            (2, []) => Ok(Self::Eof),
            (3, &[a, b, c, d]) => Ok(Self::Resize(TerminalSize {
                columns: u16::from_be_bytes([a, b]),
                rows: u16::from_be_bytes([c, d]),
            })),
            (4, &[signal @ 1..=64]) => Ok(Self::Signal(signal)),
            (5, []) => Ok(Self::Hangup),
            (6, _) => {
                let ticket = Ticket::from_bytes(payload);
                ticket.map(Self::Keep).ok_or(FrameError::Payload { kind })
            }
            (7, _) => count(kind, payload).map(Self::Received),
            (1..=5, _) => Err(FrameError::Payload { kind }),
            _ => Err(FrameError::UnknownKind { kind }),
        }
    }

    /// Appends its frame. Of longer data there are several.
    pub fn write_to(&self, frames: &mut Vec<u8>) {
        match self {
            Self::Data(bytes) => push_pieces(frames, 1, bytes),
            Self::Eof => push(frames, 2, &[]),
            Self::Resize(TerminalSize { columns, rows }) => {
                let ([a, b], [c, d]) = (columns.to_be_bytes(), rows.to_be_bytes());
                push(frames, 3, &[a, b, c, d]);
            }
            Self::Signal(signal) => push(frames, 4, &[*signal]),
            Self::Hangup => push(frames, 5, &[]),
            Self::Keep(ticket) => push(frames, 6, &ticket.to_bytes()),
            Self::Received(count) => push(frames, 7, &count.to_be_bytes()),
        }
    }
}

impl<'a> FromSeat<'a> {
    /// Reads a frame of a seat's.
    ///
    /// # Errors
    /// When it is none.
    pub fn parse(frame: Frame<'a>) -> Result<Self, FrameError> {
        let Frame { kind, payload } = frame;
        match (kind, payload) {
            (17, [_, ..]) => Ok(Self::Stdout(payload)),
            (18, [_, ..]) => Ok(Self::Stderr(payload)),
            (19, &[code]) => Ok(Self::Exit(code)),
            (20, &[a, b, c, d]) => Ok(Self::Credit(u32::from_be_bytes([a, b, c, d]))),
            (21, _) => count(kind, payload).map(Self::Received),
            (17..=20, _) => Err(FrameError::Payload { kind }),
            _ => Err(FrameError::UnknownKind { kind }),
        }
    }

    /// Appends its frame. Of longer output there are several.
    pub fn write_to(&self, frames: &mut Vec<u8>) {
        match self {
            Self::Stdout(bytes) => push_pieces(frames, 17, bytes),
            Self::Stderr(bytes) => push_pieces(frames, 18, bytes),
            Self::Exit(code) => push(frames, 19, &[*code]),
            Self::Credit(bytes) => push(frames, 20, &bytes.to_be_bytes()),
            Self::Received(count) => push(frames, 21, &count.to_be_bytes()),
        }
    }
}

fn count(kind: u8, payload: &[u8]) -> Result<u64, FrameError> {
    let bytes = payload.try_into();
    let bytes = bytes.map_err(|_| FrameError::Payload { kind })?;
    Ok(u64::from_be_bytes(bytes))
}

fn push_pieces(frames: &mut Vec<u8>, kind: u8, bytes: &[u8]) {
    for piece in bytes.chunks(MAX_PAYLOAD) {
        push(frames, kind, piece);
    }
}

fn push(frames: &mut Vec<u8>, kind: u8, payload: &[u8]) {
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
    frames.push(kind);
    frames.extend(length.to_be_bytes());
    frames.extend_from_slice(payload);
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: TerminalSize = TerminalSize {
        columns: 300,
        rows: 2,
    };

    fn to_seat(bytes: &[u8]) -> Result<Vec<String>, FrameError> {
        let mut reader = FrameReader::default();
        let mut seen = Vec::new();
        // Byte by byte: a frame is one however it arrives.
        for byte in bytes {
            reader.push(&[*byte]);
            while let Some(frame) = reader.next_frame()? {
                seen.push(format!("{:?}", ToSeat::parse(frame)?));
            }
        }
        assert!(reader.is_empty(), "cut off");
        Ok(seen)
    }

    #[test]
    fn every_frame_is_read_as_it_was_written() {
        let sent = [
            ToSeat::Data(b"a"),
            ToSeat::Eof,
            ToSeat::Resize(SIZE),
            ToSeat::Signal(64),
            ToSeat::Hangup,
            ToSeat::Keep(Ticket::new([1; 16], [2; 32])),
            ToSeat::Received(1 << 40),
        ];
        let mut bytes = Vec::new();
        for frame in sent {
            frame.write_to(&mut bytes);
        }
        let expected = sent.map(|frame| format!("{frame:?}"));
        assert_eq!(to_seat(&bytes).expect("frames"), expected);

        let sent = [
            FromSeat::Stdout(b"a"),
            FromSeat::Stderr(b"\0"),
            FromSeat::Credit(u32::MAX),
            FromSeat::Received(u64::MAX),
            FromSeat::Exit(255),
        ];
        for frame in sent {
            let mut reader = FrameReader::default();
            let mut bytes = Vec::new();
            frame.write_to(&mut bytes);
            reader.push(&bytes);
            let read = reader.next_frame().expect("a frame").expect("all of it");
            assert_eq!(FromSeat::parse(read), Ok(frame));
        }
    }

    #[test]
    fn long_data_travels_in_several_frames() {
        let data = vec![b'x'; MAX_PAYLOAD + 1];
        let mut bytes = Vec::new();
        ToSeat::Data(&data).write_to(&mut bytes);
        assert_eq!(bytes.len(), data.len() + 2 * HEAD);
        ToSeat::Data(&[]).write_to(&mut bytes);
        assert_eq!(bytes.len(), data.len() + 2 * HEAD, "nothing for no data");
    }

    #[test]
    fn everything_else_is_refused() {
        let frame = |kind, payload: &[u8]| {
            let mut bytes = Vec::new();
            push(&mut bytes, kind, payload);
            to_seat(&bytes)
                .expect_err("no frame of the host's")
                .to_string()
        };
        for kind in [0, 8, 17, 18, 19, 20, 21, 255] {
            let unknown = format!("a frame of the unknown kind {kind}");
            assert_eq!(frame(kind, b"x"), unknown);
        }
        for (kind, payload) in [
            (1, &b""[..]),
            (2, b"x"),
            (3, b"abc"),
            (3, b"abcde"),
            (4, b""),
            (4, b"\0"),
            (4, &[65]),
            (4, b"\x01\x02"),
            (5, b"x"),
            (6, &[0; TICKET_BYTES - 1]),
            (6, &[0; TICKET_BYTES + 1]),
            (7, &[0; 7]),
            (7, &[0; 9]),
        ] {
            let wrong = format!("a frame of kind {kind} with another payload");
            assert_eq!(frame(kind, payload), wrong);
        }
        let mut reader = FrameReader::default();
        reader.push(&[1, 0, 1, 0, 1]);
        let length = 0x1_0001;
        assert_eq!(reader.next_frame(), Err(FrameError::TooLong { length }));
    }
}
