//! `Wanted`: the files that the host asks for, by path and contents.

use std::io::{self, Read, Write};

use lazaret_tree::{Digest, MAX_REF_TEXT, RelPath, RelPathBuf, is_ref_text};

use super::malformed;
use crate::records::{FrameReader, FrameWriter, Magic};
use crate::{VolumeIdentity, WireError};

const MAGIC: Magic = *b"lzwant 3";

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
    /// for the texts that say where a repository stands ([`new_refs`](crate::new_refs)).
    pub fn covers(path: &RelPath, size: u64) -> bool {
        path.components().next() != Some(".git") || is_ref_text(path) && size <= MAX_REF_TEXT
    }
}

/// Writes a list of wanted files, which is in path order.
///
/// # Errors
/// When the writer fails.
pub fn write_wanted(wanted: &[Wanted], out: &mut dyn Write) -> io::Result<()> {
    let mut frame = FrameWriter::new(out, MAGIC);
    for Wanted {
        path,
        identity,
        digest,
    } in wanted
    {
        let tag = if digest.is_some() { b'w' } else { b'u' };
        let record = frame.tag(tag)?.path(path.as_str().as_bytes())?;
        identity.write_to(record);
        if let Some(digest) = digest {
            record.digest(digest);
        }
    }
    frame.finish()
}

/// Reads what [`write_wanted`] wrote.
///
/// # Errors
/// When it is cut off, changed, or not in path order.
pub fn read_wanted(input: &mut dyn Read) -> Result<Vec<Wanted>, WireError> {
    let mut frame = FrameReader::new(input, MAGIC, "list of wanted files of version 3")?;
    let mut wanted: Vec<Wanted> = Vec::new();
    while let Some(tag) = frame.tag()? {
        if !matches!(tag, b'w' | b'u') {
            return Err(malformed("a tag"));
        }
        let path = RelPath::from_bytes(frame.path()?);
        let path = path.map_err(|_| malformed("a path"))?.to_owned();
        if wanted.last().is_some_and(|last| last.path >= path) {
            return Err(malformed("the order"));
        }
        wanted.push(Wanted {
            path,
            identity: VolumeIdentity::read_from(&mut frame)?,
            digest: match tag {
                b'w' => Some(frame.digest()?),
                _ => None,
            },
        });
    }
    Ok(wanted)
}
