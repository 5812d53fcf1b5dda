//! `BaseStore`: the text that was sent in, kept for merges and for diffs.
//!
//! When the user goes on editing while the command runs, the host's file is no longer what
//! the session started from, and without that there is nothing to merge by. So the packer,
//! which reads every file once anyway, hands what it reads to a [`BaseWriter`] too.
//!
//! ```text
//! file    = contents* record* trailer
//! record  = digest (32 bytes), offset (8), length (4), little-endian, sorted by digest
//! trailer = "lazaret base v1\n", number of records (8), offset of the first record (8)
//! ```
//!
//! The file is a convenience: it is not synced, a failure to write it loses merges and
//! nothing else, and nothing that comes out of it is believed before its digest is checked.

use std::fs::{File, OpenOptions};
use std::io::{self, Cursor, Read, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::{AtPath as _, Blobs, Digest, PathError, RelPath};

const MAGIC: &[u8; 16] = b"lazaret base v1\n";
const TRAILER_BYTES: u64 = 32;
const RECORD_BYTES: u64 = 44;
/// A larger file is neither merged nor shown, so it is not kept either.
const MOST_FILE_BYTES: u64 = 1 << 20;
/// A NUL byte this early makes a file binary, as in git's `buffer_is_binary`.
const HEAD: usize = 8 << 10;
/// One write for this much.
const FLUSH: usize = 256 << 10;
/// More records than a workspace has files (`threats.md`, section 0) are no index of ours.
const MOST_RECORDS: u64 = 1 << 22;

/// Where one file's contents lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Record {
    digest: Digest,
    offset: u64,
    length: u32,
}

/// Writes the store while files are packed: one copy in memory for each byte that is kept,
/// and one write for every quarter of a mebibyte.
#[derive(Debug)]
pub struct BaseWriter {
    file: File,
    path: PathBuf,
    /// What is not written yet; the file that is being read is its tail.
    buffer: Vec<u8>,
    /// Where in the buffer that file starts.
    start: usize,
    taking: Taking,
    /// How many bytes were written before the buffer.
    written: u64,
    /// How many bytes may still be kept.
    room: u64,
    /// What is new, unsorted.
    index: Vec<Record>,
    /// What the file held when it was opened, sorted.
    old: Vec<Record>,
    /// Where the old index began, as long as the file has to end as it did.
    restore: Option<u64>,
    failed: Option<io::Error>,
}

/// What becomes of the file that is being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Taking {
    Kept,
    PassedOver,
}

impl BaseWriter {
    /// Creates the file, for this user alone. At most `room` bytes of contents are kept;
    /// files that come when it is full are passed over.
    ///
    /// # Errors
    /// When it exists or can't be made.
    pub fn create(path: &Path, room: u64) -> Result<Self, PathError> {
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
            .at(path)?;
        Ok(Self::over(file, path, room))
    }

    /// Opens a store to keep more: what a session started from is needed for as long as a
    /// conflict waits, whatever was sent since. One that is missing or damaged begins anew.
    ///
    /// Contents and index are written over the old index, so a crash in between loses the
    /// store; a failure does not.
    ///
    /// # Errors
    /// When it can't be read or made.
    pub fn append(path: &Path, room: u64) -> Result<Self, PathError> {
        let store = match BaseStore::open(path) {
            Ok(store) => store,
            Err(BaseStoreError::Damaged { .. }) => {
                std::fs::remove_file(path).at(path)?;
                return Self::create(path, room);
            }
            Err(BaseStoreError::Io(error)) if error.source.kind() == io::ErrorKind::NotFound => {
                return Self::create(path, room);
            }
            Err(BaseStoreError::Io(error)) => return Err(error),
        };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
            .open(path)
            .at(path)?;
        file.seek(SeekFrom::Start(store.end)).at(path)?;
        let mut writer = Self::over(file, path, room.saturating_sub(store.end));
        writer.written = store.end;
        writer.restore = Some(store.end);
        writer.old = store.index;
        Ok(writer)
    }

    fn over(file: File, path: &Path, room: u64) -> Self {
        Self {
            file,
            path: path.to_path_buf(),
            buffer: Vec::with_capacity(FLUSH + HEAD),
            start: 0,
            taking: Taking::PassedOver,
            written: 0,
            room,
            index: Vec::new(),
            old: Vec::new(),
            restore: None,
            failed: None,
        }
    }

    /// Hears that a file of `size` bytes is read from here on.
    pub(crate) fn begin(&mut self, path: &RelPath, size: u64) {
        let is_git = path.components().next() == Some(".git");
        let fits = size > 0 && size <= MOST_FILE_BYTES && size <= self.room;
        self.taking = match fits && !is_git && self.failed.is_none() {
            true => Taking::Kept,
            false => Taking::PassedOver,
        };
    }

