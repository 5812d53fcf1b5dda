//! The tree language: a directory as text, both ways.
//!
//! One entry per line, blank lines and lines that start with `#` are skipped,
//! leading blanks are ignored:
//!
//! ```text
//! d dir/                    a directory
//! f path "content"          a file, 0644
//! x path "content"          an executable file, 0755
//! f path *1048576           a file of that many bytes, as `pattern` makes them
//! l path -> target          a symbolic link
//! h path -> other/path      a hard link to an entry that exists already
//! p path                    a FIFO
//! s path                    a Unix socket
//! m 4755 path               sets the mode of an entry that exists already, in octal
//! - path                    removes a file, a link or a whole directory
//! ```
//!
//! A path, a target or a content is a bare word or `"quoted"`, with the escapes
//! `\n \r \t \e \0 \\ \"` and `\xNN` for any byte. Parents are made as needed.
//!
//! [`dump`] prints the same language, sorted by raw path: directories only where
//! they are empty, contents up to [`INLINE_BYTES`] in quotes, `*SIZE` for a
//! [`pattern`], `*SIZE #HASH` for any other long content, and an `m` line only
//! for modes that are out of the ordinary: a special bit, or an owner that may
//! not read and write (and, for directories, search).
//! A hard link is printed as the file that it is.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

/// Longer contents are dumped as size and hash.
pub const INLINE_BYTES: usize = 4096;

/// One line of the language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// `d`.
    Dir,
    /// `f` and `x`.
    File {
        /// Permission bits: 0644 or 0755.
        mode: u32,
        /// The bytes.
        content: Vec<u8>,
    },
    /// `l`.
    Symlink {
        /// The target text.
        target: Vec<u8>,
    },
    /// `h`.
    Hard {
        /// The other name, relative to the root.
        target: Vec<u8>,
    },
    /// `p`.
    Fifo,
    /// `s`.
    Socket,
    /// `m`.
    Mode(u32),
    /// `-`.
    Remove,
}

/// Reads the language into raw paths and what to do there, in order.
///
/// # Panics
/// On a line that is not of the language: tests are wrong then.
#[track_caller]
pub fn parse(text: &str) -> Vec<(Vec<u8>, Line)> {
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            parse_line(line).unwrap_or_else(|| panic!("not a line of the tree language: {line}"))
        })
        .collect()
}

fn parse_line(line: &str) -> Option<(Vec<u8>, Line)> {
    let (verb, rest) = line.split_once(' ')?;
    let mut rest = rest.trim_start();
    let mut mode = 0;
    if verb == "m" {
        let (digits, path) = rest.split_once(' ')?;
        mode = u32::from_str_radix(digits, 8).ok()?;
        rest = path.trim_start();
    }
    let (mut path, rest) = word(rest)?;
    let rest = rest.trim_start();
    let arrow = || {
        let (target, end) = word(rest.strip_prefix("-> ")?.trim_start())?;
        end.trim().is_empty().then_some(target)
    };
    let line = match verb {
        "f" | "x" => {
            let mode = if verb == "f" { 0o644 } else { 0o755 };
            let content = match rest.strip_prefix('*') {
                Some(size) => pattern(size.parse().ok()?),
                None => {
                    let (content, end) = word(rest)?;
                    end.trim().is_empty().then_some(content)?
                }
            };
            return Some((path, Line::File { mode, content }));
        }
        "l" => return Some((path, Line::Symlink { target: arrow()? })),
        "h" => return Some((path, Line::Hard { target: arrow()? })),
        "d" => Line::Dir,
        "p" => Line::Fifo,
        "s" => Line::Socket,
        "m" => Line::Mode(mode),
        "-" => Line::Remove,
        _ => return None,
    };
    if matches!(line, Line::Dir) && path.last() == Some(&b'/') {
        path.pop();
    }
    rest.is_empty().then_some((path, line))
}

