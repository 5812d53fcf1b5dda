//! The JSON report of a session: one object, stable, for machines.

use std::collections::BTreeMap;

use lazaret_gate::case::Case;
use lazaret_gate::proposal::Proposal;
use lazaret_gate::report::{Changes, ConflictReport, Findings, MovedReport};
use lazaret_transfer::SyncConflict;
use lazaret_tree::escape;
use serde::Serialize;

use crate::ui::session_events::{describe, describe_repository};
use lazaret_session::lifecycle::update_summary::UpdateSummary;
use lazaret_session::settle::SettleResult;
use lazaret_session::store::record::{CommandEnd, NetworkSummary, Outcome, Record};
use lazaret_session::store::unlanded::Unlanded;

/// What `run --json` ends with, and `diff`, `apply` and `show` print too.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The session.
    pub session: String,
    /// Where the engine was reached.
    pub engine: String,
    /// The command's exit code; null when it was not started.
    pub exit_code: Option<i32>,
    /// Whether its time was up.
    pub timed_out: bool,
    /// Whether the kernel's OOM killer hit it.
    pub oom_killed: bool,
    /// What changed, by path.
    pub changes: Changes,
    /// What the rules found.
    pub findings: Findings,
    /// What is in the way in the workspace.
    pub conflicts: Vec<ConflictReport>,
    /// What stays where it is, since the place that it was moved to is not applied.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub moved: Vec<MovedReport>,
    /// Caches that appeared in the copy and stay there, escaped.
    pub left_out: Vec<String>,
    /// What was committed inside and stays in the copy.
    pub commits: Unlanded,
    /// How the gate ended; null while it is open.
    pub outcome: Option<Outcome>,
    /// What `lazaret undo` would take back; null when nothing was applied.
    pub undo: Option<String>,
    /// Milliseconds of each step.
    pub phases: BTreeMap<String, u64>,
    /// What went in before the command started; only where the session was there before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sync: Option<SyncReport>,
    /// What the command reached; only where it had a network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub egress: Option<NetworkSummary>,
    /// Only where the command still runs: then nothing of this is judged for good.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live: Option<Live>,
}

/// What an update of a volume came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SyncReport {
    /// Entries that were sent.
    pub sent: u64,
    /// Bytes of contents that were sent.
    pub bytes: u64,
    /// Entries that were removed from the copy.
    pub removed: u64,
    /// Entries that both sides had changed to the same.
    pub adopted: u64,
    /// What both sides changed, and not to the same: the copy keeps its own.
    pub conflicts: Vec<SyncConflictReport>,
    /// What became of the copy's repository if both sides moved theirs, in a sentence each.
    pub repository: Vec<String>,
}

/// A path that stays as it is in the copy, escaped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SyncConflictReport {
    /// The path, escaped.
    pub path: String,
    /// Why.
    pub message: String,
}

impl From<&SyncConflict> for SyncConflictReport {
    fn from(conflict: &SyncConflict) -> Self {
        Self {
            path: escape(conflict.path.as_str().as_bytes()),
            message: describe(conflict),
        }
    }
}

impl From<&UpdateSummary> for SyncReport {
    fn from(summary: &UpdateSummary) -> Self {
        Self {
            sent: summary.sent,
            bytes: summary.bytes,
            removed: summary.removed,
            adopted: summary.adopted,
            conflicts: summary
                .conflicts
                .iter()
                .map(SyncConflictReport::from)
                .collect(),
            repository: describe_repository(&summary.repository),
        }
    }
}

/// How a command that still runs was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Live {
    /// Milliseconds for which it stood still.
    pub paused_ms: u64,
}

impl Report {
    /// Reports a case before it is decided.
    pub fn of_case(record: &Record, case: &Case, proposal: &Proposal) -> Self {
        Self {
            changes: Changes::of(case.changes()),
            findings: Findings::Found(proposal.shared_findings()),
            conflicts: proposal.conflicts().map(ConflictReport::from).collect(),
            moved: proposal.moved().map(MovedReport::from).collect(),
            left_out: case
                .caches
                .iter()
                .map(|cache| escape(&cache.name))
                .collect(),
            ..Self::of(record)
        }
    }

    /// Adds how the session ended.
    pub fn settled(&mut self, settled: &SettleResult) {
        self.outcome = Some(settled.outcome);
        self.undo = settled.is_applied.then(|| self.session.clone());
    }

    /// Starts a report from a record; the gate fills in the rest.
    pub fn of(record: &Record) -> Self {
        let end: Option<CommandEnd> = record.end;
        Self {
            session: record.id.to_string(),
            engine: record.engine.clone(),
            exit_code: end.map(|end| end.exit_code),
            timed_out: end.is_some_and(|end| end.timed_out),
            oom_killed: end.is_some_and(|end| end.oom_killed),
            changes: Changes::default(),
            findings: Findings::Rejection(record.rejection.clone()),
            conflicts: Vec::new(),
            moved: Vec::new(),
            left_out: Vec::new(),
            commits: record.commits.clone(),
            outcome: record.outcome,
            undo: None,
            phases: BTreeMap::new(),
            sync: None,
            live: None,
            egress: record.egress,
        }
    }
}
