//! Frames on the keeper's socket.
//!
//! ```text
//! frame = length:u32le kind:u8 flags:u8 channel:u16le payload      length: of the payload, ≤ 64 KiB
//! ```
//!
//! A frame whose kind is unknown is skipped if its flag 1 is set, and else ends the connection, so
//! that a later version can add what an earlier one need not understand.

use std::io::{self, Read, Write};

/// The most bytes of a payload.
pub const LONGEST: usize = 64 << 10;

/// The flag of a frame that may be skipped.
const OPTIONAL: u8 = 1;

/// What a frame says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The keeper's first: a JSON [`Hello`](super::message::Hello).
    Hello,
    /// A client's first: a JSON [`Request`](super::message::Request).
    Request,
    /// The answer: a JSON [`Reply`](super::message::Reply).
    Reply,
    /// Bytes of a channel.
    Data,
    /// A channel has ended.
    Eof,
    /// A JSON [`Size`](super::message::Size).
    Resize,
    /// For a process beside the command: a JSON [`Signal`](super::message::Signal). For the
    /// session: it is to end.
    Signal,
    /// The whole screen: all that was drawn before is void.
    Screen,
    /// A JSON [`Event`](super::journal::Event).
    Event,
    /// The last frame: a JSON [`Exit`](super::message::Exit).
    Exit,
    /// What lazaret itself says, as text for the user's stderr: stdout is the command's.
    Message,
    /// The client takes the driver's seat.
    Take,
    /// A part of the JSON report of the session's end.
    Report,
    /// The command is to be paused.
    Pause,
    /// It is to be resumed.
    Resume,
}

/// Every kind and its number on the wire.
const KINDS: [(Kind, u8); 15] = [
    (Kind::Hello, 1),
    (Kind::Request, 2),
    (Kind::Reply, 3),
    (Kind::Data, 4),
    (Kind::Eof, 5),
    (Kind::Resize, 7),
    (Kind::Signal, 8),
    (Kind::Screen, 10),
    (Kind::Event, 11),
    (Kind::Exit, 12),
    (Kind::Message, 13),
    (Kind::Take, 14),
    (Kind::Report, 15),
    (Kind::Pause, 16),
    (Kind::Resume, 17),
];

/// Which stream the bytes of a [`Kind::Data`] are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// What the client types or sends.
    Stdin,
    /// What the command prints.
    Stdout,
    /// What it prints to stderr.
    Stderr,
    /// What it draws on its terminal, filtered.
    Screen,
}

const CHANNELS: [Channel; 4] = [
    Channel::Stdin,
    Channel::Stdout,
    Channel::Stderr,
    Channel::Screen,
];

/// One frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// What it says.
    pub kind: Kind,
    /// The stream of a [`Kind::Data`] or [`Kind::Eof`].
    pub channel: Channel,
    /// What belongs to it.
    pub payload: Vec<u8>,
}

impl Frame {
    /// Returns a frame of no channel.
    pub fn new(kind: Kind, payload: Vec<u8>) -> Self {
        Self {
            kind,
            channel: Channel::Stdin,
            payload,
        }
    }

    /// Returns a frame with a JSON object.
    ///
    /// # Errors
    /// When it has no JSON form, or too long a one.
    pub fn json(kind: Kind, value: &impl serde::Serialize) -> io::Result<Self> {
        let payload = serde_json::to_vec(value)?;
        match payload.len() <= LONGEST {
            true => Ok(Self::new(kind, payload)),
            false => Err(io::Error::other("a message for the keeper is too long")),
        }
    }

    /// Returns frames with the bytes of a stream.
    pub fn data(channel: Channel, bytes: &[u8]) -> impl Iterator<Item = Self> {
        Self::parts(Kind::Data, bytes).map(move |frame| Self { channel, ..frame })
    }

    /// Returns frames with what is too long for one.
    pub fn parts(kind: Kind, bytes: &[u8]) -> impl Iterator<Item = Self> {
        let chunks = bytes.chunks(LONGEST);
        chunks.map(move |chunk| Self::new(kind, chunk.to_vec()))
    }

    /// Returns the end of a stream.
    pub fn eof(channel: Channel) -> Self {
        Self {
            kind: Kind::Eof,
            channel,
            payload: Vec::new(),
        }
    }

    /// Reads the payload.
    ///
    /// # Errors
    /// When it is not the JSON of a `T`.
    pub fn parse<T: serde::de::DeserializeOwned>(&self) -> io::Result<T> {
        Ok(serde_json::from_slice(&self.payload)?)
    }

