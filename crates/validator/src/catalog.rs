//! `catalog`: every code that a finding can have, out of the tables that the rules work by.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use lazaret_tree::{FindingCode, finding_code};

use crate::Severity;
use crate::codes;

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
    let mut add = |code: &FindingCode, patterns: &[&'static str], cases: &[&'static str]| {
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
    for code in codes::JUDGE.iter().chain(finding_code::TRANSPORT) {
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
}
