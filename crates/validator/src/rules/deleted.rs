//! Deletions that a person should know of: tests, and what git ignores (AUD-03).
//!
//! What is deleted among the suspect files is said by the rule for those.

use std::collections::{BTreeMap, HashSet};
use std::sync::LazyLock;

use lazaret_tree::{Change, Digest, Entry, RelPath};

use super::Context;
use super::git_names::GitFile;
use super::moves::Moves;
use super::patterns::{Patterns, folded};
use crate::Severity;
use crate::report::Report;

/// What tests are called, in the notation of the suspect files.
pub(crate) const TESTS: &[&str] = &[
    "tests/**",
    "test/**",
    "__tests__/**",
    "spec/**",
    "*_test.go",
    "*_test.rs",
    "*_test.py",
    "test_*.py",
    "*.test.js",
    "*.test.jsx",
    "*.test.mjs",
    "*.test.cjs",
    "*.test.ts",
    "*.test.tsx",
    "*.spec.js",
    "*.spec.jsx",
    "*.spec.mjs",
    "*.spec.cjs",
    "*.spec.ts",
    "*.spec.tsx",
    "*_spec.rb",
    "*_test.rb",
    "*_test.exs",
    "*_test.dart",
    "*_test.c",
    "*_test.cc",
    "*_test.cpp",
    "*test.java",
    "*tests.java",
    "*test.kt",
    "*test.php",
    "*tests.cs",
    "*tests.swift",
];

static INDEX: LazyLock<Patterns<&'static str>> =
    LazyLock::new(|| Patterns::new(TESTS.iter().map(|text| (*text, text))));

pub(super) fn check(context: &Context<'_>, report: &mut Report) {
    let deleted = |change: &&Change| change.after.is_none() && !context.is_git(&change.path);
    let mut deletions = context.changes.iter().filter(deleted).peekable();
    if deletions.peek().is_none() {
        return;
    }
    let brought: HashSet<&Digest> = context.changes.iter().filter_map(brings).collect();
    let mut moves = None;
    // By the topmost directory that went with them, or by themselves.
    let mut tests: BTreeMap<&RelPath, usize> = BTreeMap::new();
    for change in deletions {
        let path = &change.path;
        if GitFile::Ignore.is(path.file_name()) {
            let message = "was deleted: git will show, and `git add` take, what it hid";
            report.path(path, Severity::Warn, "deleted.ignore_file", message);
        }
        let Some(entry @ Entry::File { size, digest, .. }) = &change.before else {
            continue;
        };
        // What is elsewhere now was moved, and what was empty tested nothing.
        if *size == 0 || brought.contains(digest) || !is_test(path, entry) {
            continue;
        }
        if moves.get_or_insert_with(|| Moves::of(context)).has(change) {
            continue;
        }
        let gone = |above: &&RelPath| {
            let change = context.changes.get(above);
            change.is_some_and(|change| change.after.is_none())
        };
        let top = path.ancestors().filter(gone).last().unwrap_or(path);
        *tests.entry(top).or_default() += 1;
    }
    for (path, count) in tests {
        let message = match context.baseline.get(path) {
            Some(Entry::Dir) => format!("was deleted, with {count} tests or parts of them"),
            _ => "was deleted: a test, by its name".to_owned(),
        };
        report.path(path, Severity::Warn, "deleted.test", message);
    }
}

/// The contents that a change brings to where no file was.
fn brings(change: &Change) -> Option<&Digest> {
    match (&change.before, &change.after) {
        (None, Some(Entry::File { digest, .. })) => Some(digest),
        _ => None,
    }
}

/// Whether a file is a test by its name.
pub(super) fn is_test(path: &RelPath, entry: &Entry) -> bool {
    let mut found = false;
    INDEX.find(&folded(path), entry, |_| found = true);
    found
}

#[cfg(test)]
mod tests {
    use lazaret_tree::{Digest, Entry, Mode, RelPath};

    use super::{TESTS, is_test};

    #[test]
    fn aud_03_each_pattern_alone() {
        let entry = Entry::File {
            mode: Mode::Plain,
            size: 1,
            digest: Digest::of(b"x"),
        };
        let is_test = |path: &str| is_test(RelPath::new(path).unwrap(), &entry);
        for pattern in TESTS {
            let path = pattern.replace("**", "some/thing").replace('*', "X");
            for path in [path.clone(), format!("deep/er/{path}"), path.to_uppercase()] {
                assert!(is_test(&path), "{path}");
            }
        }
        for path in [
            "src/testing.rs",
            "attest/x",
            "test.py",
            "contest.js",
            "latest.ts",
            "a_test.txt",
        ] {
            assert!(!is_test(path), "{path}");
        }
    }
}
