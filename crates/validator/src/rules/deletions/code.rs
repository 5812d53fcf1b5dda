//! `DeletedCode`: the code that a change set deletes, so that a test that goes with what it
//! tests is told from one that goes alone (AUD-03).

use std::collections::{HashMap, HashSet};

use lazaret_tree::{Digest, Entry, RelPath};

use crate::rules::Context;
use crate::rules::deletions::moves::Moves;
use crate::rules::deletions::test_files::is_test;

/// The code that a change set deletes, and does not bring elsewhere.
pub(in crate::rules) struct DeletedCode<'a> {
    /// The paths without their endings, by the last component.
    paths: HashMap<&'a str, Vec<&'a str>>,
    /// The directories that some of it was in.
    directories: HashSet<&'a RelPath>,
}

impl<'a> DeletedCode<'a> {
    /// Collects it. Contents that are in `brought` are elsewhere now.
    pub(in crate::rules) fn of(
        context: &'a Context<'_>,
        brought: &HashSet<&Digest>,
        moves: &Moves<'_>,
    ) -> Self {
        let mut code = Self {
            paths: HashMap::new(),
            directories: HashSet::new(),
        };
        for change in context.changes {
            let path = &change.path;
            let (Some(entry @ Entry::File { size, digest, .. }), None) =
                (&change.before, &change.after)
            else {
                continue;
            };
            let is_elsewhere = || brought.contains(digest) || moves.has(change);
            if *size == 0 || !is_code(path) || is_test(path, entry) || is_elsewhere() {
                continue;
            }
            code.directories.extend(path.ancestors());
            code.add(path.as_str());
        }
        code
    }

    fn add(&mut self, path: &'a str) {
        let path = stem(path);
        let name = path.rsplit('/').next().unwrap_or(path);
        self.paths.entry(name).or_default().push(path);
    }

    /// Returns true if the code that a test is of went too: by the test's name, or with the
    /// directory that both were in, `top`.
    pub(in crate::rules) fn has(&self, test: &RelPath, top: Option<&RelPath>) -> bool {
        top.is_some_and(|top| self.directories.contains(top)) || self.is_named(test.file_name())
    }

    /// Returns true if some of the code is what a test is named for: `a_b_test.rs` is of
    /// `a_b.rs` and of `a/b.rs`.
    fn is_named(&self, test: &str) -> bool {
        let name = tested(test);
        let parts = name.match_indices('_').map(|(at, _)| name.split_at(at));
        let parts = parts.map(|(directories, rest)| (directories, &rest[1..]));
        let mut all = std::iter::once(("", name)).chain(parts);
        all.any(|(directories, name)| {
            let mut paths = self.paths.get(name).into_iter().flatten();
            let wanted = match directories {
                "" => name.to_owned(),
                _ => format!("{}/{name}", directories.replace('_', "/")),
            };
            paths.any(|path| {
                let before = path.strip_suffix(&*wanted);
                before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
            })
        })
    }
}

/// Returns what a test is named for: `a` of `test_a.py`, `a.spec.ts` and `a_test.go`.
pub(in crate::rules) fn tested(name: &str) -> &str {
    const ENDS: [&str; 7] = [
        "_test", ".test", "_spec", ".spec", "_tests", "Tests", "Test",
    ];
    let name = stem(name);
    let name = name.strip_prefix("test_").unwrap_or(name);
    let mut ends = ENDS.iter().filter_map(|end| name.strip_suffix(end));
    ends.next().unwrap_or(name)
}

/// Returns a path without the last ending of its name.
fn stem(path: &str) -> &str {
    let name = path.rfind('/').map_or(0, |at| at + 1);
    match path.rfind('.') {
        Some(at) if at > name => path.get(..at).unwrap_or(path),
        _ => path,
    }
}

/// Endings of program code: data among the tests tests nothing.
const CODE: &str = "rs go py ts tsx js jsx mjs cjs mts cts java kt kts scala rb ex exs erl php \
    swift c cc cpp h hpp cs fs dart lua sh bash zig nim jl clj hs ml pl";

/// Returns true if a file is code by its ending, or may be, having none.
pub(in crate::rules) fn is_code(path: &RelPath) -> bool {
    let Some((_, ending)) = path.file_name().rsplit_once('.') else {
        return true;
    };
    let mut endings = CODE.split_ascii_whitespace();
    endings.any(|known| known.eq_ignore_ascii_case(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aud_03_code_that_a_test_is_named_for() {
        for (code, test, expected) in [
            ("src/frame.ts", "src/frame.test.ts", true),
            ("lib/frame.go", "lib/frame_test.go", true),
            ("app/frame.py", "tests/test_frame.py", true),
            ("src/Frame.java", "test/FrameTest.java", true),
            (
                "src/tmux/control_mode.rs",
                "tests/tmux_control_mode.rs",
                true,
            ),
            ("src/other.ts", "src/frame.test.ts", false),
            ("src/mode.rs", "tests/tmux_control_mode.rs", false),
            ("src/mainframe.ts", "src/frame.test.ts", false),
        ] {
            let mut deleted = DeletedCode {
                paths: HashMap::new(),
                directories: HashSet::new(),
            };
            deleted.add(code);
            let test = RelPath::new(test).unwrap();
            assert_eq!(deleted.has(test, None), expected, "{code} {test}");
        }
    }
}
