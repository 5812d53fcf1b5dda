//! Files that are on this machine anyway: sources, headers, documentation.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use xshell::Shell;

/// A larger file is no source; too many of them would make a tree of few files.
const MOST_BYTES: u64 = 1 << 20;
/// Once a tree has its bytes, only files this small are added to it.
const SMALL_BYTES: u64 = 4 << 10;

/// A file, and where it goes in the corpus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) source: PathBuf,
    pub(super) name: PathBuf,
}

/// Finds `count` files of about `bytes` bytes together. What the machine has too few of is
/// taken again, under other names.
pub(super) fn find(sh: &Shell, count: usize, bytes: u64) -> Result<Vec<Found>> {
    let mut found = Vec::new();
    let mut left = bytes;
    for turn in 0.. {
        let before = found.len();
        for (label, root) in roots(sh) {
            let label = match turn {
                0 => PathBuf::from(label),
                _ => PathBuf::from(format!("{label}-{turn}")),
            };
            gather(&root, &label, count, &mut left, &mut found);
        }
        if found.len() >= count {
            return Ok(found);
        }
        if found.len() == before {
            bail!("this machine has no sources to copy: run `cargo fetch`");
        }
    }
    unreachable!("the loop above has no end of its own");
}

/// Most like a project first.
fn roots(sh: &Shell) -> Vec<(&'static str, PathBuf)> {
    let home = PathBuf::from(sh.var_os("HOME").unwrap_or_default());
    let or_home = |variable: &str, folder: &str| match sh.var_os(variable) {
        Some(path) => PathBuf::from(path),
        None => home.join(folder),
    };
    vec![
        (
            "crates",
            or_home("CARGO_HOME", ".cargo").join("registry/src"),
        ),
        ("include", PathBuf::from("/usr/include")),
        ("python", PathBuf::from("/usr/lib/python3")),
        ("share", PathBuf::from("/usr/share")),
        (
            "rustlib",
            or_home("RUSTUP_HOME", ".rustup").join("toolchains"),
        ),
    ]
}

/// Adds files below `root` in order of their names. What can't be read is passed over.
fn gather(root: &Path, label: &Path, count: usize, left: &mut u64, found: &mut Vec<Found>) {
    let Ok(entries) = fs::read_dir(root) else {
        return;
    };
    let mut entries: Vec<_> = entries.flatten().collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        if found.len() >= count {
            return;
        }
        let name = entry.file_name();
        let (Some(text), Ok(kind)) = (name.to_str(), entry.file_type()) else {
            continue;
        };
        if is_left_out(text) {
            continue;
        }
        let (path, label) = (entry.path(), label.join(text));
        if kind.is_dir() {
            gather(&path, &label, count, left, found);
        } else if kind.is_file()
            && let Ok(metadata) = entry.metadata()
        {
            let most = MOST_BYTES.min((*left).max(SMALL_BYTES));
            if metadata.len() <= most
                && label.as_os_str().len() <= 200
                && fs::File::open(&path).is_ok()
            {
                *left = left.saturating_sub(metadata.len());
                found.push(Found {
                    source: path,
                    name: label,
                });
            }
        }
    }
}

/// Names that lazaret keeps out, or that decide what it keeps out: every way of copying is
/// to copy the same files.
fn is_left_out(name: &str) -> bool {
    const NAMES: [&str; 9] = [
        "target",
        "node_modules",
        "__pycache__",
        "CACHEDIR.TAG",
        "venv",
        "id_rsa",
        "id_ed25519",
        "credentials",
        "secrets",
    ];
    const ENDS: [&str; 6] = [".pem", ".key", ".p12", ".pfx", ".jks", ".kdbx"];
    name.starts_with('.')
        || name.chars().any(char::is_control)
        || NAMES.contains(&name)
        || ENDS.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_taken_in_order_until_there_are_enough() {
        let root = std::env::temp_dir().join(format!("lazaret-sources-{}", std::process::id()));
        fs::create_dir_all(root.join("sub")).expect("made");
        for (name, bytes) in [
            ("b", 10),
            ("a", 10),
            ("sub/c", 5000),
            (".git", 1),
            ("d", 10),
        ] {
            fs::write(root.join(name), vec![b'x'; bytes]).expect("written");
        }
        let mut found = Vec::new();
        let mut left = 25;
        gather(&root, Path::new("r"), 3, &mut left, &mut found);
        let names: Vec<_> = found
            .iter()
            .map(|file| file.name.display().to_string())
            .collect();
        // `sub/c` is larger than what is left, and not small.
        assert_eq!(names, ["r/a", "r/b", "r/d"]);
        assert_eq!(left, 0);
        fs::remove_dir_all(root).expect("removed");
    }
}
