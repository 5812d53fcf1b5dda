//! Random trees, the same for the same seed.

use std::fs;
use std::path::Path;

use crate::{Random, tree_text};

/// Adds and overwrites about `edits` entries below `dir`: files of all sorts, links,
/// directories, with names that sort unlike their paths.
///
/// # Panics
/// When the file system refuses.
pub fn grow(random: &mut Random, dir: &Path, edits: usize) {
    build_what_fits(&lines(random, edits), dir);
}

/// Makes lines of the tree language, which may contradict each other.
fn lines(random: &mut Random, edits: usize) -> String {
    let names = [
        "a",
        "b",
        "a.b",
        "a-b",
        "Z",
        "dir",
        "x y",
        "ä",
        "long-name-of-a-file-or-directory",
    ];
    let mut text = String::new();
    for _ in 0..edits {
        let depth = 1 + random.below(4);
        let path: Vec<&str> = (0..depth).map(|_| random.pick(&names)).collect();
        let path = tree_text::quote(path.join("/").as_bytes());
        text.push_str(&match random.below(8) {
            0 => format!("d {path}\n"),
            1 => format!("l {path} -> a/b\n"),
            2 => format!("x {path} \"run {}\"\n", random.below(3)),
            3 => format!("f {path} *{}\n", random.below(70_000)),
            _ => format!("f {path} \"{}\"\n", random.below(3)),
        });
    }
    text
}

/// Applies the lines that fit what is there, and skips the rest.
fn build_what_fits(text: &str, dir: &Path) {
    for line in text.lines() {
        let (path, _) = tree_text::parse(line).remove(0);
        let path = String::from_utf8_lossy(&path).into_owned();
        let mut at = dir.to_path_buf();
        let mut components = path.split('/').peekable();
        let fits = loop {
            let Some(component) = components.next() else {
                break true;
            };
            at.push(component);
            match fs::symlink_metadata(&at) {
                Ok(metadata) if components.peek().is_some() && !metadata.is_dir() => break false,
                Ok(metadata) if components.peek().is_none() && metadata.is_dir() => break false,
                Ok(metadata) if components.peek().is_none() && line.starts_with("d ") => {
                    break metadata.is_dir();
                }
                Ok(metadata) if line.starts_with("l ") && components.peek().is_none() => {
                    break metadata.is_symlink();
                }
                _ => {}
            }
        };
        if fits {
            tree_text::build(line, dir);
        }
    }
}

/// Removes about one in six of the entries below `dir`.
///
/// # Panics
/// When the file system refuses.
pub fn prune(random: &mut Random, dir: &Path) {
    let Ok(entries) = fs::read_dir(dir) else {
        return;
    };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let is_dir = fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_dir());
        match (random.below(6), is_dir) {
            (0, true) => drop(fs::remove_dir_all(&path)),
            (0, false) => drop(fs::remove_file(&path)),
            (_, true) => prune(random, &path),
            (_, false) => {}
        }
    }
}
