//! Tar streams made byte by byte, right or wrong on purpose.
//!
//! [`TarBuilder`] writes what it is told: nothing is checked, no end mark is
//! added. A [`Header`] starts as a right POSIX ustar header, every field can be
//! overwritten raw, and the checksum is computed last unless it is set too.

/// A header block in the making.
#[derive(Debug, Clone)]
pub struct Header {
    block: [u8; 512],
    checksum: Checksum,
}

#[derive(Debug, Clone)]
enum Checksum {
    Right,
    OffBy(i64),
    Raw(Vec<u8>),
}

/// The fields of a header, with their places in the block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// 100 bytes.
    Name,
    /// 8 bytes.
    Mode,
    /// 8 bytes.
    Uid,
    /// 8 bytes.
    Gid,
    /// 12 bytes.
    Size,
    /// 12 bytes.
    Mtime,
    /// 8 bytes.
    Checksum,
    /// 1 byte.
    Typeflag,
    /// 100 bytes.
    Linkname,
    /// 8 bytes: magic and version.
    Magic,
    /// 32 bytes.
    Uname,
    /// 32 bytes.
    Gname,
    /// 8 bytes.
    Devmajor,
    /// 8 bytes.
    Devminor,
    /// 155 bytes.
    Prefix,
    /// The last 12 bytes of the block.
    Padding,
}

impl Field {
    /// Every field, in order.
    pub const ALL: [Self; 16] = [
        Self::Name,
        Self::Mode,
        Self::Uid,
        Self::Gid,
        Self::Size,
        Self::Mtime,
        Self::Checksum,
        Self::Typeflag,
        Self::Linkname,
        Self::Magic,
        Self::Uname,
        Self::Gname,
        Self::Devmajor,
        Self::Devminor,
        Self::Prefix,
        Self::Padding,
    ];

    /// Where the field lies in its block.
    pub fn range(self) -> std::ops::Range<usize> {
        match self {
            Self::Name => 0..100,
            Self::Mode => 100..108,
            Self::Uid => 108..116,
            Self::Gid => 116..124,
            Self::Size => 124..136,
            Self::Mtime => 136..148,
            Self::Checksum => 148..156,
            Self::Typeflag => 156..157,
            Self::Linkname => 157..257,
            Self::Magic => 257..265,
            Self::Uname => 265..297,
            Self::Gname => 297..329,
            Self::Devmajor => 329..337,
            Self::Devminor => 337..345,
            Self::Prefix => 345..500,
            Self::Padding => 500..512,
        }
    }
}

impl Header {
    /// A header of any type, of no bytes, with mode 0644.
    pub fn new(typeflag: u8, name: impl AsRef<[u8]>) -> Self {
        let header = Self {
            block: [0; 512],
            checksum: Checksum::Right,
        };
        header
            .raw(Field::Name, name)
            .raw(Field::Typeflag, [typeflag])
            .raw(Field::Magic, b"ustar\x0000")
            .mode(0o644)
            .raw(Field::Uid, b"0001750\0")
            .raw(Field::Gid, b"0001750\0")
            .size(0)
            .octal(Field::Mtime, 1_700_000_000)
    }

    /// A file of `size` bytes.
    pub fn file(name: impl AsRef<[u8]>, size: u64) -> Self {
        Self::new(b'0', name).size(size)
    }

    /// A directory, 0755.
    pub fn dir(name: impl AsRef<[u8]>) -> Self {
        Self::new(b'5', name).mode(0o755)
    }

    /// A symbolic link.
    pub fn symlink(name: impl AsRef<[u8]>, target: impl AsRef<[u8]>) -> Self {
        Self::new(b'2', name).raw(Field::Linkname, target)
    }

    /// A hard link.
    pub fn hard(name: impl AsRef<[u8]>, target: impl AsRef<[u8]>) -> Self {
        Self::new(b'1', name).raw(Field::Linkname, target)
    }

