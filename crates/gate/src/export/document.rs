//! The JSON report: all of a batch, for machines. `docs/reference/report-json.md` describes each field.

use std::time::{SystemTime, UNIX_EPOCH};

use lazaret_tree::{Entry, escape};
use lazaret_validator::{Finding, Severity};
use serde::ser::{Error as _, SerializeSeq as _};
use serde::{Serialize, Serializer};

use super::blob::git_mode;
use super::report_input::{ReportInput, ReportItem, ReportSubject, words};
use crate::case::Case;
use crate::file_side::ContentsError;
use crate::format::causes;
use crate::proposal::{ItemState, Origin};
use crate::report::{ChangeCounts, ConflictReport, FindingReport};
use crate::subject::{CommandEnd, Outcome, Subject as Session};
use crate::tip_report::WaitingReport;
use crate::unlanded::Unlanded;

/// Names the form of the report. A field may be added to it; one that means something else,
/// or is gone, makes another number.
pub const SCHEMA: &str = "lazaret.report/1";

/// The whole report. Every name in it is escaped reversibly (AUD-10).
#[derive(Debug, Serialize)]
pub struct Document<'a> {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The version of lazaret that wrote it.
    pub lazaret: &'static str,
    /// Seconds since 1970 when it was written.
    pub exported: u64,
    /// The session; null for a check.
    pub session: Option<SessionPart>,
    /// What was compared; null for a session.
    pub check: Option<CheckPart>,
    /// What the batch was judged by.
    pub limits: LimitsPart,
    /// `clean`, `needs review` or `rejected`.
    pub verdict: &'static str,
    /// The digest of what would be applied; null when nothing may be.
    pub digest: Option<String>,
    /// Sums.
    pub counts: CountsPart,
    /// The paths that the report was cut down to; empty for the whole.
    pub paths: Vec<String>,
    /// The changes, in path order.
    pub changes: ChangesPart<'a>,
    /// What the rules found, the gravest first.
    pub findings: FindingsPart<'a>,
    /// What is in the way in the workspace.
    pub conflicts: Vec<ConflictReport>,
    /// What was not compared, or stays in the copy.
    pub left_out: Vec<LeftOutPart>,
    /// The commits that wait; null if none do, or if the report is cut down to paths.
    pub commits: Option<&'a WaitingReport>,
}

/// The changes of a batch, each of which is put into words when it is written: a large
/// batch has 200,000 of them.
#[derive(Debug)]
pub struct ChangesPart<'a> {
    input: &'a ReportInput<'a>,
    case: &'a Case,
}

impl Serialize for ChangesPart<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let items = &self.input.items;
        let mut parts = serializer.serialize_seq(Some(items.len()))?;
        for item in items {
            // Its lines were counted for the sums: nothing is read here.
            let part = ChangePart::new(self.input, item, self.case);
            let part = part.map_err(|error| S::Error::custom(causes(&error).join(": ")))?;
            parts.serialize_element(&part)?;
        }
        parts.end()
    }
}

/// The findings of a batch, likewise.
#[derive(Debug)]
pub struct FindingsPart<'a>(&'a [&'a Finding]);

impl Serialize for FindingsPart<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|finding| FindingReport::from(*finding)))
    }
}

/// The session that a batch comes from.
#[derive(Debug, Serialize)]
pub struct SessionPart {
    /// Its name.
    pub name: String,
    /// The workspace's path, escaped.
    pub workspace: String,
    /// The profile's name, escaped.
    pub profile: String,
    /// The command, program first, each word escaped.
    pub command: Vec<String>,
    /// Where the engine was reached, escaped.
    pub engine: String,
    /// The image, pinned by id.
    pub image: String,
    /// Seconds since 1970 when it was created.
    pub created: u64,
    /// What was committed inside and is not in the workspace's repository.
    pub commits: Unlanded,
    /// How the command ended; null when it was not started.
    pub end: Option<CommandEnd>,
    /// How the gate ended; null while it is open.
    pub outcome: Option<Outcome>,
}

