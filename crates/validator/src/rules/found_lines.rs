//! `FoundLines`: lines of one file that have the same to be said, without floods.

use lazaret_tree::RelPathBuf;

use crate::Severity;
use crate::report::Report;

/// How many lines are named; more are counted.
const MOST_NAMED: usize = 8;

/// The first lines, and how many there are.
#[derive(Debug)]
pub(super) struct FoundLines {
    severity: Severity,
    code: &'static str,
    named: Vec<(u32, String)>,
    more: usize,
}

impl FoundLines {
    pub(super) fn new(severity: Severity, code: &'static str) -> Self {
        Self {
            severity,
            code,
            named: Vec::new(),
            more: 0,
        }
    }

    /// Adds a line; the message is made only when it is named.
    pub(super) fn add(&mut self, line: u32, message: impl FnOnce() -> String) {
        match self.named.len() {
            MOST_NAMED.. => self.more += 1,
            _ => self.named.push((line, message())),
        }
    }

    /// Hands them over to the report.
    pub(super) fn put(self, path: &RelPathBuf, report: &mut Report) {
        for (line, message) in self.named {
            report.line((path, line), self.severity, self.code, message);
        }
        if self.more > 0 {
            let all = MOST_NAMED + self.more;
            let message = format!("on {all} lines in all; the first {MOST_NAMED} are named");
            report.path(path, self.severity, self.code, message);
        }
    }
}
