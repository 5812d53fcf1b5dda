//! Every case of the threat model has a test that names it.
//!
//! A case is named by the name of a test (`fn tar_34_35_cut_at_every_byte`), in which
//! numbers after a family belong to it; or, where containers are needed, by a scenario of
//! the matrix, which [`ELSEWHERE`] tells.

use std::collections::BTreeSet;

use super::{Finding, Source};

/// The families of cases whose ids name tests, and how many cases each has.
const FAMILIES: [(&str, u32); 11] = [
    ("tar", 52),
    ("git", 27),
    ("sus", 39),
    ("aud", 10),
    ("app", 30),
    ("ui", 7),
    ("flt", 31),
    ("con", 29),
    ("net", 26),
    ("sec", 1),
    ("p", 12),
];

/// Cases of something that lazaret does not do: it imports no commits, so there are no
/// bundles to be refused, and no history to be walked; no process joins a session by an exec;
/// and it ends no TLS of others, so what is asked of an allowed host stays a risk
/// (`docs/reference/network.md`).
const ABSENT: [(&str, std::ops::RangeInclusive<u32>); 3] =
    [("git", 15..=22), ("con", 27..=27), ("net", 12..=12)];

/// Cases and promises that tests and scenarios of other names prove.
const ELSEWHERE: [(&str, &str); 13] = [
    ("p-1", "gate/no-terminal-is-no-yes"),
    ("p-2", "app_02_swap_race_of_200_000_writes"),
    ("p-4", "app_10_killed_at_every_operation"),
    ("p-5", "app_06_edits_of_one_line_keep_both_versions"),
    ("p-6", "g5_a_blocked_file_takes_the_whole_word"),
    ("p-7", "gate/secrets-stay-out"),
    ("p-8", "net/allowlist"),
    ("p-10", "gate/rm-refuses-unseen-changes"),
    ("p-11", "sweep/orphans-go-live-and-foreign-stay"),
    ("flt-11", "fault/two-applies-at-once"),
    ("flt-14", "sweep/orphans-go-live-and-foreign-stay"),
    ("flt-17", "fault/output-flood"),
    ("flt-21", "fault/daemon-killed-while-running"),
];

/// The table of suspect files, whose rows name their cases, and the test that runs each row.
const SUSPECTS: &str = "crates/validator/src/rules/suspect_table.rs";
const ROWS_TEST: &str = "sus_each_row_hits_and_misses";

/// Names each case that has no test, and each proof that is not there.
pub(super) fn check(sources: &[Source], findings: &mut Vec<Finding>) {
    let mut report = |message: String| {
        findings.push(Finding {
            path: "xtask/src/tidy/cases.rs".to_owned(),
            line: 0,
            rule: "cases",
            message,
        });
    };
    let rust = || sources.iter().filter(|source| source.path.ends_with(".rs"));
    let functions = rust().flat_map(|source| functions(&source.text));
    let functions: BTreeSet<&str> = functions.collect();
    let rows = rust().filter(|source| source.path == SUSPECTS);
    let rows: Vec<&str> = rows.flat_map(|source| rows_of(&source.text)).collect();
    let scenarios: BTreeSet<&str> = rust()
        .filter(|source| source.path.starts_with("tests/matrix/"))
        .flat_map(|source| scenarios(&source.text))
        .collect();
    let mut named: BTreeSet<String> = functions.iter().flat_map(|name| cases(name)).collect();
    // One test runs every row of the table of suspect files.
    if functions.contains(ROWS_TEST) {
        let rows = rows.into_iter();
        named.extend(rows.flat_map(|case| cases(&case.to_lowercase().replace('-', "_"))));
    }
    for (case, proof) in ELSEWHERE {
        match functions.contains(proof) || scenarios.contains(proof) {
            true => drop(named.insert(case.to_owned())),
            false => report(format!(
                "{case} is to be proven by `{proof}`, which is not there"
            )),
        }
    }
    for (family, count) in FAMILIES {
        for number in 1..=count {
            let is_absent = |(other, range): &(&str, std::ops::RangeInclusive<u32>)| {
                *other == family && range.contains(&number)
            };
            let case = format!("{family}-{number}");
            if !ABSENT.iter().any(is_absent) && !named.contains(&case) {
                report(format!("no test names the case {case}"));
            }
        }
    }
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

/// The cases of the rows of a table: `SUS-04`.
fn rows_of(text: &str) -> impl Iterator<Item = &str> {
    let rows = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("row(\""));
    rows.filter_map(|row| row.split('"').next())
}

/// The names of scenarios.
fn scenarios(text: &str) -> impl Iterator<Item = &str> {
    let names = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("name: \""));
    names.filter_map(|name| name.strip_suffix("\","))
}

/// The cases that the name of a function holds: `tar_34_35_cut` names two, `p9_many` one.
fn cases(name: &str) -> Vec<String> {
    let (mut family, mut found) = (None, Vec::new());
    for word in name.split('_') {
        let promise = word
            .strip_prefix('p')
            .and_then(|number| number.parse().ok());
        match (word.parse::<u32>(), family, promise) {
            (Ok(number), Some(family), _) => found.push(format!("{family}-{number}")),
            (_, _, Some(number)) => found.push(format!("p-{}", u32::min(number, 99))),
            _ => {
                family = FAMILIES
                    .iter()
                    .map(|(name, _)| *name)
                    .find(|name| *name == word)
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_several_cases() {
        assert_eq!(cases("tar_34_35_cut_at_every_byte"), ["tar-34", "tar-35"]);
        assert_eq!(cases("aud_09_ui_05_x"), ["aud-9", "ui-5"]);
        assert_eq!(cases("p9_many_of_200_000"), ["p-9"]);
        assert_eq!(cases("swap_race_of_200_000_writes"), Vec::<String>::new());
    }

    #[test]
    fn a_macro_makes_tests_too() {
        let found: Vec<_> = functions("fn a() {\n    con_05_weakened Seccomp;\n}").collect();
        assert_eq!(found, ["a", "con_05_weakened"]);
    }

    #[test]
    fn rows_name_cases_where_a_test_runs_them() {
        let all = |test: &str| {
            let row = "    row(\"SUS-01\", \"suspect.x\", Block, \"x\", \"y\"),".to_owned();
            let sources = [(SUSPECTS, row), ("tests/a.rs", test.to_owned())];
            let sources = sources.map(|(path, text)| Source {
                path: path.to_owned(),
                text,
            });
            let mut findings = Vec::new();
            check(&sources, &mut findings);
            findings.len()
        };
        assert_eq!(all(&format!("fn {ROWS_TEST}() {{}}")), all("") - 1);
    }

    #[test]
    fn a_case_without_a_test_is_found() {
        let all = |text: &str| {
            let source = Source {
                path: "tests/matrix/a.rs".to_owned(),
                text: text.to_owned(),
            };
            let mut findings = Vec::new();
            check(&[source], &mut findings);
            findings.len()
        };
        let none = all("");
        assert_eq!(all("fn tar_01_x() {}"), none - 1);
        assert_eq!(all("// tar_01_x"), none);
        // One proof that is there, and the case that it is of.
        assert_eq!(all("    name: \"net/allowlist\","), none - 2);
    }
}
