//! Files that run, or make something run, without anybody starting them (threats.md,
//! section 4): matched case-folded, normalised, without invisible characters, at
//! any depth. Creating one counts as much as changing it (CVE-2026-25725).

use std::borrow::Cow;
use std::sync::LazyLock;

use lazaret_transfer::{Change, Entry};

use super::Context;
use super::patterns::{Patterns, folded};
use super::suspect_table::{SUSPECTS, Suspect};
use crate::judge::softened;
use crate::report::Report;

static INDEX: LazyLock<Patterns<Suspect>> = LazyLock::new(|| {
    let rows = SUSPECTS.iter();
    Patterns::new(rows.flat_map(|row| row.patterns.iter().map(move |text| (*text, row))))
});

pub(super) fn check(context: &Context<'_>, change: &Change, report: &mut Report) {
    let path = &change.path;
    if context.is_git(path) {
        return;
    }
    let entry = change.after.as_ref().or(change.before.as_ref());
    let Some(entry) = entry else { return };
    if *entry == Entry::Dir {
        return;
    }
    for suspect in find(&folded(path), entry) {
        let severity = softened(change, suspect.severity);
        let message = match change.after {
            Some(_) => suspect.reason.to_owned(),
            None => format!("was deleted: {}", suspect.reason),
        };
        report.path(path, severity, suspect.code, message);
    }
}

/// Which rows of the table folded names are, each code once.
pub(super) fn find(names: &[Cow<'_, str>], entry: &Entry) -> Vec<&'static Suspect> {
    let mut found: Vec<&'static Suspect> = Vec::new();
    INDEX.find(names, entry, |suspect| {
        if !found.iter().any(|known| known.code == suspect.code) {
            found.push(suspect);
        }
    });
    found
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use lazaret_transfer::{Digest, Entry, Mode};

    use super::SUSPECTS;
    use crate::Severity;

    const FILE: fn() -> Entry = || Entry::File {
        mode: Mode::Plain,
        size: 0,
        digest: Digest::of(b""),
    };

    /// Each pattern of a case alone, at the top and deep down, in capitals, through the whole
    /// of `judge`.
    #[track_caller]
    fn each_alone(case: &str) {
        let mut patterns = 0;
        for suspect in SUSPECTS.iter().filter(|suspect| suspect.case == case) {
            for pattern in suspect.patterns {
                patterns += 1;
                let path = pattern.replace("**", "some/thing").replace('*', "x");
                for path in [path.clone(), format!("deep/er/{path}"), path.to_uppercase()] {
                    let found = crate::judge::tests::codes_of_new(&path);
                    let expected = (suspect.severity, suspect.code);
                    assert!(found.contains(&expected), "{case} {path}: {found:?}");
                }
            }
        }
        assert!(patterns > 0, "{case} has no pattern");
    }

    #[test]
    fn sus_there_are_as_many_patterns_as_there_were() {
        let patterns = SUSPECTS.iter().map(|suspect| suspect.patterns.len());
        let patterns = patterns.sum::<usize>();
        assert!(patterns >= 190, "{patterns}");
    }

    #[test]
    fn sus_01_each_pattern_alone() {
        each_alone("SUS-01");
    }

    #[test]
    fn sus_02_each_pattern_alone() {
        each_alone("SUS-02");
    }

    #[test]
    fn sus_03_each_pattern_alone() {
        each_alone("SUS-03");
    }

    #[test]
    fn sus_04_each_pattern_alone() {
        each_alone("SUS-04");
    }

    #[test]
    fn sus_05_each_pattern_alone() {
        each_alone("SUS-05");
    }

    #[test]
    fn sus_06_each_pattern_alone() {
        each_alone("SUS-06");
    }

    #[test]
    fn sus_07_each_pattern_alone() {
        each_alone("SUS-07");
    }

    #[test]
    fn sus_08_each_pattern_alone() {
        each_alone("SUS-08");
    }

    #[test]
    fn sus_09_each_pattern_alone() {
        each_alone("SUS-09");
    }

    #[test]
    fn sus_10_each_pattern_alone() {
        each_alone("SUS-10");
    }

    #[test]
    fn sus_11_each_pattern_alone() {
        each_alone("SUS-11");
    }

    #[test]
    fn sus_12_each_pattern_alone() {
        each_alone("SUS-12");
    }

    #[test]
    fn sus_13_each_pattern_alone() {
        each_alone("SUS-13");
    }

    #[test]
    fn sus_14_each_pattern_alone() {
        each_alone("SUS-14");
    }

    #[test]
    fn sus_15_each_pattern_alone() {
        each_alone("SUS-15");
    }

    #[test]
    fn sus_16_each_pattern_alone() {
        each_alone("SUS-16");
    }

    #[test]
    fn sus_17_each_pattern_alone() {
        each_alone("SUS-17");
    }

    #[test]
    fn sus_18_each_pattern_alone() {
        each_alone("SUS-18");
    }

    #[test]
    fn sus_19_each_pattern_alone() {
        each_alone("SUS-19");
    }

    #[test]
    fn sus_20_each_pattern_alone() {
        each_alone("SUS-20");
    }

    #[test]
    fn sus_21_each_pattern_alone() {
        each_alone("SUS-21");
    }

    #[test]
    fn sus_22_each_pattern_alone() {
        each_alone("SUS-22");
    }

    #[test]
    fn sus_24_each_pattern_alone() {
        each_alone("SUS-24");
    }

    #[test]
    fn sus_25_each_pattern_alone() {
        each_alone("SUS-25");
    }

    #[test]
    fn sus_26_each_pattern_alone() {
        each_alone("SUS-26");
    }

    #[test]
    fn sus_27_each_pattern_alone() {
        each_alone("SUS-27");
    }

    #[test]
    fn sus_28_each_pattern_alone() {
        each_alone("SUS-28");
    }

    #[test]
    fn sus_29_each_pattern_alone() {
        each_alone("SUS-29");
    }

    #[test]
    fn sus_table_is_complete_and_well_formed() {
        let rows = SUSPECTS.iter().map(|suspect| suspect.case);
        // Rules of their own look into these.
        let cases: BTreeSet<_> = rows.chain(["SUS-23"]).collect();
        let expected: BTreeSet<_> = (1..=29).map(|n| format!("SUS-{n:02}")).collect();
        assert!(cases.iter().eq(expected.iter()), "{cases:?}");
        let mut seen = BTreeSet::new();
        for suspect in SUSPECTS {
            assert!(suspect.code.starts_with("suspect."));
            for pattern in suspect.patterns {
                assert!(seen.insert(pattern), "{pattern} twice");
                let folded: Vec<_> = pattern
                    .split('/')
                    .map(crate::rules::fold::skeleton)
                    .collect();
                assert_eq!(folded.join("/"), *pattern);
            }
        }
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
}
