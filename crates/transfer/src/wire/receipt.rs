//! `Receipt`: what the porter answers once a stream has arrived.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use lazaret_tree::{RelPath, RelPathBuf};

use super::frame::{FrameReader, FrameWriter, Magic};
use super::malformed;
use crate::{Trailer, WireError};

const MAGIC: Magic = *b"lzrcpt 3";

/// A point in time as the kernel keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FileTime {
    /// Seconds since 1970, rounded down.
    pub seconds: i64,
    /// Nanoseconds within the second.
    pub nanos: u32,
}

impl FileTime {
    /// Returns the last change of the contents, as `stat` gives it.
    #[expect(
        clippy::unnecessary_cast,
        reason = "the fields' types differ between Linux and macOS"
    )]
    pub(crate) fn modified(stat: &rustix::fs::Stat) -> Self {
        Self {
            seconds: stat.st_mtime as i64,
            nanos: stat.st_mtime_nsec as u32,
        }
    }
}

/// How an entry is told from any later state of it, without reading it.
///
/// Taken inside the volume, by the porter, and compared there for inequality.
/// Without CAP_SYS_TIME no process can set a ctime, and every write, truncation,
/// rename and change of mode moves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VolumeIdentity {
    /// The inode.
    pub ino: u64,
    /// Bytes.
    pub size: u64,
    /// Type and permissions, as `stat` gives them.
    pub mode: u32,
    /// Last change of the contents; can be set at will, so never trusted alone.
    pub mtime: FileTime,
    /// Last change of anything.
    pub ctime: FileTime,
}

impl From<&rustix::fs::Stat> for VolumeIdentity {
    #[expect(
        clippy::unnecessary_cast,
        reason = "the fields' types differ between Linux and macOS"
    )]
    fn from(stat: &rustix::fs::Stat) -> Self {
        Self {
            ino: stat.st_ino as u64,
            size: stat.st_size as u64,
            mode: stat.st_mode as u32,
            mtime: FileTime::modified(stat),
            ctime: FileTime {
                seconds: stat.st_ctime as i64,
                nanos: stat.st_ctime_nsec as u32,
            },
        }
    }
}

impl VolumeIdentity {
    /// Appends the fields to a record.
    pub(crate) fn write_to<W: Write + ?Sized>(&self, record: &mut FrameWriter<'_, W>) {
        record.u64(self.ino).u64(self.size).u32(self.mode);
        for time in [self.mtime, self.ctime] {
            record.i64(time.seconds).u32(time.nanos);
        }
    }

    /// Reads what [`VolumeIdentity::write_to`] wrote.
    pub(crate) fn read_from(frame: &mut FrameReader<'_>) -> Result<Self, WireError> {
        let (ino, size, mode) = (frame.u64()?, frame.u64()?, frame.u32()?);
        let mut time = || {
            Ok::<_, WireError>(FileTime {
                seconds: frame.i64()?,
                nanos: frame.u32()?,
            })
        };
        let (mtime, ctime) = (time()?, time()?);
        Ok(Self {
            ino,
            size,
            mode,
            mtime,
            ctime,
        })
    }
}

/// The proof that a stream arrived as a whole, and what lies in the volume since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// What arrived, counted and summed up on the other side. No command is started
    /// unless this equals what was sent ([`Packed::trailer`](crate::Packed::trailer)).
    pub arrived: Trailer,
    /// Every entry's identity in the volume.
    pub identities: BTreeMap<RelPathBuf, VolumeIdentity>,
}

impl Receipt {
    /// Writes the receipt.
    ///
    /// # Errors
    /// When the writer fails.
    pub fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut frame = FrameWriter::new(out, MAGIC);
        self.write_records(&mut frame)?;
        frame.finish()
    }

    /// Reads a receipt of at most `entries` entries.
    ///
    /// # Errors
    /// When it is cut off, changed, too long, or contradicts itself.
    pub fn read_from(input: &mut dyn Read, entries: u64) -> Result<Self, WireError> {
        let mut frame = FrameReader::new(input, MAGIC, "receipt of version 3")?;
        let Some(b't') = frame.tag()? else {
            return Err(malformed("no total"));
        };
        let receipt = Self::read_records(&mut frame, entries)?;
        Ok(receipt)
    }

    pub(super) fn write_records(&self, frame: &mut FrameWriter<'_>) -> io::Result<()> {
        let Trailer {
            entries,
            bytes,
            stream,
        } = &self.arrived;
        let record = frame.tag(b't')?.u64(*entries).u64(*bytes);
        record.checksum(*stream);
        for (path, identity) in &self.identities {
            identity.write_to(frame.tag(b'i')?.path(path.as_str().as_bytes())?);
        }
        Ok(())
    }

    /// Reads the records behind the tag of the first.
    pub(super) fn read_records(
        frame: &mut FrameReader<'_>,
        entries: u64,
    ) -> Result<Self, WireError> {
        let arrived = Trailer {
            entries: frame.u64()?,
            bytes: frame.u64()?,
            stream: frame.checksum()?,
        };
        if arrived.entries > entries {
            return Err(WireError::TooLong);
        }
        let mut identities = Vec::new();
        while let Some(tag) = frame.tag()? {
            if tag != b'i' {
                return Err(malformed("a tag"));
            }
            let path = RelPath::from_bytes(frame.path()?);
            let path = path.map_err(|_| malformed("a path"))?.to_owned();
            if identities.last().is_some_and(|(last, _)| *last >= path) {
                return Err(malformed("the order"));
            }
            if identities.len() as u64 == arrived.entries {
                return Err(malformed("the number of entries"));
            }
            identities.push((path, VolumeIdentity::read_from(frame)?));
        }
        if identities.len() as u64 != arrived.entries {
            return Err(malformed("the number of entries"));
        }
        Ok(Self {
            arrived,
            identities: identities.into_iter().collect(),
        })
    }
}