    /// Overwrites a field: the bytes, then NUL.
    ///
    /// # Panics
    /// When the bytes are longer than the field.
    #[must_use]
    pub fn raw(mut self, field: Field, bytes: impl AsRef<[u8]>) -> Self {
        let bytes = bytes.as_ref();
        if field == Field::Checksum {
            self.checksum = Checksum::Raw(bytes.to_vec());
            return self;
        }
        let place = &mut self.block[field.range()];
        place.fill(0);
        place[..bytes.len()].copy_from_slice(bytes);
        self
    }

    /// Writes a number with leading zeros and a NUL, as POSIX asks for.
    #[must_use]
    pub fn octal(self, field: Field, value: u64) -> Self {
        let width = field.range().len() - 1;
        self.raw(field, format!("{value:0width$o}\0"))
    }

    /// Writes a number in GNU's base-256.
    #[must_use]
    pub fn base256(self, field: Field, value: i128) -> Self {
        let width = field.range().len();
        let mut bytes = value.to_be_bytes();
        bytes[16 - width] |= 0x80;
        self.raw(field, &bytes[16 - width..])
    }

    /// Sets the size.
    #[must_use]
    pub fn size(self, size: u64) -> Self {
        self.octal(Field::Size, size)
    }

    /// Sets the mode.
    #[must_use]
    pub fn mode(self, mode: u64) -> Self {
        self.octal(Field::Mode, mode)
    }

    /// Makes the checksum wrong.
    #[must_use]
    pub fn checksum_off_by(mut self, difference: i64) -> Self {
        self.checksum = Checksum::OffBy(difference);
        self
    }

    /// Returns the block.
    ///
    /// # Panics
    /// When a raw checksum is longer than its field.
    pub fn block(&self) -> [u8; 512] {
        let mut block = self.block;
        let place = Field::Checksum.range();
        match &self.checksum {
            Checksum::Right => fix_checksum(&mut block),
            Checksum::OffBy(difference) => {
                let sum = checksum(&block).strict_add_signed(*difference);
                block[place].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
            }
            Checksum::Raw(bytes) => block[place][..bytes.len()].copy_from_slice(bytes),
        }
        block
    }
}

fn checksum(block: &[u8; 512]) -> u64 {
    let place = Field::Checksum.range();
    let sum = |bytes: &[u8]| bytes.iter().map(|&byte| u64::from(byte)).sum::<u64>();
    sum(&block[..place.start]) + 8 * u64::from(b' ') + sum(&block[place.end..])
}

/// Writes the right checksum into a block, for tests that change one.
pub fn fix_checksum(block: &mut [u8; 512]) {
    let sum = checksum(block);
    block[Field::Checksum.range()].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
}

/// A stream in the making.
#[derive(Debug, Clone, Default)]
pub struct TarBuilder {
    bytes: Vec<u8>,
}

impl TarBuilder {
    /// An empty stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds bytes as they are.
    #[must_use]
    pub fn raw(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.bytes.extend_from_slice(bytes.as_ref());
        self
    }

    /// Adds a header and nothing else, whatever its size says.
    #[must_use]
    pub fn header(self, header: &Header) -> Self {
        let block = header.block();
        self.raw(block)
    }

    /// Adds bytes and fills up to a whole block with NUL.
    #[must_use]
    pub fn body(self, body: impl AsRef<[u8]>) -> Self {
        let body = body.as_ref();
        let fill = body.len().wrapping_neg() % 512;
        self.raw(body).raw(&[0; 512][..fill])
    }

    /// Adds a header and a body, whether or not they agree.
    #[must_use]
    pub fn member(self, header: &Header, body: impl AsRef<[u8]>) -> Self {
        self.header(header).body(body)
    }

    /// Adds a file, 0644.
    #[must_use]
    pub fn file(self, name: impl AsRef<[u8]>, content: impl AsRef<[u8]>) -> Self {
        let content = content.as_ref();
        self.member(&Header::file(name, content.len() as u64), content)
    }