/// What a check compared.
#[derive(Debug, Serialize)]
pub struct CheckPart {
    /// The base's path, escaped.
    pub base: String,
    /// The candidate's path, escaped; `-` for stdin.
    pub candidate: String,
    /// The profile's name, escaped.
    pub profile: String,
}

/// What a batch was judged by.
#[derive(Debug, Serialize)]
pub struct LimitsPart {
    /// Changed entries.
    pub entries: u64,
    /// Bytes of all new contents.
    pub total_bytes: u64,
    /// Bytes of one file.
    pub file_bytes: u64,
}

/// Sums.
#[derive(Debug, Serialize)]
pub struct CountsPart {
    /// All changes, by what they do.
    #[serde(flatten)]
    pub changes: ChangeCounts,
    /// Changes that may be applied.
    pub applicable: usize,
    /// Changes that are withheld.
    pub withheld: usize,
    /// Lines added in all text files that could be compared.
    pub lines_added: u64,
    /// Lines removed there.
    pub lines_removed: u64,
    /// Findings that withhold.
    pub block: usize,
    /// Findings that a person has to look at.
    pub warn: usize,
    /// Findings for the session.
    pub note: usize,
}

/// One change.
#[derive(Debug, Serialize)]
pub struct ChangePart {
    /// The path, escaped.
    pub path: String,
    /// `added`, `modified`, `mode`, `deleted` or `type`.
    pub kind: &'static str,
    /// What was there; null when nothing was.
    pub before: Option<EntryPart>,
    /// What is there now; null when nothing is.
    pub after: Option<EntryPart>,
    /// Lines added; null for what is no text, or too large.
    pub lines_added: Option<u64>,
    /// Lines removed; null as above.
    pub lines_removed: Option<u64>,
    /// Whether it may be applied.
    pub applies: bool,
    /// What becomes of it: `applies`, `already`, `left-out`, `conflict`, `blocked`, `depends`
    /// or `moved`.
    pub state: &'static str,
    /// Where its contents come from: `session`; `merged` with the user's own edit; some
    /// `hunks` of the session's; `theirs`, the session's although the workspace was changed
    /// too and the two can't be merged.
    pub origin: &'static str,
    /// The codes of the findings that block it.
    pub codes: Vec<&'static str>,
    /// The other change that it can't happen without, or the place that it was moved to,
    /// escaped; null when there is none.
    pub because_of: Option<String>,
    /// Which of the findings are about it, counted from 0.
    pub findings: Vec<usize>,
}

/// One side of a change.
#[derive(Debug, Serialize)]
pub struct EntryPart {
    /// `file`, `directory` or `link`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Git's mode: `100644`, `100755`, `040000` or `120000`.
    pub mode: &'static str,
    /// Bytes; null for what is no file.
    pub size: Option<u64>,
    /// BLAKE3 of the contents, in hexadecimal digits; null for what is no file.
    pub blake3: Option<String>,
    /// Where a link points, escaped; null for what is none.
    pub target: Option<String>,
}

/// Something that was not compared, or stays in the copy.
#[derive(Debug, Serialize)]
pub struct LeftOutPart {
    /// The path, escaped.
    pub path: String,
    /// The stable code.
    pub code: &'static str,
    /// The reason.
    pub reason: String,
    /// The size of a regular file.
    pub bytes: Option<u64>,
}

