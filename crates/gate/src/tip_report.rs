//! `TipReport`: what reports tell of commits that were made inside, fetched and examined.

use lazaret_validator::Findings;
use serde::{Serialize, Serializer};

use crate::report::FindingReport;

/// What a report says of the commits that wait.
#[derive(Debug, Clone, Serialize)]
pub struct WaitingReport {
    /// What was fetched.
    pub tips: Vec<TipReport>,
    /// What stays in the copy, in escaped words.
    pub stays: Vec<String>,
    /// Why nothing was fetched, escaped; null if something was.
    pub not_fetched: Option<String>,
}

/// One tip. All texts are escaped.
#[derive(Debug, Clone, Serialize)]
pub struct TipReport {
    /// `branch`, `tag`, `head`, `worktree`, `stash`, `lost` or `ref`.
    pub kind: &'static str,
    /// Where its repository lies inside: `.git`, or a directory below `.git/modules`.
    pub repository: String,
    /// What it is called inside; in the repository of a submodule, after that one's name.
    pub name: String,
    /// What it names.
    pub id: String,
    /// What it is called once it is landed.
    pub lands_as: String,
    /// Whether it can be landed.
    pub state: TipVerdict,
    /// Why it is refused; null where it is not.
    pub refusal: Option<RefusalReport>,
    /// The user's commit that it goes on from; null for a history of its own.
    pub base: Option<String>,
    /// How many entries its files change since the base.
    pub changes: usize,
    /// What the rules say of these changes.
    #[serde(serialize_with = "worded")]
    pub findings: Findings,
    /// The new commits, oldest first.
    pub commits: Vec<CommitReport>,
}

/// Whether a tip can be landed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TipVerdict {
    /// The rules block nothing of it.
    Good,
    /// A rule blocks something, which the user can allow.
    Blocked,
    /// It is not taken at all.
    Refused,
}

/// Why a tip is refused.
#[derive(Debug, Clone, Serialize)]
pub struct RefusalReport {
    /// A stable code.
    pub code: &'static str,
    /// The reason, escaped.
    pub message: String,
}

/// One commit. All texts are escaped.
#[derive(Debug, Clone, Serialize)]
pub struct CommitReport {
    /// Its id.
    pub id: String,
    /// Who wrote it: `Name <address>`.
    pub author: String,
    /// Who committed it.
    pub committer: String,
    /// Seconds since 1970, as the commit says.
    pub time: i64,
    /// The first line of the message.
    pub subject: String,
    /// Whether it carries a signature. Signatures are not verified.
    pub signed: bool,
    /// How many entries differ from its first parent's.
    pub changes: usize,
    /// What the rules say of these changes.
    #[serde(serialize_with = "worded")]
    pub findings: Findings,
}

fn worded<S: Serializer>(findings: &Findings, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(
        findings
            .iter()
            .map(|finding| FindingReport::from(&**finding)),
    )
}
