//! The grammar of streams, and the one reader of it.
//!
//! A stream is read once, by [`Members`], and by nothing else: where two tar
//! readers disagree, an attacker shows one tree to the judge and another to the
//! host. Hence no leniency at all. A stream is
//!
//! ```text
//! stream  = member* zero zero ending
//! member  = [pax] header body?
//! pax     = header of type x, then records, filled up to a block with NUL
//! body    = as many bytes as the size says, filled up to a block with NUL
//! ending  = zero*                        Members::finish_plain
//!         | trailer                      Members::finish_trailer
//! ```
//!
//! - Never compressed; nothing is sniffed but to name the error.
//! - Headers are POSIX ustar: right unsigned checksum, magic `ustar\0` `00`, octal
//!   numbers with an end, text fields without bytes behind their NUL. Base-256
//!   numbers are refused, but for the modification time, where they are the only
//!   way to a time before 1970. Owners and device numbers are not read.
//! - Types `0 1 2 5 6` and the local PAX header `x`. Types 3 and 4, devices, are
//!   refused by name, every other byte as a typeflag.
//! - PAX keys `path`, `linkpath`, `size`, `mtime`, each once; attributes and access
//!   lists are dropped and noted; any other key is refused. A size in both places
//!   must be the same, unless the header's is 0.
//! - Names: one leading `./` is stripped, one trailing `/` from a directory's; a
//!   root entry `./` is ignored. Then the rules of [`RelPath`](crate::RelPath).
//! - Every name once; nothing below a file or a link; a hard link only to a file
//!   that came before.
//!
//! What breaks a rule that every file system keeps is a [`StreamError`]. What only
//! lazaret minds is a [`Refusal`](crate::Refusal) inside the [`Member`].
//!
//! Memory: nothing is allocated by a claimed size. What is kept per entry is
//! bounded by [`StreamLimits`], `entries` and `name_bytes`.

mod header;
mod member;
mod names;
mod number;
mod pax;
mod seen;

use std::io::{self, Read};

use self::header::{BLOCK, Flag, Header};
pub use self::member::{Member, MemberKind, MemberPath, Note};
use self::names::NameOf;
use self::pax::Pax;
use self::seen::{Kind, Seen};
use crate::trailer::TRAILER_BYTES;
use crate::{Mode, StreamError, StreamLimits, Trailer, escape};

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
    reader: R,
    limits: StreamLimits,
    state: State,
    seen: Seen,
    entries: u64,
    bytes: u64,
    name_bytes: u64,
    blocks: u64,
}

#[derive(Debug)]
enum State {
    /// Between members.
    Between,
    /// In a body: bytes left, then bytes of padding.
    Body {
        left: u64,
        padding: usize,
        name: Vec<u8>,
    },
    /// Behind the two zero blocks.
    Ended,
    /// Behind an error.
    GivenUp,
}

