//! What `commits --json` prints.

use lazaret_commits::examine::{Examination, ExaminedTip};
use lazaret_gate::report::FindingReport;
use lazaret_runtime::SessionId;
use lazaret_tree::escape;
use serde::Serialize;

use super::open::{OpenCommits, OpenTip, TipState};

/// Everything that waits in one session.
#[derive(Debug, Serialize)]
pub(crate) struct CommitsReport {
    /// The session.
    session: String,
    /// What can be fetched.
    tips: Vec<TipReport>,
    /// What stays in the copy, in words.
    stays: Vec<String>,
}

/// One tip.
#[derive(Debug, Serialize)]
struct TipReport {
    /// `branch`, `tag`, `head`, `worktree`, `stash`, `lost` or `ref`.
    kind: &'static str,
    /// What it is called inside, escaped.
    name: String,
    /// What it names.
    id: String,
    /// What it is called once it is landed.
    lands_as: String,
    /// `good`, `blocked` or `refused`.
    state: &'static str,
    /// Why it is refused; null where it is not.
    refusal: Option<RefusalReport>,
    /// The user's commit that it goes on from; null for a history of its own.
    base: Option<String>,
    /// How many entries its files change since the base.
    changes: usize,
    /// What the rules say of these changes.
    findings: Vec<FindingReport>,
    /// The new commits, oldest first.
    commits: Vec<CommitReport>,
}

/// Why a tip is refused.
#[derive(Debug, Serialize)]
pub(crate) struct RefusalReport {
    /// A stable code.
    pub(crate) code: &'static str,
    /// The reason, escaped.
    pub(crate) message: String,
}

/// One commit. Its texts are the agent's, escaped.
#[derive(Debug, Serialize)]
struct CommitReport {
    id: String,
    author: String,
    committer: String,
    /// Seconds since 1970, as the commit says.
    time: i64,
    subject: String,
    /// Whether it carries a signature. Signatures are not verified.
    signed: bool,
    changes: usize,
    findings: Vec<FindingReport>,
}

impl CommitsReport {
    /// Tells of everything.
    pub(crate) fn of(session: &SessionId, open: &OpenCommits) -> Self {
        let tips = open.examined();
        Self {
            session: session.to_string(),
            tips: tips
                .map(|(tip, state)| TipReport::of(tip, state, &open.examination))
                .collect(),
            stays: open.stays.clone(),
        }
    }
}

impl TipReport {
    fn of(open: &OpenTip, state: TipState<'_>, examination: &Examination) -> Self {
        let report = Self {
            kind: open.tip.source.kind(),
            name: open.tip.source.label(),
            id: open.tip.id.to_string(),
            lands_as: open.name.short().to_owned(),
            state: "good",
            refusal: None,
            base: None,
            changes: 0,
            findings: Vec::new(),
            commits: Vec::new(),
        };
        match state {
            TipState::Refused(refusal) => Self {
                state: "refused",
                refusal: Some(RefusalReport {
                    code: refusal.code(),
                    message: refusal.to_string(),
                }),
                ..report
            },
            TipState::Blocked(tip) => Self {
                state: "blocked",
                ..report
            }
            .with(tip, examination),
            TipState::Good(tip) => report.with(tip, examination),
        }
    }

    fn with(self, tip: &ExaminedTip, examination: &Examination) -> Self {
        let words = |finding: &std::sync::Arc<lazaret_validator::Finding>| (&**finding).into();
        let commits = tip.commits.iter();
        let commits = commits.filter_map(|id| Some((id, examination.commit(id)?)));
        Self {
            base: tip.base.map(|base| base.to_string()),
            changes: tip.changes.len(),
            findings: tip.findings.iter().map(words).collect(),
            commits: commits
                .map(|(id, examined)| CommitReport {
                    id: id.to_string(),
                    author: escape(&examined.commit.author),
                    committer: escape(&examined.commit.committer),
                    time: examined.commit.time,
                    subject: escape(examined.commit.subject()),
                    signed: examined.commit.is_signed,
                    changes: examined.changes.len(),
                    findings: examined.findings.iter().map(words).collect(),
                })
                .collect(),
            ..self
        }
    }
}
