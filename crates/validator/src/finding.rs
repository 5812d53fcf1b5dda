//! `Finding`: one thing the judge has to say, and how grave it is.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use lazaret_tree::{RelPath, RelPathBuf, Severity, escape};

/// What a finding is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// The batch as a whole.
    Batch,
    /// An entry whose name is a path.
    Path(RelPathBuf),
    /// An entry whose name is none: raw bytes, as they came.
    Raw(Vec<u8>),
}

/// One thing the judge has to say.
///
/// `message` and `hint` are safe to print: whatever came out of a container was
/// escaped when they were made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The stable code, such as `link.absolute`.
    pub code: &'static str,
    /// How grave it is.
    pub severity: Severity,
    /// What it is about.
    pub subject: Subject,
    /// The line in the new contents, counted from 1, when it is about one.
    pub line: Option<u32>,
    /// The reason, a sentence fragment in lower case.
    pub message: Cow<'static, str>,
    /// What to do about it.
    pub hint: Option<&'static str>,
    /// Whether the user allowed what it is about: a block finding then holds nothing back.
    pub allowed: bool,
}

/// Findings in their order: the gravest first, then by path, line, code and words.
///
/// Each is there once, and shared by all verdicts of a case that say it: a large batch has
/// 400,000 of them.
pub type Findings = Vec<Arc<Finding>>;

impl Finding {
    /// Sorts findings into the order of [`Findings`], in place.
    pub fn put_in_order(findings: &mut [Arc<Self>]) {
        findings.sort_unstable_by(|a, b| a.order(b));
    }

    fn order(&self, other: &Self) -> Ordering {
        let grave = other.severity.cmp(&self.severity);
        grave
            .then_with(|| self.subject.cmp(&other.subject))
            .then_with(|| self.line.cmp(&other.line))
            .then_with(|| self.code.cmp(other.code))
            .then_with(|| self.message.cmp(&other.message))
    }

    /// Returns `self`, shared with `known`, which is in order, where that has it.
    pub(crate) fn shared(self, known: &[Arc<Self>]) -> Arc<Self> {
        let found = known.binary_search_by(|other| other.order(&self));
        match found.ok().and_then(|at| known.get(at)) {
            Some(other) if **other == self => Arc::clone(other),
            _ => Arc::new(self),
        }
    }

    /// Returns about how much memory it takes, in bytes.
    pub(crate) fn cost(&self) -> usize {
        let text = match &self.message {
            Cow::Owned(text) => text.capacity(),
            Cow::Borrowed(_) => 0,
        };
        let name = match &self.subject {
            Subject::Raw(name) => name.capacity(),
            Subject::Batch | Subject::Path(_) => 0,
        };
        // It is counted twice and pointed to, and every allocation has a head.
        size_of::<Self>() + 40 + text + name
    }
}

impl Subject {
    /// Returns the path, when there is one.
    pub fn path(&self) -> Option<&RelPath> {
        match self {
            Self::Path(path) => Some(path),
            Self::Batch | Self::Raw(_) => None,
        }
    }
}

/// Writes the escaped name; `.` stands for the batch.
impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Batch => f.write_str("."),
            Self::Path(path) => f.write_str(&escape(path.as_str().as_bytes())),
            Self::Raw(name) => f.write_str(&escape(name)),
        }
    }
}

/// Writes `severity code path[:line]: message`, one line, escaped.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            code,
            severity,
            subject,
            line,
            message,
            hint: _,
            allowed,
        } = self;
        write!(f, "{severity} {code} {subject}")?;
        if let Some(line) = line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {message}")?;
        match allowed {
            true => f.write_str(" (allowed)"),
            false => Ok(()),
        }
    }
}
