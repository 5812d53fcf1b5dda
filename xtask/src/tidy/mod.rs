//! `cargo xtask tidy`: the rules of this repository that no compiler checks.
//!
//! Each finding names file, line and rule. The same checks run as a test of this crate.

mod arrows;
mod cases;
mod cycles;
mod features;
mod imports;
mod links;
mod manifests;
mod pages;
mod text;
mod tokens;
mod words;

use std::fmt;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use xshell::{Shell, cmd};

use crate::flags;
use crate::project;

/// Where a rule is broken.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    path: String,
    /// Counted from 1; 0 when the whole file is meant.
    line: usize,
    rule: &'static str,
    message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{}: {} [{}]",
            self.path, self.line, self.message, self.rule
        )
    }
}

/// A text file of the repository.
#[derive(Clone, Debug)]
struct Source {
    /// Relative to the repository.
    path: String,
    text: String,
}

impl flags::Tidy {
    pub(crate) fn run(self, sh: &Shell) -> Result<()> {
        if self.cycles {
            cycles::print(&sources(sh)?);
            return Ok(());
        }
        let findings = check(sh)?;
        for finding in &findings {
            println!("{finding}");
        }
        match findings.len() {
            0 => Ok(()),
            count => bail!("tidy: {count} finding(s)"),
        }
    }
}

/// All findings, sorted.
fn check(sh: &Shell) -> Result<Vec<Finding>> {
    let sources = sources(sh)?;
    let mut findings = Vec::new();
    for source in &sources {
        text::check(source, &mut findings);
        words::check(source, &mut findings);
        manifests::check(source, &mut findings);
    }
    text::check_forgotten_modules(&sources, &mut findings);
    text::check_changelog(&sources, &mut findings);
    cases::check(&sources, &mut findings);
    cycles::check(&sources, &mut findings);
    links::check(&sources, &mut findings);
    pages::check(&sources, &mut findings);
    arrows::check(sh, &sources, &mut findings)?;
    features::check(sh, &mut findings)?;
    findings.sort();
    Ok(findings)
}

/// Every file that git knows or would add. Binary files are left out.
fn sources(sh: &Shell) -> Result<Vec<Source>> {
    let list = cmd!(sh, "git ls-files --cached --others --exclude-standard -z")
        .quiet()
        .read()?;
    let mut sources = Vec::new();
    for path in list.split_terminator('\0') {
        let file: PathBuf = project::root().join(path);
        if !file.is_file() {
            continue;
        }
        let bytes = std::fs::read(&file).with_context(|| file.display().to_string())?;
        if let Ok(text) = String::from_utf8(bytes) {
            sources.push(Source {
                path: path.to_owned(),
                text,
            });
        }
    }
    Ok(sources)
}

#[test]
fn tidy() {
    let sh = Shell::new().expect("a shell");
    sh.change_dir(project::root());
    let findings = check(&sh).expect("the repository can be read");
    let lines: Vec<String> = findings.iter().map(Finding::to_string).collect();
    assert!(lines.is_empty(), "\n{}\n", lines.join("\n"));
}
