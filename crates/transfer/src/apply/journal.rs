//! The journal of one transaction: what it is going to do, and how far it is.
//!
//! One file of records (see [`records`](lazaret_protocol::records)), replaced as a whole and
//! atomically for each phase:
//!
//! ```text
//! head  = 'h' phase id root_dev root_ino root_path placement
//! step  = 's' path before after old new          one for each, in order
//! entry = 0 | 'd' | 'f' size digest | 'x' size digest | 'l' target
//! old   = 0 | 1 mode seconds nanoseconds | 2 mode seconds nanoseconds digest
//! new   = 0 | kind inode size seconds nanoseconds
//! ```
//!
//! The phase comes first and is a word, so that [`Journal::parse_phase`] needs no more than
//! [`HEAD_BYTES`]. `id` names the staging directory, `.lazaret-<id>`. The digest of `old` is that
//! of the extended attributes.
//!
//! What does not parse, or whose checksum is wrong, or whose version is another,
//! is refused and left alone (APP-23).

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;
use std::sync::Arc;

use lazaret_protocol::{FormatTag, RecordError, RecordReader, RecordWriter};
use lazaret_tree::{Change, Digest, Entry, LinkTarget, Mode, RelPath, STAGING_PREFIX};

use super::fingerprint::Fingerprint;
use super::ops::{Kind, Time};

const MAGIC: FormatTag = *b"lzjrnl 2";
/// How a journal of any version begins; version 1 was a text.
const ANY_VERSION: [&[u8]; 2] = [b"lzjrnl ", b"lazaret-journal "];

/// Bytes that hold the version and the phase: the magic, a tag, a length, the longest word.
pub(crate) const HEAD_BYTES: usize = 8 + 1 + 2 + 9;

/// How far a transaction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The workspace is as it was, but for the staging directory.
    Staging,
    /// Everything is staged and durable; steps may have happened.
    Ready,
    /// All steps have happened and are durable; the staging directory may be there.
    Committed,
    /// Nothing is left to do. Kept for the undo.
    Done,
}

/// How an entry is put where another one is, or where none may be: the best that
/// the file system can do, found out by trying (APP-25).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Placement {
    /// `RENAME_EXCHANGE`: the path always has one of the two.
    Exchange,
    /// `RENAME_NOREPLACE`: for a moment the path has none.
    NoReplace,
    /// A hard link, then removing the other name.
    Link,
}

/// What a step replaces or removes, besides its contents, for an exact undo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Old {
    pub(crate) mode: u32,
    pub(crate) mtime: Time,
    /// The extended attributes, which are kept like contents; `None` when there were none,
    /// which is so of most: a large batch has 200,000 of these.
    pub(crate) attributes: Option<Box<Digest>>,
}

/// One change, as a transaction carries it out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) change: Arc<Change>,
    /// Set exactly when there was something.
    pub(crate) old: Option<Old>,
    /// What was staged; set exactly when there will be something, from `Ready` on.
    pub(crate) new: Option<Fingerprint>,
}

/// The journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Journal {
    pub(crate) phase: Phase,
    pub(crate) id: String,
    pub(crate) root_dev: u64,
    pub(crate) root_ino: u64,
    pub(crate) root_path: PathBuf,
    pub(crate) placement: Placement,
    /// In the order in which they are carried out.
    pub(crate) steps: Vec<Step>,
}

/// Why a journal can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    /// Another version wrote it.
    #[error("the journal was written by another version of lazaret ({header})")]
    Version {
        /// How it begins, escaped.
        header: String,
    },
    /// Truncated, or some bit is wrong.
    #[error("the journal is damaged")]
    Damaged,
}

impl From<RecordError> for JournalError {
    fn from(_: RecordError) -> Self {
        Self::Damaged
    }
}

