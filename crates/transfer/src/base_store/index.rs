//! `Index`: where each text lies.

use std::fs::OpenOptions;
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use lazaret_tree::{AtPath as _, Digest, PathError};

use super::{BaseStoreError, MOST_FILE_BYTES, open_own};

const MAGIC: &[u8; 16] = b"lazaret base v2\n";
const HEAD_BYTES: usize = 24;
const RECORD_BYTES: usize = 44;
/// More records than a workspace has files (`docs/design/threats.md`, section 0) are no index of ours.
const MOST_RECORDS: u64 = 1 << 22;

/// Where one text lies in the contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Record {
    pub(super) digest: Digest,
    pub(super) offset: u64,
    pub(super) length: u32,
}

impl Record {
    fn end(&self) -> u64 {
        self.offset.saturating_add(self.length.into())
    }
}

/// Records, sorted by digest, each digest once.
#[derive(Debug, Default)]
pub(super) struct Index(Vec<Record>);

impl Index {
    /// Reads an index.
    ///
    /// # Errors
    /// When it is missing, a link, cut short, or something else.
    pub(super) fn read(path: &Path) -> Result<Self, BaseStoreError> {
        let damaged = || BaseStoreError::Damaged {
            path: path.to_path_buf(),
        };
        let mut file = open_own(OpenOptions::new().read(true), path)?;
        let length = file.metadata().at(path)?.len();
        if length > HEAD_BYTES as u64 + MOST_RECORDS * RECORD_BYTES as u64 {
            return Err(damaged());
        }
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
        file.read_to_end(&mut bytes).at(path)?;
        Self::parse(&bytes).ok_or_else(damaged)
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (head, records) = bytes.split_at_checked(HEAD_BYTES)?;
        let (magic, count) = head.split_at(MAGIC.len());
        let (records, rest) = records.as_chunks::<RECORD_BYTES>();
        let is_whole = rest.is_empty() && number(count) == records.len() as u64;
        let records: Vec<Record> = records.iter().map(parse).collect();
        let is_sound = records
            .iter()
            .all(|record| u64::from(record.length) <= MOST_FILE_BYTES);
        let is_sorted = records.is_sorted_by(|one, next| one.digest < next.digest);
        (magic == MAGIC && is_whole && is_sound && is_sorted).then_some(Self(records))
    }

    /// Replaces the index at `path`. The caller is the only writer.
    ///
    /// # Errors
    /// The disk's; the one that was there is untouched then.
    pub(super) fn write(&self, path: &Path) -> Result<(), PathError> {
        let mut bytes = Vec::with_capacity(HEAD_BYTES + self.0.len() * RECORD_BYTES);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&(self.0.len() as u64).to_le_bytes());
        for record in &self.0 {
            bytes.extend_from_slice(record.digest.as_bytes());
            bytes.extend_from_slice(&record.offset.to_le_bytes());
            bytes.extend_from_slice(&record.length.to_le_bytes());
        }
        let staged = path.with_extension("new");
        let mut options = OpenOptions::new();
        let written = open_own(options.write(true).create(true).truncate(true), &staged)
            .map_err(io::Error::other)
            .and_then(|mut file| file.write_all(&bytes))
            .and_then(|()| std::fs::rename(&staged, path));
        if written.is_err() {
            drop(std::fs::remove_file(&staged));
        }
        written.at(path)
    }

    /// Adds records; of two with the same digest, the one that was there first stays.
    pub(super) fn extend(&mut self, new: Vec<Record>) {
        self.0.extend(new);
        // Stable: what was there stands first.
        self.0.sort_by_key(|record| record.digest);
        self.0.dedup_by_key(|record| record.digest);
    }

    pub(super) fn find(&self, digest: &Digest) -> Option<&Record> {
        let found = self.0.binary_search_by(|record| record.digest.cmp(digest));
        found.ok().and_then(|at| self.0.get(at))
    }

    /// Where the last text ends.
    pub(super) fn end(&self) -> u64 {
        self.0.iter().map(Record::end).max().unwrap_or_default()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

fn parse(bytes: &[u8; RECORD_BYTES]) -> Record {
    let (digest, rest) = bytes.split_at(32);
    let (offset, length) = rest.split_at(8);
    let mut name = [0; 32];
    name.copy_from_slice(digest);
    Record {
        digest: name.into(),
        offset: number(offset),
        length: u32::try_from(number(length)).unwrap_or(u32::MAX),
    }
}

/// Reads up to eight bytes, little-endian.
fn number(bytes: &[u8]) -> u64 {
    let bytes = bytes.iter().rev();
    bytes.fold(0, |number, byte| number << 8 | u64::from(*byte))
}
