//! `TreeEntry`: what a tree object lists, parsed strictly (GIT-15 to GIT-17).
//!
//! The grammar of names is the gate's: what could not come out as a file does not come out in a
//! commit either.

use std::cmp::Ordering;

use lazaret_transfer::ObjectId;
use lazaret_tree::{RelPath, RelPathError, is_git_name};

/// What an entry of a tree is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EntryMode {
    /// 40000: another tree.
    Dir,
    /// 100644.
    Plain,
    /// 100755.
    Executable,
    /// 120000: a symbolic link.
    Link,
    /// 160000: a commit of a submodule.
    Gitlink,
}

/// One entry of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    /// Its name, raw: one component.
    pub name: Vec<u8>,
    /// What it is.
    pub mode: EntryMode,
    /// Its object.
    pub id: ObjectId,
}

/// Why bytes are no tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// An entry is cut, or not `mode name NUL id`.
    #[error("it is not in git's form")]
    Form,
    /// A mode that git does not write: a set-id bit, a device, leading zeros.
    #[error("an entry has a mode that git does not write")]
    Mode,
    /// Names are out of order, or one is there twice.
    #[error("its names are out of order, or one is there twice")]
    Order,
}

/// Why a name stays out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// It is no component of a path.
    #[error(transparent)]
    Path(#[from] RelPathError),
    /// Some file system takes it for `.git` (CVE-2014-9390).
    #[error("a file system may take the name for `.git`")]
    Git,
}

/// Parses the contents of a new tree object; ids have as many bytes as `like`.
///
/// # Errors
/// The first rule that is broken. Names are not judged: see [`check_name`].
pub fn parse(bytes: &[u8], like: &ObjectId) -> Result<Vec<TreeEntry>, TreeError> {
    parse_by(bytes, like, mode_of)
}

/// As [`parse`], of a tree of the user's, which an old git may have written: group-writable
/// modes count as 100644.
///
/// # Errors
/// The first rule that is broken.
pub fn parse_known(bytes: &[u8], like: &ObjectId) -> Result<Vec<TreeEntry>, TreeError> {
    parse_by(bytes, like, |mode| match mode {
        b"100664" => Some(EntryMode::Plain),
        b"040000" => Some(EntryMode::Dir),
        mode => mode_of(mode),
    })
}

fn parse_by(
    bytes: &[u8],
    like: &ObjectId,
    mode_of: impl Fn(&[u8]) -> Option<EntryMode>,
) -> Result<Vec<TreeEntry>, TreeError> {
    let length = like.as_bytes().len();
    let mut entries: Vec<TreeEntry> = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let blank = rest.iter().take(8).position(|&byte| byte == b' ');
        let (mode, after) = split(rest, blank)?;
        let end = after.iter().position(|&byte| byte == 0);
        let (name, after) = split(after, end)?;
        let (id, after) = after.split_at_checked(length).ok_or(TreeError::Form)?;
        let entry = TreeEntry {
            name: name.to_vec(),
            mode: mode_of(mode).ok_or(TreeError::Mode)?,
            id: ObjectId::from_bytes(id).ok_or(TreeError::Form)?,
        };
        if let Some(last) = entries.last()
            && (order(last, &entry) != Ordering::Less || last.name == entry.name)
        {
            return Err(TreeError::Order);
        }
        entries.push(entry);
        rest = after;
    }
    // `a` and `a/` are apart in git's order, with `a.b` between them.
    let mut names: Vec<&[u8]> = entries.iter().map(|entry| &*entry.name).collect();
    names.sort_unstable();
    match names.windows(2).any(|pair| pair[0] == pair[1]) {
        true => Err(TreeError::Order),
        false => Ok(entries),
    }
}

