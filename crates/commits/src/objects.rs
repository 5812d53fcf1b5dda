//! `ObjectReader`: objects of a repository, one after the other, through `git cat-file --batch`.

use std::io::Write as _;
use std::io::{self, BufRead as _, BufReader, BufWriter, PipeReader, PipeWriter, Read as _};
use std::path::Path;

use lazaret_transfer::ObjectId;
use lazaret_tree::Digest;

use crate::git::{Dialogue, Git, GitError};
use crate::limits::ProcessLimits;

/// The longest line that tells of an object.
const MAX_LINE: u64 = 256;

/// What an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectKind {
    /// A commit.
    Commit,
    /// A tree.
    Tree,
    /// The contents of a file.
    Blob,
    /// An annotated tag.
    Tag,
}

/// What is there under an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// What it is.
    pub kind: ObjectKind,
    /// Bytes.
    pub size: u64,
}

/// Why an object can't be had.
#[derive(Debug, thiserror::Error)]
pub enum ObjectError {
    /// There is none with this id.
    #[error("object {0} is missing")]
    Missing(ObjectId),
    /// It is of another kind.
    #[error("object {0} is no {1}")]
    Kind(ObjectId, &'static str),
    /// It is larger than what is read of its kind.
    #[error("object {id} has {size} bytes; at most {most} are read")]
    TooLarge {
        /// Which.
        id: ObjectId,
        /// Its size.
        size: u64,
        /// The most that is read.
        most: u64,
    },
    /// It is damaged, or git could not go on.
    #[error("object {0} can't be read")]
    Unreadable(ObjectId),
    /// Git could not be run.
    #[error(transparent)]
    Git(#[from] GitError),
}

/// A process that answers one id after the other. Dropping it ends the process.
#[derive(Debug)]
pub struct ObjectReader {
    process: duct::Handle,
    ask: BufWriter<PipeWriter>,
    answer: BufReader<PipeReader>,
}

impl ObjectReader {
    /// Starts it on a repository.
    ///
    /// # Errors
    /// When git can't be run.
    pub fn start(git: &Git, dir: &Path) -> Result<Self, GitError> {
        let limits = ProcessLimits {
            // It serves for as long as something is examined.
            cpu_seconds: 600,
            ..ProcessLimits::HOSTILE
        };
        let call = git.call(dir, &["cat-file", "--batch"]).limits(limits);
        // An answer that is missing says enough.
        let Dialogue {
            handle,
            ask,
            answer,
        } = call.converse()?;
        Ok(Self {
            process: handle,
            ask: BufWriter::new(ask),
            answer: BufReader::with_capacity(64 << 10, answer),
        })
    }

    /// Reads an object of one kind and at most `most` bytes.
    ///
    /// # Errors
    /// Why it can't be had.
    pub fn read(
        &mut self,
        id: &ObjectId,
        kind: ObjectKind,
        most: u64,
    ) -> Result<Vec<u8>, ObjectError> {
        let header = self.ask(id)?;
        if header.kind != kind || header.size > most {
            self.skip(id, header.size)?;
            return Err(match header.kind == kind {
                true => ObjectError::TooLarge {
                    id: *id,
                    size: header.size,
                    most,
                },
                false => ObjectError::Kind(*id, kind.word()),
            });
        }
        let mut bytes = vec![0; usize::try_from(header.size).unwrap_or(usize::MAX)];
        let read = self.answer.read_exact(&mut bytes);
        read.and_then(|()| self.line_feed())
            .map_err(|_| ObjectError::Unreadable(*id))?;
        Ok(bytes)
    }

    /// Reads the first bytes of the contents of a file.
    ///
    /// # Errors
    /// Why they can't be had.
    pub fn head(&mut self, id: &ObjectId, most: u64) -> Result<Vec<u8>, ObjectError> {
        let Header { size, .. } = self.ask(id)?;
        let mut bytes = Vec::new();
        let head = size.min(most);
        let read = self.answer.by_ref().take(head).read_to_end(&mut bytes);
        read.map_err(|_| ObjectError::Unreadable(*id))?;
        self.skip(id, size - head)?;
        Ok(bytes)
    }

    /// Hashes the contents of a file, and returns their size.
    ///
    /// # Errors
    /// Why it can't be had.
    pub fn digest(&mut self, id: &ObjectId) -> Result<(Digest, u64), ObjectError> {
        let Header { kind, size } = self.ask(id)?;
        if kind != ObjectKind::Blob {
            self.skip(id, size)?;
            return Err(ObjectError::Kind(*id, ObjectKind::Blob.word()));
        }
        let mut hasher = blake3::Hasher::new();
        let copied = io::copy(&mut self.answer.by_ref().take(size), &mut hasher);
        let whole = copied.is_ok_and(|copied| copied == size) && self.line_feed().is_ok();
        match whole {
            true => Ok((hasher.finalize().into(), size)),
            false => Err(ObjectError::Unreadable(*id)),
        }
    }

    /// Asks what is there, and leaves its contents to be read.
    fn ask(&mut self, id: &ObjectId) -> Result<Header, ObjectError> {
        let unreadable = |_| ObjectError::Unreadable(*id);
        writeln!(self.ask, "{id}").map_err(unreadable)?;
        self.ask.flush().map_err(unreadable)?;
        let mut line = Vec::new();
        let mut answer = self.answer.by_ref().take(MAX_LINE);
        answer.read_until(b'\n', &mut line).map_err(unreadable)?;
        header(&line, id)
    }

    fn skip(&mut self, id: &ObjectId, size: u64) -> Result<(), ObjectError> {
        let skipped = io::copy(&mut self.answer.by_ref().take(size), &mut io::sink());
        let whole = skipped.is_ok_and(|skipped| skipped == size) && self.line_feed().is_ok();
        whole.then_some(()).ok_or(ObjectError::Unreadable(*id))
    }

    fn line_feed(&mut self) -> io::Result<()> {
        let mut end = [0];
        self.answer.read_exact(&mut end)?;
        match end {
            [b'\n'] => Ok(()),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

impl Drop for ObjectReader {
    fn drop(&mut self) {
        // One that has ended already is as good.
        drop(self.process.kill());
    }
}

/// Reads `<id> <kind> <size>` or `<id> missing`.
fn header(line: &[u8], id: &ObjectId) -> Result<Header, ObjectError> {
    let text = std::str::from_utf8(line).unwrap_or_default();
    let mut words = text.trim_end_matches('\n').split(' ');
    let (name, kind, size) = (words.next(), words.next(), words.next());
    if name != Some(&id.to_string()) {
        return Err(ObjectError::Unreadable(*id));
    }
    let kind = match kind {
        Some("commit") => ObjectKind::Commit,
        Some("tree") => ObjectKind::Tree,
        Some("blob") => ObjectKind::Blob,
        Some("tag") => ObjectKind::Tag,
        Some("missing") => return Err(ObjectError::Missing(*id)),
        _ => return Err(ObjectError::Unreadable(*id)),
    };
    let size = size.and_then(|size| size.parse().ok());
    let size = size.ok_or(ObjectError::Unreadable(*id))?;
    Ok(Header { kind, size })
}

impl ObjectKind {
    /// Returns git's word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Tree => "tree",
            Self::Blob => "blob",
            Self::Tag => "tag",
        }
    }
}
