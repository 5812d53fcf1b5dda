//! `Patterns`: which of many path patterns a path is, without trying each.
//!
//! A pattern is a path from any directory on, or from the top if it starts with `/`; `*`
//! stands for any characters of one component, a last `**` for everything below. All lower
//! case: names are folded before they are compared.

use std::borrow::Cow;
use std::collections::HashMap;

use lazaret_tree::{Entry, RelPath};

use crate::rules::names::fold::skeleton;

/// A pattern, taken apart, and what it stands for.
struct Pattern<T: 'static> {
    means: &'static T,
    components: Vec<&'static str>,
    from: From,
}

/// Where the first component of a pattern may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum From {
    Anywhere,
    Top,
}

/// Patterns by what their first component must have in common with a name.
pub(in crate::rules) struct Patterns<T: 'static> {
    /// Those whose first component is literal, by it.
    literal: HashMap<&'static str, Vec<Pattern<T>>>,
    /// Names with a `*` in front and none behind it, by what follows their last dot.
    ending: HashMap<&'static str, Vec<Pattern<T>>>,
    /// Names that start with something literal, by its first byte.
    start: HashMap<u8, Vec<Pattern<T>>>,
    /// Any other names.
    other: Vec<Pattern<T>>,
}

impl<T> Patterns<T> {
    /// Sorts patterns.
    pub(in crate::rules) fn new(all: impl IntoIterator<Item = (&'static str, &'static T)>) -> Self {
        let mut patterns = Self {
            literal: HashMap::new(),
            ending: HashMap::new(),
            start: HashMap::new(),
            other: Vec::new(),
        };
        for (text, means) in all {
            let (text, from) = match text.strip_prefix('/') {
                Some(text) => (text, From::Top),
                None => (text, From::Anywhere),
            };
            let components: Vec<_> = text.split('/').collect();
            let first = components.first().copied().unwrap_or_default();
            let pattern = Pattern {
                means,
                components,
                from,
            };
            let Some((head, tail)) = first.split_once('*') else {
                patterns.literal.entry(first).or_default().push(pattern);
                continue;
            };
            match (head.bytes().next(), tail.rsplit_once('.')) {
                (Some(byte), _) => patterns.start.entry(byte).or_default().push(pattern),
                (None, Some((_, ending))) if !tail.contains('*') => {
                    patterns.ending.entry(ending).or_default().push(pattern);
                }
                _ => patterns.other.push(pattern),
            }
        }
        patterns
    }

