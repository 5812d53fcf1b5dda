//! The blocks of our streams: ustar, and PAX only where ustar ends.

use lazaret_tree::{LinkTarget, Mode, RelPath};

use crate::FileTime;

/// The size of a block of tar, in bytes.
pub const BLOCK: usize = 512;

/// The earliest time that is sent: 1980-01-01, before which zip tools refuse files.
const EARLIEST: FileTime = FileTime {
    seconds: 315_532_800,
    nanos: 0,
};
/// The latest time that fits eleven octal digits.
const LATEST: FileTime = FileTime {
    seconds: 0o777_7777_7777,
    nanos: 999_999_999,
};
/// Sizes from here on need a PAX record.
const USTAR_SIZES: u64 = 0o1_0000_0000_0000;
/// Owner and group of everything: the agent.
const AGENT: u64 = 1000;

/// What a header is for.
#[derive(Debug, Clone, Copy)]
pub enum Kind<'a> {
    /// A directory.
    Dir,
    /// A regular file.
    File {
        /// Executable or not.
        mode: Mode,
        /// Bytes.
        size: u64,
    },
    /// A symbolic link.
    Symlink {
        /// Where it points.
        target: &'a LinkTarget,
    },
}

/// Appends everything that comes before a body.
pub fn append(out: &mut Vec<u8>, path: &RelPath, kind: Kind<'_>, mtime: FileTime) {
    let mtime = mtime.clamp(EARLIEST, LATEST);
    let mut records = Vec::new();
    let text = path.as_str().as_bytes();
    let (prefix, name) = match split(text) {
        Some(halves) => halves,
        None => {
            record(&mut records, "path", text);
            (&b""[..], &b"long"[..])
        }
    };
    let (flag, mode, mut size, mut link) = match kind {
        Kind::Dir => (b'5', 0o755, 0, &b""[..]),
        Kind::File { mode, size } => (b'0', u64::from(mode.to_unix()), size, &b""[..]),
        Kind::Symlink { target } => (b'2', 0o777, 0, target.as_str().as_bytes()),
    };
    if link.len() > 100 {
        record(&mut records, "linkpath", link);
        link = b"long";
    }
    if size >= USTAR_SIZES {
        record(&mut records, "size", size.to_string().as_bytes());
        size = 0;
    }
    if !records.is_empty() {
        let length = records.len() as u64;
        append_block(out, b'x', (b"", b"pax"), 0o644, length, mtime, b"");
        out.extend_from_slice(&records);
        out.resize(out.len() + padding(length), 0);
    }
    append_block(out, flag, (prefix, name), mode, size, mtime, link);
}

/// Returns how many zeros fill a body of `size` bytes up to whole blocks.
pub fn padding(size: u64) -> usize {
    (size.wrapping_neg() % BLOCK as u64) as usize
}

/// Splits a path into prefix and name, as ustar joins them with a slash.
fn split(path: &[u8]) -> Option<(&[u8], &[u8])> {
    if path.len() <= 100 {
        return Some((b"", path));
    }
    let slashes = path.iter().enumerate().rev();
    let mut slashes = slashes.filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    // The last slash that the prefix can hold leaves the shortest name.
    let at = slashes.find(|&at| at <= 155)?;
    let (prefix, name) = (&path[..at], &path[at + 1..]);
    (name.len() <= 100).then_some((prefix, name))
}

/// Appends `LENGTH KEY=VALUE\n`; the length counts its own digits.
fn record(records: &mut Vec<u8>, key: &str, value: &[u8]) {
    let rest = key.len() + value.len() + 3;
    let mut length = rest + 1;
    while length != rest + length.to_string().len() {
        length = rest + length.to_string().len();
    }
    records.extend_from_slice(format!("{length} {key}=").as_bytes());
    records.extend_from_slice(value);
    records.push(b'\n');
}

fn append_block(
    out: &mut Vec<u8>,
    flag: u8,
    (prefix, name): (&[u8], &[u8]),
    mode: u64,
    size: u64,
    mtime: FileTime,
    link: &[u8],
) {
    let start = out.len();
    out.resize(start + BLOCK, 0);
    let block = &mut out[start..];
    block[..name.len()].copy_from_slice(name);
    octal(&mut block[100..107], mode);
    octal(&mut block[108..115], AGENT);
    octal(&mut block[116..123], AGENT);
    octal(&mut block[124..135], size);
    octal(&mut block[136..147], mtime.seconds.unsigned_abs());
    block[148..156].fill(b' ');
    block[156] = flag;
    block[157..157 + link.len()].copy_from_slice(link);
    block[257..265].copy_from_slice(b"ustar\x0000");
    // Device numbers mean nothing in a header that is none of a device's: what they hold is
    // the part of the second, in microseconds, and the rest of it in nanoseconds.
    octal(&mut block[329..336], u64::from(mtime.nanos / 1000));
    octal(&mut block[337..344], u64::from(mtime.nanos % 1000));
    block[345..345 + prefix.len()].copy_from_slice(prefix);
    let sum: u32 = block.iter().map(|&byte| u32::from(byte)).sum();
    octal(&mut block[148..154], sum.into());
    block[154] = 0;
}

/// Fills a field with octal digits, leading zeros included.
fn octal(field: &mut [u8], mut value: u64) {
    for digit in field.iter_mut().rev() {
        *digit = b'0' + (value & 7) as u8;
        value >>= 3;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_count_their_own_length() {
        for length in [1, 88, 89, 90, 91, 990, 991, 992, 993] {
            let mut records = Vec::new();
            record(&mut records, "path", &vec![b'a'; length]);
            let text = String::from_utf8(records).expect("ASCII");
            let (claimed, _) = text.split_once(' ').expect("a length");
            assert_eq!(claimed, text.len().to_string());
        }
    }

    #[test]
    fn long_paths_are_split_at_a_slash() {
        let at =
            |path: &str| split(path.as_bytes()).map(|(prefix, name)| (prefix.len(), name.len()));
        let (d, f) = ("d".repeat(150), "f".repeat(100));
        assert_eq!(at(&f), Some((0, 100)));
        assert_eq!(at(&format!("{d}/{f}")), Some((150, 100)));
        assert_eq!(at(&format!("{d}/{f}f")), None);
        assert_eq!(at(&format!("{d}123456/{f}")), None);
        assert_eq!(at(&format!("a/{d}/{f}")), Some((152, 100)));
    }
}
