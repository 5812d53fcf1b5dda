//! `judge`: the rules over one batch.

use std::collections::HashMap;
use std::fmt;

use lazaret_transfer::{Change, ChangeSet, Note, Refusal, RelPath, Tree, escape, is_invisible};

use crate::report::Report;
use crate::rules::{Context, Opened, RULES, Rule};
use crate::verdict::outcome_of;
use crate::{
    Contents, Finding, Outcome, Policy, Severity, Subject, Validated, Verdict, WithheldReason,
    withhold,
};

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
    /// What was dropped or made safe on the way.
    pub notes: &'a [Note],
    /// The quarantined contents: of every file that is new or whose contents
    /// changed, except below `.git`. It may know the contents from before as well; rules
    /// that compare are stricter where it does not.
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
/// Changes with a block finding that the user did not allow are withheld with whatever
/// depends on them; the others may be applied. A limit or a redirected `.git` rejects
/// everything.
pub fn judge(input: JudgeInput<'_>, policy: &Policy) -> Verdict {
    let JudgeInput {
        baseline,
        collected,
        changes,
        refusals,
        notes,
        contents,
    } = input;
    let mut report = Report::default();
    carried_facts(&mut report, &changes, refusals, notes);
    let context = Context {
        baseline,
        collected,
        changes: &changes,
        contents,
        policy,
    };
    for (_, rule) in RULES {
        match rule {
            Rule::Batch(check) => check(&context, &mut report),
            Rule::Change(check) => {
                for change in &changes {
                    check(&context, change, &mut report);
                }
            }
            Rule::Contents(_) => {}
        }
    }
    // One file after the other, all rules on each, so that only one is in memory.
    for change in &changes {
        if context.is_git(&change.path) {
            continue;
        }
        let Some(opened) = Opened::new(change, contents) else {
            continue;
        };
        for (_, rule) in RULES {
            if let Rule::Contents(check) = rule {
                check(&context, &opened, &mut report);
            }
        }
    }
    let Report {
        mut findings,
        rejected,
        silent,
    } = report;
    findings.sort_by(|a, b| {
        let grave = b.severity.cmp(&a.severity);
        grave
            .then_with(|| a.subject.cmp(&b.subject))
            .then_with(|| a.line.cmp(&b.line))
            .then_with(|| a.code.cmp(b.code))
    });
    findings.dedup();
    for finding in &mut findings {
        if let (Severity::Block, Some(path)) = (finding.severity, finding.subject.path())
            && let Some(change) = changes.get(path)
        {
            finding.allowed = policy.allows(change, finding.code);
        }
    }
    if rejected {
        return Verdict {
            findings,
            outcome: Outcome::Rejected,
            validated: None,
        };
    }
    let mut codes: HashMap<&RelPath, Vec<&'static str>> = HashMap::new();
    for finding in &findings {
        if let (Severity::Block, false, Some(path)) =
            (finding.severity, finding.allowed, finding.subject.path())
        {
            codes.entry(path).or_default().push(finding.code);
        }
    }
    let reasons = changes
        .iter()
        .map(|change| match codes.remove(&*change.path) {
            Some(codes) => Some(WithheldReason::Findings(codes)),
            None if silent.contains(&change.path) => Some(WithheldReason::Git),
            None => None,
        })
        .collect();
    let (changes, withheld) = withhold::split(changes.into_vec(), reasons);
    Verdict {
        outcome: outcome_of(&findings),
        findings,
        validated: Some(Validated::new(changes, withheld)),
    }
}

/// Turns what the transfer has to say into findings.
///
/// A note about an entry that did not change is left out (TAR-52).
fn carried_facts(report: &mut Report, changes: &ChangeSet, refusals: &[Refusal], notes: &[Note]) {
    for refusal in refusals {
        report.push(Finding {
            code: refusal.code,
            severity: Severity::Block,
            subject: subject(&refusal.name),
            line: None,
            message: safe(&refusal.reason),
            hint: None,
            allowed: false,
        });
    }
    for note in notes {
        let subject = subject(&note.name);
        if subject
            .path()
            .is_none_or(|path| changes.get(path).is_some())
        {
            report.push(Finding {
                code: note.code,
                severity: Severity::Note,
                subject,
                line: None,
                message: safe(&note.reason),
                hint: None,
                allowed: false,
            });
        }
    }
}

fn subject(name: &[u8]) -> Subject {
    match RelPath::from_bytes(name) {
        Ok(path) => Subject::Path(path.to_owned()),
        Err(_) => Subject::Raw(name.to_vec()),
    }
}

/// Escapes a text that should have been, and leaves alone one that was.
fn safe(text: &str) -> String {
    if text.chars().any(|c| c.is_control() || is_invisible(c)) {
        escape(text.as_bytes())
    } else {
        text.to_owned()
    }
}

impl Verdict {
    /// Returns the findings about `path`.
    pub fn about<'a>(&'a self, path: &'a RelPath) -> impl Iterator<Item = &'a Finding> {
        let findings = self.findings.iter();
        findings.filter(move |finding| finding.subject.path() == Some(path))
    }
}

/// How grave something suspect is: less so when it was deleted, but still said
/// (AUD-03).
pub(crate) fn softened(change: &Change, severity: Severity) -> Severity {
    match &change.after {
        None => softer(severity),
        Some(_) => severity,
    }
}

/// The severity of a deletion, given that of any other change.
pub(crate) fn softer(severity: Severity) -> Severity {
    match severity {
        Severity::Block => Severity::Warn,
        Severity::Warn | Severity::Note => Severity::Note,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    //! What the rules' own tests need of the whole.

    use std::io;

    use lazaret_transfer::{Digest, Entry, Mode, RelPathBuf, Tree, diff};

    use super::{JudgeInput, judge};
    use crate::{Contents, Policy, Severity};

    struct Nothing;

    impl Contents for Nothing {
        fn open(&self, _digest: &Digest) -> io::Result<Box<dyn io::Read + '_>> {
            Err(io::ErrorKind::NotFound.into())
        }
    }

    /// Judges one new, empty file.
    pub(crate) fn codes_of_new(path: &str) -> Vec<(Severity, &'static str)> {
        let path: RelPathBuf = path.parse().unwrap();
        let baseline = Tree::new();
        let mut collected: Tree = path
            .ancestors()
            .map(|above| (above.to_owned(), Entry::Dir))
            .collect();
        let file = Entry::File {
            mode: Mode::Plain,
            size: 0,
            digest: Digest::of(b""),
        };
        collected.insert(path, file);
        let input = JudgeInput {
            baseline: &baseline,
            collected: &collected,
            changes: diff(&baseline, &collected),
            refusals: &[],
            notes: &[],
            contents: &Nothing,
        };
        let findings = judge(input, &Policy::shipped()).findings;
        let codes = findings.into_iter();
        codes
            .map(|finding| (finding.severity, finding.code))
            .collect()
    }
}
