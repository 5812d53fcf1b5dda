//! What the rules see and what they stop: hostile paths that get a warning, and real commits
//! that `--apply auto` would leave to a person.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use xshell::{Shell, cmd};

use xtask::project;

/// The two files of a corpus.
const FILES: [&str; 2] = ["hostile-paths.tsv", "real-commits.jsonl"];
/// What is looked for beside the repository when no directory is named.
const USUAL: &str = "../shared/corpus";

/// The classes of hostile paths, and what is aimed at where one is new and where it changed,
/// in percent.
const CLASSES: [(&str, &str, Option<f64>, Option<f64>); 3] = [
    ("A", "takes effect by itself", Some(98.0), Some(95.0)),
    ("I", "steers an agent", Some(95.0), Some(95.0)),
    ("H", "runs by habit", Some(80.0), None),
];
/// The most real commits to be stopped, in percent; and without changes of CI files that were
/// there before.
const STOPPED: (f64, f64) = (15.0, 8.0);
/// How many rules are named.
const NAMED: usize = 12;

/// How the figures are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Print {
    /// Beside their aims.
    Table,
    /// The same, with each path.
    List,
    /// As the example gives them.
    Json,
}

/// Measures the product's own judge, by the example of its crate.
pub(super) fn run(sh: &Shell, directory: Option<&Path>, print: Print) -> Result<()> {
    let directory = directory_of(directory)?;
    let said = cmd!(
        sh,
        "cargo run --quiet --release --package lazaret-validator --example corpus -- {directory}"
    )
    .quiet()
    .read()?;
    let last = said.lines().last().unwrap_or_default();
    let figures: Value = serde_json::from_str(last).context("the figures of the example")?;
    match print {
        Print::Json => println!("{figures:#}"),
        Print::Table => println!("{}", table(&figures)),
        Print::List => println!("{}\n{}", list(&figures), table(&figures)),
    }
    Ok(())
}

/// Returns the directory of the corpus: as typed from where the caller stands.
fn directory_of(named: Option<&Path>) -> Result<PathBuf> {
    let directory = match named {
        Some(named) => std::env::current_dir()?.join(named),
        None => project::root().join(USUAL),
    };
    for file in FILES {
        if !directory.join(file).is_file() {
            bail!(
                "{} is not there: name a directory, as in `cargo xtask bench judge DIR`. \
                 {} has lines of class (A, H or I), group, tool and path, separated by tabs; {} \
                 has lines of {{\"repo\", \"commit\", \"changes\": [[status, old mode, new mode, path], …]}}",
                directory.join(file).display(),
                FILES[0],
                FILES[1]
            );
        }
    }
    Ok(directory)
}

fn table(figures: &Value) -> String {
    let mut lines =
        vec!["hostile paths with at least a warning       new    aim   changed    aim".to_owned()];
    for (class, what, new_aim, changed_aim) in CLASSES {
        let figures = &figures["hostile"][class];
        let new = &figures["new"];
        let all = new["all"].as_u64().unwrap_or_default();
        if all == 0 {
            continue;
        }
        lines.push(format!(
            "  {class}  {what:<24} {all:>5} paths  {:>6} {:>6}  {:>8} {:>6}",
            percent(new),
            aim(new_aim),
            percent(&figures["changed"]),
            aim(changed_aim)
        ));
    }
    let commits = &figures["commits"];
    let all = commits["all"].as_u64().unwrap_or_default();
    let aside = &commits["ci_aside"];
    lines.push(String::new());
    lines.push(format!(
        "real commits that `--apply auto` stops, of {all} (paths, status and modes, no contents)"
    ));
    lines.push(format!(
        "  every change                       {:>6}  at most {} %",
        percent(commits),
        STOPPED.0
    ));
    lines.push(format!(
        "  changes of existing CI files aside {:>6}  at most {} %",
        percent(aside),
        STOPPED.1
    ));
    lines.push(String::new());
    lines.push("the rules that stop most           commits  alone".to_owned());
    let mut codes: Vec<(u64, u64, &str)> = commits["codes"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|row| {
            let count = |key: &str| row[key].as_u64().unwrap_or_default();
            let code = row["code"].as_str().unwrap_or_default();
            (count("commits"), count("alone"), code)
        })
        .collect();
    codes.sort_unstable_by(|one, other| other.cmp(one));
    for (said, alone, code) in codes.into_iter().take(NAMED) {
        lines.push(format!("  {code:<32} {said:>7} {alone:>6}"));
    }
    lines.join("\n")
}

fn percent(figures: &Value) -> String {
    format!("{:.1} %", figures["percent"].as_f64().unwrap_or_default())
}

fn aim(aim: Option<f64>) -> String {
    aim.map_or_else(String::new, |aim| format!("≥ {aim}"))
}

/// Every path that is missed, and every one that stops a commit.
fn list(figures: &Value) -> String {
    let mut lines = Vec::new();
    for (class, ..) in CLASSES {
        for place in ["new", "changed"] {
            let missed = figures["hostile"][class][place]["missed"].as_array();
            for path in missed.into_iter().flatten() {
                let path = path.as_str().unwrap_or_default();
                lines.push(format!("missed {class} {place} {path}"));
            }
        }
    }
    let stopping = figures["commits"]["paths"].as_array();
    for row in stopping.into_iter().flatten() {
        let field = |at: usize| row[at].as_str().unwrap_or_default();
        let (repo, commit) = (field(0), field(1).get(..10).unwrap_or_default());
        lines.push(format!("stops {repo} {commit} {} {}", field(2), field(3)));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{directory_of, list, table};

    #[test]
    fn figures_stand_beside_their_aims() {
        let share = |percent: f64, missed: &[&str]| json!({ "all": 2, "percent": percent, "missed": missed });
        let figures = json!({
            "hostile": { "A": { "new": share(50.0, &["x"]), "changed": share(100.0, &[]) } },
            "commits": {
                "all": 4, "percent": 25.0, "ci_aside": { "percent": 0.0 },
                "codes": [{ "code": "suspect.ci", "commits": 1, "alone": 1 }],
                "paths": [["a/b", "0123456789abcdef", "suspect.ci", ".github/workflows/x.yml"]],
            },
        });
        let said = table(&figures);
        for part in [
            "50.0 %   ≥ 98",
            "100.0 %   ≥ 95",
            "25.0 %  at most 15 %",
            "suspect.ci",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
        let said = list(&figures);
        assert_eq!(
            said,
            "missed A new x\nstops a/b 0123456789 suspect.ci .github/workflows/x.yml"
        );
    }

    #[test]
    fn a_directory_without_a_corpus_is_refused_with_what_to_give() {
        let error = directory_of(Some("/nonexistent".as_ref())).unwrap_err();
        assert!(error.to_string().contains("cargo xtask bench judge DIR"));
    }
}
