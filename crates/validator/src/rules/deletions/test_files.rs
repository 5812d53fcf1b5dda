//! Which files are tests by their names.

use std::sync::LazyLock;

use lazaret_tree::{Entry, RelPath};

use crate::rules::suspects::patterns::{Patterns, folded};

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

/// Whether a file is a test by its name.
pub(in crate::rules) fn is_test(path: &RelPath, entry: &Entry) -> bool {
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
