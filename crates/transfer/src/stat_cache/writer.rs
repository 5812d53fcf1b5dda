//! `StatCacheWriter`: a walk's files, for the next one.

use std::io::{self, Write};
use std::os::fd::AsFd;

use lazaret_protocol::{FileTime, RecordWriter};
use lazaret_tree::{Digest, RelPath};
use rustix::time::{ClockId, clock_gettime};

use super::{Hashed, MAGIC, StatKey};
use crate::WorkspaceDir;

/// Writes a [`StatCache`](super::StatCache) while a walk reads files; its memory does not
/// grow with them.
///
/// Make it just before the walk: what changes from then on is not kept.
#[must_use = "a cache is complete only after `finish`"]
pub struct StatCacheWriter<'w> {
    frame: RecordWriter<'w, dyn Write + Send + 'w>,
    clock: FileTime,
    /// The one file system that is believed, if any.
    dev: Option<u64>,
    failed: Option<io::Error>,
    recorded: StatCacheOutcome,
}

/// What a [`StatCacheWriter`] has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "what was written is a cache only where it says so"]
pub enum StatCacheOutcome {
    /// A cache, to take the place of the last.
    Written,
    /// Nothing: reading again what the last one lacks costs less than writing another.
    Kept,
}

impl std::fmt::Debug for StatCacheWriter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut fields = f.debug_struct("StatCacheWriter");
        fields.field("clock", &self.clock).finish_non_exhaustive()
    }
}

impl<'w> StatCacheWriter<'w> {
    /// Starts a cache of `workspace`.
    pub fn new(workspace: &WorkspaceDir, out: &'w mut (dyn Write + Send)) -> Self {
        let now = clock_gettime(CLOCK);
        let clock = FileTime {
            seconds: now.tv_sec,
            nanos: u32::try_from(now.tv_nsec).unwrap_or(0),
        };
        Self::at(clock, workspace, out)
    }

    fn at(clock: FileTime, workspace: &WorkspaceDir, out: &'w mut (dyn Write + Send)) -> Self {
        Self {
            frame: RecordWriter::new(out, MAGIC),
            clock,
            dev: is_local(workspace).then_some(workspace.identity().dev),
            failed: None,
            recorded: StatCacheOutcome::Written,
        }
    }

    /// Leaves the last cache as it is.
    pub(crate) fn leave(&mut self) {
        self.recorded = StatCacheOutcome::Kept;
    }

    /// Keeps a file that had this stat when it was opened, and these contents.
    pub(crate) fn record(&mut self, path: &RelPath, key: StatKey, digest: &Digest) {
        if self.failed.is_some() || self.dev != Some(key.dev) || key.is_racy(self.clock) {
            return;
        }
        let digest = *digest;
        let written = self.frame.record(path, &Hashed { key, digest });
        self.failed = written.err();
    }

    /// Ends the cache.
    ///
    /// # Errors
    /// The first error of all writes: what was written is no cache then.
    pub fn finish(self) -> io::Result<StatCacheOutcome> {
        match (self.failed, self.recorded) {
            (Some(error), _) => Err(error),
            (None, StatCacheOutcome::Kept) => Ok(StatCacheOutcome::Kept),
            (None, StatCacheOutcome::Written) => {
                self.frame.finish().map(|()| StatCacheOutcome::Written)
            }
        }
    }
}

/// The clock that file systems take their times from.
#[cfg(target_os = "linux")]
const CLOCK: ClockId = ClockId::RealtimeCoarse;
#[cfg(not(target_os = "linux"))]
const CLOCK: ClockId = ClockId::Realtime;

/// Whether inodes and times are this kernel's own.
#[cfg(target_os = "linux")]
fn is_local(dir: impl AsFd) -> bool {
    /// ext2 to ext4, XFS, Btrfs, tmpfs, F2FS, bcachefs, ZFS, overlayfs (`linux/magic.h`).
    const KNOWN: [u32; 8] = [
        0xef53,
        0x5846_5342,
        0x9123_683e,
        0x0102_1994,
        0xf2f5_2010,
        0xca45_1a4e,
        0x2fc1_2fc1,
        0x794c_7630,
    ];
    // The field's type differs between architectures; all numbers have 32 bits.
    rustix::fs::fstatfs(dir).is_ok_and(|stat| KNOWN.contains(&(stat.f_type as u32)))
}

/// Nothing is known of other systems: every file is read.
#[cfg(not(target_os = "linux"))]
fn is_local(_: impl AsFd) -> bool {
    false
}