impl<'a> Document<'a> {
    /// Writes a batch down.
    ///
    /// # Errors
    /// When contents can't be read, which is what lines are counted in.
    pub fn new(input: &'a ReportInput<'a>, case: &'a Case) -> Result<Self, ContentsError> {
        let (session, check) = match input.subject {
            ReportSubject::Session(session) => (Some(SessionPart::from(session)), None),
            ReportSubject::Check(checked) => {
                let part = CheckPart {
                    base: text(&checked.base),
                    candidate: text(&checked.candidate),
                    profile: text(&checked.profile),
                };
                (None, Some(part))
            }
        };
        Ok(Self {
            schema: SCHEMA,
            lazaret: env!("CARGO_PKG_VERSION"),
            exported: seconds(input.now),
            session,
            check,
            limits: LimitsPart {
                entries: input.limits.entries,
                total_bytes: input.limits.total_bytes,
                file_bytes: input.limits.file_bytes,
            },
            verdict: input.outcome.as_str(),
            digest: input.digest.map(lazaret_tree::Digest::to_hex),
            counts: CountsPart::new(input, case)?,
            paths: input.paths.iter().map(|path| text(path.as_str())).collect(),
            changes: ChangesPart { input, case },
            findings: FindingsPart(&input.findings),
            conflicts: input
                .conflicts
                .iter()
                .map(|(path, kind)| ConflictReport::from((path, kind)))
                .collect(),
            left_out: input
                .left_out
                .iter()
                .map(|skipped| LeftOutPart {
                    path: escape(&skipped.name),
                    code: skipped.reason.code(),
                    reason: skipped.reason.to_string(),
                    bytes: skipped.bytes,
                })
                .collect(),
            commits: input.commits.as_ref(),
        })
    }
}

impl From<&Session> for SessionPart {
    fn from(session: &Session) -> Self {
        Self {
            name: session.name.clone(),
            workspace: escape(session.workspace.as_os_str().as_encoded_bytes()),
            profile: text(&session.profile),
            command: session.command.iter().map(|word| text(word)).collect(),
            engine: text(&session.engine),
            image: text(&session.image),
            created: session.created,
            end: session.end,
            outcome: session.outcome,
            commits: session.commits.clone(),
        }
    }
}

impl CountsPart {
    fn new(input: &ReportInput<'_>, case: &Case) -> Result<Self, ContentsError> {
        let items = &input.items;
        let applicable = items.iter().filter(|item| input.may_apply(item)).count();
        let lines = input.lines(case)?;
        Ok(Self {
            changes: ChangeCounts::of(items.iter().map(ReportItem::change)),
            applicable,
            withheld: items.len() - applicable,
            lines_added: lines.added,
            lines_removed: lines.removed,
            block: input.count(Severity::Block),
            warn: input.count(Severity::Warn),
            note: input.count(Severity::Note),
        })
    }
}

impl ChangePart {
    fn new(
        input: &ReportInput<'_>,
        item: &ReportItem<'_>,
        case: &Case,
    ) -> Result<Self, ContentsError> {
        let change = item.change();
        let counts = item.counts(case)?;
        let (state, _, because_of) = words(item.state());
        Ok(Self {
            path: text(change.path.as_str()),
            kind: change.kind().as_str(),
            before: change.before.as_ref().map(EntryPart::from),
            after: change.after.as_ref().map(EntryPart::from),
            lines_added: counts.map(|counts| counts.added),
            lines_removed: counts.map(|counts| counts.removed),
            applies: input.may_apply(item),
            state,
            origin: match item.proposed.origin {
                Origin::Session => "session",
                Origin::Merged => "merged",
                Origin::Hunks => "hunks",
                Origin::SessionVersion => "theirs",
            },
            codes: match item.state() {
                ItemState::Blocked(codes) => codes.to_vec(),
                _ => Vec::new(),
            },
            because_of: because_of.map(escape),
            findings: input.about(item).to_vec(),
        })
    }
}

impl From<&Entry> for EntryPart {
    fn from(entry: &Entry) -> Self {
        let (kind, size, blake3, target) = match entry {
            Entry::Dir => ("directory", None, None, None),
            Entry::File { size, digest, .. } => ("file", Some(*size), Some(digest.to_hex()), None),
            Entry::Symlink { target } => ("link", None, None, Some(text(target.as_str()))),
        };
        Self {
            kind,
            mode: git_mode(entry),
            size,
            blake3,
            target,
        }
    }
}

fn text(text: &str) -> String {
    escape(text.as_bytes())
}

pub(super) fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}
