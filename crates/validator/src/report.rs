//! `Report`: where rules put what they find.

use std::borrow::Cow;
use std::collections::HashSet;

use lazaret_transfer::RelPathBuf;

use crate::{Finding, Severity, Subject, catalog};

/// Findings under way to a verdict.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) findings: Vec<Finding>,
    /// Whether the whole batch is rejected.
    pub(crate) rejected: bool,
    /// Changes that are withheld without a finding: ordinary ones in `.git`.
    pub(crate) silent: HashSet<RelPathBuf>,
}

impl Report {
    /// Adds a finding, whose code and severity the catalogue knows.
    pub(crate) fn push(&mut self, finding: Finding) {
        let Finding { code, severity, .. } = finding;
        debug_assert!(catalog::knows(code, severity), "{severity} {code}");
        self.findings.push(finding);
    }

    /// Says something about one path; one that is owned is shared.
    pub(crate) fn path(
        &mut self,
        path: &(impl ToOwned<Owned = RelPathBuf> + ?Sized),
        severity: Severity,
        code: &'static str,
        message: impl Into<Cow<'static, str>>,
    ) {
        self.push(Finding {
            code,
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
        code: &'static str,
        message: impl Into<Cow<'static, str>>,
    ) {
        self.push(Finding {
            code,
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
        code: &'static str,
        message: impl Into<Cow<'static, str>>,
    ) {
        self.path(path, Severity::Block, code, message);
    }

    /// Rejects the batch, because of one path or of all together.
    pub(crate) fn reject(
        &mut self,
        subject: Subject,
        code: &'static str,
        message: impl Into<Cow<'static, str>>,
        hint: &'static str,
    ) {
        self.rejected = true;
        self.push(Finding {
            code,
            severity: Severity::Block,
            subject,
            line: None,
            message: message.into(),
            hint: Some(hint),
            allowed: false,
        });
    }

    /// Withholds a path without a word.
    pub(crate) fn withhold_silently(&mut self, path: &RelPathBuf) {
        self.silent.insert(path.clone());
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::Report;
    use crate::Severity;

    /// What makes every other test a test of the catalogue.
    #[test]
    fn a_code_that_the_catalogue_does_not_have_is_no_finding() {
        let says = |severity, code| {
            let mut report = Report::default();
            let path = "a".parse::<lazaret_transfer::RelPathBuf>().unwrap();
            let said = AssertUnwindSafe(|| report.path(&path, severity, code, "x"));
            catch_unwind(said).is_ok()
        };
        assert!(says(Severity::Block, "git.hook"));
        assert!(!says(Severity::Note, "git.hook"));
        assert!(!says(Severity::Block, "git.nonsense"));
    }
}
