//! `FilePair`: the contents of both sides of a change, read at most once, for the rules
//! that look inside.

use std::cell::OnceCell;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Read as _};

use lazaret_tree::{Change, Digest, Entry, RelPathBuf};

use crate::Contents;

/// Contents above this many bytes are not looked into; `content.unexamined` says so.
pub(crate) const MOST_BYTES: u64 = 16 << 20;

/// As many bytes as are needed to tell machine code.
const HEAD_BYTES: usize = 4;

/// What one side of a change holds.
#[derive(Debug)]
pub(crate) enum FileSide {
    /// No file is there.
    Absent,
    /// The contents, whose digest was checked.
    Bytes(Vec<u8>),
    /// The contents as UTF-8, of a file that is UTF-16: shells and Windows read those as text.
    Utf16(Vec<u8>),
    /// More than [`MOST_BYTES`].
    TooLarge,
    /// The contents can't be had; of the side before that is ordinary.
    Unreadable(io::ErrorKind),
}

impl FileSide {
    /// Returns the contents, when they are there and UTF-8 without a NUL byte.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Bytes(bytes) | Self::Utf16(bytes) if !bytes.contains(&0) => {
                std::str::from_utf8(bytes).ok()
            }
            _ => None,
        }
    }

    /// Returns the contents, when they are there.
    pub(crate) fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Bytes(bytes) | Self::Utf16(bytes) => Some(bytes),
            _ => None,
        }
    }
}

/// Returns a text in UTF-16 as UTF-8: one with a byte order mark, or whose every other byte is
/// a NUL, as it is for Latin letters.
fn decoded(bytes: &[u8]) -> Option<Vec<u8>> {
    const SAMPLE: usize = 512;
    /// Fewer letters may be chance.
    const FEWEST: usize = 8;
    let pairs = |bytes: &[u8], read: fn([u8; 2]) -> u16| -> Option<Vec<u8>> {
        let (pairs, rest) = bytes.as_chunks::<2>();
        let units = pairs.iter().map(|pair| read(*pair));
        let text: Result<String, _> = char::decode_utf16(units).collect();
        let text = text
            .ok()
            .filter(|text| rest.is_empty() && !text.contains('\0'))?;
        Some(text.into_bytes())
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => return pairs(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => return pairs(rest, u16::from_be_bytes),
        _ => {}
    }
    let (sample, _) = bytes.get(..bytes.len().min(SAMPLE))?.as_chunks::<2>();
    let all = |is_wide: fn(&[u8; 2]) -> bool| sample.len() >= FEWEST && sample.iter().all(is_wide);
    if all(|[low, high]| *low != 0 && *high == 0) {
        return pairs(bytes, u16::from_le_bytes);
    }
    if all(|[high, low]| *low != 0 && *high == 0) {
        return pairs(bytes, u16::from_be_bytes);
    }
    None
}

/// Iterates over lines, counted from 1, without the line feed and one carriage return
/// before it: a file that was converted from one to the other is the same lines.
pub(crate) fn lines(bytes: &[u8]) -> impl Iterator<Item = (u32, &[u8])> {
    let lines = bytes.split(|&byte| byte == b'\n');
    let lines = lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    (1..=u32::MAX).zip(lines)
}

/// A change whose contents can be looked into: a file that is new, or has other contents
/// than before, outside the workspace's own `.git`.
pub(crate) struct FilePair<'a> {
    change: &'a Change,
    contents: &'a dyn Contents,
    before: OnceCell<FileSide>,
    after: OnceCell<FileSide>,
    /// The lines from before, hashed with a key of our own and sorted: eight bytes for each,
    /// however long it is (AUD-04), and however many there are.
    known: OnceCell<(RandomState, Box<[u64]>)>,
}

impl<'a> FilePair<'a> {
    /// Returns nothing for a change that brings no contents.
    pub(crate) fn new(change: &'a Change, contents: &'a dyn Contents) -> Option<Self> {
        let Some(Entry::File { digest, .. }) = &change.after else {
            return None;
        };
        match &change.before {
            Some(Entry::File { digest: old, .. }) if old == digest => None,
            _ => Some(Self {
                change,
                contents,
                before: OnceCell::new(),
                after: OnceCell::new(),
                known: OnceCell::new(),
            }),
        }
    }

