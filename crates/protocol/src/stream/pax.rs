//! `Pax`: the records of a PAX header, for one member only.

use std::collections::BTreeSet;

use super::number::{self, DecimalError};
use crate::{FileTime, StreamError};

/// What the records of one PAX header say.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Pax {
    /// Replaces the header's name.
    pub(super) path: Option<Vec<u8>>,
    /// Replaces the header's link target.
    pub(super) linkpath: Option<Vec<u8>>,
    /// Replaces the header's size.
    pub(super) size: Option<u64>,
    /// Replaces the header's modification time.
    pub(super) mtime: Option<FileTime>,
    /// Keys of extended attributes and access lists, which are dropped (TAR-31).
    pub(super) dropped: BTreeSet<Vec<u8>>,
}

impl Pax {
    /// Reads records, `LENGTH KEY=VALUE\n`, where LENGTH counts itself too.
    ///
    /// A value may hold any byte but a line feed: some readers end a record there,
    /// whatever its length says, and find another record behind it. What a name may
    /// hold is judged where names are judged. A later record does not replace an
    /// earlier one, as it does in POSIX: readers disagree about that (TAR-18).
    pub(super) fn parse(mut body: &[u8]) -> Result<Self, StreamError> {
        let mut pax = Self::default();
        if body.is_empty() {
            return Err(StreamError::PaxMalformed);
        }
        while !body.is_empty() {
            let (record, rest) = split_record(body).ok_or(StreamError::PaxMalformed)?;
            body = rest;
            if record.contains(&b'\n') {
                return Err(StreamError::PaxLineFeed);
            }
            let equals = record.iter().position(|&byte| byte == b'=');
            let equals = equals.ok_or(StreamError::PaxMalformed)?;
            let (key, value) = (&record[..equals], &record[equals + 1..]);
            if pax.put(key, value)? == Put::Again {
                return Err(StreamError::PaxDuplicate { key: key.to_vec() });
            }
        }
        Ok(pax)
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<Put, StreamError> {
        let again = match key {
            b"path" => self.path.replace(value.to_vec()).is_some(),
            b"linkpath" => self.linkpath.replace(value.to_vec()).is_some(),
            b"size" => self.size.replace(size(value)?).is_some(),
            b"mtime" => {
                let mtime = number::decimal_time(value);
                let mtime = mtime.map_err(|_| StreamError::PaxNumber { key: "mtime" })?;
                self.mtime.replace(mtime).is_some()
            }
            key if is_attribute(key) => !self.dropped.insert(key.to_vec()),
            key => return Err(StreamError::PaxKey { key: key.to_vec() }),
        };
        Ok(if again { Put::Again } else { Put::New })
    }
}

/// Whether a key came before.
#[derive(PartialEq, Eq)]
enum Put {
    New,
    Again,
}

fn size(value: &[u8]) -> Result<u64, StreamError> {
    match number::decimal(value) {
        Ok(size) if i64::try_from(size).is_ok() => Ok(size),
        // No file has that size: said as for the header's own field (TAR-24).
        Ok(_) | Err(DecimalError::Range) => Err(StreamError::Number { field: "size" }),
        Err(DecimalError::Form) => Err(StreamError::PaxNumber { key: "size" }),
    }
}

/// Extended attributes and access lists in the spellings of star, GNU tar and
/// libarchive. They are never set: a capability is a setuid bit by another name.
fn is_attribute(key: &[u8]) -> bool {
    const PREFIXES: [&[u8]; 3] = [b"SCHILY.xattr.", b"SCHILY.acl.", b"LIBARCHIVE.xattr."];
    key == b"RHT.security.selinux" || PREFIXES.iter().any(|prefix| key.starts_with(prefix))
}

/// Splits the first record off, without its length and its newline.
fn split_record(body: &[u8]) -> Option<(&[u8], &[u8])> {
    // Seven digits are plenty for a header that is cut off at `meta_bytes`.
    let blank = body.iter().take(8).position(|&byte| byte == b' ')?;
    let length = usize::try_from(number::decimal(&body[..blank]).ok()?).ok()?;
    let record = body.get(..length)?.get(blank + 1..)?;
    Some((record.strip_suffix(b"\n")?, &body[length..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_hold_any_byte_but_a_line_feed() {
        let parse = |body: &[u8]| Pax::parse(body).map_err(|error| error.code().id);
        assert_eq!(
            parse(b"11 path=a\nb\n12 mtime=-1\n9 size=0\n"),
            Err("pax.malformed")
        );
        assert_eq!(
            parse(b"12 path=a\nb\n12 mtime=-1\n9 size=0\n"),
            Err("pax.line_feed")
        );
        let pax = parse(b"13 path=a\0=\xff\n12 mtime=-1\n9 size=0\n");
        let expected = Pax {
            path: Some(b"a\0=\xff".to_vec()),
            size: Some(0),
            mtime: Some(FileTime {
                seconds: -1,
                nanos: 0,
            }),
            ..Pax::default()
        };
        assert_eq!(pax, Ok(expected));
    }
}
