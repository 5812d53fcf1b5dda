//! `Finding`: one thing the judge has to say, and how grave it is.

use std::borrow::Cow;
use std::fmt;

use lazaret_transfer::{RelPath, RelPathBuf, escape};

/// How grave a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// For the record.
    Note,
    /// A person should look at it; never applied automatically.
    Warn,
    /// Not applied: the entry is withheld, or the whole batch rejected.
    Block,
}

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

impl Finding {
    /// Sorts findings: the gravest first, then by path, line, code and words. In place: a
    /// large batch has 400,000 of them.
    pub fn put_in_order(findings: &mut [Self]) {
        findings.sort_unstable_by(|a, b| {
            let grave = b.severity.cmp(&a.severity);
            grave
                .then_with(|| a.subject.cmp(&b.subject))
                .then_with(|| a.line.cmp(&b.line))
                .then_with(|| a.code.cmp(b.code))
                .then_with(|| a.message.cmp(&b.message))
        });
    }
}

impl Severity {
    /// Returns the word used in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warn => "warn",
            Self::Block => "block",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
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