/// Splits one bare or quoted word off.
fn word(text: &str) -> Option<(Vec<u8>, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(' ').unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        return (!word.is_empty()).then(|| (word.as_bytes().to_vec(), rest));
    };
    let mut bytes = Vec::new();
    let mut chars = quoted.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '"' => return Some((bytes, &quoted[at + 1..])),
            '\\' => bytes.push(match chars.next()?.1 {
                'n' => b'\n',
                'r' => b'\r',
                't' => b'\t',
                'e' => 0x1b,
                '0' => 0,
                '\\' => b'\\',
                '"' => b'"',
                'x' => {
                    let (start, _) = chars.next()?;
                    chars.next()?;
                    u8::from_str_radix(quoted.get(start..start + 2)?, 16).ok()?
                }
                _ => return None,
            }),
            char => bytes.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    None
}

/// Writes bytes as a word of the language: bare where possible.
pub fn quote(bytes: &[u8]) -> String {
    let bare = |byte: &u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\');
    if !bytes.is_empty() && bytes.iter().all(bare) {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    quoted(bytes)
}

fn quoted(bytes: &[u8]) -> String {
    let mut out = String::from('"');
    for chunk in bytes.utf8_chunks() {
        for char in chunk.valid().chars() {
            match char {
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                '\x1b' => out.push_str("\\e"),
                '\0' => out.push_str("\\0"),
                '\\' => out.push_str("\\\\"),
                '"' => out.push_str("\\\""),
                char if char.is_alphanumeric() || char == ' ' || char.is_ascii_graphic() => {
                    out.push(char)
                }
                // Invisible and bidirectional characters must show in a test.
                char => {
                    for byte in char.encode_utf8(&mut [0; 4]).bytes() {
                        let _ = write!(out, "\\x{byte:02x}");
                    }
                }
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out.push('"');
    out
}

/// Makes `size` bytes that do not compress and do not repeat, the same each time.
pub fn pattern(size: usize) -> Vec<u8> {
    let mut random = crate::Random::new(0x6c61_7a61_7265_7400 ^ size as u64);
    let mut bytes = Vec::with_capacity(size + 8);
    while bytes.len() < size {
        bytes.extend_from_slice(&random.next_u64().to_le_bytes());
    }
    bytes.truncate(size);
    bytes
}

/// Builds `text` below `dir`, or edits what is there.
///
/// # Panics
/// When a line is wrong or the file system refuses.
#[track_caller]
pub fn build(text: &str, dir: &Path) {
    for (path, line) in parse(text) {
        if let Err(error) = build_line(dir, &path, &line) {
            panic!("{}: {error}", quote(&path));
        }
    }
}

/// Builds `text` in a fresh temporary directory.
///
/// # Panics
/// As [`build`].
#[track_caller]
pub fn temp(text: &str) -> tempfile::TempDir {
    let dir = match tempfile::tempdir() {
        Ok(dir) => dir,
        Err(error) => panic!("no temporary directory: {error}"),
    };
    build(text, dir.path());
    dir
}

fn build_line(root: &Path, path: &[u8], line: &Line) -> io::Result<()> {
    let at = root.join(OsStr::from_bytes(path));
    if let Some(parent) = at.parent() {
        fs::create_dir_all(parent)?;
    }
    match line {
        Line::Dir => fs::create_dir_all(&at),
        Line::File { mode, content } => {
            // Writing must not follow a link or block on a FIFO.
            remove_unless(&at, fs::FileType::is_file)?;
            fs::write(&at, content)?;
            fs::set_permissions(&at, fs::Permissions::from_mode(*mode))
        }
        Line::Symlink { target } => {
            remove_unless(&at, fs::FileType::is_dir)?;
            std::os::unix::fs::symlink(OsStr::from_bytes(target), &at)
        }
        Line::Hard { target } => fs::hard_link(root.join(OsStr::from_bytes(target)), &at),
        Line::Fifo => {
            rustix::fs::mknodat(
                rustix::fs::CWD,
                &at,
                rustix::fs::FileType::Fifo,
                0o644.into(),
                0,
            )?;
            Ok(())
        }
        Line::Socket => UnixListener::bind(&at).map(drop),
        Line::Mode(mode) => fs::set_permissions(&at, fs::Permissions::from_mode(*mode)),
        Line::Remove => match fs::symlink_metadata(&at)?.is_dir() {
            true => fs::remove_dir_all(&at),
            false => fs::remove_file(&at),
        },
    }
}

fn remove_unless(at: &Path, keep: fn(&fs::FileType) -> bool) -> io::Result<()> {
    match fs::symlink_metadata(at) {
        Ok(metadata) if keep(&metadata.file_type()) => Ok(()),
        Ok(_) => fs::remove_file(at),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Prints what lies below `dir`.
///
/// # Panics
/// When something cannot be read.
#[track_caller]
pub fn dump(dir: &Path) -> String {
    let mut lines = Vec::new();
    if let Err(error) = dump_dir(dir, &mut Vec::new(), &mut lines) {
        panic!("{}: {error}", dir.display());
    }
    lines.sort_by(|one, other| one.0.cmp(&other.0));
    let mut text = String::new();
    for (_, line) in lines {
        text.push_str(&line);
        text.push('\n');
    }
    text
}

fn dump_dir(
    dir: &Path,
    prefix: &mut Vec<u8>,
    lines: &mut Vec<(Vec<u8>, String)>,
) -> io::Result<bool> {
    let mut names: Vec<_> = fs::read_dir(dir)?
        .map(|entry| entry.map(|entry| entry.file_name().into_vec()))
        .collect::<io::Result<_>>()?;
    names.sort();
    for name in &names {
        let at: PathBuf = dir.join(OsStr::from_bytes(name));
        let length = prefix.len();
        prefix.extend_from_slice(name);
        let word = quote(prefix);
        let metadata = fs::symlink_metadata(&at)?;
        let (kind, mode) = (metadata.file_type(), metadata.permissions().mode() & 0o7777);
        let mut line = String::new();
        let mut usual = 0o600;
        if kind.is_dir() {
            usual = 0o700;
            prefix.push(b'/');
            if !dump_dir(&at, prefix, lines)? {
                line = format!("d {}", quote(prefix));
            }
            prefix.pop();
        } else if kind.is_symlink() {
            let target = fs::read_link(&at)?.into_os_string().into_vec();
            line = format!("l {word} -> {}", quote(&target));
        } else if kind.is_fifo() {
            line = format!("p {word}");
        } else if kind.is_socket() {
            line = format!("s {word}");
        } else if kind.is_file() {
            let verb = if mode & 0o100 == 0 { 'f' } else { 'x' };
            line = format!("{verb} {word} {}", dump_content(&fs::read(&at)?));
        } else {
            line = format!("? {word}");
        }
        let unusual = !kind.is_symlink() && (mode & 0o7000 != 0 || mode & usual != usual);
        for line in [
            line,
            if unusual {
                format!("m {mode:o} {word}")
            } else {
                String::new()
            },
        ] {
            if !line.is_empty() {
                lines.push((prefix.clone(), line));
            }
        }
        prefix.truncate(length);
    }
    Ok(!names.is_empty())
}

/// Prints a file's content as [`dump`] does.
pub fn dump_content(content: &[u8]) -> String {
    match content.len() {
        size if size <= INLINE_BYTES && content != pattern(size.max(1)) => quoted(content),
        size if content == pattern(size) => format!("*{size}"),
        size => format!("*{size} #{:016x}", crate::fnv(content)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_what_it_dumps_and_dumps_what_it_builds() {
        let text = "\
f \"a b\" \"line\\n\\e[31m\\xff\"
d d/empty/
l d/link -> \"../nowhere at all\"
p d/pipe
x d/s \"\"
m 4755 d/s
f d/x *70000
x d/y \"#!/bin/sh\"
f \"\\xe2\\x80\\xae\\xff\" \"name with bidi override and a stray byte\"
";
        let dir = temp(text);
        assert_eq!(dump(dir.path()), text);
    }

    #[test]
    fn edits_what_is_there() {
        let dir = temp("f a \"1\"\nl l -> a\nf d/e/f \"\"\nf big *5000\n");
        build(
            "f l \"no longer a link\"\n- d\nh b -> a\nf big \"0\"\nm 444 b",
            dir.path(),
        );
        assert_eq!(
            dump(dir.path()),
            "f a \"1\"\nm 444 a\nf b \"1\"\nm 444 b\nf big \"0\"\nf l \"no longer a link\"\n"
        );
    }
}
