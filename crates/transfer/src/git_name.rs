//! Names that some file system takes for `.git`.

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
