//! One fact, one warning (SUS-39).
//!
//! Several rules may see the same: a new program is executable, names an interpreter, and has
//! no ending. The rule that knows most of it warns; the others are for the record.

use std::collections::BTreeMap;
use std::sync::Arc;

use lazaret_transfer::RelPathBuf;

use super::suspects::is_family;
use crate::{Finding, Findings, Severity};

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
pub(crate) fn one_each(findings: &mut Findings) {
    let mut said: BTreeMap<RelPathBuf, Vec<&'static str>> = BTreeMap::new();
    for finding in findings.iter() {
        if let Some(path) = finding.subject.path()
            && finding.severity > Severity::Note
        {
            said.entry(path.to_owned()).or_default().push(finding.code);
        }
    }
    said.retain(|_, codes| codes.iter().any(|code| *code != codes[0]));
    if said.is_empty() {
        return;
    }
    findings.retain_mut(|finding| {
        let codes = finding.subject.path().and_then(|path| said.get(path));
        let Some(codes) = codes else { return true };
        if is_family(finding.code) {
            return codes.iter().all(|code| is_family(code));
        }
        if finding.severity == Severity::Warn && is_said(finding, codes) {
            Arc::make_mut(finding).severity = Severity::Note;
        }
        true
    });
}

/// Whether one of `codes` says more of the fact that a finding is about.
fn is_said(finding: &Finding, codes: &[&'static str]) -> bool {
    FACTS.iter().any(|fact| {
        let place = |code: &str| {
            fact.iter().position(|known| match known.strip_suffix('.') {
                Some(_) => code.starts_with(known),
                None => code == *known,
            })
        };
        let Some(own) = place(finding.code) else {
            return false;
        };
        codes
            .iter()
            .any(|code| place(code).is_some_and(|other| other < own))
    })
}
