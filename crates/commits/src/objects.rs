//! `ObjectReader`: objects of a repository, through `git cat-file --batch`. What was
//! [read ahead](crate::preloaded) is in memory, and what is needed next can be asked for
//! before the answers are read.

use std::collections::{HashMap, VecDeque};
use std::io::Write as _;
use std::io::{self, BufRead as _, BufReader, BufWriter, PipeReader, PipeWriter, Read as _};
use std::path::Path;
use std::sync::Arc;

use lazaret_transfer::ObjectId;
use lazaret_tree::Digest;

use crate::git::{Dialogue, Git, GitError};
use crate::limits::ProcessLimits;
use crate::object_header::header;
use crate::preloaded::Preloaded;

pub use crate::object_header::{Header, ObjectError, ObjectKind};

/// The longest line that tells of an object.
const MAX_LINE: u64 = 256;
/// How many objects are asked for before the answers are read: their names fit into a pipe, so
/// that git and this process never wait for each other.
const MAX_EXPECTED: usize = 512;
/// The largest contents that are kept after they were hashed, in bytes.
const MAX_RECENT_BYTES: usize = 128 << 10;
/// The most bytes of contents that are kept.
const MAX_ALL_RECENT_BYTES: usize = 8 << 20;

/// A process that answers one id after the other. Dropping it ends the process.
#[derive(Debug)]
pub struct ObjectReader {
    process: duct::Handle,
    ask: BufWriter<PipeWriter>,
    answer: BufReader<PipeReader>,
    preloaded: Arc<Preloaded>,
    /// What was asked for, and not read yet.
    expected: VecDeque<ObjectId>,
    recent: Recent,
}

/// Contents of files that were hashed: the rules look into them next.
#[derive(Debug, Default)]
struct Recent {
    contents: HashMap<ObjectId, Vec<u8>>,
    bytes: usize,
}

impl Recent {
    fn keep(&mut self, id: ObjectId, contents: Vec<u8>) {
        if contents.len() > MAX_RECENT_BYTES {
            return;
        }
        if self.bytes + contents.len() > MAX_ALL_RECENT_BYTES {
            *self = Self::default();
        }
        self.bytes += contents.len();
        self.contents.insert(id, contents);
    }
}

impl ObjectReader {
    /// Starts it on a repository.
    ///
    /// # Errors
    /// When git can't be run.
    pub(crate) fn start(
        git: &Git,
        dir: &Path,
        preloaded: Arc<Preloaded>,
    ) -> Result<Self, GitError> {
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
            preloaded,
            expected: VecDeque::new(),
            recent: Recent::default(),
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
        if let Some((held, bytes)) = self.preloaded.get(id) {
            let size = bytes.len() as u64;
            check(id, Header { kind: held, size }, kind, most)?;
            return Ok(bytes.to_vec());
        }
        let header = self.ask(id)?;
        if let Err(error) = check(id, header, kind, most) {
            self.skip(id, header.size)?;
            return Err(error);
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
        let recent = self.recent.contents.get(id).map(|bytes| &**bytes);
        let known = recent.or_else(|| self.preloaded.get(id).map(|(_, bytes)| bytes));
        if let Some(bytes) = known {
            let most = usize::try_from(most).unwrap_or(usize::MAX);
            return Ok(bytes
                .get(..most.min(bytes.len()))
                .unwrap_or_default()
                .to_vec());
        }
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
        if let Some((kind, bytes)) = self.preloaded.get(id) {
            return match kind {
                ObjectKind::Blob => Ok((Digest::of(bytes), bytes.len() as u64)),
                _ => Err(ObjectError::Kind(*id, ObjectKind::Blob.word())),
            };
        }
        let Header { kind, size } = self.ask(id)?;
        if kind != ObjectKind::Blob {
            self.skip(id, size)?;
            return Err(ObjectError::Kind(*id, ObjectKind::Blob.word()));
        }
        if usize::try_from(size).is_ok_and(|size| size <= MAX_RECENT_BYTES) {
            let mut bytes = Vec::new();
            let read = self.answer.by_ref().take(size).read_to_end(&mut bytes);
            let whole = read.is_ok_and(|read| read as u64 == size) && self.line_feed().is_ok();
            if !whole {
                return Err(ObjectError::Unreadable(*id));
            }
            let digest = Digest::of(&bytes);
            self.recent.keep(*id, bytes);
            return Ok((digest, size));
        }
        let mut hasher = blake3::Hasher::new();
        let copied = io::copy(&mut self.answer.by_ref().take(size), &mut hasher);
        let whole = copied.is_ok_and(|copied| copied == size) && self.line_feed().is_ok();
        match whole {
            true => Ok((hasher.finalize().into(), size)),
            false => Err(ObjectError::Unreadable(*id)),
        }
    }

    /// Asks for objects that are needed next, in this order, as far as they are not in memory.
    /// Another order is slower, and as good.
    pub fn expect(&mut self, ids: impl IntoIterator<Item = ObjectId>) {
        for id in ids {
            let is_known = self.preloaded.get(&id).is_some() || self.expected.contains(&id);
            if is_known || self.expected.len() >= MAX_EXPECTED {
                continue;
            }
            if writeln!(self.ask, "{id}").is_err() {
                return;
            }
            self.expected.push_back(id);
        }
        // One that ended is known by the next answer.
        drop(self.ask.flush());
    }

    /// Asks what is there, and leaves its contents to be read.
    fn ask(&mut self, id: &ObjectId) -> Result<Header, ObjectError> {
        let unreadable = |_| ObjectError::Unreadable(*id);
        while let Some(next) = self.expected.pop_front() {
            if next == *id {
                return self.answer(id);
            }
            // It is asked for again where it is needed.
            match self.answer(&next) {
                Ok(Header { size, .. }) => self.skip(&next, size)?,
                Err(ObjectError::Missing(_)) => {}
                Err(_) => return Err(ObjectError::Unreadable(*id)),
            }
        }
        writeln!(self.ask, "{id}").map_err(unreadable)?;
        self.ask.flush().map_err(unreadable)?;
        self.answer(id)
    }

    /// Reads what is there under the id that was asked for.
    fn answer(&mut self, id: &ObjectId) -> Result<Header, ObjectError> {
        let unreadable = |_| ObjectError::Unreadable(*id);
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

/// Checks what is there against what is wanted.
fn check(id: &ObjectId, found: Header, kind: ObjectKind, most: u64) -> Result<(), ObjectError> {
    match found.kind == kind {
        true if found.size <= most => Ok(()),
        true => Err(ObjectError::TooLarge {
            id: *id,
            size: found.size,
            most,
        }),
        false => Err(ObjectError::Kind(*id, kind.word())),
    }
}