impl Journal {
    /// Writes the whole file; a large batch has 30 MiB of it.
    pub(crate) fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut frame = RecordWriter::new(out, MAGIC);
        frame
            .tag(b'h')?
            .bytes(self.phase.as_str().as_bytes())?
            .bytes(self.id.as_bytes())?
            .u64(self.root_dev)
            .u64(self.root_ino)
            .bytes(self.root_path.as_os_str().as_bytes())?
            .u8(self.placement.tag());
        for step in &self.steps {
            step.write_to(&mut frame)?;
        }
        frame.finish()
    }

    /// Reads a whole file.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, JournalError> {
        check_version(bytes)?;
        let mut rest = bytes;
        let mut frame = RecordReader::new(&mut rest, MAGIC, "journal of version 2")?;
        if frame.tag()? != Some(b'h') {
            return Err(JournalError::Damaged);
        }
        let phase = Phase::parse(frame.bytes()?).ok_or(JournalError::Damaged)?;
        let id = std::str::from_utf8(frame.bytes()?).map_err(|_| JournalError::Damaged)?;
        if id.len() != 16 || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(JournalError::Damaged);
        }
        let id = id.to_owned();
        let (root_dev, root_ino) = (frame.u64()?, frame.u64()?);
        let root_path = PathBuf::from(OsString::from_vec(frame.bytes()?.to_vec()));
        let placement = Placement::of_tag(frame.u8()?).ok_or(JournalError::Damaged)?;
        let mut steps = Vec::new();
        while let Some(tag) = frame.tag()? {
            match tag {
                b's' => steps.push(Step::read_from(&mut frame)?),
                _ => return Err(JournalError::Damaged),
            }
        }
        match rest.is_empty() {
            true => Ok(Self {
                phase,
                id,
                root_dev,
                root_ino,
                root_path,
                placement,
                steps,
            }),
            false => Err(JournalError::Damaged),
        }
    }

    /// Reads the phase out of the first bytes of a file, [`HEAD_BYTES`] of it.
    pub(crate) fn parse_phase(head: &[u8]) -> Result<Phase, JournalError> {
        check_version(head)?;
        let mut rest = head;
        let mut frame = RecordReader::new(&mut rest, MAGIC, "journal of version 2")?;
        match frame.tag()? {
            Some(b'h') => Phase::parse(frame.bytes()?).ok_or(JournalError::Damaged),
            _ => Err(JournalError::Damaged),
        }
    }

    /// Returns the name of the staging directory in the workspace root.
    pub(crate) fn staging_name(&self) -> String {
        format!("{STAGING_PREFIX}{}", self.id)
    }
}

/// Refuses what another version wrote, by name.
fn check_version(bytes: &[u8]) -> Result<(), JournalError> {
    let begins = |start: &&[u8]| bytes.starts_with(start);
    if bytes.starts_with(&MAGIC) || !ANY_VERSION.iter().any(begins) {
        return Ok(());
    }
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or(bytes);
    Err(JournalError::Version {
        header: lazaret_tree::escape(line.get(..HEAD_BYTES).unwrap_or(line)),
    })
}

impl Phase {
    fn as_str(self) -> &'static str {
        match self {
            Self::Staging => "staging",
            Self::Ready => "ready",
            Self::Committed => "committed",
            Self::Done => "done",
        }
    }

    fn parse(text: &[u8]) -> Option<Self> {
        [Self::Staging, Self::Ready, Self::Committed, Self::Done]
            .into_iter()
            .find(|phase| phase.as_str().as_bytes() == text)
    }
}

impl Placement {
    fn tag(self) -> u8 {
        match self {
            Self::Exchange => b'e',
            Self::NoReplace => b'n',
            Self::Link => b'l',
        }
    }

    fn of_tag(tag: u8) -> Option<Self> {
        [Self::Exchange, Self::NoReplace, Self::Link]
            .into_iter()
            .find(|placement| placement.tag() == tag)
    }
}

