//! `MailFound`, `MailOrders`: what lies in a group's mailbox, and what becomes of it.
//!
//! ```text
//! porter to host   found    the first files of both boxes, with their contents
//! host to porter   orders   which of them are removed; files that are put into `in`
//! ```
//!
//! The contents of a file follow its record in pieces of at most 32 KiB.

use std::io::{self, Read, Write};

use crate::FileTime;
use crate::records::{FormatTag, RecordError, RecordReader, RecordWriter};

/// The most bytes of one message.
pub const MAX_MAIL_FILE: usize = 64 << 10;

/// The most files that are told at once.
pub const MAX_MAIL_ENTRIES: usize = 100;

/// The most files that are removed at once.
pub const MAX_MAIL_REMOVED: usize = 2 * 1024;

/// The most bytes of one file for `in`.
pub const MAX_MAIL_IN: usize = 16 << 20;

/// The most bytes of a file's name (Linux: `NAME_MAX`).
const MAX_NAME: usize = 255;

const FOUND: FormatTag = *b"lzmail 1";
const ORDERS: FormatTag = *b"lzmalo 1";

/// One of the directories in which a command leaves mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OutBox {
    /// `mail/out/messages`.
    Messages,
    /// `mail/out/tasks`.
    Tasks,
}

/// One of the files that the host puts into `mail/in`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum InFile {
    /// `tasks.json`.
    Tasks,
    /// `groups.json`.
    Groups,
    /// `rejected.json`.
    Rejected,
}

/// Which file it is: another one of the same name has another inode or another time of change.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MailId {
    /// Where it lies.
    pub out_box: OutBox,
    /// Its name, raw.
    pub name: Vec<u8>,
    /// Its inode.
    pub ino: u64,
    /// When its contents or its status changed (`st_ctim`), which no user can set.
    pub changed: FileTime,
}

/// What it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MailEntry {
    /// A regular file: all of it.
    File(Vec<u8>),
    /// A regular file of more than [`MAX_MAIL_FILE`] bytes.
    Large,
    /// A symbolic link.
    Link,
    /// A directory.
    Dir,
    /// A FIFO, a socket or a device.
    Special,
    /// A file that can't be opened.
    Closed,
}

/// What lies in the mailbox.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MailFound(pub Vec<(MailId, MailEntry)>);

/// What becomes of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MailOrders {
    /// What is removed, if it is still the same file.
    pub remove: Vec<MailId>,
    /// What is put into `in`.
    pub put: Vec<(InFile, Vec<u8>)>,
}

impl InFile {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Tasks, Self::Groups, Self::Rejected];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tasks => "tasks.json",
            Self::Groups => "groups.json",
            Self::Rejected => "rejected.json",
        }
    }
}

impl OutBox {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Messages, Self::Tasks];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Messages => "messages",
            Self::Tasks => "tasks",
        }
    }
}

impl MailFound {
    /// Writes it.
    ///
    /// # Errors
    /// When the writer fails.
    pub fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut frame = RecordWriter::new(out, FOUND);
        for (id, entry) in &self.0 {
            let tag = match entry {
                MailEntry::File(_) => b'f',
                MailEntry::Large => b'g',
                MailEntry::Link => b'l',
                MailEntry::Dir => b'd',
                MailEntry::Special => b's',
                MailEntry::Closed => b'x',
            };
            write_id(frame.tag(tag)?, id)?;
            if let MailEntry::File(contents) = entry {
                frame.contents(contents)?;
            }
        }
        frame.finish()
    }

    /// Reads what [`Self::write_to`] wrote.
    ///
    /// # Errors
    /// When it is cut off, changed, or more than may be in it.
    pub fn read_from(input: &mut dyn Read) -> Result<Self, RecordError> {
        let mut frame = RecordReader::new(input, FOUND, "mailbox of version 1")?;
        let mut found = Vec::new();
        while let Some(tag) = frame.tag()? {
            if found.len() == MAX_MAIL_ENTRIES {
                return Err(RecordError::TooLong);
            }
            let id = read_id(&mut frame)?;
            let entry = match tag {
                b'f' => MailEntry::File(frame.contents(MAX_MAIL_FILE)?),
                b'g' => MailEntry::Large,
                b'l' => MailEntry::Link,
                b'd' => MailEntry::Dir,
                b's' => MailEntry::Special,
                b'x' => MailEntry::Closed,
                _ => return Err(RecordError::malformed("a tag")),
            };
            found.push((id, entry));
        }
        Ok(Self(found))
    }
}

