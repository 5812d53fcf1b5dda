//! Git's configuration: reading one value of it, and writing the copy's.

use std::fmt::Write as _;

/// Returns the last value of `section.key`, as git would unquote it; a key without a value
/// is `true`. Includes are not followed.
///
/// Only values that are checked afterwards may be used, so a file that git would read
/// otherwise can make no worse than a copy that is read wrongly.
pub(crate) fn value(config: &[u8], section: &str, key: &str) -> Option<String> {
    let text = String::from_utf8_lossy(config);
    let (mut inside, mut found) = (false, None);
    for line in text.lines() {
        let mut line = line.trim();
        if let Some(rest) = line.strip_prefix('[') {
            let (name, rest) = rest.split_once(']').unwrap_or((rest, ""));
            inside = name.trim().eq_ignore_ascii_case(section);
            line = rest.trim();
        }
        if !inside || line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        let (name, value) = match line.split_once('=') {
            Some((name, value)) => (name, unquote(value)),
            None => (line, "true".to_owned()),
        };
        if name.trim().eq_ignore_ascii_case(key) {
            found = Some(value);
        }
    }
    found
}

/// Resolves quotes and escapes, and drops a comment and outer blanks.
fn unquote(text: &str) -> String {
    let mut value = String::new();
    let (mut quoted, mut kept) = (false, 0);
    let mut chars = text.trim_start().chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => quoted = !quoted,
            '\\' => value.extend(chars.next().map(|c| match c {
                'n' => '\n',
                't' => '\t',
                other => other,
            })),
            '#' | ';' if !quoted => break,
            c => value.push(c),
        }
        if quoted || c == '"' {
            kept = value.len();
        }
    }
    let trimmed = value.trim_end().len();
    value.truncate(trimmed.max(kept));
    value
}

/// What a file's form and the ways to compare it depend on: name, and the words that are
/// taken over. None of them names a program, a path or an address.
const CARRIED: &[(&str, &[&str])] = &[
    ("autocrlf", &["true", "false", "input"]),
    ("eol", &["lf", "crlf", "native"]),
    ("filemode", &["false"]),
    ("sparseCheckout", &["true"]),
    ("sparseCheckoutCone", &["true", "false"]),
    ("symlinks", &["false"]),
];

/// What the copy's configuration is made of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConfigSource<'a> {
    /// The repository's own configuration, and the worktree's.
    pub(crate) originals: [&'a [u8]; 2],
    /// The files that belong to it, relative to the copy's repository, where that is not
    /// the directory above it.
    pub(crate) worktree: Option<&'a str>,
    /// The names of its submodules.
    pub(crate) submodules: &'a [&'a str],
}

/// Makes the configuration of a copy.
///
/// `checkStat = minimal` and no `trustctime`: inodes, ctimes and owners in the volume are
/// new, whole-second mtimes and sizes are those of the index. So git inside need not read
/// every file to see that nothing changed, and a file whose contents come from a filter that
/// only the host has (Git LFS) is as unmodified inside as it is outside.
pub(crate) fn synthetic_config(source: ConfigSource<'_>) -> Vec<u8> {
    let last = |section, key| {
        let mut values = source.originals.iter().rev();
        values.find_map(|config| value(config, section, key))
    };
    let sha256 =
        last("extensions", "objectformat").is_some_and(|v| v.eq_ignore_ascii_case("sha256"));
    let mut text = format!(
        "[core]\n\trepositoryformatversion = {}\n\tbare = false\n\ttrustctime = false\n\
         \tcheckStat = minimal\n\tuntrackedCache = false\n",
        u8::from(sha256)
    );
    for (key, words) in CARRIED {
        let value = last("core", key).map(|value| word(&value));
        if let Some(known) = value.and_then(|value| words.iter().find(|known| **known == value)) {
            let _ = writeln!(text, "\t{key} = {known}");
        }
    }
    if let Some(worktree) = source.worktree {
        let _ = writeln!(text, "\tworktree = {}", quote(worktree));
    }
    if sha256 {
        text.push_str("[extensions]\n\tobjectFormat = sha256\n");
    }
    for name in source.submodules {
        let _ = writeln!(text, "[submodule {}]\n\tactive = true", quote(name));
    }
    text.into_bytes()
}

/// Git's words for yes and no become one each.
fn word(value: &str) -> String {
    match &*value.to_ascii_lowercase() {
        "true" | "yes" | "on" | "1" => "true".to_owned(),
        "false" | "no" | "off" | "0" | "" => "false".to_owned(),
        other => other.to_owned(),
    }
}

/// Quotes for a value, or for the name of a section; control characters are no part of it.
fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(original: &str) -> String {
        let source = ConfigSource {
            originals: [original.as_bytes(), b""],
            worktree: None,
            submodules: &[],
        };
        String::from_utf8(synthetic_config(source)).expect("ASCII")
    }

    #[test]
    fn nothing_is_taken_over_but_known_words() {
        insta::assert_snapshot!(made("[core]\n\tfsmonitor = evil\n\tautocrlf = !sh\n[remote \"o\"]\nurl = https://t@x\n"), @r"
        [core]
        	repositoryformatversion = 0
        	bare = false
        	trustctime = false
        	checkStat = minimal
        	untrackedCache = false
        ");
        insta::assert_snapshot!(made("[Extensions] objectFormat = SHA256 ; x\n\trefstorage=\"reftable\"\n[core]\n\tautocrlf = Yes\n\tsymlinks = 0\n\tsparseCheckout\n"), @r"
        [core]
        	repositoryformatversion = 1
        	bare = false
        	trustctime = false
        	checkStat = minimal
        	untrackedCache = false
        	autocrlf = true
        	sparseCheckout = true
        	symlinks = false
        [extensions]
        	objectFormat = sha256
        ");
        assert_eq!(made("[extensions]\nobjectformat = !sh\n"), made(""));
        assert_eq!(made("[core \"x\"]\nautocrlf = true\n"), made(""));
    }

    #[test]
    fn a_worktree_and_submodules_are_quoted() {
        let source = ConfigSource {
            originals: [b"", b"[core]\n\tfilemode = false\n"],
            worktree: Some("../../../a \"b\""),
            submodules: &["x\\y", "z"],
        };
        insta::assert_snapshot!(String::from_utf8(synthetic_config(source)).expect("ASCII"), @r#"
        [core]
        	repositoryformatversion = 0
        	bare = false
        	trustctime = false
        	checkStat = minimal
        	untrackedCache = false
        	filemode = false
        	worktree = "../../../a \"b\""
        [submodule "x\\y"]
        	active = true
        [submodule "z"]
        	active = true
        "#);
    }

    #[test]
    fn values_are_read_as_git_writes_them() {
        let read = |text: &str| value(text.as_bytes(), "core", "worktree");
        for (text, expected) in [
            ("[core]\n\tworktree = ../../../a\n", Some("../../../a")),
            ("[core]\nworktree = \"a # b \" ; c\n", Some("a # b ")),
            ("[core]\nworktree = a\\\\b\\\"c\n", Some("a\\b\"c")),
            ("[core]\nworktree = a\nWorkTree = b\n", Some("b")),
            ("[core]\n# worktree = a\n", None),
            ("[core \"x\"]\nworktree = a\n", None),
            ("[core]\nbare = true\n[other]\nworktree = a\n", None),
        ] {
            assert_eq!(read(text).as_deref(), expected, "{text}");
        }
    }
}
