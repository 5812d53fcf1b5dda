//! `HomeRequest`, `HomeEntries`, `HomeOrders`: settings and programs in a home that is kept, and
//! what is put in their place.
//!
//! ```text
//! host to porter   request   patterns
//! porter to host   entries   what lies there, with its contents
//! host to porter   orders    what to remove, to set aside, to write
//! ```
//!
//! The contents of a file follow its record in pieces of at most 32 KiB. What an agent left in a
//! home is bounded on both sides: in number, in bytes of one file, and in bytes of all.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use lazaret_tree::{Mode, PathPattern, RelPath, RelPathBuf};

use crate::records::{FormatTag, RecordError, RecordReader, RecordWriter};

/// The most bytes of one file that are read.
pub const MAX_HOME_FILE: usize = 8 << 20;

/// The most bytes of all files together.
pub const MAX_HOME_BYTES: usize = 32 << 20;

/// The most entries.
pub const MAX_HOME_ENTRIES: usize = 4096;

/// The directory in a home for what is set aside.
pub const SET_ASIDE: &str = ".lazaret-set-aside";

/// The most patterns.
const MAX_PATTERNS: usize = 1024;

const REQUEST: FormatTag = *b"lzhomq 1";
const ENTRIES: FormatTag = *b"lzhome 1";
const ORDERS: FormatTag = *b"lzhomo 1";

/// Which entries are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HomeRequest(pub Vec<PathPattern>);

/// One entry of a home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HomeEntry {
    /// A regular file.
    File {
        /// Whether its owner may execute it.
        mode: Mode,
        /// All of it.
        contents: Vec<u8>,
    },
    /// A regular file that is larger than is read.
    Large {
        /// Its size.
        bytes: u64,
    },
    /// A link.
    Link {
        /// Where it leads, raw.
        target: Vec<u8>,
    },
    /// A directory where a file belongs, or one with more in it than is read.
    Dir,
    /// A FIFO, a socket or a device.
    Special,
}

/// Entries of a home.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HomeEntries(pub BTreeMap<RelPathBuf, HomeEntry>);

/// What becomes of one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HomeOrder {
    /// What lies there is removed, a directory with all that is in it.
    Remove,
    /// What lies there is moved into [`SET_ASIDE`].
    SetAside {
        /// Its name there.
        name: String,
    },
    /// A file is put there, in place of any other.
    Write {
        /// Whether its owner may execute it.
        mode: Mode,
        /// All of it.
        contents: Vec<u8>,
    },
}

/// What is to be done, in this order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HomeOrders(pub Vec<(RelPathBuf, HomeOrder)>);

impl HomeRequest {
    /// Writes it.
    ///
    /// # Errors
    /// When the writer fails.
    pub fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut frame = RecordWriter::new(out, REQUEST);
        for pattern in &self.0 {
            frame.tag(b'p')?.bytes(pattern.to_string().as_bytes())?;
        }
        frame.finish()
    }

    /// Reads what [`Self::write_to`] wrote.
    ///
    /// # Errors
    /// When it is cut off, changed, too long, or holds what is no pattern.
    pub fn read_from(input: &mut dyn Read) -> Result<Self, RecordError> {
        let mut frame = RecordReader::new(input, REQUEST, "request for a home of version 1")?;
        let mut patterns = Vec::new();
        while let Some(tag) = frame.tag()? {
            if tag != b'p' || patterns.len() == MAX_PATTERNS {
                return Err(RecordError::malformed("a pattern"));
            }
            let text = std::str::from_utf8(frame.bytes()?).ok();
            let pattern = text.and_then(PathPattern::parse);
            patterns.push(pattern.ok_or(RecordError::malformed("a pattern"))?);
        }
        Ok(Self(patterns))
    }
}

impl HomeEntries {
    /// Writes them.
    ///
    /// # Errors
    /// When the writer fails.
    pub fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut frame = RecordWriter::new(out, ENTRIES);
        for (path, entry) in &self.0 {
            let path = path.as_str().as_bytes();
            match entry {
                HomeEntry::File { mode, contents } => file(&mut frame, path, *mode, contents)?,
                HomeEntry::Large { bytes } => drop(frame.tag(b'g')?.path(path)?.u64(*bytes)),
                HomeEntry::Link { target } => drop(frame.tag(b'l')?.path(path)?.bytes(target)?),
                HomeEntry::Dir => drop(frame.tag(b'd')?.path(path)?),
                HomeEntry::Special => drop(frame.tag(b's')?.path(path)?),
            }
        }
        frame.finish()
    }

    /// Reads what [`Self::write_to`] wrote.
    ///
    /// # Errors
    /// When it is cut off, changed, or more than may be in it.
    pub fn read_from(input: &mut dyn Read) -> Result<Self, RecordError> {
        let mut frame = RecordReader::new(input, ENTRIES, "list of a home of version 1")?;
        let (mut entries, mut budget) = (BTreeMap::new(), MAX_HOME_BYTES);
        while let Some(tag) = frame.tag()? {
            let path = frame.rel_path()?;
            let entry = match tag {
                b'f' => {
                    let (mode, contents) = read_file(&mut frame, &mut budget)?;
                    HomeEntry::File { mode, contents }
                }
                b'g' => HomeEntry::Large {
                    bytes: frame.u64()?,
                },
                b'l' => HomeEntry::Link {
                    target: frame.bytes()?.to_vec(),
                },
                b'd' => HomeEntry::Dir,
                b's' => HomeEntry::Special,
                _ => return Err(RecordError::malformed("a tag")),
            };
            if entries.len() == MAX_HOME_ENTRIES {
                return Err(RecordError::TooLong);
            }
            entries.insert(path, entry);
        }
        Ok(Self(entries))
    }
}

