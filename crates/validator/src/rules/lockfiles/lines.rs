//! Lockfiles of formats that are not read: a line that was there before may not name another
//! address or another hash.
//!
//! What a line says besides is left alone, so an update of a format that keeps version and hash
//! on lines of their own warns too: there the hash alone does not say whether the version is
//! another one.

use std::collections::HashMap;

use crate::Severity::Warn;
use crate::codes;
use crate::file_findings::FileFindings;
use crate::rules::names::fold::skeleton;
use crate::rules::structured::offset;
use crate::shown::shown;

/// What stands for an address or a hash in a line's frame.
const HOLE: char = '\u{1}';

/// The fewest letters of a hash: an MD5 in hex.
const SHORTEST_HASH: usize = 32;

/// Endings of names of lockfiles and of lists of hashes, folded.
const ENDINGS: &[&str] = &[
    ".lock",
    ".lockfile",
    ".locked",
    ".lock.json",
    ".lock.yaml",
    ".lock.yml",
    ".lock.toml",
    ".lock.hcl",
    "-lock.json",
    "-lock.yaml",
    "-lock.yml",
    "-lock.toml",
    ".lockb",
    ".resolved",
    ".sum",
    ".freeze",
    ".checksum",
    ".sha256",
    ".sha512",
    ".md5",
    "sha256sums",
    "sha512sums",
    "checksums",
    "checksums.txt",
    "sha256sums.txt",
];

/// Whole names, folded.
const NAMES: &[&str] = &[".cargo-checksum.json", "manifest.toml"];

/// Whether a path is that of a lockfile.
pub(super) fn is_lockfile(path: &lazaret_tree::RelPath) -> bool {
    let mut components = path.components().rev().map(skeleton);
    let Some(name) = components.next() else {
        return false;
    };
    ENDINGS.iter().any(|ending| name.ends_with(ending))
        || NAMES.contains(&&*name)
        // Of Go: `vendor/modules.txt`.
        || (name == "modules.txt" && components.next().is_some_and(|dir| dir == "vendor"))
}

/// Compares both sides, and returns what there is to say.
pub(super) fn compare(before: &str, after: &str) -> FileFindings {
    let mut kept: HashMap<&str, usize> = HashMap::new();
    for line in after.lines() {
        *kept.entry(line).or_default() += 1;
    }
    // The lines that go, by their frames.
    let mut gone: HashMap<String, usize> = HashMap::new();
    for line in before.lines() {
        match kept.get_mut(line) {
            Some(count) if *count > 0 => *count -= 1,
            _ => {
                if let Some(frame) = frame(line) {
                    *gone.entry(frame).or_default() += 1;
                }
            }
        }
    }
    let mut remarks = FileFindings::default();
    let mut start = 0;
    for line in after.split_inclusive('\n') {
        let at = offset(start);
        start += line.len();
        let line = line.trim_end_matches(['\n', '\r']);
        // What is left of the count is new.
        let Some(count) = kept.get_mut(line).filter(|count| **count > 0) else {
            continue;
        };
        *count -= 1;
        let was = frame(line).and_then(|frame| gone.get_mut(&frame).filter(|was| **was > 0));
        if let Some(was) = was {
            *was -= 1;
            remarks.add(Warn, codes::LOCKFILE_LINE, Some(at), || {
                format!(
                    "a line that was there before names another address or hash: {}",
                    shown(line.trim())
                )
            });
        }
    }
    remarks
}

/// A line without its addresses and hashes; `None` where it has none.
fn frame(line: &str) -> Option<String> {
    let mut frame = String::with_capacity(line.len());
    let mut has_any = false;
    let breaks = |c: char| c.is_whitespace() || "\"'`,;()[]{}<>".contains(c);
    for word in line.split_inclusive(breaks) {
        let bare = word.trim_end_matches(breaks);
        let end = word.get(bare.len()..).unwrap_or_default();
        match hole(bare) {
            Some(before) => {
                has_any = true;
                frame.push_str(before);
                frame.push(HOLE);
            }
            None => frame.push_str(bare),
        }
        frame.push_str(end);
    }
    has_any.then_some(frame)
}