    /// Returns its bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let length = u32::try_from(self.payload.len()).unwrap_or(u32::MAX);
        let kind = KINDS.iter().find(|(kind, _)| *kind == self.kind);
        let channel = CHANNELS.iter().position(|channel| *channel == self.channel);
        let channel = u16::try_from(channel.unwrap_or_default()).unwrap_or_default();
        let mut bytes = Vec::with_capacity(HEAD + self.payload.len());
        bytes.extend(length.to_le_bytes());
        bytes.extend([kind.map_or(0, |(_, number)| *number), 0]);
        bytes.extend(channel.to_le_bytes());
        bytes.extend(&self.payload);
        bytes
    }

    /// Writes it.
    ///
    /// # Errors
    /// The stream's.
    pub fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(&self.to_bytes())?;
        out.flush()
    }

    /// Reads the next frame; `None` at the end of the stream.
    ///
    /// # Errors
    /// The stream's; one that is cut off, too long, or unknown and not optional is
    /// [`io::ErrorKind::InvalidData`].
    pub fn read_from(input: &mut dyn Read) -> io::Result<Option<Self>> {
        loop {
            let Some(head) = head(input)? else {
                return Ok(None);
            };
            let [l0, l1, l2, l3, kind, flags, c0, c1] = head;
            let length = usize::try_from(u32::from_le_bytes([l0, l1, l2, l3]));
            let length = length.ok().filter(|length| *length <= LONGEST);
            let mut payload = vec![0; length.ok_or_else(|| invalid("a frame is too long"))?];
            input.read_exact(&mut payload).map_err(cut)?;
            let kind = KINDS.iter().find(|(_, number)| *number == kind);
            let channel = CHANNELS.get(usize::from(u16::from_le_bytes([c0, c1])));
            match (kind, channel) {
                (Some((kind, _)), Some(channel)) => {
                    return Ok(Some(Self {
                        kind: *kind,
                        channel: *channel,
                        payload,
                    }));
                }
                _ if flags & OPTIONAL != 0 => {}
                _ => return Err(invalid("a frame is of an unknown kind")),
            }
        }
    }
}

/// Bytes before the payload.
const HEAD: usize = 8;

fn head(input: &mut dyn Read) -> io::Result<Option<[u8; HEAD]>> {
    let mut head = [0; HEAD];
    let mut filled = 0;
    while filled < HEAD {
        match input.read(head.get_mut(filled..).unwrap_or_default()) {
            Ok(0) if filled == 0 => return Ok(None),
            Ok(0) => return Err(invalid("a frame is cut off")),
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Some(head))
}

fn cut(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => invalid("a frame is cut off"),
        _ => error,
    }
}

fn invalid(text: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> io::Result<Option<Frame>> {
        Frame::read_from(&mut &bytes[..])
    }

    #[test]
    fn a_frame_is_read_as_it_was_written() {
        let sent: Vec<Frame> = Frame::data(Channel::Screen, &vec![7; LONGEST + 1]).collect();
        assert_eq!(sent.len(), 2, "a payload has a longest");
        let bytes: Vec<u8> = sent.iter().flat_map(Frame::to_bytes).collect();
        let mut input = &bytes[..];
        for frame in &sent {
            assert_eq!(Frame::read_from(&mut input).unwrap().as_ref(), Some(frame));
        }
        assert_eq!(Frame::read_from(&mut input).unwrap(), None);
    }

    #[test]
    fn every_kind_has_a_number_of_its_own() {
        for (kind, _) in KINDS {
            let frame = Frame::new(kind, b"{}".to_vec());
            assert_eq!(read(&frame.to_bytes()).unwrap(), Some(frame));
        }
    }

    #[test]
    fn what_is_no_frame_is_an_error() {
        let good = Frame::eof(Channel::Stdin).to_bytes();
        let cut = Frame::new(Kind::Data, vec![1, 2, 3]).to_bytes();
        for length in 1..cut.len() {
            read(&cut[..length]).expect_err("cut off");
        }
        for (at, value) in [(3, 1), (4, 0), (4, 99), (6, 9)] {
            let mut bad = good.clone();
            bad[at] = value;
            assert_eq!(
                read(&bad).expect_err("no frame").kind(),
                io::ErrorKind::InvalidData
            );
        }
    }

    #[test]
    fn what_is_unknown_and_optional_is_skipped() {
        let mut unknown = Frame::new(Kind::Data, vec![1, 2]).to_bytes();
        unknown[4] = 99;
        unknown[5] = OPTIONAL;
        let known = Frame::eof(Channel::Stdout);
        unknown.extend(known.to_bytes());
        assert_eq!(read(&unknown).unwrap(), Some(known));
    }
}