impl HomeOrders {
    /// Writes them.
    ///
    /// # Errors
    /// When the writer fails.
    pub fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut frame = RecordWriter::new(out, ORDERS);
        for (path, order) in &self.0 {
            let path = path.as_str().as_bytes();
            match order {
                HomeOrder::Write { mode, contents } => file(&mut frame, path, *mode, contents)?,
                HomeOrder::Remove => drop(frame.tag(b'r')?.path(path)?),
                HomeOrder::SetAside { name } => {
                    frame.tag(b'a')?.path(path)?.bytes(name.as_bytes())?;
                }
            }
        }
        frame.finish()
    }

    /// Reads what [`Self::write_to`] wrote.
    ///
    /// # Errors
    /// When it is cut off, changed, or more than may be in it.
    pub fn read_from(input: &mut dyn Read) -> Result<Self, RecordError> {
        let mut frame = RecordReader::new(input, ORDERS, "orders for a home of version 1")?;
        // Beside what is put back there is what is copied in.
        let (mut orders, mut budget) = (Vec::new(), 4 * MAX_HOME_BYTES);
        while let Some(tag) = frame.tag()? {
            let path = frame.rel_path()?;
            let order = match tag {
                b'f' => {
                    let (mode, contents) = read_file(&mut frame, &mut budget)?;
                    HomeOrder::Write { mode, contents }
                }
                b'r' => HomeOrder::Remove,
                b'a' => HomeOrder::SetAside {
                    name: read_name(&mut frame)?,
                },
                _ => return Err(RecordError::malformed("a tag")),
            };
            orders.push((path, order));
        }
        Ok(Self(orders))
    }
}

fn read_name(frame: &mut RecordReader<'_>) -> Result<String, RecordError> {
    let name = RelPath::from_bytes(frame.bytes()?).ok();
    let name = name.filter(|name| name.parent().is_none());
    let name = name.ok_or(RecordError::malformed("a name"))?;
    Ok(name.as_str().to_owned())
}

fn file(frame: &mut RecordWriter<'_>, path: &[u8], mode: Mode, contents: &[u8]) -> io::Result<()> {
    let executes = u8::from(mode == Mode::Executable);
    let record = frame.tag(b'f')?.path(path)?;
    record.u8(executes);
    record.contents(contents)
}

/// Reads a file, and takes its size off the budget.
fn read_file(
    frame: &mut RecordReader<'_>,
    budget: &mut usize,
) -> Result<(Mode, Vec<u8>), RecordError> {
    let mode = match frame.u8()? {
        0 => Mode::Plain,
        1 => Mode::Executable,
        _ => return Err(RecordError::malformed("a mode")),
    };
    let contents = frame.contents(MAX_HOME_FILE.min(*budget))?;
    *budget -= contents.len();
    Ok((mode, contents))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::PIECE;

    fn path(text: &str) -> RelPathBuf {
        text.parse().unwrap()
    }

    #[test]
    fn entries_and_orders_arrive_as_they_were_sent() {
        let large = vec![7; 3 * PIECE + 5];
        let entries = HomeEntries(BTreeMap::from([
            (
                path(".bashrc"),
                HomeEntry::File {
                    mode: Mode::Plain,
                    contents: Vec::new(),
                },
            ),
            (
                path(".claude"),
                HomeEntry::Link {
                    target: b"/etc".to_vec(),
                },
            ),
            (path("bin/a"), HomeEntry::Large { bytes: 1 << 40 }),
            (path("bin/b"), HomeEntry::Dir),
            (path("bin/c"), HomeEntry::Special),
            (
                path("bin/d"),
                HomeEntry::File {
                    mode: Mode::Executable,
                    contents: large.clone(),
                },
            ),
        ]));
        let mut bytes = Vec::new();
        entries.write_to(&mut bytes).unwrap();
        assert_eq!(HomeEntries::read_from(&mut &bytes[..]).unwrap(), entries);
        for length in 0..bytes.len() {
            assert!(HomeEntries::read_from(&mut &bytes[..length]).is_err());
        }
        let orders = HomeOrders(vec![
            (path("bin"), HomeOrder::Remove),
            (
                path("a"),
                HomeOrder::SetAside {
                    name: "1-a".to_owned(),
                },
            ),
            (
                path("a"),
                HomeOrder::Write {
                    mode: Mode::Plain,
                    contents: large,
                },
            ),
        ]);
        let mut bytes = Vec::new();
        orders.write_to(&mut bytes).unwrap();
        assert_eq!(HomeOrders::read_from(&mut &bytes[..]).unwrap(), orders);
    }

    #[test]
    fn a_file_that_is_too_large_is_refused_before_it_is_read() {
        let mut bytes = Vec::new();
        let mut frame = RecordWriter::<dyn Write>::new(&mut bytes, ENTRIES);
        let record = frame.tag(b'f').unwrap().path(b"a").unwrap();
        record.u8(0).u64(MAX_HOME_FILE as u64 + 1);
        frame.finish().unwrap();
        let read = HomeEntries::read_from(&mut &bytes[..]);
        assert!(matches!(read, Err(RecordError::TooLong)));
    }

    #[test]
    fn a_name_to_set_aside_is_one_component() {
        let orders = HomeOrders(vec![(
            path("a"),
            HomeOrder::SetAside {
                name: "../b".to_owned(),
            },
        )]);
        let mut bytes = Vec::new();
        orders.write_to(&mut bytes).unwrap();
        assert!(HomeOrders::read_from(&mut &bytes[..]).is_err());
    }
}
