//! What is git's own: names that some file system takes for `.git`, and the parts of a repository.

use crate::{Entry, RelPath};

/// Whether `component` is `.git` or a name that a file system may take for it:
/// another case, trailing dots and blanks, an NTFS stream or short name, or one
/// of the code points that HFS+ ignores (GIT-07, GIT-08; git's `verify_path`,
/// `is_ntfs_dotgit` and `is_hfs_dotgit`; CVE-2014-9390).
///
/// The answer is the same on every platform: a tree travels.
pub fn is_git_name(component: &str) -> bool {
    // Nearly every name is ASCII, and this is asked of each component of each path.
    if component.is_ascii() {
        return is_stem(component);
    }
    let visible: String = component.chars().filter(|&c| !is_hfs_ignored(c)).collect();
    is_stem(&visible)
}

fn is_stem(visible: &str) -> bool {
    let stem = visible.split(':').next().unwrap_or("");
    let stem = stem.trim_end_matches([' ', '.']);
    stem.eq_ignore_ascii_case(".git") || stem.eq_ignore_ascii_case("git~1")
}

/// The 16 code points that HFS+ leaves out when it compares names (git, utf8.c).
pub fn is_hfs_ignored(c: char) -> bool {
    matches!(
        c,
        '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}'
    )
}

/// Whether a path is the repository at the root, or lies in it.
pub fn is_git(path: &RelPath) -> bool {
    path.components().next() == Some(".git")
}

/// Whether an entry says where the repository at the root stands.
pub fn is_git_state(path: &RelPath, entry: &Entry) -> bool {
    *entry != Entry::Dir && is_git_state_path(path.as_str().as_bytes())
}

/// Returns true if a raw path is one that says where the repository at the root stands.
pub fn is_git_state_path(path: &[u8]) -> bool {
    let Some(inside) = path.strip_prefix(b".git/") else {
        return path == b".git";
    };
    let mut components = inside.split(|&byte| byte == b'/');
    match inside.strip_prefix(b"modules/") {
        None => components.next().is_some_and(is_state_name),
        // A submodule's name may be anything: rather too much than too little.
        Some(_) => components.any(is_state_name),
    }
}

fn is_state_name(name: &[u8]) -> bool {
    matches!(name, b"HEAD" | b"packed-refs" | b"refs" | b"reftable")
}

/// Whether a path is that of a repository's index, that of a submodule among them. Git compares
/// its modification time with the times that it holds.
pub fn is_git_index(path: &RelPath) -> bool {
    path.file_name() == "index" && path.components().any(|component| component == ".git")
}

/// The longest text of git's that is looked into, in bytes: about 120,000 packed refs, the
/// reflog of 40,000 commits, or an index of 80,000 files.
pub const MAX_REF_TEXT: u64 = 8 << 20;

/// Whether a file below `.git` is a text that says where a repository stands, or stood, or the
/// index of the repository at the root: it is fetched with the changed files, as long as it is no
/// longer than [`MAX_REF_TEXT`].
///
/// In `.git/modules` a name may be anything: rather too many than too few.
pub fn is_ref_text(path: &RelPath) -> bool {
    let Some(inside) = path.as_str().strip_prefix(".git/") else {
        return false;
    };
    let is_text = |name| matches!(name, "HEAD" | "packed-refs" | "refs" | "logs");
    let mut components = inside.split('/');
    match components.next() {
        Some("modules" | "worktrees") => components.any(is_text),
        Some(first) => is_text(first) || inside == "index",
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_git_name;

    #[test]
    fn git_07_git_08_aliases() {
        for name in [
            ".git",
            ".GIT",
            ".Git",
            ".git.",
            ".git ",
            ".git. .",
            ".git::$INDEX_ALLOCATION",
            ".git:stream",
            "git~1",
            "GIT~1",
            ".g\u{200c}it",
            "\u{feff}.git",
            ".gi\u{206f}t",
        ] {
            assert!(is_git_name(name), "{name:?}");
        }
        for name in [
            ".gitignore",
            ".github",
            "git",
            "git~2",
            "a.git",
            ".git-x",
            "..git",
        ] {
            assert!(!is_git_name(name), "{name:?}");
        }
    }
}