/// Returns what stands before the address or the hash of a word, such as `sha256:` or `url=`.
fn hole(word: &str) -> Option<&str> {
    if let Some(scheme) = word.find("://") {
        let start = word
            .get(..scheme)?
            .rfind(|c: char| !c.is_ascii_alphanumeric() && c != '+');
        return word.get(..start.map_or(0, |start| start + 1));
    }
    let is_of_hash = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=_-".contains(&byte);
    let hash = word
        .bytes()
        .rev()
        .take_while(|byte| is_of_hash(*byte))
        .count();
    let mut start = word.len() - hash;
    // `sha512-…`, and `hash=…`, which are no part of it.
    for algorithm in ["sha1-", "sha256-", "sha384-", "sha512-", "=", "-"] {
        let text = word.get(start..)?;
        if let Some(at) = text.find(algorithm)
            && text.len() - at - algorithm.len() >= SHORTEST_HASH
        {
            start += at + algorithm.len();
            break;
        }
    }
    let text = word.get(start..)?;
    let has = |what: fn(&u8) -> bool| text.as_bytes().iter().any(what);
    let is_hash =
        text.len() >= SHORTEST_HASH && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic);
    is_hash.then(|| word.get(..start)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(before: &str, after: &str) -> usize {
        compare(before, after).finish().len()
    }

    #[test]
    fn sus_33_a_line_with_another_address_or_hash() {
        let hash = |letter: &str| letter.repeat(10) + "0123456789abcdef0123456789";
        let (a, b) = (hash("a"), hash("b"));
        for (before, after, expected) in [
            // Another hash, or another address, in the same place.
            (format!("x 1.0 {a}\n"), format!("x 1.0 {b}\n"), 1),
            (
                format!("\"x\": \"sha256:{a}\",\n"),
                format!("\"x\": \"sha256:{b}\",\n"),
                1,
            ),
            (format!("  sha512-{a}==\n"), format!("  sha512-{b}==\n"), 1),
            (format!("hash={a}\n"), format!("hash={b}\n"), 1),
            (
                "url: https://a.test/x\n".into(),
                "url: https://b.test/x\n".into(),
                1,
            ),
            (
                "url = \"git+ssh://a.test/x\"\n".into(),
                "url = \"git+ssh://b.test/x\"\n".into(),
                1,
            ),
            // Lines that move, go or come say nothing.
            (format!("y {a}\nx {b}\n"), format!("x {b}\ny {a}\n"), 0),
            (format!("y {a}\n"), String::new(), 0),
            (String::new(), format!("y {a}\n"), 0),
            // Another version of it.
            (format!("x 1.0 {a}\n"), format!("x 1.1 {b}\n"), 0),
            // No hash.
            (
                "x = some-long-name-of-thirty-two-letters-or-more\n".into(),
                "x = other-long-name-of-thirty-two-letters-or-more\n".into(),
                0,
            ),
            // As many as there are.
            (format!("h {a}\nh {a}\n"), format!("h {b}\nh {b}\n"), 2),
        ] {
            assert_eq!(changed(&before, &after), expected, "{before} -> {after}");
        }
    }

    #[test]
    fn sus_33_names() {
        for (path, expected) in [
            ("Podfile.lock", true),
            ("ios/Podfile.lock", true),
            ("conda-lock.yml", true),
            ("vendor/modules.txt", true),
            ("modules.txt", false),
            ("vendor/serde/.cargo-checksum.json", true),
            ("gradle.lockfile", true),
            ("bun.lockb", true),
            ("cabal.project.freeze", true),
            ("block.rs", false),
            ("README.md", false),
        ] {
            assert_eq!(
                is_lockfile(&path.parse::<lazaret_tree::RelPathBuf>().unwrap()),
                expected,
                "{path}"
            );
        }
    }
}