    /// Takes the next bytes of the file.
    pub(crate) fn piece(&mut self, bytes: &[u8]) {
        if self.taking == Taking::PassedOver {
            return;
        }
        let seen = self.buffer.len() - self.start;
        let head = HEAD.saturating_sub(seen).min(bytes.len());
        if bytes.get(..head).unwrap_or(bytes).contains(&0) {
            self.buffer.truncate(self.start);
            self.taking = Taking::PassedOver;
        } else {
            self.buffer.extend_from_slice(bytes);
        }
    }

    /// Hears that the file is complete.
    pub(crate) fn end(&mut self, digest: Digest) {
        if self.taking == Taking::PassedOver {
            return;
        }
        self.taking = Taking::PassedOver;
        let known = self.old.binary_search_by(|old| old.digest.cmp(&digest));
        if known.is_ok() {
            self.buffer.truncate(self.start);
            return;
        }
        let length = self.buffer.len() - self.start;
        self.room = self.room.saturating_sub(length as u64);
        self.index.push(Record {
            digest,
            offset: self.written + self.start as u64,
            length: u32::try_from(length).unwrap_or(u32::MAX),
        });
        self.start = self.buffer.len();
        if self.start >= FLUSH {
            self.flush();
        }
    }

    /// Ends the store: from here on it can be opened.
    ///
    /// # Errors
    /// The first error of all writes. The file is as it was before then, or removed.
    pub fn finish(mut self) -> Result<(), PathError> {
        if self.index.is_empty() && self.restore.is_some() {
            return Ok(());
        }
        self.buffer.truncate(self.start);
        // The end in the same write, where all of it is small.
        let mut index = self.old.clone();
        index.append(&mut self.index);
        index.sort_unstable();
        index.dedup_by_key(|record| record.digest);
        let end = self.written + self.buffer.len() as u64;
        append_tail(&mut self.buffer, &index, end);
        self.flush();
        let done = match self.failed.take() {
            Some(error) => Err(error),
            None => {
                self.restore = None;
                Ok(())
            }
        };
        if done.is_err() && self.restore.is_none() {
            // Without its end it can't be opened anyway; what is reported is why.
            drop(std::fs::remove_file(&self.path));
        }
        done.at(&self.path)
    }

    fn flush(&mut self) {
        if self.failed.is_none()
            && let Err(error) = self.file.write_all(&self.buffer)
        {
            self.failed = Some(error);
        }
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        self.start = 0;
    }
}

impl Drop for BaseWriter {
    /// Gives the file the end back that it had, unless it has a new one.
    fn drop(&mut self) {
        let Some(end) = self.restore.filter(|end| *end != self.written) else {
            return;
        };
        let mut tail = Vec::new();
        append_tail(&mut tail, &self.old, end);
        let restored = self
            .file
            .set_len(end)
            .and_then(|()| self.file.write_all_at(&tail, end));
        if restored.is_err() {
            drop(std::fs::remove_file(&self.path));
        }
    }
}

/// Appends index and trailer, for contents of `end` bytes.
fn append_tail(out: &mut Vec<u8>, index: &[Record], end: u64) {
    out.reserve(index.len() * RECORD_BYTES as usize + TRAILER_BYTES as usize);
    for record in index {
        out.extend_from_slice(record.digest.as_bytes());
        out.extend_from_slice(&record.offset.to_le_bytes());
        out.extend_from_slice(&record.length.to_le_bytes());
    }
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&(index.len() as u64).to_le_bytes());
    out.extend_from_slice(&end.to_le_bytes());
}

/// The texts that were sent in, by digest.
#[derive(Debug)]
pub struct BaseStore {
    file: File,
    index: Vec<Record>,
    /// Where the contents end.
    end: u64,
}

/// Why a store can't be used.
#[derive(Debug, thiserror::Error)]
pub enum BaseStoreError {
    /// The file system failed, or there is none.
    #[error(transparent)]
    Io(#[from] PathError),
    /// It is cut, or no store.
    #[error("{}: not a complete store of base texts", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
    },
}

