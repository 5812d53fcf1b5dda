//! The parts of JSON reports: changes, findings and conflicts, worded for machines.

use std::borrow::Cow;
use std::sync::Arc;

use lazaret_transfer::ConflictKind;
use lazaret_tree::{Change, ChangeKind, RelPathBuf, escape};
use lazaret_validator::{Finding, Subject};
use serde::{Serialize, Serializer};

/// Something of each change, by what happened to its path.
#[derive(Debug, Default, Serialize)]
pub struct ByEffect<T> {
    /// New.
    pub added: T,
    /// Different in contents, mode or type.
    pub modified: T,
    /// Gone.
    pub deleted: T,
}

/// The paths of changes, escaped as everywhere else (AUD-10).
pub type Changes = ByEffect<Paths>;

/// How many changes there are.
pub type ChangeCounts = ByEffect<usize>;

/// Paths that are escaped when they are written: a large batch has 200,000 of them.
#[derive(Debug, Default)]
pub struct Paths(Vec<RelPathBuf>);

impl Paths {
    fn escaped(&self) -> impl ExactSizeIterator<Item = String> {
        self.0.iter().map(|path| escape(path.as_str().as_bytes()))
    }
}

impl<const N: usize> PartialEq<[&str; N]> for Paths {
    fn eq(&self, other: &[&str; N]) -> bool {
        self.escaped().eq(*other)
    }
}

impl Serialize for Paths {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.escaped())
    }
}

/// A finding, with its name escaped reversibly (AUD-10).
#[derive(Debug, Serialize)]
pub struct FindingReport {
    /// The stable code.
    pub code: Cow<'static, str>,
    /// `block`, `warn` or `note`.
    pub severity: &'static str,
    /// The path, escaped.
    #[serde(serialize_with = "escaped")]
    pub path: Subject,
    /// The line in the new contents, from 1; null when it is about no line.
    pub line: Option<u32>,
    /// The reason.
    pub message: Cow<'static, str>,
    /// What to do about it; null when there is nothing to say.
    pub hint: Option<&'static str>,
    /// Whether the user allowed it by name.
    pub allowed: bool,
}

/// What the rules found, worded when it is written: a large batch has 400,000 findings.
#[derive(Debug)]
pub enum Findings {
    /// Before there was a batch to judge; the code and the reason.
    Rejection(Option<(String, String)>),
    /// In a batch, which they are shared with.
    Found(Arc<lazaret_validator::Findings>),
}

impl Findings {
    /// Words them, one by one.
    pub fn iter(&self) -> Box<dyn Iterator<Item = FindingReport> + '_> {
        match self {
            Self::Rejection(rejection) => Box::new(rejection.iter().map(rejected)),
            Self::Found(findings) => Box::new(
                findings
                    .iter()
                    .map(|finding| FindingReport::from(&**finding)),
            ),
        }
    }
}

impl Serialize for Findings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

fn rejected((code, reason): &(String, String)) -> FindingReport {
    FindingReport {
        code: code.clone().into(),
        severity: "block",
        path: Subject::Batch,
        line: None,
        message: reason.clone().into(),
        hint: None,
        allowed: false,
    }
}

fn escaped<S: Serializer>(subject: &Subject, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(subject)
}

/// A conflict, with its name escaped.
#[derive(Debug, Serialize)]
pub struct ConflictReport {
    /// The path, escaped.
    pub path: String,
    /// What is there instead.
    pub message: String,
}

/// Half a rename, with its names escaped.
#[derive(Debug, Serialize)]
pub struct MovedReport {
    /// The path that stays, escaped.
    pub path: String,
    /// The place that it was moved to, escaped.
    pub to: String,
}

impl From<(&RelPathBuf, &[u8])> for MovedReport {
    fn from((path, place): (&RelPathBuf, &[u8])) -> Self {
        Self {
            path: escape(path.as_str().as_bytes()),
            to: escape(place),
        }
    }
}

impl Changes {
    /// Sorts changes by what happened.
    pub fn of<'a>(changes: impl IntoIterator<Item = &'a Change>) -> Self {
        let mut sorted = Self::default();
        for change in changes {
            sorted.of_kind(change.kind()).0.push(change.path.clone());
        }
        sorted
    }
}

impl ChangeCounts {
    /// Counts changes by what happened.
    pub fn of<'a>(changes: impl IntoIterator<Item = &'a Change>) -> Self {
        let mut counts = Self::default();
        for change in changes {
            *counts.of_kind(change.kind()) += 1;
        }
        counts
    }
}

impl<T> ByEffect<T> {
    fn of_kind(&mut self, kind: ChangeKind) -> &mut T {
        match kind {
            ChangeKind::Added => &mut self.added,
            ChangeKind::Deleted => &mut self.deleted,
            ChangeKind::Modified | ChangeKind::ModeOnly | ChangeKind::TypeChanged => {
                &mut self.modified
            }
        }
    }
}

impl From<&Finding> for FindingReport {
    fn from(finding: &Finding) -> Self {
        Self {
            code: finding.code.into(),
            severity: finding.severity.as_str(),
            path: finding.subject.clone(),
            line: finding.line,
            message: finding.message.clone(),
            hint: finding.hint,
            allowed: finding.allowed,
        }
    }
}

impl From<(&RelPathBuf, &ConflictKind)> for ConflictReport {
    fn from((path, kind): (&RelPathBuf, &ConflictKind)) -> Self {
        Self {
            path: escape(path.as_str().as_bytes()),
            message: kind.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use lazaret_tree::{Change, Digest, Entry, Mode};

    use super::{ChangeCounts, Changes};

    fn change(path: &str, before: Option<Entry>, after: Option<Entry>) -> Change {
        Change {
            path: path.parse().unwrap(),
            before,
            after,
        }
    }

    #[test]
    fn changes_are_listed_and_counted_by_what_they_do() {
        let file = |mode| Entry::File {
            mode,
            size: 0,
            digest: Digest::of(b""),
        };
        let (plain, program) = (file(Mode::Plain), file(Mode::Executable));
        let changes = [
            change("dir", Some(plain.clone()), Some(Entry::Dir)),
            change("gone", Some(plain.clone()), None),
            change("mode", Some(plain.clone()), Some(program)),
            change("new", None, Some(plain.clone())),
            change("too", Some(plain), None),
        ];
        let listed = Changes::of(&changes);
        assert_eq!(listed.added, ["new"]);
        assert_eq!(listed.modified, ["dir", "mode"]);
        assert_eq!(listed.deleted, ["gone", "too"]);
        let counts = ChangeCounts::of(&changes);
        assert_eq!([counts.added, counts.modified, counts.deleted], [1, 2, 2]);
    }
}
