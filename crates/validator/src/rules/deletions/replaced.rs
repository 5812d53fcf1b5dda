//! `Replacements`: new tests that stand in for deleted ones (AUD-03).
//!
//! An agent may rewrite any test, and a changed test is everyday work. So a test that is
//! rewritten under another name beside the old one is not told apart from a changed one.

use std::collections::{HashMap, HashSet};

use lazaret_tree::{Change, Digest, Entry, RelPath};

use crate::rules::Context;
use crate::rules::deletions::code::{is_code, tested};
use crate::rules::deletions::test_files::is_test;

/// The new tests of a batch that are not the deleted ones elsewhere, by their directories.
pub(in crate::rules) struct Replacements<'a> {
    directories: HashMap<Option<&'a RelPath>, Vec<NewTest>>,
}

/// A test that was not there before.
struct NewTest {
    words: HashSet<String>,
    size: u64,
}

impl<'a> Replacements<'a> {
    /// Collects them.
    pub(in crate::rules) fn of(context: &'a Context<'_>) -> Self {
        let deleted = context.changes.iter().filter(|it| it.after.is_none());
        let deleted: HashSet<&Digest> = deleted.filter_map(|it| digest(&it.before)).collect();
        let mut directories: HashMap<_, Vec<NewTest>> = HashMap::new();
        for change in context.changes.iter().filter(|it| it.before.is_none()) {
            let path: &RelPath = &change.path;
            let Some(entry @ Entry::File { size, digest, .. }) = &change.after else {
                continue;
            };
            if is_code(path) && is_test(path, entry) && !deleted.contains(digest) {
                let (words, size) = (words(path), *size);
                let tests = directories.entry(path.parent()).or_default();
                tests.push(NewTest { words, size });
            }
        }
        Self { directories }
    }

    /// Returns true if a new test beside a deleted one has half of its size and half of the
    /// words of its name. Each new test replaces one.
    pub(in crate::rules) fn take(&mut self, deleted: &'a Change) -> bool {
        let Some(Entry::File { size, .. }) = &deleted.before else {
            return false;
        };
        let Some(tests) = self.directories.get_mut(&deleted.path.parent()) else {
            return false;
        };
        let words = words(&deleted.path);
        let replaces = |test: &NewTest| {
            let common = test.words.intersection(&words).count();
            common > 0 && common * 2 >= words.len() && test.size >= size / 2
        };
        let found = tests.iter().position(replaces);
        found.map(|at| tests.swap_remove(at)).is_some()
    }
}

fn digest(side: &Option<Entry>) -> Option<&Digest> {
    match side {
        Some(Entry::File { digest, .. }) => Some(digest),
        _ => None,
    }
}

/// Returns the words of what a test is named for, in lower case: `control`, `mode` of
/// `test_control_mode.py` and `ControlModeTest.java`.
fn words(path: &RelPath) -> HashSet<String> {
    let mut words = HashSet::new();
    let mut word = String::new();
    for c in tested(path.file_name()).chars() {
        let is_start = c.is_uppercase() && !word.ends_with(char::is_uppercase);
        if is_start || !c.is_alphanumeric() {
            words.insert(std::mem::take(&mut word).to_lowercase());
        }
        if c.is_alphanumeric() {
            word.push(c);
        }
    }
    words.insert(word.to_lowercase());
    words.remove("");
    words
}

#[cfg(test)]
mod tests {
    use lazaret_tree::RelPath;

    use super::words;

    #[test]
    fn aud_03_words_of_the_name_of_a_test() {
        for (name, expected) in [
            ("test_control_mode.py", "control mode"),
            ("ControlModeTest.java", "control mode"),
            ("a/keyboard-auto-resize.spec.ts", "auto keyboard resize"),
            ("HTTPServer_test.go", "httpserver"),
            ("x.test.ts", "x"),
        ] {
            let mut found: Vec<String> = words(RelPath::new(name).unwrap()).into_iter().collect();
            found.sort_unstable();
            assert_eq!(found.join(" "), expected, "{name}");
        }
    }
}