    pub(crate) fn change(&self) -> &'a Change {
        self.change
    }

    pub(crate) fn path(&self) -> &'a RelPathBuf {
        &self.change.path
    }

    /// Returns what was there before.
    pub(crate) fn before(&self) -> &FileSide {
        let read = || read(self.change.before.as_ref(), self.contents);
        self.before.get_or_init(read)
    }

    /// Returns what the change brings.
    pub(crate) fn after(&self) -> &FileSide {
        let read = || read(self.change.after.as_ref(), self.contents);
        self.after.get_or_init(read)
    }

    /// How many bytes of what the change brings were read.
    pub(crate) fn bytes_read(&self) -> usize {
        let after = self.after.get().and_then(FileSide::bytes);
        after.map_or(0, <[u8]>::len)
    }

    /// Reads another entry of the batch or of the baseline.
    pub(crate) fn read_other(&self, entry: Option<&Entry>) -> FileSide {
        read(entry, self.contents)
    }

    /// Opens what the change brings if it is too large to be looked into as a whole.
    pub(crate) fn stream_after(&self) -> io::Result<Option<Box<dyn io::Read + 'a>>> {
        match (self.after(), &self.change.after) {
            (FileSide::TooLarge, Some(Entry::File { digest, .. })) => {
                Ok(Some(self.contents.open(digest)?))
            }
            _ => Ok(None),
        }
    }

    /// Returns the first bytes of what the change brings, also of a file that is too large.
    pub(crate) fn head(&self) -> io::Result<Vec<u8>> {
        let mut head = Vec::with_capacity(HEAD_BYTES);
        match (self.after(), &self.change.after) {
            (FileSide::Bytes(bytes) | FileSide::Utf16(bytes), _) => {
                head.extend(bytes.iter().take(HEAD_BYTES))
            }
            (FileSide::TooLarge, Some(Entry::File { digest, .. })) => {
                let file = self.contents.open(digest)?;
                file.take(HEAD_BYTES as u64).read_to_end(&mut head)?;
            }
            _ => {}
        }
        Ok(head)
    }

    /// Whether no line from before is equal to this one, as [`lines`] gives them. Every
    /// line is new where the contents from before can't be had.
    pub(crate) fn adds_line(&self, line: &[u8]) -> bool {
        let (key, known) = self.known.get_or_init(|| {
            let key = RandomState::new();
            let before = self.before().bytes().unwrap_or_default();
            // Counted first: a list that grows is there twice.
            let mut known = Vec::with_capacity(lines(before).count());
            known.extend(lines(before).map(|(_, line)| key.hash_one(line)));
            known.sort_unstable();
            (key, known.into_boxed_slice())
        });
        known.binary_search(&key.hash_one(line)).is_err()
    }
}

/// Reads the contents of an entry.
pub(in crate::rules) fn read(entry: Option<&Entry>, contents: &dyn Contents) -> FileSide {
    let (size, digest) = match entry {
        Some(Entry::File { size, digest, .. }) => (*size, digest),
        Some(Entry::Dir | Entry::Symlink { .. }) | None => return FileSide::Absent,
    };
    if size > MOST_BYTES {
        return FileSide::TooLarge;
    }
    if size == 0 {
        return FileSide::Bytes(Vec::new());
    }
    // At once: a list that grows to this leaves holes in the heap.
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default() + 1);
    let read = contents
        .open(digest)
        .and_then(|reader| reader.take(MOST_BYTES + 1).read_to_end(&mut bytes));
    match read {
        Err(error) => FileSide::Unreadable(error.kind()),
        Ok(_) if Digest::of(&bytes) != *digest => FileSide::Unreadable(io::ErrorKind::InvalidData),
        Ok(_) => match decoded(&bytes) {
            Some(text) => FileSide::Utf16(text),
            None => FileSide::Bytes(bytes),
        },
    }
}