    /// Adds a directory, 0755.
    #[must_use]
    pub fn dir(self, name: impl AsRef<[u8]>) -> Self {
        self.header(&Header::dir(name))
    }

    /// Adds a symbolic link.
    #[must_use]
    pub fn symlink(self, name: impl AsRef<[u8]>, target: impl AsRef<[u8]>) -> Self {
        self.header(&Header::symlink(name, target))
    }

    /// Adds a hard link.
    #[must_use]
    pub fn hard(self, name: impl AsRef<[u8]>, target: impl AsRef<[u8]>) -> Self {
        self.header(&Header::hard(name, target))
    }

    /// Adds a PAX header of right records.
    #[must_use]
    pub fn pax(self, records: &[(&str, &[u8])]) -> Self {
        let body: Vec<u8> = records
            .iter()
            .flat_map(|(key, value)| pax_record(key, value))
            .collect();
        self.pax_raw(body)
    }

    /// Adds a PAX header with any body.
    #[must_use]
    pub fn pax_raw(self, body: impl AsRef<[u8]>) -> Self {
        let body = body.as_ref();
        self.member(
            &Header::new(b'x', "PaxHeaders/x").size(body.len() as u64),
            body,
        )
    }

    /// Adds zero blocks.
    #[must_use]
    pub fn zero_blocks(self, count: usize) -> Self {
        self.raw(vec![0; 512 * count])
    }

    /// Adds the end mark and returns the stream.
    #[must_use]
    pub fn end(self) -> Vec<u8> {
        self.zero_blocks(2).into_bytes()
    }

    /// Adds the end mark and one block that starts with `text`, such as a trailer,
    /// and returns the stream.
    #[must_use]
    pub fn end_with(self, text: impl AsRef<[u8]>) -> Vec<u8> {
        self.zero_blocks(2).body(text).into_bytes()
    }

    /// Returns the stream as it is, without an end mark.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// Writes one PAX record, `LENGTH KEY=VALUE\n`, with its right length.
pub fn pax_record(key: &str, value: &[u8]) -> Vec<u8> {
    let rest = [b" ", key.as_bytes(), b"=", value, b"\n"].concat();
    let mut length = rest.len();
    while length != rest.len() + length.to_string().len() {
        length = rest.len() + length.to_string().len();
    }
    [length.to_string().as_bytes(), &rest].concat()
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn another_reader_agrees_with_what_is_right() {
        let long = "d/".repeat(60) + "f";
        let bytes = TarBuilder::new()
            .dir("./a/")
            .file("./a/b", "content")
            .symlink("l", "a/b")
            .hard("h", "a/b")
            .pax(&[("path", long.as_bytes()), ("mtime", b"12.5")])
            .file("short", [7; 513])
            .end();
        let mut archive = tar::Archive::new(&bytes[..]);
        let mut seen = Vec::new();
        for entry in archive.entries().unwrap() {
            let mut entry = entry.unwrap();
            let mut body = Vec::new();
            entry.read_to_end(&mut body).unwrap();
            let name = String::from_utf8(entry.path_bytes().into_owned()).unwrap();
            seen.push((name, entry.header().entry_type().as_byte(), body.len()));
        }
        let expected = [
            ("./a/", b'5', 0),
            ("./a/b", b'0', 7),
            ("l", b'2', 0),
            ("h", b'1', 0),
            (&long, b'0', 513),
        ];
        assert_eq!(
            seen,
            expected.map(|(name, kind, size)| (name.to_owned(), kind, size))
        );
    }

    #[test]
    fn a_record_counts_its_own_length() {
        assert_eq!(pax_record("path", b"a"), b"9 path=a\n");
        assert_eq!(pax_record("k", b"abcd"), b"9 k=abcd\n");
        assert_eq!(pax_record("k", b"abcde"), b"11 k=abcde\n");
        let record = pax_record("path", &[b'a'; 91]);
        assert_eq!((record.len(), &record[..4]), (101, &b"101 "[..]));
    }
}
