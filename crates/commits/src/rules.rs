//! `Rules`: what tips are judged by.

use std::sync::Arc;

use lazaret_tree::{RelPathBuf, Severity, Tree};
use lazaret_validator::{Findings, Policy, is_allowable};

/// What tips are judged by.
#[derive(Debug, Clone)]
pub struct Rules {
    /// The rules of the gate.
    pub policy: Policy,
    /// Paths that the user allows although a rule blocks them.
    pub allow: Vec<RelPathBuf>,
    /// What of the repository's files was in the copy as it went in; `None` if that is not known.
    pub copied: Option<Tree>,
}

impl Rules {
    /// Marks what the user allows by its path.
    pub(crate) fn mark_allowed(&self, mut findings: Findings) -> Findings {
        for finding in &mut findings {
            let path = finding.subject.path();
            let is_named = path.is_some_and(|path| self.allow.iter().any(|allow| **allow == *path));
            if is_named && finding.severity == Severity::Block && is_allowable(finding.code) {
                Arc::make_mut(finding).allowed = true;
            }
        }
        findings
    }
}