/// Checks the name of an entry.
///
/// # Errors
/// Why it stays out.
pub fn check_name(name: &[u8]) -> Result<&str, NameError> {
    let path = RelPath::from_bytes(name)?;
    match path.as_str() {
        text if text.contains('/') => Err(NameError::Path(RelPathError::Noncanonical)),
        text if is_git_name(text) => Err(NameError::Git),
        text => Ok(text),
    }
}

/// Splits at a byte, and drops it.
fn split(bytes: &[u8], at: Option<usize>) -> Result<(&[u8], &[u8]), TreeError> {
    let (before, after) = at
        .and_then(|at| bytes.split_at_checked(at))
        .ok_or(TreeError::Form)?;
    Ok((before, after.get(1..).unwrap_or_default()))
}

fn mode_of(mode: &[u8]) -> Option<EntryMode> {
    Some(match mode {
        b"40000" => EntryMode::Dir,
        b"100644" => EntryMode::Plain,
        b"100755" => EntryMode::Executable,
        b"120000" => EntryMode::Link,
        b"160000" => EntryMode::Gitlink,
        _ => return None,
    })
}

/// Git's order: a directory counts as if its name ended with `/`.
fn order(one: &TreeEntry, two: &TreeEntry) -> Ordering {
    let key = |entry: &TreeEntry| {
        let end = (entry.mode == EntryMode::Dir).then_some(b'/');
        entry.name.iter().copied().chain(end).collect::<Vec<u8>>()
    };
    key(one).cmp(&key(two))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id() -> ObjectId {
        ObjectId::from_hex(&[b'1'; 40]).unwrap()
    }

    fn tree(entries: &[(&str, &str)]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (mode, name) in entries {
            bytes.extend_from_slice(format!("{mode} {name}\0").as_bytes());
            bytes.extend_from_slice(&[0x11; 20]);
        }
        bytes
    }

    #[test]
    fn git_15_trees_are_parsed_strictly() {
        let good: &[&[(&str, &str)]] = &[
            &[],
            &[("100644", "a"), ("40000", "b"), ("120000", "c")],
            &[("100644", "a.b"), ("40000", "a"), ("160000", "a0")],
        ];
        for entries in good {
            let parsed = parse(&tree(entries), &id()).unwrap();
            assert_eq!(parsed.len(), entries.len());
        }
        let bad: &[(&[(&str, &str)], TreeError)] = &[
            (&[("100644", "b"), ("100644", "a")], TreeError::Order),
            (&[("100644", "a"), ("100755", "a")], TreeError::Order),
            (
                &[("100644", "a"), ("100644", "a.b"), ("40000", "a")],
                TreeError::Order,
            ),
            (&[("104755", "a")], TreeError::Mode),
            (&[("020666", "a")], TreeError::Mode),
            (&[("040000", "a")], TreeError::Mode),
            (&[("100664", "a")], TreeError::Mode),
            (&[("1006440000", "a")], TreeError::Form),
        ];
        for (entries, error) in bad {
            assert_eq!(parse(&tree(entries), &id()), Err(*error), "{entries:?}");
        }
        let cut = tree(&[("100644", "a")]);
        for end in 1..cut.len() {
            assert_eq!(parse(&cut[..end], &id()), Err(TreeError::Form), "{end}");
        }
    }

    #[test]
    fn git_15_names_follow_the_gates_grammar() {
        for name in ["a", ".gitignore", ".github", "ä b", "-x"] {
            assert_eq!(check_name(name.as_bytes()), Ok(name));
        }
        for name in [
            "",
            ".",
            "..",
            "a/b",
            "/a",
            ".git",
            ".GIT",
            ".git ",
            ".git.",
            "git~1",
            "GIT~1",
            ".g\u{200c}it",
            ".git::$INDEX_ALLOCATION",
            "a\nb",
            "a\u{1b}[2J",
        ] {
            assert!(check_name(name.as_bytes()).is_err(), "{name:?}");
        }
        assert!(check_name(b"\xff").is_err());
        assert!(check_name(&[b'a'; 256]).is_err());
    }
}
