//! `FindingBuffer`: where rules put what they find.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use lazaret_tree::{FindingCode, RelPathBuf};

use crate::codes;
use crate::{Finding, Findings, Severity, Subject};

/// The most memory that the findings of a batch may take, in bytes: some 400,000 of them.
///
/// Which file could be withheld for which reason would not be known beyond, so it rejects the
/// batch.
const MOST_BYTES: usize = 64 << 20;

/// Findings under way to a verdict.
#[derive(Debug, Default)]
pub(crate) struct FindingBuffer {
    pub(crate) findings: Findings,
    /// What is known to have been said of the same case, in order.
    pub(crate) known: Arc<Findings>,
    /// What the findings take, in bytes.
    cost: usize,
    /// Whether the whole batch is rejected.
    pub(crate) rejected: bool,
    /// Changes that are withheld without a finding: ordinary ones in `.git`.
    pub(crate) silent: HashSet<RelPathBuf>,
}

impl FindingBuffer {
    /// Starts without findings. Those that are among `known` will be shared with it.
    pub(crate) fn sharing(known: Arc<Findings>) -> Self {
        Self {
            known,
            ..Self::default()
        }
    }

    /// Adds a finding.
    pub(crate) fn push(&mut self, finding: Finding) {
        if self.is_full() {
            return;
        }
        self.cost += finding.cost();
        self.findings.push(finding.shared(&self.known));
        if self.is_full() {
            self.rejected = true;
            self.findings.push(Arc::new(Finding {
                code: codes::LIMIT_FINDINGS.id,
                severity: Severity::Block,
                subject: Subject::Batch,
                line: None,
                message: "there are more findings than a person can read".into(),
                hint: Some("apply less at a time"),
                allowed: false,
            }));
        }
    }

    /// Whether there is so much to be said that the batch is rejected, and nothing is added.
    pub(crate) fn is_full(&self) -> bool {
        self.cost > MOST_BYTES
    }

    /// Says something about one path; one that is owned is shared.
    pub(crate) fn path(
        &mut self,
        path: &(impl ToOwned<Owned = RelPathBuf> + ?Sized),
        severity: Severity,
        code: &'static FindingCode,
        message: impl Into<Cow<'static, str>>,
    ) {
        debug_assert!(
            code.severities.contains(&severity),
            "{severity} {}",
            code.id
        );
        self.push(Finding {
            code: code.id,
            severity,
            subject: Subject::Path(path.to_owned()),
            line: None,
            message: message.into(),
            hint: None,
            allowed: false,
        });
    }

    /// Says something about one line of one file; lines count from 1.
    pub(crate) fn line(
        &mut self,
        (path, line): (&(impl ToOwned<Owned = RelPathBuf> + ?Sized), u32),
        severity: Severity,
        code: &'static FindingCode,
        message: impl Into<Cow<'static, str>>,
    ) {
        debug_assert!(
            code.severities.contains(&severity),
            "{severity} {}",
            code.id
        );
        self.push(Finding {
            code: code.id,
            severity,
            subject: Subject::Path(path.to_owned()),
            line: Some(line),
            message: message.into(),
            hint: None,
            allowed: false,
        });
    }

    /// Withholds one path.
    pub(crate) fn block(
        &mut self,
        path: &(impl ToOwned<Owned = RelPathBuf> + ?Sized),
        code: &'static FindingCode,
        message: impl Into<Cow<'static, str>>,
    ) {
        self.path(path, Severity::Block, code, message);
    }

    /// Rejects the batch, because of one path or of all together.
    pub(crate) fn reject(
        &mut self,
        subject: Subject,
        code: &'static FindingCode,
        message: impl Into<Cow<'static, str>>,
        hint: &'static str,
    ) {
        self.rejected = true;
        self.push(Finding {
            code: code.id,
            severity: Severity::Block,
            subject,
            line: None,
            message: message.into(),
            hint: Some(hint),
            allowed: false,
        });
    }

    /// Says that a rule failed over a path, which is then not taken for clean.
    pub(crate) fn failed(&mut self, path: &RelPathBuf, rule: &str) {
        let message = format!("the rule `{rule}` failed over it; that is a mistake in lazaret");
        self.block(path, codes::AUDIT_FAILED, message);
    }

    /// Withholds a path without a word.
    pub(crate) fn withhold_silently(&mut self, path: &RelPathBuf) {
        self.silent.insert(path.clone());
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::{FindingBuffer, MOST_BYTES};
    use crate::codes;
    use crate::{Finding, Severity, Subject};

    #[test]
    fn p9_more_findings_than_the_limit_reject_the_batch() {
        let mut buffer = FindingBuffer::default();
        let path = "a".parse::<lazaret_tree::RelPathBuf>().unwrap();
        let most = MOST_BYTES / size_of::<Finding>();
        for _ in 0..most {
            buffer.path(&path, Severity::Block, codes::GIT_HOOK, "x");
        }
        assert!(buffer.rejected && buffer.findings.len() < most);
        let last = buffer.findings.last().unwrap();
        assert_eq!(
            (last.code, &last.subject),
            ("limit.findings", &Subject::Batch)
        );
    }

    /// What makes every other test a test of the severities.
    #[test]
    fn a_severity_that_a_code_does_not_have_is_no_finding() {
        let says = |severity| {
            let mut buffer = FindingBuffer::default();
            let path = "a".parse::<lazaret_tree::RelPathBuf>().unwrap();
            let said = AssertUnwindSafe(|| buffer.path(&path, severity, codes::GIT_HOOK, "x"));
            catch_unwind(said).is_ok()
        };
        assert!(says(Severity::Block));
        assert!(!says(Severity::Note));
    }
}