impl<R: Read> Members<R> {
    /// Starts at the first byte of a stream.
    pub fn new(reader: R, limits: StreamLimits) -> Self {
        Self {
            reader,
            limits,
            state: State::Between,
            seen: Seen::new(limits.entries),
            entries: 0,
            bytes: 0,
            name_bytes: 0,
            blocks: 0,
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
        self.entries
    }

    /// How many bytes of files there were, a hard link counted as a copy.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Reads the trailer, and not one byte more. Its tree is the caller's to compare.
    ///
    /// # Errors
    /// When there is none, or it tells of other numbers than arrived.
    pub fn finish_trailer(mut self) -> Result<Trailer, StreamError> {
        self.check_ended()?;
        let mut block = [0; TRAILER_BYTES];
        match read_full(&mut self.reader, &mut block)? {
            0 => return Err(StreamError::TrailerMalformed),
            TRAILER_BYTES => {}
            _ => {
                return Err(StreamError::Truncated {
                    within: "the trailer",
                });
            }
        }
        let trailer = Trailer::parse(&block).map_err(|_| StreamError::TrailerMalformed)?;
        if trailer.entries != self.entries {
            let (arrived, sent) = (self.entries, trailer.entries);
            return Err(StreamError::TrailerEntries { arrived, sent });
        }
        if trailer.bytes != self.bytes {
            let (arrived, sent) = (self.bytes, trailer.bytes);
            return Err(StreamError::TrailerBytes { arrived, sent });
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
            match read_full(&mut self.reader, &mut block)? {
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
        let State::Body { padding, name, .. } = std::mem::replace(&mut self.state, State::Between)
        else {
            return Ok(());
        };
        self.read_padding(padding, &name)
    }

    fn read_padding(&mut self, padding: usize, name: &[u8]) -> Result<(), StreamError> {
        let mut block = [0; BLOCK];
        let fill = &mut block[..padding];
        if read_full(&mut self.reader, fill)? < padding {
            return Err(StreamError::Truncated { within: "a body" });
        }
        if fill.iter().any(|&byte| byte != 0) {
            return Err(StreamError::Padding {
                name: name.to_vec(),
            });
        }
        Ok(())
    }

    /// Reads one block; `None` at the end of the reader.
    fn read_block(&mut self) -> Result<Option<[u8; BLOCK]>, StreamError> {
        let mut block = [0; BLOCK];
        let length = read_full(&mut self.reader, &mut block)?;
        self.blocks += 1;
        match length {
            0 => Ok(None),
            BLOCK => Ok(Some(block)),
            _ => Err(self.first_block_error(
                &block[..length],
                StreamError::Truncated { within: "a header" },
            )),
        }
    }

    /// Names a compressed file, where the first block is no header.
    fn first_block_error(&self, block: &[u8], error: StreamError) -> StreamError {
        match compression(block) {
            Some(format) if self.blocks == 1 => StreamError::Compressed { format },
            _ => error,
        }
    }

    fn read_member(&mut self) -> Result<Option<Member>, StreamError> {
        let mut pax = None;
        loop {
            let Some(block) = self.read_block()? else {
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
                StreamError::Checksum => self.first_block_error(&block, error),
                error => error,
            })?;
            if header.flag == Flag::Pax {
                if pax.is_some() {
                    return Err(StreamError::PaxStacked);
                }
                pax = Some(self.read_pax(&header)?);
                continue;
            }
            match self.assemble(&header, pax.take().unwrap_or_default())? {
                Some(member) => return Ok(Some(member)),
                None => continue,
            }
        }
    }

    /// Reads the second zero block.
    fn read_end(&mut self) -> Result<(), StreamError> {
        match self.read_block()? {
            None => Err(StreamError::NoEof),
            Some(block) if block == [0; BLOCK] => {
                self.state = State::Ended;
                Ok(())
            }
            Some(_) => Err(StreamError::LoneZeroBlock),
        }
    }

    fn read_pax(&mut self, header: &Header<'_>) -> Result<Pax, StreamError> {
        let (size, limit) = (header.size()?, self.limits.meta_bytes);
        if size > limit {
            return Err(StreamError::MetaTooBig { size, limit });
        }
        let mut body = Vec::new();
        (&mut self.reader)
            .take(size)
            .read_to_end(&mut body)
            .map_err(StreamError::Read)?;
        if (body.len() as u64) < size {
            return Err(StreamError::Truncated {
                within: "a PAX header",
            });
        }
        self.read_padding(padding(size), b"PAX header")?;
        Pax::parse(&body)
    }

    /// Joins header and PAX records to a member; `None` for the root.
    fn assemble(&mut self, header: &Header<'_>, pax: Pax) -> Result<Option<Member>, StreamError> {
        let raw = match pax.path {
            Some(path) => path,
            None => header.name()?,
        };
        let of = if header.flag == Flag::Dir {
            NameOf::Dir
        } else {
            NameOf::Other
        };
        let path = names::member(&raw, of)?;
        let name = path
            .as_ref()
            .map_or(&b"./"[..], MemberPath::as_bytes)
            .to_vec();
        let size = match (header.size()?, pax.size) {
            (size, None) | (0, Some(size)) => size,
            (one, Some(other)) if one == other => one,
            _ => return Err(StreamError::SizeConflict { name }),
        };
        if size > 0 && header.flag != Flag::File {
            return Err(StreamError::SizeNonfile { name });
        }
        let linkname = match pax.linkpath.as_deref() {
            Some(linkpath) => Some(linkpath),
            None => Some(header.linkname()?).filter(|linkname| !linkname.is_empty()),
        };
        let has_target = matches!(header.flag, Flag::Hard | Flag::Symlink);
        if linkname.is_some() && !has_target {
            return Err(StreamError::LinknameNonlink { name });
        }
        let (mode, mtime) = (
            header.mode()?,
            pax.mtime.map_or_else(|| header.mtime(), Ok)?,
        );
        let Some(path) = path else {
            self.seen.add_root(&name)?;
            return Ok(None);
        };
        let linkname = linkname.unwrap_or_default();
        let kind = match header.flag {
            Flag::File => MemberKind::File {
                mode: Mode::from_unix(mode),
                size,
            },
            Flag::Dir => MemberKind::Dir,
            Flag::Symlink => MemberKind::Symlink {
                target: names::link_target(linkname, &name)?,
            },
            Flag::Hard => self.hard_link(linkname, &name)?,
            Flag::Fifo => MemberKind::Fifo,
            Flag::Device => return Err(StreamError::Device { name }),
            // Read by `read_member`, never a member.
            Flag::Pax => return Err(StreamError::PaxStacked),
        };
        self.count(&name, &kind, linkname)?;
        let mut notes = Vec::new();
        let mut note = |code, reason| {
            notes.push(Note {
                name: name.clone(),
                code,
                reason,
            })
        };
        if mode & 0o7000 != 0 && matches!(header.flag, Flag::File | Flag::Dir) {
            note(
                "mode.special",
                format!("the mode {mode:04o} is reduced to what may be executed"),
            );
        }
        if let Some(key) = pax.dropped.first() {
            let (key, count) = (escape(key), pax.dropped.len());
            note(
                "pax.xattr",
                format!("{key} is dropped ({count} such records)"),
            );
        }
        if let MemberKind::Hard { target, .. } = &kind {
            let target = escape(target.as_bytes());
            note(
                "link.hard",
                format!("a hard link to {target} becomes a copy"),
            );
        }
        for note in &notes {
            self.charge(note.name.len() + note.reason.len())?;
        }
        if header.flag == Flag::File {
            let padding = padding(size);
            self.state = State::Body {
                left: size,
                padding,
                name,
            };
        }
        Ok(Some(Member {
            path,
            kind,
            mtime,
            notes,
        }))
    }

    fn hard_link(&self, linkname: &[u8], name: &[u8]) -> Result<MemberKind, StreamError> {
        let target = names::hard_target(linkname, name)?;
        let name = name.to_vec();
        match self.seen.find(target.as_bytes()) {
            Some(Kind::File { size }) => Ok(MemberKind::Hard { target, size }),
            Some(Kind::Fifo) => Ok(MemberKind::Fifo),
            Some(Kind::Symlink | Kind::Dir | Kind::Implied) => {
                Err(StreamError::HardNonfile { name })
            }
            None => Err(StreamError::HardForward { name }),
        }
    }

    /// Counts a member against the limits, and its name into the skeleton.
    fn count(
        &mut self,
        name: &[u8],
        kind: &MemberKind,
        linkname: &[u8],
    ) -> Result<(), StreamError> {
        let (seen, size) = match *kind {
            MemberKind::File { size, .. } | MemberKind::Hard { size, .. } => {
                (Kind::File { size }, size)
            }
            MemberKind::Dir => (Kind::Dir, 0),
            MemberKind::Symlink { .. } => (Kind::Symlink, 0),
            MemberKind::Fifo => (Kind::Fifo, 0),
        };
        self.charge(name.len() + linkname.len())?;
        self.seen.add(name, seen)?;
        self.entries += 1;
        if size > self.limits.file_bytes {
            let (name, limit) = (name.to_vec(), self.limits.file_bytes);
            return Err(StreamError::FileTooBig { name, size, limit });
        }
        self.bytes = self.bytes.saturating_add(size);
        if self.bytes > self.limits.total_bytes {
            return Err(StreamError::TooManyBytes {
                limit: self.limits.total_bytes,
            });
        }
        Ok(())
    }

    fn charge(&mut self, bytes: usize) -> Result<(), StreamError> {
        self.name_bytes = self.name_bytes.saturating_add(bytes as u64);
        let limit = self.limits.name_bytes;
        if self.name_bytes > limit {
            Err(StreamError::TooManyNames { limit })
        } else {
            Ok(())
        }
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
        match self.members.reader.read(&mut buffer[..most]) {
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

fn padding(size: u64) -> usize {
    (size.wrapping_neg() % BLOCK as u64) as usize
}

/// Reads until the buffer is full or the reader ends.
fn read_full(reader: &mut impl Read, buffer: &mut [u8]) -> Result<usize, StreamError> {
    let mut length = 0;
    while length < buffer.len() {
        match reader.read(&mut buffer[length..]) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(StreamError::Read(error)),
        }
    }
    Ok(length)
}

/// Names a compression by its first bytes, to say what is wrong (TAR-50).
fn compression(start: &[u8]) -> Option<&'static str> {
    const MAGIC: [(&[u8], &str); 6] = [
        (b"\x1f\x8b", "gzip"),
        (b"\xfd7zXZ\0", "xz"),
        (b"\x28\xb5\x2f\xfd", "zstd"),
        (b"BZh", "bzip2"),
        (b"\x04\x22\x4d\x18", "lz4"),
        (b"PK\x03\x04", "zip"),
    ];
    MAGIC
        .iter()
        .find(|(magic, _)| start.starts_with(magic))
        .map(|&(_, format)| format)
}
