//! `Members`: the reader.

use std::io::{self, Read};

use super::decode_member::decode_member;
use super::input::Input;
use super::limit_counter::LimitCounter;
use super::member::{Member, MemberKind};
use super::pax::Pax;
use super::trailer::TRAILER_BYTES;
use super::ustar::{BLOCK, Flag, Header};
use crate::{StreamError, StreamLimits, Trailer};

/// The most zero bytes that may follow a plain stream: writers fill up to their
/// blocking factor, 10 KiB as a rule.
const PLAIN_FILL: u64 = 1 << 20;

/// The strict reader of a stream, member by member.
///
/// Reads exactly the bytes of the stream, never one more, in pieces as small as
/// a header: put a [`BufReader`](io::BufReader) in between where reads are dear
/// and nothing else follows the stream.
#[derive(Debug)]
#[must_use = "a stream proves that it is complete only in `finish_trailer` or `finish_plain`"]
pub struct Members<R> {
    input: Input<R>,
    counter: LimitCounter,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Between members.
    Between,
    /// In a body of `size` bytes, of which some are left.
    Body { left: u64, size: u64, name: Vec<u8> },
    /// Behind the two zero blocks.
    Ended,
    /// Behind an error.
    GivenUp,
}

impl<R: Read> Members<R> {
    /// Starts at the first byte of a stream.
    pub fn new(reader: R, limits: StreamLimits) -> Self {
        Self {
            input: Input::new(reader),
            counter: LimitCounter::new(limits),
            state: State::Between,
        }
    }

