//! `Tips`: the objects that the refs of the workspace's repositories name.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};

use lazaret_protocol::{FormatTag, RecordError, RecordReader, RecordWriter};

use super::ObjectId;

const MAGIC: FormatTag = *b"lztips 1";

/// The objects that refs, `HEAD`, `shallow` and the stash's reflog of a workspace's
/// repositories named when they were read: what one of them names is no work of the command's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tips(BTreeSet<ObjectId>);

impl Tips {
    /// Adds what a small text file of git's names: the ids that its lines begin with.
    pub fn read(&mut self, text: &[u8]) {
        for line in text.split(|&byte| byte == b'\n') {
            let line = line.strip_prefix(b"^").unwrap_or(line);
            let words = line.split(|&byte| byte == b' ').take(2);
            self.0.extend(words.filter_map(ObjectId::from_hex));
        }
    }

    /// Adds all of another, and says whether any was new.
    pub fn extend(&mut self, other: &Self) -> bool {
        let before = self.0.len();
        self.0.extend(&other.0);
        self.0.len() > before
    }

    /// Whether an object is among them.
    pub fn has(&self, id: &ObjectId) -> bool {
        self.0.contains(id)
    }

    /// Returns all of them.
    pub fn ids(&self) -> Vec<ObjectId> {
        self.0.iter().copied().collect()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Writes them as one checked, versioned list; see [`messages`](lazaret_protocol::messages).
    ///
    /// # Errors
    /// When the writer fails.
    pub fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut frame = RecordWriter::new(out, MAGIC);
        for id in &self.0 {
            frame.tag(b't')?.bytes(id.as_bytes())?;
        }
        frame.finish()
    }

    /// Reads what [`Tips::write_to`] wrote.
    ///
    /// # Errors
    /// When it is cut off, changed, or of another version.
    pub fn read_from(input: &mut dyn Read) -> Result<Self, RecordError> {
        let mut frame = RecordReader::new(input, MAGIC, "list of tips of version 1")?;
        let mut tips = BTreeSet::new();
        while let Some(tag) = frame.tag()? {
            let id = match tag {
                b't' => ObjectId::from_bytes(frame.bytes()?),
                _ => None,
            };
            tips.insert(id.ok_or(RecordError::Malformed { what: "an id" })?);
        }
        Ok(Self(tips))
    }
}

impl FromIterator<ObjectId> for Tips {
    fn from_iter<I: IntoIterator<Item = ObjectId>>(ids: I) -> Self {
        Self(ids.into_iter().collect())
    }
}
