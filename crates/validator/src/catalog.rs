//! `catalog`: every code that a finding can have, out of the tables that the rules work by.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::Severity;
use crate::codes::{self, Code};
use crate::rules::deletions::test_files::TESTS;
use crate::rules::git::attributes::ATTRIBUTES;
use crate::rules::git::repository::SENSITIVE;
use crate::rules::secrets::table::SECRETS;
use crate::rules::suspects::families::{FAMILIES, UNKNOWN};
use crate::rules::suspects::table::SUSPECTS;

/// One code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogEntry {
    /// The code, such as `suspect.vscode`. Stable.
    pub code: &'static str,
    /// How grave a finding with it can be, the gravest first.
    pub severities: Vec<Severity>,
    /// What is said, or why it matters: a sentence fragment.
    pub reason: &'static str,
    /// What is looked for, where a table says it: path patterns, or regular expressions.
    pub patterns: Vec<&'static str>,
    /// The cases of the threat model.
    pub cases: Vec<&'static str>,
}

/// Returns every code that a finding can have, in their order.
///
/// This is what the rules themselves read, so it can't say anything else than they do.
pub fn catalog() -> &'static [CatalogEntry] {
    &CATALOG
}

static CATALOG: LazyLock<Vec<CatalogEntry>> = LazyLock::new(|| {
    let mut entries: BTreeMap<&'static str, CatalogEntry> = BTreeMap::new();
    let mut add = |code: &Code, patterns: &[&'static str], cases: &[&'static str]| {
        let entry = entries.entry(code.id).or_insert_with(|| CatalogEntry {
            code: code.id,
            severities: Vec::new(),
            reason: code.reason,
            patterns: Vec::new(),
            cases: Vec::new(),
        });
        entry.severities.extend(code.severities);
        entry.severities.sort_by(|one, other| other.cmp(one));
        entry.severities.dedup();
        entry.patterns.extend(patterns);
        for case in cases {
            if !entry.cases.contains(case) {
                entry.cases.push(case);
            }
        }
    };
    for code in codes::JUDGE.iter().chain(codes::TRANSPORT) {
        add(code, &[], code.cases);
    }
    for row in SUSPECTS.iter().chain(FAMILIES).chain([&UNKNOWN]) {
        let patterns: Vec<&str> = row.patterns().collect();
        add(&row.code, &patterns, &[row.case]);
    }
    for (path, code, _) in SENSITIVE {
        add(code, &[path], &[]);
    }
    add(codes::DELETED_TEST, TESTS, &[]);
    for (attribute, _) in ATTRIBUTES {
        add(codes::GIT_ATTRIBUTES, &[attribute], &[]);
    }
    for row in SECRETS {
        add(&row.code, &[row.pattern], row.code.cases);
    }
    entries.into_values().collect()
});

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::catalog;

    #[test]
    fn every_code_is_well_formed_and_has_a_reason() {
        for entry in catalog() {
            let fine = |c: char| c.is_ascii_lowercase() || matches!(c, '.' | '_');
            assert!(entry.code.chars().all(fine), "{}", entry.code);
            assert!(!entry.severities.is_empty(), "{}", entry.code);
            let reason = entry.reason;
            assert!(
                !reason.is_empty() && !reason.ends_with('.'),
                "{}",
                entry.code
            );
        }
    }

    /// What the transfer can say: the literals in the functions that return codes.
    #[test]
    fn codes_of_the_transfer_are_known() {
        let sources = [
            include_str!("../../protocol/src/stream/error.rs"),
            include_str!("../../protocol/src/stream/names.rs"),
            include_str!("../../protocol/src/stream/decode_member.rs"),
            include_str!("../../transfer/src/volume_state/collect.rs"),
            include_str!("../../transfer/src/walk/untrusted.rs"),
            include_str!("../../tree/src/rel_path.rs"),
            include_str!("../../tree/src/tree.rs"),
            include_str!("../../transfer/src/unpack.rs"),
            include_str!("../../protocol/src/messages/survey.rs"),
            include_str!("../../protocol/src/records/codec.rs"),
        ];
        let codes: BTreeSet<&str> = catalog().iter().map(|entry| entry.code).collect();
        let mut found = 0;
        for source in sources {
            let product = source.split("#[cfg(test)]").next().unwrap();
            for literal in product.split('"').skip(1).step_by(2) {
                let word = |part: &str| {
                    !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
                };
                let code = literal.split_once('.');
                if code.is_some_and(|(one, two)| word(one) && word(two)) {
                    assert!(codes.contains(literal), "{literal}");
                    found += 1;
                }
            }
        }
        assert!(found > 60, "{found}");
    }
}