impl MailOrders {
    /// Writes them.
    ///
    /// # Errors
    /// When the writer fails.
    pub fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut frame = RecordWriter::new(out, ORDERS);
        for id in &self.remove {
            write_id(frame.tag(b'r')?, id)?;
        }
        for (file, contents) in &self.put {
            let at = InFile::ALL.iter().position(|one| one == file);
            frame.tag(b'p')?.u8(at.unwrap_or_default() as u8);
            frame.contents(contents)?;
        }
        frame.finish()
    }

    /// Reads what [`Self::write_to`] wrote.
    ///
    /// # Errors
    /// When it is cut off, changed, or more than may be in it.
    pub fn read_from(input: &mut dyn Read) -> Result<Self, RecordError> {
        let mut frame = RecordReader::new(input, ORDERS, "orders for a mailbox of version 1")?;
        let mut orders = Self::default();
        while let Some(tag) = frame.tag()? {
            match tag {
                b'r' if orders.remove.len() < MAX_MAIL_REMOVED => {
                    orders.remove.push(read_id(&mut frame)?);
                }
                b'p' if orders.put.len() < InFile::ALL.len() => {
                    let file = InFile::ALL.get(usize::from(frame.u8()?));
                    let file = *file.ok_or(RecordError::malformed("a file for the mailbox"))?;
                    let contents = frame.contents(MAX_MAIL_IN)?;
                    orders.put.push((file, contents));
                }
                b'r' | b'p' => return Err(RecordError::TooLong),
                _ => return Err(RecordError::malformed("a tag")),
            }
        }
        Ok(orders)
    }
}

fn write_id(record: &mut RecordWriter<'_>, id: &MailId) -> io::Result<()> {
    let at = OutBox::ALL.iter().position(|one| *one == id.out_box);
    let record = record.u8(at.unwrap_or_default() as u8).bytes(&id.name)?;
    record.u64(id.ino).time(id.changed);
    Ok(())
}

fn read_id(frame: &mut RecordReader<'_>) -> Result<MailId, RecordError> {
    let out_box = OutBox::ALL.get(usize::from(frame.u8()?));
    let out_box = *out_box.ok_or(RecordError::malformed("a box"))?;
    let name = frame.bytes()?.to_vec();
    let is_name = (1..=MAX_NAME).contains(&name.len())
        && !name.iter().any(|byte| matches!(byte, b'/' | 0))
        && !matches!(&*name, b"." | b"..");
    if !is_name {
        return Err(RecordError::malformed("a name"));
    }
    Ok(MailId {
        out_box,
        name,
        ino: frame.u64()?,
        changed: frame.time()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::PIECE;

    fn id(name: &[u8]) -> MailId {
        MailId {
            out_box: OutBox::Tasks,
            name: name.to_vec(),
            ino: 7,
            changed: FileTime {
                seconds: -1,
                nanos: 5,
            },
        }
    }

    #[test]
    fn both_directions_arrive_as_they_were_sent() {
        let found = MailFound(vec![
            (id(b"a"), MailEntry::File(vec![7; MAX_MAIL_FILE])),
            (id(b"b"), MailEntry::File(Vec::new())),
            (id(b"\xff"), MailEntry::Large),
            (id(b"c"), MailEntry::Link),
            (id(b"d"), MailEntry::Dir),
            (id(b"e"), MailEntry::Special),
            (id(b"f"), MailEntry::Closed),
        ]);
        let mut bytes = Vec::new();
        found.write_to(&mut bytes).unwrap();
        assert_eq!(MailFound::read_from(&mut &bytes[..]).unwrap(), found);
        for length in 0..bytes.len() {
            assert!(MailFound::read_from(&mut &bytes[..length]).is_err());
        }
        let orders = MailOrders {
            remove: vec![id(b"a"), id(b"\n")],
            put: vec![
                (InFile::Rejected, vec![1; 3 * PIECE]),
                (InFile::Tasks, vec![]),
            ],
        };
        let mut bytes = Vec::new();
        orders.write_to(&mut bytes).unwrap();
        assert_eq!(MailOrders::read_from(&mut &bytes[..]).unwrap(), orders);
    }

    #[test]
    fn what_is_too_much_or_no_name_is_refused() {
        let written = |found: &MailFound| {
            let mut bytes = Vec::new();
            found.write_to(&mut bytes).unwrap();
            MailFound::read_from(&mut &bytes[..])
        };
        for name in [&b""[..], b".", b"..", b"a/b", b"a\0", &[b'x'; 256]] {
            let found = MailFound(vec![(id(name), MailEntry::Link)]);
            assert!(written(&found).is_err());
        }
        let large = MailEntry::File(vec![0; MAX_MAIL_FILE + 1]);
        assert!(written(&MailFound(vec![(id(b"a"), large)])).is_err());
        let one = (id(b"a"), MailEntry::Link);
        let many = MailFound(vec![one; MAX_MAIL_ENTRIES + 1]);
        assert!(matches!(written(&many), Err(RecordError::TooLong)));
    }
}
