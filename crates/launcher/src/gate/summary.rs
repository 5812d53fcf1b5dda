//! What a person sees before deciding: paths, counts, findings, conflicts.

use lazaret_transfer::{Change, ChangeKind, SkipReason, escape};
use lazaret_validator::{Finding, Outcome, Severity};

use super::case::Case;
use super::counts::{self, More};
use super::proposal::{Item, ItemState, Origin, Proposal};
use crate::ui::{Tone, Ui, count, elide};

/// How many changed paths are listed before the rest is only counted (UI-05).
const MOST_PATHS: usize = 40;
/// The widest that a column of paths gets.
const MOST_COLUMNS: usize = 44;

/// Writes the summary of a proposal, one line per path and per finding. Nothing that needs
/// a decision is ever left out: only unremarkable paths are counted instead of listed.
pub fn render(case: &Case, proposal: &Proposal, ui: &Ui) -> String {
    let mut text = String::new();
    let already = |item: &&Item| item.state == ItemState::Already;
    let open: Vec<&Item> = proposal
        .items()
        .iter()
        .filter(|item| !already(item))
        .collect();
    for item in open.iter().take(MOST_PATHS) {
        text.push_str(&line(item, ui));
        text.push('\n');
    }
    if open.len() > MOST_PATHS {
        let rest = count((open.len() - MOST_PATHS) as u64);
        text.push_str(&format!("  … and {rest} more (see `lazaret diff`)\n"));
    }
    text + &without_paths(case, proposal, ui)
}

/// Writes the summary without the list of paths.
pub fn without_paths(case: &Case, proposal: &Proposal, ui: &Ui) -> String {
    let already = |item: &&Item| item.state == ItemState::Already;
    let open = proposal.items().iter().filter(|item| !already(item));
    let changes = open.map(|item| &item.proposed);
    let mut text = format!("{}{}\n", counts(changes.clone()), lines(case, changes));
    let there = proposal.items().iter().filter(already).count();
    if there > 0 {
        let there = count(there as u64);
        text.push_str(&format!("{there} more are in the workspace already\n"));
    }
    text.push_str(&findings(proposal.findings(), ui));
    for cache in &case.caches {
        let name = elide(&escape(&cache.name), ui.width().saturating_sub(30).max(20));
        let what = match cache.reason {
            SkipReason::Profile => "not compared",
            _ => "stays in the copy",
        };
        text.push_str(&format!("{what}: {name} ({})\n", cache.reason));
    }
    for (path, kind) in proposal.conflicts() {
        let word = ui.paint_result(Tone::Error, "conflict");
        let path = escape(path.as_str().as_bytes());
        text.push_str(&format!("{word}  {path}  {kind}\n"));
    }
    if proposal.outcome() == Outcome::Rejected {
        text.push_str("The batch is rejected: nothing of it can be applied.\n");
    }
    text
}

/// One path, with what is special about it.
pub(super) fn line(item: &Item, ui: &Ui) -> String {
    let path = escape(item.path().as_str().as_bytes());
    let note = match (&item.state, item.origin) {
        (ItemState::Applies, Origin::Session) => "",
        (ItemState::Applies, Origin::Merged) => "  merged with your edit",
        (ItemState::Applies, Origin::Hunks) => "  in part",
        (ItemState::Applies, Origin::Theirs) => "  in place of your edit",
        (ItemState::Already, _) => "  there already",
        (ItemState::LeftOut, _) => "  left out",
        (ItemState::Conflict(_), _) => "  conflict",
        (ItemState::Blocked(_), _) => "  blocked",
        (ItemState::Depends(_), _) => "  not without what is held back",
    };
    let room = ui.width().saturating_sub(4 + note.len()).max(20);
    let sign = sign(&item.proposed);
    let line = format!("  {sign} {}{note}", elide(&path, room));
    match sign {
        "+" => ui.paint_result(Tone::Good, &line),
        "-" => ui.paint_result(Tone::Removed, &line),
        _ => line,
    }
}

/// Findings in columns: severity, code, path, reason.
pub(crate) fn findings<'a>(
    findings: impl IntoIterator<Item = &'a Finding> + Clone,
    ui: &Ui,
) -> String {
    let subject = |finding: &Finding| {
        let line = finding.line.map(|line| format!(":{line}"));
        let path = elide(&finding.subject.to_string(), MOST_COLUMNS);
        format!("{path}{}", line.unwrap_or_default())
    };
    let width = |length: fn(&Finding) -> usize| {
        let lengths = findings.clone().into_iter().map(length);
        lengths.max().unwrap_or(0)
    };
    let codes = width(|finding| finding.code.len());
    let subjects = findings.clone().into_iter();
    let paths = subjects.map(|finding| subject(finding).chars().count());
    let paths = paths.max().unwrap_or(0);
    let mut text = String::new();
    for finding in findings {
        let tone = match finding.severity {
            _ if finding.allowed => Tone::Dim,
            Severity::Block => Tone::Error,
            Severity::Warn => Tone::Warning,
            Severity::Note => Tone::Dim,
        };
        let severity = ui.paint_result(tone, &format!("{:<5}", finding.severity.as_str()));
        let allowed = if finding.allowed { " (allowed)" } else { "" };
        text.push_str(&format!(
            "{severity}  {:<codes$}  {:<paths$}  {}{allowed}\n",
            finding.code,
            subject(finding),
            finding.message
        ));
    }
    text
}

/// `12 modified, 3 added, 1 deleted`.
pub fn counts<'a>(changes: impl IntoIterator<Item = &'a Change> + Clone) -> String {
    let number = |sign_wanted| {
        let changes = changes.clone().into_iter();
        count(changes.filter(|change| sign(change) == sign_wanted).count() as u64)
    };
    format!(
        "{} modified, {} added, {} deleted",
        number("~"),
        number("+"),
        number("-")
    )
}

/// ` (+412 -96)`; nothing when no line of text changed.
fn lines<'a>(case: &Case, changes: impl IntoIterator<Item = &'a Change>) -> String {
    let lines = counts::lines(case, changes);
    let (added, removed) = (count(lines.added), count(lines.removed));
    match (lines.added + lines.removed, lines.more) {
        (0, More::No) => String::new(),
        (_, More::No) => format!(" (+{added} -{removed})"),
        (_, More::Yes) => format!(" (more than +{added} -{removed})"),
    }
}

fn sign(change: &Change) -> &'static str {
    match change.kind() {
        ChangeKind::Added => "+",
        ChangeKind::Deleted => "-",
        ChangeKind::Modified | ChangeKind::ModeOnly | ChangeKind::TypeChanged => "~",
    }
}