impl BaseStore {
    /// Opens what a [`BaseWriter`] has finished.
    ///
    /// # Errors
    /// When it is missing, a link, cut short, or something else.
    pub fn open(path: &Path) -> Result<Self, BaseStoreError> {
        let damaged = || BaseStoreError::Damaged {
            path: path.to_path_buf(),
        };
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(flags.bits().cast_signed())
            .open(path)
            .at(path)?;
        let metadata = file.metadata().at(path)?;
        let tail = metadata.len().checked_sub(TRAILER_BYTES);
        let tail = tail.filter(|_| metadata.is_file()).ok_or_else(damaged)?;
        if metadata.uid() != rustix::process::geteuid().as_raw() {
            return Err(damaged());
        }
        let mut trailer = [0; TRAILER_BYTES as usize];
        file.read_exact_at(&mut trailer, tail).at(path)?;
        let (count, first) = (number(&trailer[16..24]), number(&trailer[24..]));
        let length = count
            .checked_mul(RECORD_BYTES)
            .filter(|_| count <= MOST_RECORDS);
        if !trailer.starts_with(MAGIC) || length.and_then(|l| l.checked_add(first)) != Some(tail) {
            return Err(damaged());
        }
        let length = usize::try_from(tail - first).map_err(|_| damaged())?;
        let mut bytes = vec![0; length];
        file.read_exact_at(&mut bytes, first).at(path)?;
        let index: Vec<Record> = bytes
            .chunks_exact(RECORD_BYTES as usize)
            .map(parse)
            .collect();
        let sound = index.iter().all(|record| {
            let end = record.offset.checked_add(record.length.into());
            u64::from(record.length) <= MOST_FILE_BYTES && end.is_some_and(|end| end <= first)
        });
        match sound && index.is_sorted() {
            true => Ok(Self {
                file,
                index,
                end: first,
            }),
            false => Err(damaged()),
        }
    }

    /// Reads the text with this digest; `None` when it is not kept.
    ///
    /// # Errors
    /// When it can't be read, or is not what the digest says (`InvalidData`).
    pub fn read(&self, digest: &Digest) -> io::Result<Option<Vec<u8>>> {
        let found = self
            .index
            .binary_search_by(|record| record.digest.cmp(digest));
        let Some(record) = found.ok().and_then(|at| self.index.get(at)) else {
            return Ok(None);
        };
        let mut bytes = vec![0; record.length as usize];
        self.file.read_exact_at(&mut bytes, record.offset)?;
        if Digest::of(&bytes) != *digest {
            let text = "the store of base texts is damaged";
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        Ok(Some(bytes))
    }

    /// Counts the texts.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }
}

impl Blobs for BaseStore {
    fn open(&self, digest: &Digest) -> io::Result<Box<dyn Read + '_>> {
        match self.read(digest)? {
            Some(bytes) => Ok(Box::new(Cursor::new(bytes))),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

fn parse(bytes: &[u8]) -> Record {
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn keep(writer: &mut BaseWriter, path: &str, bytes: &[u8], piece: usize) {
        writer.begin(RelPath::new(path).unwrap(), bytes.len() as u64);
        for piece in bytes.chunks(piece) {
            writer.piece(piece);
        }
        writer.end(Digest::of(bytes));
    }

    struct Kept {
        _dir: tempfile::TempDir,
        path: PathBuf,
    }

    fn kept(files: &[(&str, &[u8])], room: u64) -> Kept {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("base");
        let mut writer = BaseWriter::create(&path, room).unwrap();
        for (path, bytes) in files {
            keep(&mut writer, path, bytes, 5000);
        }
        writer.finish().unwrap();
        Kept { _dir: dir, path }
    }

    #[test]
    fn texts_come_back_by_their_digest() {
        let large = vec![b'a'; MOST_FILE_BYTES as usize];
        let texts: [(&str, &[u8]); 4] = [
            ("a", b"one\n"),
            ("b", b"two\n"),
            ("large", &large),
            ("twice", b"one\n"),
        ];
        let kept = kept(&texts, u64::MAX);
        let store = BaseStore::open(&kept.path).unwrap();
        assert_eq!(store.len(), 3);
        for (_, text) in texts {
            assert_eq!(
                store.read(&Digest::of(text)).unwrap().as_deref(),
                Some(text)
            );
        }
        assert_eq!(store.read(&Digest::of(b"three")).unwrap(), None);
        let mode = std::fs::metadata(&kept.path).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o600);
    }

    #[test]
    fn only_small_text_outside_of_git_is_kept() {
        let mut late = vec![b'a'; HEAD];
        late.push(0);
        let mut early = vec![b'a'; HEAD - 1];
        early.push(0);
        let large = vec![b'a'; MOST_FILE_BYTES as usize + 1];
        let files: [(&str, &[u8]); 6] = [
            ("early", &early),
            ("late", &late),
            ("large", &large),
            (".git/HEAD", b"ref: refs/heads/main\n"),
            ("empty", b""),
            ("after", b"text after what was passed over\n"),
        ];
        let kept = kept(&files, u64::MAX);
        let store = BaseStore::open(&kept.path).unwrap();
        let names = files
            .iter()
            .filter(|(_, bytes)| store.read(&Digest::of(bytes)).unwrap().is_some());
        let names: Vec<_> = names.map(|(name, _)| *name).collect();
        assert_eq!(names, ["late", "after"]);
    }

    #[test]
    fn what_does_not_fit_is_passed_over() {
        let kept = kept(&[("a", b"12345"), ("b", b"123456"), ("c", b"1234")], 10);
        let store = BaseStore::open(&kept.path).unwrap();
        assert!(store.read(&Digest::of(b"12345")).unwrap().is_some());
        assert!(store.read(&Digest::of(b"123456")).unwrap().is_none());
        assert!(store.read(&Digest::of(b"1234")).unwrap().is_some());
    }

    #[test]
    fn damage_is_noticed() {
        let kept = kept(&[("a", b"one\n"), ("b", b"two\n")], u64::MAX);
        let whole = std::fs::read(&kept.path).unwrap();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x20;
            std::fs::write(&kept.path, &bytes).unwrap();
            let Ok(store) = BaseStore::open(&kept.path) else {
                continue;
            };
            for text in [b"one\n", b"two\n"] {
                if let Ok(Some(read)) = store.read(&Digest::of(text)) {
                    assert_eq!(read, text, "{at}");
                }
            }
        }
        for length in 0..whole.len() {
            std::fs::write(&kept.path, &whole[..length]).unwrap();
            assert!(BaseStore::open(&kept.path).is_err(), "{length}");
        }
    }