impl Step {
    fn write_to(&self, frame: &mut RecordWriter<'_>) -> io::Result<()> {
        let Self { change, old, new } = self;
        frame.tag(b's')?.path(change.path.as_str().as_bytes())?;
        write_entry(frame, change.before.as_ref())?;
        write_entry(frame, change.after.as_ref())?;
        match old {
            None => {
                frame.u8(0);
            }
            Some(old) => {
                frame.u8(1 + u8::from(old.attributes.is_some()));
                write_time(frame.u32(old.mode), old.mtime);
                if let Some(digest) = &old.attributes {
                    frame.digest(digest);
                }
            }
        }
        match new {
            None => {
                frame.u8(0);
            }
            Some(new) => {
                let kind = frame.u8(kind_tag(new.kind));
                write_time(kind.u64(new.ino).u64(new.size), new.mtime);
            }
        }
        Ok(())
    }

    fn read_from(frame: &mut RecordReader<'_>) -> Result<Self, JournalError> {
        let path = RelPath::from_bytes(frame.path()?).map_err(|_| JournalError::Damaged)?;
        let change = Change {
            path: path.to_owned(),
            before: read_entry(frame)?,
            after: read_entry(frame)?,
        };
        let old = match frame.u8()? {
            0 => None,
            tag @ 1..=2 => Some(Old {
                mode: frame.u32()?,
                mtime: read_time(frame)?,
                attributes: match tag {
                    1 => None,
                    _ => Some(Box::new(frame.digest()?)),
                },
            }),
            _ => return Err(JournalError::Damaged),
        };
        let new = match frame.u8()? {
            0 => None,
            tag => Some(Fingerprint {
                kind: kind_of(tag).ok_or(JournalError::Damaged)?,
                ino: frame.u64()?,
                size: frame.u64()?,
                mtime: read_time(frame)?,
            }),
        };
        let is_sound = old.is_some() == change.before.is_some()
            && old.as_ref().is_none_or(|old| old.mode <= 0o7777);
        match is_sound {
            true => Ok(Self {
                change: Arc::new(change),
                old,
                new,
            }),
            false => Err(JournalError::Damaged),
        }
    }
}

fn write_time(frame: &mut RecordWriter<'_>, time: Time) {
    frame.i64(time.secs).i64(time.nanos);
}

fn read_time(frame: &mut RecordReader<'_>) -> Result<Time, RecordError> {
    Ok(Time {
        secs: frame.i64()?,
        nanos: frame.i64()?,
    })
}

fn write_entry(frame: &mut RecordWriter<'_>, entry: Option<&Entry>) -> io::Result<()> {
    match entry {
        None => {
            frame.u8(0);
        }
        Some(Entry::Dir) => {
            frame.u8(b'd');
        }
        Some(Entry::File { mode, size, digest }) => {
            let tag = match mode {
                Mode::Plain => b'f',
                Mode::Executable => b'x',
            };
            frame.u8(tag).u64(*size).digest(digest);
        }
        Some(Entry::Symlink { target }) => {
            frame.u8(b'l').bytes(target.as_str().as_bytes())?;
        }
    }
    Ok(())
}

fn read_entry(frame: &mut RecordReader<'_>) -> Result<Option<Entry>, JournalError> {
    Ok(Some(match frame.u8()? {
        0 => return Ok(None),
        b'd' => Entry::Dir,
        tag @ (b'f' | b'x') => Entry::File {
            mode: match tag {
                b'f' => Mode::Plain,
                _ => Mode::Executable,
            },
            size: frame.u64()?,
            digest: frame.digest()?,
        },
        b'l' => Entry::Symlink {
            target: LinkTarget::from_bytes(frame.bytes()?).map_err(|_| JournalError::Damaged)?,
        },
        _ => return Err(JournalError::Damaged),
    }))
}

fn kind_tag(kind: Kind) -> u8 {
    match kind {
        Kind::File => b'f',
        Kind::Dir => b'd',
        Kind::Symlink => b'l',
        Kind::Other => b'o',
    }
}

fn kind_of(tag: u8) -> Option<Kind> {
    [Kind::File, Kind::Dir, Kind::Symlink, Kind::Other]
        .into_iter()
        .find(|kind| kind_tag(*kind) == tag)
}
