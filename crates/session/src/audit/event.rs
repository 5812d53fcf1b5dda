//! `AuditEvent`: what the audit log tells of a session.

use std::collections::BTreeMap;

use lazaret_gate::decision::ApplyPlan;
use lazaret_gate::proposal::Proposal;
use lazaret_tree::Digest;
use lazaret_validator::Severity;
use serde::{Deserialize, Serialize};

use crate::store::record::{CommandEnd, Outcome};

/// Something that the audit log tells of a session. Texts of the command's are raw.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AuditEvent {
    /// A command is about to start.
    Run {
        /// The number of the run in its session.
        run: u32,
        /// The profile.
        profile: String,
        /// The command, program first.
        command: Vec<String>,
        /// The image, with its digest.
        image: String,
        /// The mode of the network; `None` if it has none.
        network: Option<lazaret_egress::Mode>,
    },
    /// It has ended.
    End {
        /// The number of the run.
        run: u32,
        /// How it ended.
        end: CommandEnd,
    },
    /// Changes were judged, and may be applied from now on.
    Approved(Approval),
    /// A session came to rest.
    Settled {
        /// How.
        outcome: Outcome,
    },
    /// A session was removed.
    Removed,
}

impl AuditEvent {
    /// Its word.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Run { .. } => "run",
            Self::End { .. } => "end",
            Self::Approved(_) => "approved",
            Self::Settled { .. } => "settled",
            Self::Removed => "removed",
        }
    }
}

/// Who agreed to an apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approver {
    /// A person, who was shown the changes.
    Person,
    /// A person, beforehand, by `--yes`.
    Beforehand,
    /// A person, beforehand, for batches without findings: `apply = "auto"`.
    CleanBatch,
}

impl Approver {
    /// Its words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Person => "a person",
            Self::Beforehand => "--yes",
            Self::CleanBatch => "apply = \"auto\"",
        }
    }
}

/// What was agreed to, and what the rules said of the batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// Who agreed.
    pub by: Approver,
    /// How many changes are applied.
    pub changes: usize,
    /// How many are left out or in conflict.
    pub left: usize,
    /// How many wait to be allowed.
    pub held: usize,
    /// Findings of the whole batch by code.
    pub findings: BTreeMap<String, usize>,
    /// Paths that are applied although a rule blocks them, with its code.
    pub allowed: Vec<String>,
    /// The digest of the changes that were agreed to.
    #[serde(with = "super::line::hex")]
    pub digest: Digest,
}

impl Approval {
    /// Describes a plan and the judgement of the batch that it is made of.
    pub fn of(by: Approver, plan: &ApplyPlan, batch: Option<&Proposal>) -> Self {
        let mut findings = BTreeMap::new();
        let mut allowed = Vec::new();
        for finding in batch.into_iter().flat_map(Proposal::findings) {
            *findings.entry(finding.code.to_string()).or_default() += 1;
            let path = finding.subject.path();
            if finding.severity == Severity::Block && path.is_some_and(|path| plan.applies(path)) {
                allowed.push(format!("{}: {}", finding.subject, finding.code));
            }
        }
        Self {
            by,
            changes: plan.approved.changes().len(),
            left: plan.left,
            held: plan.held,
            findings,
            allowed,
            digest: plan.approved.digest(),
        }
    }
}
