//! Shows commits at a terminal, one tip after the other.

use std::fmt::{self, Write as _};

use lazaret_commits::ObjectId;
use lazaret_commits::examine::{Examination, ExaminedTip};
use lazaret_gate::format::count;
use lazaret_tree::{Severity, escape};
use lazaret_validator::Finding;

use super::open::{OpenCommits, OpenTip, TipState};

/// How many commits of one tip are listed.
const MOST_COMMITS: usize = 20;
/// How many findings of one tip are listed.
const MOST_FINDINGS: usize = 20;

/// Words everything that was found.
pub(crate) fn listing(open: &OpenCommits) -> String {
    let mut text = String::new();
    // Writing into a text does not fail.
    let _done = write_all(&mut text, open);
    text.trim_end().to_owned()
}

fn write_all(out: &mut String, open: &OpenCommits) -> fmt::Result {
    for (tip, state) in open.examined() {
        write_tip(out, tip, state, &open.examination)?;
    }
    for stays in &open.stays {
        writeln!(out, "stays in the copy: {stays}")?;
    }
    Ok(())
}

fn write_tip(
    out: &mut String,
    OpenTip { tip, name }: &OpenTip,
    state: TipState<'_>,
    examination: &Examination,
) -> fmt::Result {
    let (kind, label) = (tip.source.kind(), tip.label());
    let place = tip
        .submodule()
        .map_or(String::new(), |name| format!(" in submodule {name}"));
    match state {
        TipState::Refused(refusal) => {
            writeln!(
                out,
                "{kind} {label}: refused [{}]: {refusal}",
                refusal.code()
            )
        }
        TipState::Good(examined) => {
            writeln!(out, "{kind} {label} -> {name}{place}")?;
            write_examined(out, examined, examination)
        }
        TipState::Blocked(examined) => {
            writeln!(out, "{kind} {label}: blocked")?;
            write_examined(out, examined, examination)
        }
    }
}

fn write_examined(out: &mut String, tip: &ExaminedTip, examination: &Examination) -> fmt::Result {
    let commits = match tip.commits.len() {
        1 => "1 commit".to_owned(),
        number => format!("{} commits", count(number as u64)),
    };
    let base = match tip.base {
        Some(base) if tip.commits.is_empty() => format!("{} itself", short(&base)),
        Some(base) => format!("on {}", short(&base)),
        None => "with a history of their own".to_owned(),
    };
    let files = match tip.changes.len() {
        1 => "1 change".to_owned(),
        number => format!("{} changes", count(number as u64)),
    };
    writeln!(out, "  {commits} {base}, {files}")?;
    for id in tip.commits.iter().rev().take(MOST_COMMITS) {
        let Some(commit) = examination.commit(id) else {
            continue;
        };
        let subject = escape(commit.commit.subject());
        let signed = match commit.commit.is_signed {
            true => "  (signed)",
            false => "",
        };
        writeln!(out, "  {}  {subject}{signed}", short(id))?;
    }
    if let Some(more) = tip.commits.len().checked_sub(MOST_COMMITS + 1) {
        writeln!(out, "  and {} more", count(more as u64 + 1))?;
    }
    let findings = findings(tip, examination);
    for (commit, finding) in findings.iter().take(MOST_FINDINGS) {
        let place = match commit {
            None => String::new(),
            Some(id) => format!("in {}: ", short(id)),
        };
        writeln!(out, "  {place}{finding}")?;
    }
    match findings.len().checked_sub(MOST_FINDINGS + 1) {
        None => Ok(()),
        Some(more) => writeln!(out, "  and {} more findings", count(more as u64 + 1)),
    }
}

/// What is said of a tip, and of its commits where the tip does not say the same; notes are left
/// out of these.
pub(crate) fn findings<'a>(
    tip: &'a ExaminedTip,
    examination: &'a Examination,
) -> Vec<(Option<ObjectId>, &'a Finding)> {
    let mut all: Vec<(Option<ObjectId>, &Finding)> =
        tip.findings.iter().map(|one| (None, &**one)).collect();
    for id in &tip.commits {
        let commit = examination.commit(id).into_iter();
        for finding in commit.flat_map(|commit| &commit.findings) {
            let is_said = tip
                .findings
                .iter()
                .any(|said| said.code == finding.code && said.subject == finding.subject);
            if finding.severity > Severity::Note && !is_said {
                all.push((Some(*id), finding));
            }
        }
    }
    all
}

pub(crate) fn short(id: &ObjectId) -> String {
    id.to_string().chars().take(10).collect()
}