    /// Calls `found` for each pattern that `names`, the folded components of a path, are.
    pub(in crate::rules) fn find(
        &self,
        names: &[Cow<'_, str>],
        entry: &Entry,
        mut found: impl FnMut(&'static T),
    ) {
        for at in 0..names.len() {
            let rest = names.get(at..).unwrap_or_default();
            let Some(name) = rest.first() else { continue };
            let literal = self.literal.get(&**name);
            let start = name.bytes().next().and_then(|byte| self.start.get(&byte));
            let ending = name.rsplit_once('.').map_or(&**name, |(_, ending)| ending);
            let ending = self.ending.get(ending);
            let buckets = literal.into_iter().chain(start).chain(ending).flatten();
            for pattern in buckets.chain(&self.other) {
                let may_start = at == 0 || pattern.from == From::Anywhere;
                if may_start && matches(&pattern.components, rest, entry) {
                    found(pattern.means);
                }
            }
        }
    }
}

/// The components of a path as patterns see them.
pub(in crate::rules) fn folded(path: &RelPath) -> Vec<Cow<'_, str>> {
    path.components().map(skeleton).collect()
}

/// Whether the rest of a path is what a pattern means.
///
/// A link where the pattern has a directory counts as well: what lies behind it
/// has other names (`.vscode -> tools`).
fn matches(pattern: &[&str], names: &[Cow<'_, str>], entry: &Entry) -> bool {
    for (index, part) in pattern.iter().enumerate() {
        match names.get(index) {
            Some(_) if *part == "**" => return true,
            Some(name) if glob(part, name) => {}
            Some(_) => return false,
            None => return index > 0 && matches!(entry, Entry::Symlink { .. }),
        }
    }
    names.len() == pattern.len()
}

/// `*` stands for any number of characters.
fn glob(pattern: &str, name: &str) -> bool {
    if ends_differ(pattern, name) {
        return false;
    }
    let Some((head, tail)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(rest) = name.strip_prefix(head) else {
        return false;
    };
    if tail.is_empty() {
        return true;
    }
    rest.char_indices()
        .map(|(at, _)| at)
        .chain([rest.len()])
        .any(|at| rest.get(at..).is_some_and(|rest| glob(tail, rest)))
}

/// Whether a pattern starts or ends with another byte than a name does: most do, and this is the
/// cheapest way to know.
fn ends_differ(pattern: &str, name: &str) -> bool {
    let differ = |ours: Option<u8>, theirs: Option<u8>| {
        ours.is_some_and(|byte| byte != b'*' && Some(byte) != theirs)
    };
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    differ(pattern.first().copied(), name.first().copied())
        || differ(pattern.last().copied(), name.last().copied())
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use lazaret_tree::{Digest, Entry, Mode};

    use super::{Patterns, folded, glob, matches};

    const FILE: fn() -> Entry = || Entry::File {
        mode: Mode::Plain,
        size: 0,
        digest: Digest::of(b""),
    };

    #[test]
    fn sus_a_parent_that_is_a_file_or_link() {
        let link = Entry::Symlink {
            target: "x".parse().unwrap(),
        };
        let names = |path: &'static str| path.split('/').map(Cow::Borrowed).collect::<Vec<_>>();
        let pattern = [".husky", "**"];
        assert!(matches(&pattern, &names(".husky"), &link));
        assert!(!matches(&pattern, &names(".husky"), &FILE()));
        assert!(!matches(&[".a", "b"], &names(".a"), &FILE()));
        assert!(matches(&[".a", "b", "c"], &names(".a/b"), &link));
    }

    #[test]
    fn globs() {
        for (pattern, name) in [
            ("*.mk", "x.mk"),
            ("*.mk", ".mk"),
            ("a*b*c", "a1b2bc"),
            ("rust-toolchain*", "rust-toolchain"),
            ("*", ""),
        ] {
            assert!(glob(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("*.mk", "x.mkd"), ("a*b", "ab1"), ("a", "ab"), ("a*", "b")] {
            assert!(!glob(pattern, name), "{pattern} {name}");
        }
    }

    /// The index finds what trying every pattern finds.
    #[test]
    fn the_index_loses_nothing() {
        const ALL: &[&str] = &[
            "makefile",
            "*.mk",
            "*.so.*",
            "*_test.go",
            "docker*",
            ".a/b",
            ".a/*.x",
            ".a/**",
            "*",
            "*rc",
            "/top",
            "/*.yml",
            ".*/**",
            "*.app/**",
            ".*/*.x",
        ];
        let patterns = Patterns::new(ALL.iter().map(|text| (*text, text)));
        for path in [
            "makefile",
            "x/Makefile",
            "x.mk",
            ".mk",
            "lib.so.1",
            "a_test.go",
            "dockerfile",
            ".a/b",
            ".a/c.x",
            "z/.a/b/c",
            ".a",
            "bashrc",
            "mk",
            "so",
            "x.",
            "top",
            "x/top",
            "a.yml",
            "x/a.yml",
            "x/b.app/c/d",
            ".q/r.x",
        ] {
            let path = lazaret_tree::RelPath::new(path).unwrap();
            let names = folded(path);
            let mut found = Vec::new();
            patterns.find(&names, &FILE(), |text| found.push(*text));
            found.sort_unstable();
            found.dedup();
            let mut each: Vec<&str> = ALL
                .iter()
                .filter(|text| {
                    let (text, starts) = match text.strip_prefix('/') {
                        Some(text) => (text, 1),
                        None => (**text, names.len()),
                    };
                    let parts: Vec<_> = text.split('/').collect();
                    (0..starts).any(|start| matches(&parts, &names[start..], &FILE()))
                })
                .copied()
                .collect();
            each.sort_unstable();
            assert_eq!(found, each, "{path}");
        }
    }
}
