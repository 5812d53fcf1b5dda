//! `judge`: the rules over one batch.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use lazaret_tree::{
    Adjustment, ChangeSet, Changed, RejectedEntry, RelPath, Tree, escape, is_invisible,
};

use crate::aliases;
use crate::codes;
use crate::finding_buffer::FindingBuffer;
use crate::guard::completes;
use crate::rules::{Context, FilePair, RULES, Rule, facts};
use crate::verdict::outcome_of;
use crate::{
    Contents, Finding, Findings, Outcome, Policy, Severity, Subject, Validated, Verdict,
    WithheldReason, withhold,
};

/// What the judge looks at.
pub struct JudgeInput<'a> {
    /// What was sent in.
    pub baseline: &'a Tree,
    /// The difference to what came out.
    pub changes: ChangeSet,
    /// Entries that were not carried.
    pub refusals: &'a [RejectedEntry],
    /// What was dropped or made safe on the way.
    pub notes: &'a [Adjustment],
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
///
/// A rule that fails over an entry, or over the batch, withholds or rejects it: what was
/// not examined is not clean (AUD-09). The other entries are judged all the same.
pub fn judge(input: JudgeInput<'_>, policy: &Policy) -> Verdict {
    judge_by(RULES, input, policy, Arc::default())
}

/// As [`judge`], where much of what there is to say is in `known`, which is in order; the
/// verdict shares it.
pub fn judge_reusing(input: JudgeInput<'_>, policy: &Policy, known: Arc<Findings>) -> Verdict {
    judge_by(RULES, input, policy, known)
}

fn judge_by(
    rules: &[(&str, Rule)],
    input: JudgeInput<'_>,
    policy: &Policy,
    known: Arc<Findings>,
) -> Verdict {
    let JudgeInput {
        baseline,
        changes,
        refusals,
        notes,
        contents,
    } = input;
    let mut report = FindingBuffer::sharing(known);
    carried_facts(&mut report, &changes, refusals, notes);
    let context = Context {
        baseline,
        collected: Changed::new(baseline, &changes),
        changes: &changes,
        policy,
        contents,
    };
    for (name, rule) in rules {
        match rule {
            Rule::Batch(check) => {
                if !completes(|| check(&context, &mut report)) {
                    let message = format!("the rule `{name}` failed");
                    report.reject(Subject::Batch, codes::AUDIT_FAILED, message, FAILED_HINT);
                }
            }
            Rule::Change(check) => {
                for change in &changes {
                    if !completes(|| check(&context, change, &mut report)) {
                        report.failed(&change.path, name);
                    }
                }
            }
            Rule::Contents(_) => {}
        }
    }
    // One file after the other, all rules on each, so that only one is in memory.
    for change in &changes {
        if report.is_full() {
            break;
        }
        if context.is_git(&change.path) {
            continue;
        }
        let Some(pair) = FilePair::new(change, contents) else {
            continue;
        };
        for (name, rule) in rules {
            if let Rule::Contents(check) = rule
                && !completes(|| check(&context, &pair, &mut report))
            {
                report.failed(&change.path, name);
            }
        }
    }
    aliases::check(rules, &context, &mut report);
    let FindingBuffer {
        mut findings,
        rejected,
        silent,
        known,
        ..
    } = report;
    Finding::put_in_order(&mut findings);
    facts::one_each(&mut findings, &known);
    findings.dedup();
    findings.shrink_to_fit();
    for finding in &mut findings {
        if let (Severity::Block, Some(path)) = (finding.severity, finding.subject.path())
            && let Some(change) = changes.get(path)
        {
            let allowed = policy.allows(change, finding.code);
            if allowed != finding.allowed {
                Arc::make_mut(finding).allowed = allowed;
            }
        }
    }
    if rejected {
        return Verdict {
            findings,
            outcome: Outcome::Rejected,
            validated: None,
        };
    }
    let mut codes = Codes::default();
    let mut reasons: Vec<_> = changes
        .iter()
        .map(|change| match blocks(&findings, &change.path) {
            found if !found.is_empty() => Some(WithheldReason::Findings(codes.shared(&found))),
            _ if silent.contains(&change.path) => Some(WithheldReason::Git),
            _ => None,
        })
        .collect();
    if let Some(place) = unread(refusals) {
        withhold::hold_unexplained(changes.as_slice(), &mut reasons, place, &policy.alone);
    }
    let (changes, withheld) = withhold::split(changes.into_vec(), reasons, &policy.alone);
    Verdict {
        outcome: outcome_of(&findings),
        findings,
        validated: Some(Validated::new(changes, withheld)),
    }
}

