//! What a person sees before deciding: paths, counts, findings, conflicts.

use std::io::{self, Write};

use lazaret_gate::case::Case;
use lazaret_gate::file_side::sum_lines;
use lazaret_gate::proposal::{ItemState, Origin, Proposal, ProposedChange, moved_words};
use lazaret_transfer::SkipReason;
use lazaret_tree::{Change, ChangeKind, RelPath, RelPathBuf, escape};
use lazaret_validator::{Finding, Outcome, Severity};

use super::moves::Moves;
use crate::ui::{TextTone, Ui, count, elide};

/// How many changed paths are listed before the rest is only counted (UI-05).
const MOST_PATHS: usize = 40;
/// How many paths that are left out are listed before they are only counted.
const MOST_LEFT: usize = 10;
/// The widest that a column of paths gets.
const MOST_COLUMNS: usize = 44;
/// The columns of a severity and what is behind it.
const SEVERITY: usize = 7;
/// Between the new place of what was moved and the old one.
const MOVED: &str = "  moved from ";

/// Writes the summary of a proposal, one line per path and per finding. Nothing that needs
/// a decision is ever left out: only unremarkable paths are counted instead of listed.
///
/// # Errors
/// The writer's.
pub fn write(out: &mut dyn Write, case: &Case, proposal: &Proposal, ui: &Ui) -> io::Result<()> {
    let open = open(proposal);
    let moves = Moves::of(&open);
    let is_left = |item: &&&ProposedChange| item.state == ItemState::LeftOut;
    let left = open.iter().filter(is_left).count();
    let is_listed = |item: &&&ProposedChange| left <= MOST_LEFT || !is_left(item);
    let shown = open.iter().filter(is_listed);
    let mut shown = shown.filter(|item| !moves.was_left(item.path()));
    for item in shown.by_ref().take(MOST_PATHS) {
        let line = match moves.old_place(item.path()) {
            Some(from) => moved_line(item, from, ui),
            None => line(item, ui),
        };
        writeln!(out, "{line}")?;
    }
    let rest = shown.count();
    if rest > 0 {
        let rest = count(rest as u64);
        writeln!(out, "  … and {rest} more")?;
    }
    if left > MOST_LEFT {
        writeln!(out, "  {} more are left out", count(left as u64))?;
    }
    write_without_paths(out, case, proposal, ui)
}

/// Writes how many of the changes at or below some paths there are, and what is said of them.
///
/// # Errors
/// The writer's.
pub fn write_part(
    out: &mut dyn Write,
    proposal: &Proposal,
    paths: &[RelPathBuf],
    ui: &Ui,
) -> io::Result<()> {
    let covers = |path: &RelPath| paths.iter().any(|above| path.starts_with(above));
    let items = open(proposal).into_iter();
    let items = items.filter(|item| covers(item.path()));
    writeln!(out, "{}", counts(items.map(|item| item.proposed())))?;
    let findings = proposal.findings().iter().map(|finding| &**finding);
    let findings = findings.filter(|finding| finding.subject.path().is_some_and(covers));
    write_findings(out, findings, ui)?;
    for (path, kind) in proposal.conflicts().filter(|(path, _)| covers(path)) {
        let word = ui.paint_result(TextTone::Error, "conflict");
        let path = escape(path.as_str().as_bytes());
        writeln!(out, "{word}  {path}  {kind}")?;
    }
    Ok(())
}

/// The summary without the list of paths, as one text.
pub fn without_paths(case: &Case, proposal: &Proposal, ui: &Ui) -> String {
    text(|out| write_without_paths(out, case, proposal, ui))
}

