//! Every case of the threat model has a test.
//!
//! The cases are the rows of the tables in `docs/design/threats.md`, whose last cell names the
//! tests: functions, scenarios of the matrix (`gate/discard`), or rows of the table of suspect
//! files (`SUS-04`).

use std::collections::{BTreeMap, BTreeSet};

use super::{Finding, Source};

/// The page that lists the cases.
pub(super) const PAGE: &str = "docs/design/threats.md";

/// How the last cell of a case begins that needs no test; the reason follows.
const NOT_BUILT: &str = "not built:";

/// Where the table of suspect files is, whose rows name their cases.
const RULES: &str = "crates/validator/src/rules/";

/// A row of the page.
#[derive(Debug)]
struct Case<'a> {
    line: usize,
    id: Id<'a>,
    /// The last cell.
    proof: &'a str,
}

/// `TAR-34`, or `P4`: a family and a number in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Id<'a> {
    family: &'a str,
    number: u32,
}

/// Names each case without a test, each test that does not exist, and each number that the
/// page leaves out.
pub(super) fn check(sources: &[Source], findings: &mut Vec<Finding>) {
    let mut report = |line: usize, message: String| {
        findings.push(Finding {
            path: PAGE.to_owned(),
            line,
            rule: "cases",
            message,
        });
    };
    let page = sources.iter().find(|source| source.path == PAGE);
    let cases: Vec<Case<'_>> = page.map_or_else(Vec::new, |page| cases(&page.text));
    if cases.is_empty() {
        report(0, "lists no case".to_owned());
    }
    let proofs = proofs(sources);
    for case in &cases {
        if let Some(message) = problem(case.proof, &proofs) {
            report(case.line, message);
        }
    }
    let mut families: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
    for Case { id, line, .. } in &cases {
        let numbers = families.entry(id.family).or_default();
        if !numbers.insert(id.number) {
            report(
                *line,
                format!("a second row of {} {}", id.family, id.number),
            );
        }
    }
    for (family, numbers) in families {
        let last = numbers.last().copied().unwrap_or_default();
        for number in (1..=last).filter(|number| !numbers.contains(number)) {
            report(0, format!("has no row of {family} {number}"));
        }
    }
}

/// Says what is wrong with the last cell of a row.
fn problem(proof: &str, proofs: &BTreeSet<&str>) -> Option<String> {
    if let Some(reason) = proof.strip_prefix(NOT_BUILT) {
        return reason
            .trim()
            .is_empty()
            .then(|| "`not built` needs a reason".to_owned());
    }
    let mut names = proof.split('`').skip(1).step_by(2).peekable();
    if names.peek().is_none() {
        return Some("names no test".to_owned());
    }
    let missing = names.find(|name| !proofs.contains(name))?;
    Some(format!("the test `{missing}` does not exist"))
}

/// Returns the rows whose first cell is an id.
fn cases(page: &str) -> Vec<Case<'_>> {
    let rows = page.lines().zip(1..).filter_map(|(row, line)| {
        let cells = row.strip_prefix('|')?.strip_suffix('|')?;
        let (id, rest) = cells.split_once('|')?;
        let id = Id::parse(id.trim())?;
        let proof = rest.rsplit_once('|').map_or("", |(_, proof)| proof.trim());
        Some(Case { line, id, proof })
    });
    rows.collect()
}

impl<'a> Id<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let start = text.find(|c: char| !c.is_ascii_uppercase())?;
        let (family, number) = text.split_at(start);
        let number = number.strip_prefix('-').unwrap_or(number).parse().ok()?;
        (!family.is_empty()).then_some(Self { family, number })
    }
}

/// Returns everything that a row may name.
fn proofs(sources: &[Source]) -> BTreeSet<&str> {
    let mut proofs = BTreeSet::new();
    for source in sources.iter().filter(|source| source.path.ends_with(".rs")) {
        let (path, text) = (source.path.as_str(), source.text.as_str());
        proofs.extend(functions(text));
        if path.starts_with("tests/matrix/") {
            proofs.extend(strings(text).filter(|text| text.contains('/')));
        }
        if path.starts_with(RULES) {
            proofs.extend(strings(text).filter(|text| Id::parse(text).is_some()));
        }
    }
    proofs
}

/// The names of functions, one per line that begins one, or that has a macro make one: a name
/// and what it is about.
fn functions(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let line = line.trim_start();
        let made = || line.strip_suffix(';')?.split_once(' ');
        let name = match line.rsplit_once("fn ") {
            Some((_, name)) => name,
            None => made().filter(|(_, about)| !about.contains(' '))?.0,
        };
        name.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .next()
    })
}

/// The contents of strings that end on their line; a comment may hold one, too.
fn strings(text: &str) -> impl Iterator<Item = &str> {
    let code = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    code.flat_map(|line| line.split('"').skip(1).step_by(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks a planted page beside a test function, a scenario and a row of suspect files.
    fn found(rows: &[&str]) -> Vec<String> {
        let files = [
            (PAGE, rows.join("\n")),
            (
                "crates/a/src/lib.rs",
                "fn tar_01_x() {}\n    con_05_weakened Seccomp;".to_owned(),
            ),
            (
                "tests/matrix/scenarios/gate.rs",
                "    \"gate/discard\" => discard;".to_owned(),
            ),
            (
                "crates/validator/src/rules/table.rs",
                "row(\"SUS-01\", \"suspect.x\")".to_owned(),
            ),
        ];
        let sources = files.map(|(path, text)| Source {
            path: path.to_owned(),
            text,
        });
        let mut findings = Vec::new();
        check(&sources, &mut findings);
        let finding = |finding: &Finding| format!("{}: {}", finding.line, finding.message);
        findings.iter().map(finding).collect()
    }

    #[test]
    fn rows_name_functions_scenarios_and_rows_of_suspect_files() {
        let rows = [
            "| id | threat | control | test |",
            "| --- | --- | --- | --- |",
            "| TAR-01 | x | B | `tar_01_x` |",
            "| TAR-02 | x | B | `gate/discard`, `con_05_weakened` |",
            "| SUS-01 | x | block | `SUS-01` |",
            "| P1 | x | y | not built: there is no such feature |",
        ];
        assert_eq!(found(&rows), [""; 0]);
    }

    #[test]
    fn a_row_without_a_test_is_found() {
        let rows = [
            "| TAR-01 | x | B | |",
            "| TAR-02 | x | B | `tar_02_x` |",
            "| TAR-03 | x | B | `tar_01_x`, `gate/gone` |",
            "| TAR-04 | `tar_01_x` | B | later |",
            "| TAR-05 | x | B | not built: |",
        ];
        assert_eq!(
            found(&rows),
            [
                "1: names no test",
                "2: the test `tar_02_x` does not exist",
                "3: the test `gate/gone` does not exist",
                "4: names no test",
                "5: `not built` needs a reason",
            ]
        );
    }

    #[test]
    fn a_missing_page_row_or_number_is_found() {
        assert_eq!(found(&[]), ["0: lists no case"]);
        let rows = [
            "| TAR-01 | x | B | `tar_01_x` |",
            "| TAR-01 | x | B | `tar_01_x` |",
            "| TAR-03 | x | B | `tar_01_x` |",
        ];
        assert_eq!(
            found(&rows),
            ["2: a second row of TAR 1", "0: has no row of TAR 2"]
        );
    }
}
