//! `/proc/self/mountinfo` (`man 5 proc_pid_mountinfo`).

use std::fs;
use std::io;

/// A mounted file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mount {
    /// Where, with the kernel's escapes undone.
    pub(super) point: String,
    /// The options of this mount.
    options: Vec<String>,
    /// The kind of file system.
    pub(super) kind: String,
    /// The options of the file system, shared by all its mounts.
    pub(super) super_options: Vec<String>,
}

impl Mount {
    pub(super) fn has(&self, option: &str) -> bool {
        self.options.iter().any(|found| found == option)
    }

    /// Whether nothing can be written through it.
    pub(super) fn is_read_only(&self) -> bool {
        self.has("ro") || self.super_options.iter().any(|found| found == "ro")
    }
}

/// All mounts, in the order in which they were made.
#[derive(Debug, Clone)]
pub(super) struct Mounts(Vec<Mount>);

impl Mounts {
    pub(super) fn read() -> io::Result<Self> {
        Self::parse(&fs::read_to_string("/proc/self/mountinfo")?)
    }

    fn parse(text: &str) -> io::Result<Self> {
        text.lines()
            .map(|line| {
                parse_line(line).ok_or_else(|| {
                    io::Error::new(
                        io::ErrorKind::InvalidData,
                        format!("/proc/self/mountinfo: {line:?}"),
                    )
                })
            })
            .collect::<io::Result<_>>()
            .map(Self)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Mount> {
        self.0.iter()
    }

    /// Returns what is mounted exactly there; of several the one on top.
    pub(super) fn at(&self, point: &str) -> Option<&Mount> {
        self.0.iter().rfind(|mount| mount.point == point)
    }

    /// Returns the mount that a path lies in.
    pub(super) fn of(&self, path: &str) -> Option<&Mount> {
        self.0
            .iter()
            .filter(|mount| is_below(path, &mount.point))
            .max_by_key(|mount| mount.point.len())
    }
}

/// Whether `path` is `directory` or inside it.
pub(super) fn is_below(path: &str, directory: &str) -> bool {
    directory == "/"
        || path
            .strip_prefix(directory)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn parse_line(line: &str) -> Option<Mount> {
    // id, parent, device, root, point, options, optional fields…, "-", kind, source, options
    let (left, right) = line.split_once(" - ")?;
    let mut left = left.split(' ').skip(4);
    let point = unescape(left.next()?);
    let options = split(left.next()?);
    let mut right = right.split(' ');
    let kind = right.next()?.to_owned();
    let _source = right.next()?;
    let super_options = split(right.next()?);
    Some(Mount {
        point,
        options,
        kind,
        super_options,
    })
}

fn split(options: &str) -> Vec<String> {
    options.split(',').map(str::to_owned).collect()
}

/// Undoes the kernel's `\040` escapes. What is left wrong can only fail to match.
fn unescape(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part
            .get(..3)
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code {
            Some(code) => {
                plain.push(char::from(code));
                plain.push_str(&part[3..]);
            }
            None => {
                plain.push('\\');
                plain.push_str(part);
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mount_on_top_counts() {
        let mounts = Mounts::parse(
            "1 0 0:1 / / ro,relatime - overlay overlay rw\n\
             2 1 0:2 / /proc rw,nosuid - proc proc rw\n\
             3 2 0:2 /sys /proc/sys ro shared:1 master:2 - proc proc rw\n\
             4 1 0:3 / /a\\040b rw - tmpfs tmpfs rw,size=4k\n",
        )
        .expect("mountinfo");
        assert!(mounts.at("/").expect("root").is_read_only());
        assert!(mounts.of("/proc/sys/kernel").expect("sys").is_read_only());
        assert!(!mounts.of("/proc/system").expect("proc").is_read_only());
        assert_eq!(mounts.at("/a b").expect("tmpfs").kind, "tmpfs");
    }
}
