//! `Wanted`: the files that the host asks for, by path and contents.

use std::io::{self, Read, Write};

use lazaret_tree::{Digest, MAX_REF_TEXT, RelPath, RelPathBuf, is_ref_text};

use crate::VolumeIdentity;
use crate::records::{FormatTag, Record, RecordError, RecordReader, RecordWriter};

const MAGIC: FormatTag = *b"lzwant 3";

/// One file to send. It must still be what the survey found, or the sending fails.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Wanted {
    /// Where it lies.
    pub path: RelPathBuf,
    /// What the survey found there; its size is the file's.
    pub identity: VolumeIdentity,
    /// BLAKE3 of the contents; `None` where the survey did not read them.
    pub digest: Option<Digest>,
}

impl Wanted {
    /// Whether a new or changed file at `path` is fetched. What lies in `.git` stays inside, but
    /// for the texts that say where a repository stands ([`new_refs`](crate::new_refs)) and its
    /// index.
    pub fn covers(path: &RelPath, size: u64) -> bool {
        path.components().next() != Some(".git") || is_ref_text(path) && size <= MAX_REF_TEXT
    }
}

/// Writes a list of wanted files, which is in path order.
///
/// # Errors
/// When the writer fails.
pub fn write_wanted(wanted: &[Wanted], out: &mut dyn Write) -> io::Result<()> {
    let mut frame = RecordWriter::new(out, MAGIC);
    for wanted in wanted {
        let file = WantedFile {
            identity: wanted.identity,
            digest: wanted.digest,
        };
        frame.record(&wanted.path, &file)?;
    }
    frame.finish()
}

/// Reads what [`write_wanted`] wrote.
///
/// # Errors
/// When it is cut off, changed, or not in path order.
pub fn read_wanted(input: &mut dyn Read) -> Result<Vec<Wanted>, RecordError> {
    let mut frame = RecordReader::new(input, MAGIC, "list of wanted files of version 3")?;
    let wanted = frame.list::<WantedFile>().map(|record| {
        let (path, WantedFile { identity, digest }) = record?;
        Ok(Wanted {
            path,
            identity,
            digest,
        })
    });
    let wanted = wanted.collect::<Result<_, RecordError>>()?;
    frame.finish()?;
    Ok(wanted)
}

/// What the list says about a path.
struct WantedFile {
    identity: VolumeIdentity,
    digest: Option<Digest>,
}

impl Record for WantedFile {
    const TAGS: &'static [u8] = b"wu";

    fn tag(&self) -> u8 {
        match self.digest {
            Some(_) => b'w',
            None => b'u',
        }
    }

    fn write_fields<W: Write + ?Sized>(&self, record: &mut RecordWriter<'_, W>) -> io::Result<()> {
        record.identity(&self.identity);
        if let Some(digest) = &self.digest {
            record.digest(digest);
        }
        Ok(())
    }

    fn read_fields(tag: u8, record: &mut RecordReader<'_>) -> Result<Self, RecordError> {
        Ok(Self {
            identity: record.identity()?,
            digest: match tag {
                b'w' => Some(record.digest()?),
                _ => None,
            },
        })
    }
}
