//! What a person sees before deciding: counts, findings, conflicts.

use lazaret_transfer::{Change, Entry, escape};
use lazaret_validator::{Outcome, Severity};

use super::case::Case;
use super::proposal::Proposal;
use crate::ui::{Tone, Ui, count, elide};

/// How many changed paths are listed before the rest is only counted (UI-05).
const MOST_PATHS: usize = 40;

/// Writes the summary of a case, one line per path and per finding. Nothing that needs a
/// decision is ever left out: only unremarkable paths are counted instead of listed.
pub fn render(case: &Case, proposal: &Proposal, ui: &Ui) -> String {
    let mut text = String::new();
    let changes = &case.changes;
    for change in changes.iter().take(MOST_PATHS) {
        let line = format!(
            "  {} {}",
            sign(change),
            escape(change.path.as_str().as_bytes())
        );
        let line = elide(&line, ui.width());
        let line = match sign(change) {
            "+" => ui.paint_result(Tone::Good, &line),
            "-" => ui.paint_result(Tone::Removed, &line),
            _ => line,
        };
        text.push_str(&line);
        text.push('\n');
    }
    if changes.len() > MOST_PATHS {
        let rest = count((changes.len() - MOST_PATHS) as u64);
        text.push_str(&format!("  … and {rest} more (see `lazaret diff`)\n"));
    }
    text + &without_paths(case, proposal, ui)
}

/// Writes the summary without the list of paths.
pub fn without_paths(case: &Case, proposal: &Proposal, ui: &Ui) -> String {
    let mut text = format!("{}\n", counts(&case.changes));
    let findings = proposal.findings();
    let codes = findings
        .iter()
        .map(|finding| finding.code.len())
        .max()
        .unwrap_or(0);
    for finding in findings {
        let tone = match finding.severity {
            Severity::Block => Tone::Error,
            Severity::Warn => Tone::Warning,
            Severity::Note => Tone::Dim,
        };
        let severity = ui.paint_result(tone, &format!("{:<5}", finding.severity.as_str()));
        text.push_str(&format!(
            "{severity}  {:<codes$}  {}  {}\n",
            finding.code,
            elide(
                &finding.subject.to_string(),
                ui.width().saturating_sub(30).max(20)
            ),
            finding.message
        ));
    }
    for cache in &case.caches {
        let name = elide(&escape(&cache.name), ui.width().saturating_sub(30).max(20));
        text.push_str(&format!("stays in the copy: {name} ({})\n", cache.reason));
    }
    for (path, kind) in proposal.conflicts() {
        let word = ui.paint_result(Tone::Error, "conflict");
        text.push_str(&format!(
            "{word}  {}  {kind}\n",
            escape(path.as_str().as_bytes()),
        ));
    }
    if proposal.outcome() == Outcome::Rejected {
        text.push_str("The batch is rejected: nothing of it can be applied.\n");
    }
    text
}

/// `12 modified, 3 added, 1 deleted`.
pub fn counts(changes: &[Change]) -> String {
    let number = |sign_wanted| {
        let matching = changes.iter().filter(|change| sign(change) == sign_wanted);
        count(matching.count() as u64)
    };
    format!(
        "{} modified, {} added, {} deleted",
        number("~"),
        number("+"),
        number("-")
    )
}

fn sign(change: &Change) -> &'static str {
    match (&change.before, &change.after) {
        (None, _) => "+",
        (_, None) => "-",
        (Some(Entry::Dir | Entry::File { .. } | Entry::Symlink { .. }), Some(_)) => "~",
    }
}
