//! Every row of the tables of suspect files, and what deletions weigh.

use std::collections::BTreeSet;

use lazaret_tree::{Digest, Entry, Mode, RelPath};

use super::{FAMILIES, Place, SUSPECTS, Suspect, UNKNOWN, all};
use crate::Severity;
use crate::judge::tests::codes_of_new;

const FILE: fn() -> Entry = || Entry::File {
    mode: Mode::Plain,
    size: 0,
    digest: Digest::of(b""),
};

fn rows() -> impl Iterator<Item = &'static Suspect> {
    SUSPECTS.iter().chain(FAMILIES).chain([&UNKNOWN])
}

/// What a path is tried with: the path itself, deep down unless the pattern is of the top,
/// and in capitals.
fn variants(path: &str) -> Vec<String> {
    match path.strip_prefix('/') {
        Some(path) => vec![path.to_owned(), path.to_uppercase()],
        None => vec![
            path.to_owned(),
            format!("deep/er/{path}"),
            path.to_uppercase(),
        ],
    }
}

/// Every row of both tables: each pattern alone, what it has to hit and what it has to miss,
/// through the whole of `judge`. The rows name their cases.
#[test]
fn sus_each_row_hits_and_misses() {
    let mut wrong = Vec::new();
    for row in rows() {
        assert!(
            !row.hit.is_empty() && !row.miss.is_empty(),
            "{}",
            row.code.id
        );
        for pattern in row.patterns() {
            let path = pattern.replace("**", "some/thing").replace('*', "x");
            for path in variants(&path) {
                let found = codes_of_new(&path);
                // Below the top all directories come with the file.
                let severity = match (row.place, path.contains('/')) {
                    (Place::KnownDirectory | Place::Top, true) => Severity::Note,
                    _ => row.severity,
                };
                // A family speaks only where no other rule does, and the first that fits.
                let is_said = match row.case {
                    "SUS-31" => found.iter().any(|(said, _)| *said >= severity),
                    _ => found.contains(&(severity, row.code.id)),
                };
                if !is_said {
                    wrong.push(format!("{} {path}: {found:?}", row.case));
                }
            }
        }
        for path in row.hit.split_ascii_whitespace() {
            let found = codes_of_new(path);
            let is_other = |(severity, _): &(Severity, _)| *severity >= row.severity;
            let is_said = found.contains(&(row.severity, row.code.id))
                || (row.case == "SUS-31" && found.iter().any(is_other));
            if !is_said {
                wrong.push(format!("{} {path}: {found:?}", row.case));
            }
        }
        for path in row.miss.split_ascii_whitespace() {
            let found = all(RelPath::new(path).unwrap(), &FILE());
            let is_hit = found.iter().any(|found| found.code.id == row.code.id);
            if is_hit {
                wrong.push(format!("{} {path} is {}", row.case, row.code.id));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn sus_there_are_as_many_patterns_as_there_were() {
    let patterns = SUSPECTS.iter().map(|row| row.patterns().count());
    let patterns = patterns.sum::<usize>();
    assert!(patterns >= 190, "{patterns}");
}

#[test]
fn sus_table_is_complete_and_well_formed() {
    let cases = SUSPECTS.iter().map(|suspect| suspect.case);
    // Rules of their own look into these.
    let cases: BTreeSet<_> = cases.chain(["SUS-23"]).collect();
    let expected: BTreeSet<_> = (1..=29).map(|n| format!("SUS-{n:02}")).collect();
    assert!(cases.iter().eq(expected.iter()), "{cases:?}");
    let (mut seen, mut twice) = (BTreeSet::new(), Vec::new());
    for suspect in rows() {
        assert!(suspect.code.id.starts_with("suspect."));
        for pattern in suspect.patterns() {
            if !seen.insert(pattern) {
                twice.push(pattern);
            }
            let folded: Vec<_> = pattern
                .split('/')
                .map(crate::rules::names::fold::skeleton)
                .collect();
            assert_eq!(folded.join("/"), *pattern);
        }
    }
    assert_eq!(twice, Vec::<&str>::new());
}

#[test]
fn sus_deletions_weigh_less() {
    let change = lazaret_tree::Change {
        path: ".envrc".parse().unwrap(),
        before: Some(FILE()),
        after: None,
    };
    let soften = |severity| super::weighed(&change, severity);
    assert_eq!(soften(Severity::Block), Severity::Warn);
    assert_eq!(soften(Severity::Warn), Severity::Note);
}
