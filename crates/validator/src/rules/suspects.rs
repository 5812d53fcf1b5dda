//! Files that run, or make something run, without anybody starting them (threats.md,
//! section 4): matched case-folded, normalised, without invisible characters, at
//! any depth. Creating one counts as much as changing it (CVE-2026-25725).

use std::collections::HashMap;
use std::sync::LazyLock;

use lazaret_transfer::{Change, Entry};

use super::Context;
use super::fold::skeleton;
use super::suspect_table::{SUSPECTS, Suspect};
use crate::judge::softened;
use crate::report::Report;

/// A pattern, taken apart.
struct Pattern {
    suspect: &'static Suspect,
    components: Vec<&'static str>,
}

/// The patterns by their first component, where that is literal, and the others.
struct Index {
    literal: HashMap<&'static str, Vec<Pattern>>,
    other: Vec<Pattern>,
}

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let mut index = Index {
        literal: HashMap::new(),
        other: Vec::new(),
    };
    for suspect in SUSPECTS {
        for text in suspect.patterns {
            let components: Vec<_> = text.split('/').collect();
            let pattern = Pattern {
                suspect,
                components,
            };
            match pattern.components.first() {
                Some(first) if !first.contains('*') => {
                    index.literal.entry(first).or_default().push(pattern);
                }
                _ => index.other.push(pattern),
            }
        }
    }
    index
});

pub(super) fn check(context: &Context<'_>, change: &Change, report: &mut Report) {
    let path = &*change.path;
    if context.is_git(path) {
        return;
    }
    let entry = change.after.as_ref().or(change.before.as_ref());
    let Some(entry) = entry else { return };
    if *entry == Entry::Dir {
        return;
    }
    let names: Vec<String> = path.components().map(skeleton).collect();
    let mut found: Vec<&'static Suspect> = Vec::new();
    for start in 0..names.len() {
        let rest = names.get(start..).unwrap_or_default();
        let literal = rest
            .first()
            .and_then(|first| INDEX.literal.get(first.as_str()));
        for pattern in literal.into_iter().flatten().chain(&INDEX.other) {
            let known = found.iter().any(|known| known.code == pattern.suspect.code);
            if !known && matches(&pattern.components, rest, entry) {
                found.push(pattern.suspect);
            }
        }
    }
    for suspect in found {
        let severity = softened(change, suspect.severity);
        let message = match change.after {
            Some(_) => suspect.reason.to_owned(),
            None => format!("was deleted: {}", suspect.reason),
        };
        report.path(path, severity, suspect.code, message);
    }
}

/// Whether the rest of a path is what a pattern means.
///
/// A link where the pattern has a directory counts as well: what lies behind it
/// has other names (`.vscode -> tools`).
fn matches(pattern: &[&str], names: &[String], entry: &Entry) -> bool {
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
    let Some((head, tail)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(rest) = name.strip_prefix(head) else {
        return false;
    };
    rest.char_indices()
        .map(|(at, _)| at)
        .chain([rest.len()])
        .any(|at| rest.get(at..).is_some_and(|rest| glob(tail, rest)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use lazaret_transfer::{Digest, Entry, Mode};

    use super::{SUSPECTS, glob, matches, skeleton};
    use crate::Severity;

    const FILE: fn() -> Entry = || Entry::File {
        mode: Mode::Plain,
        size: 0,
        digest: Digest::of(b""),
    };

    /// SUS-01 to SUS-29: each pattern alone, at the top and deep down, in capitals,
    /// through the whole of `judge`.
    #[test]
    fn sus_each_pattern_alone() {
        let mut patterns = 0;
        for suspect in SUSPECTS {
            for pattern in suspect.patterns {
                patterns += 1;
                let path = pattern.replace("**", "some/thing").replace('*', "x");
                for path in [path.clone(), format!("deep/er/{path}"), path.to_uppercase()] {
                    let found = crate::judge::tests::codes_of_new(&path);
                    let expected = (suspect.severity, suspect.code);
                    assert!(
                        found.contains(&expected),
                        "{} {path}: {found:?}",
                        suspect.case
                    );
                }
            }
        }
        assert!(patterns >= 190, "{patterns}");
    }

    #[test]
    fn sus_table_is_complete_and_well_formed() {
        let cases: BTreeSet<_> = SUSPECTS.iter().map(|suspect| suspect.case).collect();
        let expected: BTreeSet<_> = (1..=29).map(|n| format!("SUS-{n:02}")).collect();
        assert!(cases.iter().eq(expected.iter()), "{cases:?}");
        let mut seen = BTreeSet::new();
        for suspect in SUSPECTS {
            assert!(suspect.code.starts_with("suspect."));
            for pattern in suspect.patterns {
                assert!(seen.insert(pattern), "{pattern} twice");
                let folded: Vec<_> = pattern.split('/').map(skeleton).collect();
                assert_eq!(folded.join("/"), *pattern);
            }
        }
    }

    #[test]
    fn sus_a_parent_that_is_a_file_or_link() {
        let link = Entry::Symlink {
            target: "x".parse().unwrap(),
        };
        let names = |path: &str| path.split('/').map(str::to_owned).collect::<Vec<_>>();
        let pattern = [".husky", "**"];
        assert!(matches(&pattern, &names(".husky"), &link));
        assert!(!matches(&pattern, &names(".husky"), &FILE()));
        assert!(!matches(&[".a", "b"], &names(".a"), &FILE()));
        assert!(matches(&[".a", "b", "c"], &names(".a/b"), &link));
    }

    #[test]
    fn sus_deletions_weigh_less() {
        let change = lazaret_transfer::Change {
            path: ".envrc".parse().unwrap(),
            before: Some(FILE()),
            after: None,
        };
        let soften = |severity| crate::judge::softened(&change, severity);
        assert_eq!(soften(Severity::Block), Severity::Warn);
        assert_eq!(soften(Severity::Warn), Severity::Note);
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
}