/// A vector takes everything, and what is written to it is text alone.
fn text(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> String {
    let mut bytes = Vec::new();
    drop(write(&mut bytes));
    String::from_utf8(bytes).unwrap_or_default()
}

/// Writes the summary without the list of paths.
///
/// # Errors
/// The writer's.
pub fn write_without_paths(
    out: &mut dyn Write,
    case: &Case,
    proposal: &Proposal,
    ui: &Ui,
) -> io::Result<()> {
    let open = open(proposal);
    let moves = Moves::of(&open);
    let changes = open.iter().filter(|item| !moves.concerns(item.path()));
    let changes = changes.map(|item| item.proposed());
    let moved = match moves.len() {
        0 => String::new(),
        moved => format!(", {} moved", count(moved as u64)),
    };
    let (counts, lines) = (counts(changes.clone()), lines(case, changes));
    writeln!(out, "{counts}{moved}{lines}")?;
    write_beside(out, case, proposal, ui)
}

/// Writes what is to be said beside changes, if there is none or they are counted already.
///
/// # Errors
/// The writer's.
pub fn write_beside(
    out: &mut dyn Write,
    case: &Case,
    proposal: &Proposal,
    ui: &Ui,
) -> io::Result<()> {
    let there = proposal.count(|item| !is_open(&item));
    if there > 0 {
        let there = count(there as u64);
        writeln!(out, "{there} more are in the workspace already")?;
    }
    write_findings(
        out,
        proposal.findings().iter().map(|finding| &**finding),
        ui,
    )?;
    let caches = case.caches.iter();
    for cache in caches.filter(|cache| cache.reason != SkipReason::GitIgnore) {
        let name = elide(&escape(&cache.name), ui.width().saturating_sub(30).max(20));
        let what = match cache.reason {
            SkipReason::Profile => "not compared",
            _ => "stays in the copy",
        };
        writeln!(out, "{what}: {name} ({})", cache.reason)?;
    }
    if !case.ignored.places.is_empty() {
        writeln!(out, "{}; --with-ignored takes them", case.ignored)?;
    }
    if let Some(commits) = case.commits() {
        writeln!(out, "stay in the copy: {commits}")?;
    }
    for (path, kind) in proposal.conflicts() {
        let word = ui.paint_result(TextTone::Error, "conflict");
        let path = escape(path.as_str().as_bytes());
        writeln!(out, "{word}  {path}  {kind}")?;
    }
    for (path, place) in proposal.moved() {
        let path = escape(path.as_str().as_bytes());
        writeln!(
            out,
            "stays     {path}  {} {}, which is not applied",
            moved_words(place),
            escape(place)
        )?;
    }
    if proposal.outcome() == Outcome::Rejected {
        writeln!(out, "The batch is rejected: nothing of it can be applied.")?;
    }
    Ok(())
}

/// The items that the workspace does not have already.
fn open(proposal: &Proposal) -> Vec<&ProposedChange> {
    proposal.items().iter().filter(is_open).collect()
}

/// Whether the workspace does not have it already.
fn is_open(item: &&ProposedChange) -> bool {
    item.state != ItemState::AlreadyApplied
}

/// One path, with what is special about it.
pub(super) fn line(item: &ProposedChange, ui: &Ui) -> String {
    let path = escape(item.path().as_str().as_bytes());
    let note = note(item);
    let room = room(note, ui);
    let sign = sign(item.proposed());
    let line = format!("  {sign} {}{note}", elide(&path, room));
    match sign {
        "+" => ui.paint_result(TextTone::Good, &line),
        "-" => ui.paint_result(TextTone::Removed, &line),
        _ => line,
    }
}

/// A new place, and the old one.
fn moved_line(item: &ProposedChange, from: &RelPath, ui: &Ui) -> String {
    let note = note(item);
    let [to, from] = [item.path(), from].map(|path| escape(path.as_str().as_bytes()));
    let room = half_room(note, ui);
    let [to, from] = [to, from].map(|path| elide(&path, room));
    format!("  > {to}{MOVED}{from}{note}")
}

/// How many columns there are for a path.
fn room(note: &str, ui: &Ui) -> usize {
    ui.width().saturating_sub(4 + note.len()).max(20)
}

/// How many columns there are for each of two paths.
fn half_room(note: &str, ui: &Ui) -> usize {
    (room(note, ui).saturating_sub(MOVED.len()) / 2).max(12)
}

/// Whether a summary does not say everything in full: paths are only counted, or names lose
/// their middle (UI-05).
pub fn is_partial(proposal: &Proposal, ui: &Ui) -> bool {
    let columns = |text: &str| text.chars().count();
    let open = open(proposal);
    let moves = Moves::of(&open);
    let is_cut = |item: &ProposedChange| {
        let path = escape(item.path().as_str().as_bytes());
        let room = match moves.concerns(item.path()) {
            true => half_room(note(item), ui),
            false => room(note(item), ui),
        };
        columns(&path) > room
    };
    let mut findings = proposal.findings().iter();
    open.len() > MOST_PATHS
        || proposal.items().iter().any(is_cut)
        || findings.any(|finding| columns(&finding.subject.to_string()) > MOST_COLUMNS)
}

/// What is special about one path.
pub(super) fn note(item: &ProposedChange) -> &'static str {
    match (&item.state, item.origin) {
        (ItemState::Applies, Origin::Session) => "",
        (ItemState::Applies, Origin::Merged) => "  merged with your edit",
        (ItemState::Applies, Origin::Hunks) => "  in part",
        (ItemState::Applies, Origin::SessionVersion) => "  in place of your edit",
        (ItemState::AlreadyApplied, _) => "  there already",
        (ItemState::LeftOut, _) => "  left out",
        (ItemState::Conflict(_), _) => "  conflict",
        (ItemState::Blocked(_), _) => "  blocked",
        (ItemState::Depends(_), _) => "  skipped: needs a change that is not applied",
        (ItemState::Moved(_), _) => "  skipped: its new place is not applied",
    }
}