    fn appended(path: &Path, files: &[(&str, &[u8])], room: u64) {
        let mut writer = BaseWriter::append(path, room).unwrap();
        for (path, bytes) in files {
            keep(&mut writer, path, bytes, 5000);
        }
        writer.finish().unwrap();
    }

    fn read<'a>(path: &Path, texts: &[&'a [u8]]) -> Vec<&'a [u8]> {
        let store = BaseStore::open(path).unwrap();
        let there = |text: &&[u8]| store.read(&Digest::of(text)).unwrap().as_deref() == Some(*text);
        texts.iter().copied().filter(there).collect()
    }

    #[test]
    fn what_was_kept_before_is_still_there() {
        let kept = kept(&[("a", b"one\n"), ("b", b"two\n")], u64::MAX);
        let before = std::fs::read(&kept.path).unwrap();
        appended(&kept.path, &[("a", b"two\n"), ("b", b"one\n")], u64::MAX);
        assert_eq!(std::fs::read(&kept.path).unwrap(), before, "nothing is new");
        let large = vec![b'a'; FLUSH * 3];
        appended(
            &kept.path,
            &[("a", b"three\n"), ("b", &large), ("c", b"one\n")],
            u64::MAX,
        );
        let all: [&[u8]; 4] = [b"one\n", b"two\n", b"three\n", &large];
        assert_eq!(read(&kept.path, &all), all);
        assert_eq!(BaseStore::open(&kept.path).unwrap().len(), 4);
        // The room is for all of it.
        let used = std::fs::metadata(&kept.path).unwrap().len();
        appended(&kept.path, &[("a", b"four\n")], used - 1000);
        assert_eq!(read(&kept.path, &[b"four\n"]).len(), 0);
    }

    #[test]
    fn a_store_that_is_missing_or_damaged_begins_anew() {
        let kept = kept(&[("a", b"one\n")], u64::MAX);
        std::fs::write(&kept.path, "noise").unwrap();
        appended(&kept.path, &[("a", b"two\n")], u64::MAX);
        assert_eq!(read(&kept.path, &[b"one\n", b"two\n"]), [b"two\n"]);
        std::fs::remove_file(&kept.path).unwrap();
        appended(&kept.path, &[("a", b"three\n")], u64::MAX);
        assert_eq!(read(&kept.path, &[b"two\n", b"three\n"]), [b"three\n"]);
    }

    /// An update that fails halfway has told the store more than it will keep.
    #[test]
    fn a_writer_that_is_given_up_leaves_the_store_as_it_was() {
        let kept = kept(&[("a", b"one\n")], u64::MAX);
        let before = std::fs::read(&kept.path).unwrap();
        let mut writer = BaseWriter::append(&kept.path, u64::MAX).unwrap();
        let large = vec![b'a'; FLUSH * 3];
        keep(&mut writer, "b", &large, 5000);
        assert_ne!(
            std::fs::read(&kept.path).unwrap(),
            before,
            "it was written over"
        );
        drop(writer);
        assert_eq!(std::fs::read(&kept.path).unwrap(), before);
    }

    /// A full disk (`/dev/full` is always one) loses the store, and the writer says so at
    /// its end.
    #[test]
    fn flt_07_a_full_disk_loses_only_the_store() {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let path = Path::new("/nonexistent/base");
        let mut writer = BaseWriter::over(full, path, u64::MAX);
        let large = vec![b'a'; FLUSH];
        for _ in 0..3 {
            keep(&mut writer, "a", &large, 64 << 10);
        }
        let error = writer.finish().unwrap_err();
        assert_eq!(error.source.kind(), io::ErrorKind::StorageFull);
        assert_eq!(error.path, path);
    }
}
