//! One fact, one warning (SUS-39).
//!
//! Several rules may see the same: a new program is executable, names an interpreter, and has
//! no ending. The rule that knows most of it warns; the others are for the record.

use std::sync::Arc;

use crate::rules::suspects::check::is_family;
use crate::{Finding, Findings, Severity, Subject};

/// Codes that say the same of one path, the one that says most first. A `.` at the end stands
/// for every code that begins so.
const FACTS: &[&[&str]] = &[
    &[
        "content.machine_code",
        "suspect.opaque",
        "mode.executable",
        "content.shebang",
    ],
    &["secret.", "suspect.secret"],
];

/// Turns what says a fact again into a note, and drops what a family says beside others.
/// `findings` are in their order, and so they stay; what becomes a note is shared with `known`.
pub(crate) fn one_each(findings: &mut Findings, known: &[Arc<Finding>]) {
    let again: Vec<(usize, Again)> = findings
        .iter()
        .enumerate()
        .take_while(|(_, finding)| finding.severity > Severity::Note)
        .filter_map(|(at, finding)| Some((at, again(finding, findings)?)))
        .collect();
    if again.is_empty() {
        return;
    }
    let mut left = again.into_iter().peekable();
    let mut at = 0;
    findings.retain_mut(|finding| {
        let how = left.next_if(|(next, _)| *next == at);
        at += 1;
        match how {
            Some((_, Again::Nothing)) => false,
            Some((_, Again::Note)) => {
                let mut note = Finding::clone(finding);
                note.severity = Severity::Note;
                *finding = note.shared(known);
                true
            }
            None => true,
        }
    });
    Finding::put_in_order(findings);
}

/// What becomes of a finding that says a fact again.
#[derive(Debug, Clone, Copy)]
enum Again {
    Note,
    Nothing,
}

/// Returns what becomes of a finding, given all of them.
fn again(finding: &Finding, all: &[Arc<Finding>]) -> Option<Again> {
    let is_family_of = is_family(finding.code);
    let is_second = finding.severity == Severity::Warn
        && FACTS.iter().any(|fact| place(fact, finding.code) > Some(0));
    if !is_family_of && !is_second {
        return None;
    }
    let mut codes = [Severity::Block, Severity::Warn]
        .into_iter()
        .flat_map(|severity| about(&finding.subject, severity, all))
        .map(|other| other.code);
    if is_family_of {
        return codes.any(|code| !is_family(code)).then_some(Again::Nothing);
    }
    let says_more = |code| {
        FACTS.iter().any(|fact| {
            let own = place(fact, finding.code);
            place(fact, code).is_some_and(|other| Some(other) < own)
        })
    };
    codes.any(says_more).then_some(Again::Note)
}

/// Returns where in a fact a code is.
fn place(fact: &[&str], code: &str) -> Option<usize> {
    fact.iter().position(|known| match known.strip_suffix('.') {
        Some(_) => code.starts_with(known),
        None => code == *known,
    })
}

/// The findings of one severity about one subject.
fn about<'a>(
    subject: &'a Subject,
    severity: Severity,
    all: &'a [Arc<Finding>],
) -> impl Iterator<Item = &'a Finding> {
    let from = all.partition_point(|other| {
        other.severity > severity || (other.severity == severity && other.subject < *subject)
    });
    let rest = all.get(from..).unwrap_or_default().iter();
    let about =
        rest.take_while(move |other| other.severity == severity && other.subject == *subject);
    about.map(|other| &**other)
}