    /// Returns the next member, or `None` behind the end mark. What is left of the
    /// body before is skipped.
    ///
    /// # Errors
    /// The first lie. After it, the stream is given up.
    #[expect(
        clippy::should_implement_trait,
        reason = "an iterator could not lend the body"
    )]
    pub fn next(&mut self) -> Result<Option<Member>, StreamError> {
        let next = match self.state {
            State::Ended => return Ok(None),
            State::GivenUp => Err(StreamError::GivenUp),
            State::Between | State::Body { .. } => self.skip().and_then(|()| self.read_member()),
        };
        if next.is_err() {
            self.state = State::GivenUp;
        }
        next
    }

    /// Returns the body of the member that was returned last: a file's bytes,
    /// nothing for the rest. A lie inside arrives as an [`io::Error`] that
    /// `StreamError::from` unwraps.
    pub fn body(&mut self) -> Body<'_, R> {
        Body { members: self }
    }

    /// How many members there were, the root not counted.
    pub fn entries(&self) -> u64 {
        self.counter.entries
    }

    /// How many bytes of files there were, a hard link counted as a copy.
    pub fn bytes(&self) -> u64 {
        self.counter.bytes
    }

    /// Reads the trailer, and not one byte more.
    ///
    /// # Errors
    /// When there is none, or it tells of other numbers or bytes than arrived.
    pub fn finish_trailer(mut self) -> Result<Trailer, StreamError> {
        self.check_ended()?;
        let stream = self.input.checksum();
        let mut block = [0; TRAILER_BYTES];
        let within = "the trailer";
        match self.input.read_full(&mut block)? {
            TRAILER_BYTES => {}
            _ => return Err(StreamError::Truncated { within }),
        }
        let trailer = Trailer::parse(&block).map_err(|_| StreamError::TrailerMalformed)?;
        if trailer.entries != self.counter.entries {
            let (arrived, sent) = (self.counter.entries, trailer.entries);
            return Err(StreamError::TrailerEntries { arrived, sent });
        }
        if trailer.bytes != self.counter.bytes {
            let (arrived, sent) = (self.counter.bytes, trailer.bytes);
            return Err(StreamError::TrailerBytes { arrived, sent });
        }
        if trailer.stream != stream {
            return Err(StreamError::TrailerStream);
        }
        Ok(trailer)
    }

    /// Reads up to the end of the reader: only zero blocks may follow.
    ///
    /// # Errors
    /// When something else follows.
    pub fn finish_plain(mut self) -> Result<(), StreamError> {
        self.check_ended()?;
        let mut block = [0; BLOCK];
        let mut fill = 0;
        loop {
            match self.input.read_full(&mut block)? {
                0 => return Ok(()),
                BLOCK if block == [0; BLOCK] && fill < PLAIN_FILL => fill += BLOCK as u64,
                _ => return Err(StreamError::Trailing),
            }
        }
    }

    fn check_ended(&self) -> Result<(), StreamError> {
        match self.state {
            State::Ended => Ok(()),
            State::Between | State::Body { .. } | State::GivenUp => Err(StreamError::GivenUp),
        }
    }

    /// Skips what is left of a body, and its padding.
    fn skip(&mut self) -> Result<(), StreamError> {
        io::copy(&mut self.body(), &mut io::sink())?;
        let State::Body { size, name, .. } = std::mem::replace(&mut self.state, State::Between)
        else {
            return Ok(());
        };
        self.input.read_padding(size, &name)
    }

    fn read_member(&mut self) -> Result<Option<Member>, StreamError> {
        let mut pax = None;
        loop {
            let Some(block) = self.input.read_block()? else {
                return Err(match pax {
                    None => StreamError::NoEof,
                    Some(_) => StreamError::Truncated { within: "a member" },
                });
            };
            if block == [0; BLOCK] {
                if pax.is_some() {
                    return Err(StreamError::PaxOrphan);
                }
                self.read_end()?;
                return Ok(None);
            }
            let header = Header::parse(&block).map_err(|error| match error {
                StreamError::Checksum => self.input.blame(&block, error),
                error => error,
            })?;
            if header.flag == Flag::Pax {
                if pax.is_some() {
                    return Err(StreamError::PaxStacked);
                }
                pax = Some(self.read_pax(&header)?);
                continue;
            }
            let pax = pax.take().unwrap_or_default();
            let Some(member) = decode_member(&header, pax, &mut self.counter)? else {
                continue;
            };
            if let MemberKind::File { size, .. } = member.kind {
                let (left, name) = (size, member.path.as_bytes().to_vec());
                self.state = State::Body { left, size, name };
            }
            return Ok(Some(member));
        }
    }

    /// Reads the second zero block.
    fn read_end(&mut self) -> Result<(), StreamError> {
        match self.input.read_block()? {
            None => Err(StreamError::NoEof),
            Some(block) if block == [0; BLOCK] => {
                self.state = State::Ended;
                Ok(())
            }
            Some(_) => Err(StreamError::LoneZeroBlock),
        }
    }

    fn read_pax(&mut self, header: &Header<'_>) -> Result<Pax, StreamError> {
        let (size, limit) = (header.size()?, self.counter.limits.meta_bytes);
        if size > limit {
            return Err(StreamError::MetaTooBig { size, limit });
        }
        let body = self.input.read_kept(size, "a PAX header")?;
        self.input.read_padding(size, b"PAX header")?;
        Pax::parse(&body)
    }
}

/// The body of one member; see [`Members::body`].
#[derive(Debug)]
pub struct Body<'a, R> {
    members: &'a mut Members<R>,
}

impl<R: Read> Read for Body<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let State::Body { left, .. } = &mut self.members.state else {
            return Ok(0);
        };
        let most = usize::try_from(*left)
            .unwrap_or(usize::MAX)
            .min(buffer.len());
        if most == 0 {
            return Ok(0);
        }
        match self.members.input.read_some(&mut buffer[..most]) {
            Ok(0) => {
                self.members.state = State::GivenUp;
                Err(StreamError::Truncated { within: "a body" }.into())
            }
            Ok(length) => {
                *left -= length as u64;
                Ok(length)
            }
            Err(error) => {
                if error.kind() != io::ErrorKind::Interrupted {
                    self.members.state = State::GivenUp;
                }
                Err(error)
            }
        }
    }
}
