//! Puts what was found of commits into reports.

use lazaret_commits::examine::{Examination, ExaminedTip};
use lazaret_gate::tip_report::{CommitReport, RefusalReport, TipReport, TipVerdict, WaitingReport};
use lazaret_runtime::SessionId;
use lazaret_tree::escape;
use serde::Serialize;

use super::open::{OpenCommits, OpenTip, TipState};

/// What `commits --json` prints: everything that waits in one session.
#[derive(Debug, Serialize)]
pub(crate) struct CommitsReport {
    /// The session.
    session: String,
    /// What can be fetched.
    tips: Vec<TipReport>,
    /// What stays in the copy, in words.
    stays: Vec<String>,
}

impl CommitsReport {
    /// Tells of everything.
    pub(crate) fn of(session: &SessionId, open: &OpenCommits) -> Self {
        Self {
            session: session.to_string(),
            tips: tips(open),
            stays: open.stays.clone(),
        }
    }
}

/// Tells of everything in the report of a session.
pub(crate) fn waiting(open: &OpenCommits) -> WaitingReport {
    WaitingReport {
        tips: tips(open),
        stays: open.stays.clone(),
        not_fetched: None,
    }
}

fn tips(open: &OpenCommits) -> Vec<TipReport> {
    let tips = open.examined();
    tips.map(|(tip, state)| report(tip, state, &open.examination))
        .collect()
}

fn report(open: &OpenTip, state: TipState<'_>, examination: &Examination) -> TipReport {
    let report = TipReport {
        kind: open.tip.source.kind(),
        repository: escape(open.tip.repository.as_str().as_bytes()),
        name: open.tip.label(),
        id: open.tip.id.to_string(),
        lands_as: open.name.short().to_owned(),
        state: TipVerdict::Good,
        refusal: None,
        base: None,
        changes: 0,
        findings: Vec::new(),
        commits: Vec::new(),
    };
    match state {
        TipState::Refused(refusal) => TipReport {
            state: TipVerdict::Refused,
            refusal: Some(RefusalReport {
                code: refusal.code(),
                message: refusal.to_string(),
            }),
            ..report
        },
        TipState::Blocked(tip) => TipReport {
            state: TipVerdict::Blocked,
            ..with(report, tip, examination)
        },
        TipState::Good(tip) => with(report, tip, examination),
    }
}

fn with(report: TipReport, tip: &ExaminedTip, examination: &Examination) -> TipReport {
    let commits = tip.commits.iter();
    let commits = commits.filter_map(|id| Some((id, examination.commit(id)?)));
    TipReport {
        base: tip.base.map(|base| base.to_string()),
        changes: tip.changes.len(),
        findings: tip.findings.clone(),
        commits: commits
            .map(|(id, examined)| CommitReport {
                id: id.to_string(),
                author: escape(&examined.commit.author),
                committer: escape(&examined.commit.committer),
                time: examined.commit.time,
                subject: escape(examined.commit.subject()),
                signed: examined.commit.is_signed,
                changes: examined.changes.len(),
                findings: examined.findings.clone(),
            })
            .collect(),
        ..report
    }
}