/// Findings in columns: severity, code, path, reason.
pub(crate) fn findings<'a>(
    findings: impl IntoIterator<Item = &'a Finding> + Clone,
    ui: &Ui,
) -> String {
    text(|out| write_findings(out, findings, ui))
}

fn write_findings<'a>(
    out: &mut dyn Write,
    findings: impl IntoIterator<Item = &'a Finding> + Clone,
    ui: &Ui,
) -> io::Result<()> {
    let subject = |finding: &Finding| {
        let line = finding.line.map(|line| format!(":{line}"));
        let path = elide(&finding.subject.to_string(), MOST_COLUMNS);
        format!("{path}{}", line.unwrap_or_default())
    };
    let width = |length: &dyn Fn(&Finding) -> usize| {
        let lengths = findings.clone().into_iter().map(length);
        lengths.max().unwrap_or(0)
    };
    let codes = width(&|finding| finding.code.len());
    let paths = width(&|finding| subject(finding).chars().count());
    for finding in findings {
        let tone = match finding.severity {
            _ if finding.allowed => TextTone::Dim,
            Severity::Block => TextTone::Error,
            Severity::Warn => TextTone::Warning,
            Severity::Note => TextTone::Dim,
        };
        let severity = ui.paint_result(tone, &format!("{:<5}", finding.severity.as_str()));
        let allowed = if finding.allowed { " (allowed)" } else { "" };
        let line = format!(
            "{severity}  {:<codes$}  {:<paths$}  {}{allowed}",
            finding.code,
            subject(finding),
            finding.message
        );
        writeln!(out, "{}", ui.wrapped_result(&line, SEVERITY))?;
    }
    Ok(())
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
    let sum = sum_lines(case, changes);
    let (added, removed) = (count(sum.counts.added), count(sum.counts.removed));
    match (sum.counts.added + sum.counts.removed, sum.is_partial) {
        (0, false) => String::new(),
        (_, false) => format!(" (+{added} -{removed})"),
        (_, true) => format!(" (more than +{added} -{removed})"),
    }
}

pub(crate) fn sign(change: &Change) -> &'static str {
    match change.kind() {
        ChangeKind::Added => "+",
        ChangeKind::Deleted => "-",
        ChangeKind::Modified | ChangeKind::ModeOnly | ChangeKind::TypeChanged => "~",
    }
}