/// Returns the codes that hold one path back, each once. The findings are in their order: the
/// gravest first, and those by path.
fn blocks(findings: &[Arc<Finding>], path: &RelPath) -> Vec<&'static str> {
    let graver = findings.partition_point(|finding| finding.severity == Severity::Block);
    let found = &findings[..graver];
    let from = found.partition_point(|finding| match &finding.subject {
        Subject::Batch => true,
        Subject::Path(other) => **other < *path,
        Subject::Raw(_) => false,
    });
    let about = found[from..].iter();
    let about = about.take_while(|finding| finding.subject.path() == Some(path));
    let mut codes = Vec::new();
    for finding in about.filter(|finding| !finding.allowed) {
        if !codes.contains(&finding.code) {
            codes.reserve_exact(1);
            codes.push(finding.code);
        }
    }
    codes
}

/// Lists of codes, each there once: thousands of files are held back for the same reason.
#[derive(Default)]
struct Codes(BTreeSet<Arc<[&'static str]>>);

impl Codes {
    fn shared(&mut self, codes: &[&'static str]) -> Arc<[&'static str]> {
        if let Some(known) = self.0.get(codes) {
            return known.clone();
        }
        let new: Arc<[&'static str]> = codes.into();
        self.0.insert(new.clone());
        new
    }
}

const FAILED_HINT: &str = "this is a mistake in lazaret; nothing in the workspace was touched";

/// Turns what the transfer has to say into findings.
///
/// A note about an entry that did not change is left out (TAR-52).
fn carried_facts(
    report: &mut FindingBuffer,
    changes: &ChangeSet,
    refusals: &[RejectedEntry],
    notes: &[Adjustment],
) {
    for refusal in refusals {
        report.push(Finding {
            code: refusal.code.id,
            severity: Severity::Block,
            subject: subject(&refusal.name),
            line: None,
            message: safe(&refusal.reason).into(),
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
                code: note.code.id,
                severity: Severity::Note,
                subject,
                line: None,
                message: safe(&note.reason).into(),
                hint: None,
                allowed: false,
            });
        }
    }
}

/// Returns the name of something that was not read because of it, so that any file may have
/// been moved there.
fn unread(refusals: &[RejectedEntry]) -> Option<&[u8]> {
    let names = refusals.iter().map(|refusal| &*refusal.name);
    let mut names = names.filter(|name| RelPath::from_bytes(name).is_err());
    names.find(|name| !name.starts_with(b".git/"))
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
        let findings = self.findings.iter().map(|finding| &**finding);
        findings.filter(move |finding| finding.subject.path() == Some(path))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    //! What the rules' own tests need of the whole.

    use std::io;
    use std::sync::Arc;

    use lazaret_tree::{Change, Digest, Entry, Mode, RelPathBuf, Tree, diff};

    use super::{JudgeInput, judge_by};
    use crate::codes;
    use crate::finding_buffer::FindingBuffer;
    use crate::rules::{Context, FilePair, RULES, Rule};
    use crate::{Contents, Findings, Outcome, Policy, Severity, Verdict};

    struct Nothing;

    impl Contents for Nothing {
        fn open(&self, _digest: &Digest) -> io::Result<Box<dyn io::Read + '_>> {
            Err(io::ErrorKind::NotFound.into())
        }
    }

    /// Judges new, empty files.
    fn judge_new(rules: &[(&str, Rule)], paths: &[&str]) -> Verdict {
        judge_knowing(rules, paths, Arc::default())
    }

    fn judge_knowing(rules: &[(&str, Rule)], paths: &[&str], known: Arc<Findings>) -> Verdict {
        let baseline = Tree::new();
        let mut collected = Tree::new();
        for path in paths {
            let path: RelPathBuf = path.parse().unwrap();
            for above in path.ancestors() {
                collected.insert(above.to_owned(), Entry::Dir);
            }
            let file = Entry::File {
                mode: Mode::Plain,
                size: 0,
                digest: Digest::of(b""),
            };
            collected.insert(path, file);
        }
        let input = JudgeInput {
            baseline: &baseline,
            changes: diff(&baseline, &collected),
            refusals: &[],
            notes: &[],
            contents: &Nothing,
        };
        judge_by(rules, input, &Policy::shipped(), known)
    }

    /// Judges one new, empty file.
    pub(crate) fn codes_of_new(path: &str) -> Vec<(Severity, &'static str)> {
        let findings = judge_new(RULES, &[path]).findings.into_iter();
        findings
            .map(|finding| (finding.severity, finding.code))
            .collect()
    }

    fn fails_at_b(path: &str) {
        assert_ne!(path, "b", "on purpose");
    }

    fn change(_: &Context<'_>, change: &Change, _: &mut FindingBuffer) {
        fails_at_b(change.path.as_str());
    }

    fn contents(_: &Context<'_>, pair: &FilePair<'_>, report: &mut FindingBuffer) {
        fails_at_b(pair.path().as_str());
        report.path(
            pair.path(),
            Severity::Warn,
            codes::CONTENT_UNEXAMINED,
            "seen",
        );
    }

    fn batch(_: &Context<'_>, _: &mut FindingBuffer) {
        fails_at_b("b");
    }

    #[test]
    fn aud_09_a_rule_that_fails_withholds_the_file_and_no_other() {
        for rules in [
            &[("x", Rule::Change(change)), ("y", Rule::Contents(contents))][..],
            &[
                ("x", Rule::Contents(contents)),
                ("y", Rule::Contents(contents)),
            ][..],
        ] {
            let verdict = judge_new(rules, &["a", "b", "c"]);
            let said: Vec<_> = verdict.findings.iter().map(ToString::to_string).collect();
            assert!(
                said[0].starts_with("block audit.failed b: the rule `x` failed"),
                "{said:?}"
            );
            assert!(
                said.contains(&"warn content.unexamined a: seen".to_owned()),
                "{said:?}"
            );
            assert!(
                said.contains(&"warn content.unexamined c: seen".to_owned()),
                "{said:?}"
            );
            let validated = verdict.validated.unwrap();
            let applied: Vec<_> = validated
                .changes()
                .iter()
                .map(|c| c.path.as_str())
                .collect();
            assert_eq!(applied, ["a", "c"]);
        }
    }

    #[test]
    fn p9_what_is_said_again_is_there_once() {
        let whole = judge_new(RULES, &["Makefile", "x/Makefile"]);
        let known = Arc::new(whole.findings);
        let part = judge_knowing(RULES, &["Makefile", "y/Makefile"], Arc::clone(&known));
        let again = judge_new(RULES, &["Makefile", "y/Makefile"]);
        assert_eq!(part.findings, again.findings);
        let is_shared = |finding| known.iter().any(|known| Arc::ptr_eq(known, finding));
        let shared: Vec<_> = part.findings.iter().map(is_shared).collect();
        let is_old = |finding: &Arc<crate::Finding>| finding.to_string().contains(" Makefile");
        let old: Vec<_> = part.findings.iter().map(is_old).collect();
        assert!(
            old.contains(&true) && old.contains(&false),
            "{:?}",
            part.findings
        );
        assert_eq!(shared, old);
    }

    #[test]
    fn aud_09_a_rule_that_fails_over_the_batch_rejects_it() {
        let verdict = judge_new(&[("z", Rule::Batch(batch))], &["a"]);
        assert_eq!(verdict.outcome, Outcome::Rejected);
        assert_eq!(verdict.findings[0].code, "audit.failed");
    }
}
