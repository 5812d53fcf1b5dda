//! `StatCache`: digests of files that need not be read again.
//!
//! A file is taken for unchanged when device, inode, size, mode, mtime and ctime are all
//! equal to what they were when it was read. They are compared for inequality, not for
//! age, so a clock that was set back makes no difference.
//!
//! One case they can't tell: a file that was written, read and written again within one
//! tick of the clock that file systems take their times from. So nothing is kept of a file
//! whose times are not older than that clock was when the walk began (git's rule for its
//! index): it is read again, until it has come of age.
//!
//! Only file systems of this machine are believed: what a server calls a tick or an inode
//! is its own affair. What stays unseen is a store through a shared mapping into a page
//! that was dirty when the file was read, until something else moves ctime.

mod cursor;
mod writer;

use std::io::{self, Read, Write};

use lazaret_protocol::{
    FileTime, FormatTag, Record, RecordError, RecordReader, RecordWriter, VolumeIdentity,
};
use lazaret_tree::{Digest, Entry, Mode, RelPathBuf};
use rustix::fs::{FileType, Stat};

use crate::FileIdentity;
pub(crate) use cursor::CacheCursor;
pub use writer::{StatCacheOutcome, StatCacheWriter};

const MAGIC: FormatTag = *b"lzstat 1";

/// What was known of the files of a workspace when a walk had read them.
///
/// Losing it costs time and nothing else.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatCache {
    /// In path order, as a walk meets them.
    entries: Vec<CacheEntry>,
}

/// A file of a cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CacheEntry {
    pub(crate) path: RelPathBuf,
    pub(crate) key: StatKey,
    pub(crate) digest: Digest,
}

/// How a file of the host is told from any later state of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StatKey {
    dev: u64,
    identity: VolumeIdentity,
}

impl StatKey {
    /// Returns `None` for anything but a regular file.
    pub(crate) fn of(stat: &Stat) -> Option<Self> {
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        is_file.then(|| Self {
            dev: FileIdentity::from(stat).dev,
            identity: VolumeIdentity::from(stat),
        })
    }

    /// Returns the entry of a file with these contents.
    pub(crate) fn entry(&self, digest: Digest) -> Entry {
        Entry::File {
            mode: Mode::from_unix(self.identity.mode),
            size: self.identity.size,
            digest,
        }
    }

    /// Bytes of the file.
    pub(crate) fn size(&self) -> u64 {
        self.identity.size
    }

    /// Whether a write that comes at `clock` or later may leave both times as they are.
    fn is_racy(&self, clock: FileTime) -> bool {
        let VolumeIdentity { mtime, ctime, .. } = self.identity;
        [mtime, ctime].into_iter().any(|time| match time.nanos {
            // Either chance, or a file system that keeps whole seconds.
            0 => time.seconds >= clock.seconds,
            _ => time >= clock,
        })
    }
}

/// What the cache says about a file.
struct Hashed {
    key: StatKey,
    digest: Digest,
}

impl Record for Hashed {
    const TAGS: &'static [u8] = b"c";

    fn tag(&self) -> u8 {
        b'c'
    }

    fn write_fields<W: Write + ?Sized>(&self, record: &mut RecordWriter<'_, W>) -> io::Result<()> {
        record.u64(self.key.dev).identity(&self.key.identity);
        record.digest(&self.digest);
        Ok(())
    }

    fn read_fields(_: u8, record: &mut RecordReader<'_>) -> Result<Self, RecordError> {
        let key = StatKey {
            dev: record.u64()?,
            identity: record.identity()?,
        };
        let digest = record.digest()?;
        Ok(Self { key, digest })
    }
}

impl StatCache {
    /// Reads what a [`StatCacheWriter`] wrote.
    ///
    /// # Errors
    /// When it is cut off, changed, of another version, or not in path order: then an empty
    /// cache does.
    pub fn read_from(input: &mut dyn Read) -> Result<Self, RecordError> {
        let mut frame = RecordReader::new(input, MAGIC, "stat cache of version 1")?;
        let entries = frame.list().map(|record| {
            let (path, Hashed { key, digest }) = record?;
            Ok(CacheEntry { path, key, digest })
        });
        let entries = entries.collect::<Result<_, RecordError>>()?;
        frame.finish()?;
        Ok(Self { entries })
    }

    /// Returns the files, in path order.
    pub(crate) fn known(&self) -> &[CacheEntry] {
        &self.entries
    }

    /// What writing such a cache costs, in bytes that could be read instead.
    pub(crate) fn cost(&self) -> u64 {
        /// An identity, a digest, and a path of usual length.
        const ENTRY: u64 = 128;
        self.entries.len() as u64 * ENTRY
    }

    /// Counts the files.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(seconds: i64, nanos: u32) -> FileTime {
        FileTime { seconds, nanos }
    }

    fn key(mtime: FileTime, ctime: FileTime) -> StatKey {
        let identity = VolumeIdentity {
            ino: 1,
            size: 1,
            mode: 0o100_644,
            mtime,
            ctime,
        };
        StatKey { dev: 1, identity }
    }

    #[test]
    fn what_is_not_older_than_the_clock_is_racy() {
        let clock = time(100, 500);
        let racy = |mtime, ctime| key(mtime, ctime).is_racy(clock);
        assert!(!racy(time(100, 499), time(100, 499)));
        assert!(racy(time(100, 499), time(100, 500)));
        assert!(racy(time(100, 500), time(100, 499)));
        // The clock was set back after the last write.
        assert!(racy(time(99, 1), time(200, 1)));
        // A time of the future, set by hand.
        assert!(racy(time(1 << 40, 1), time(99, 1)));
        // Whole seconds say nothing of what came later in this one.
        assert!(racy(time(99, 1), time(100, 0)));
        assert!(!racy(time(99, 0), time(99, 0)));
    }
}
