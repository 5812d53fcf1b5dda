//! `SurveyRequest`: what is known of a volume, so that it need not be told again.

use std::io::{self, Read, Write};

use lazaret_tree::RelPathBuf;

use crate::records::{FormatTag, RecordError, RecordReader, RecordWriter};
use crate::{StreamLimits, VolumeIdentity};

const MAGIC: FormatTag = *b"lzask  4";

/// What the other processes that could write to the volume do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writers {
    /// They have ended, and all that they had mapped is unmapped.
    Stopped,
    /// They are paused, or not even that, and go on later with what they have mapped: the
    /// porter has every dirty page written first, so that the next store into it moves
    /// ctime.
    Paused,
}

/// Which of the files that it finds a survey hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HashPolicy {
    /// All of them.
    All,
    /// Not those of new files that the host will fetch: it hashes them itself.
    KnownOnly,
}

/// What `porter export` reads first from stdin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SurveyRequest {
    /// When to give up: the host's promise to stay bounded holds in its porter too.
    pub limits: StreamLimits,
    /// Who may go on after it.
    pub writers: Writers,
    /// What is hashed.
    pub hash_policy: HashPolicy,
    /// What need not be told again: entries that are known, as they were when they were seen.
    ///
    /// A directory stands here only when it was sent in: it is entered whatever lies in it,
    /// while any other one may turn out to be a cache.
    ///
    /// In path order, each path once.
    pub known: Vec<(RelPathBuf, VolumeIdentity)>,
}

/// A request that is arriving.
#[derive(Debug)]
pub struct PartialSurveyRequest<'a> {
    /// As in [`SurveyRequest`].
    pub limits: StreamLimits,
    /// As in [`SurveyRequest`].
    pub writers: Writers,
    hash_policy: HashPolicy,
    frame: RecordReader<'a>,
}

impl SurveyRequest {
    /// Writes the request.
    ///
    /// # Errors
    /// When the writer fails.
    pub fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut frame = RecordWriter::new(out, MAGIC);
        let limits = &self.limits;
        let record = frame.tag(b'm')?;
        record.u64(limits.entries).u64(limits.total_bytes);
        record.u64(limits.file_bytes).u64(limits.meta_bytes);
        record.u64(limits.name_bytes);
        frame.tag(match self.writers {
            Writers::Stopped => b'g',
            Writers::Paused => b'h',
        })?;
        frame.tag(match self.hash_policy {
            HashPolicy::All => b'a',
            HashPolicy::KnownOnly => b'k',
        })?;
        for (path, identity) in &self.known {
            frame.record(path, identity)?;
        }
        frame.finish()
    }

    /// Reads a request.
    ///
    /// # Errors
    /// When it is cut off or changed.
    pub fn read_from(input: &mut dyn Read) -> Result<Self, RecordError> {
        Self::begin(input)?.finish()
    }

    /// Reads how a survey is to be done; what is known may still be on its way.
    ///
    /// # Errors
    /// When it is cut off or changed.
    pub fn begin(input: &mut dyn Read) -> Result<PartialSurveyRequest<'_>, RecordError> {
        let mut frame = RecordReader::new(input, MAGIC, "survey request of version 4")?;
        let Some(b'm') = frame.tag()? else {
            return Err(RecordError::malformed("no limits"));
        };
        let limits = StreamLimits {
            entries: frame.u64()?,
            total_bytes: frame.u64()?,
            file_bytes: frame.u64()?,
            meta_bytes: frame.u64()?,
            name_bytes: frame.u64()?,
        };
        let writers = match frame.tag()? {
            Some(b'g') => Writers::Stopped,
            Some(b'h') => Writers::Paused,
            _ => return Err(RecordError::malformed("no word of writers")),
        };
        let hash_policy = match frame.tag()? {
            Some(b'a') => HashPolicy::All,
            Some(b'k') => HashPolicy::KnownOnly,
            _ => return Err(RecordError::malformed("no word of digests")),
        };
        Ok(PartialSurveyRequest {
            limits,
            writers,
            hash_policy,
            frame,
        })
    }
}

impl PartialSurveyRequest<'_> {
    /// Reads what is known.
    ///
    /// # Errors
    /// When it is cut off or changed.
    pub fn finish(self) -> Result<SurveyRequest, RecordError> {
        let Self {
            limits,
            writers,
            hash_policy,
            mut frame,
        } = self;
        let known = frame.list().collect::<Result<_, _>>()?;
        frame.finish()?;
        Ok(SurveyRequest {
            limits,
            writers,
            hash_policy,
            known,
        })
    }
}
