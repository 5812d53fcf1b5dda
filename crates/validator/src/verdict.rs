//! `Verdict` and the chain to an approval: `ChangeSet` → `Validated` → `Approved`.

use std::collections::BTreeMap;
use std::sync::Arc;

use lazaret_tree::{Change, Digest, Entry, FieldHasher, LinkTarget, Mode, RelPathBuf};

use crate::{Finding, Findings, Severity};

/// What the judge says about a batch.
#[derive(Debug)]
#[must_use = "a verdict is to be shown, whatever it says"]
pub struct Verdict {
    /// Everything there is to say: the gravest first, then in path order.
    pub findings: Findings,
    /// The sum of it.
    pub outcome: Outcome,
    /// What may be applied; `None` exactly when the batch is rejected.
    pub validated: Option<Validated>,
}

/// The sum of a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing graver than a note, or the user allowed it: may be applied without asking.
    Clean,
    /// There are warnings, or something is withheld: a person decides.
    NeedsReview,
    /// Nothing may be applied.
    Rejected,
}

impl Outcome {
    /// Returns the word used in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::NeedsReview => "needs review",
            Self::Rejected => "rejected",
        }
    }
}

/// A change that is not applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Withheld {
    /// Where.
    pub path: RelPathBuf,
    /// Why.
    pub reason: WithheldReason,
}

/// Why a change is not applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WithheldReason {
    /// Block findings of its own; their codes. Shared: in a large batch many have the same.
    Findings(Arc<[&'static str]>),
    /// It lies below a withheld change and cannot happen without it.
    Below(RelPathBuf),
    /// It removes a directory in which this withheld change keeps something.
    Keeps(RelPathBuf),
    /// It is half a rename: what was here was moved to this place, which is withheld. The raw
    /// name, since that may be one that is not carried.
    Moved(Arc<[u8]>),
    /// An ordinary change inside `.git`, which never comes back; no finding.
    Git,
    /// The person who reviewed it left it out.
    LeftOut,
    /// The workspace is not as the change expects it.
    Conflict,
}

/// What may be applied of a batch, and what is withheld.
///
/// Only [`crate::judge`] makes one, so holding one proves that the rules ran.
#[derive(Debug, Clone)]
#[must_use = "ends by `approve`, or by being dropped, which discards the batch"]
pub struct Validated {
    changes: Vec<Arc<Change>>,
    withheld: Vec<Withheld>,
    digest: Digest,
}

/// What a person, or a policy for clean batches, agreed to.
///
/// The digest covers exactly the changes: paths, types, modes, contents.
#[derive(Debug)]
#[must_use = "an approval that is dropped applies nothing"]
pub struct Approved {
    changes: Vec<Arc<Change>>,
    digest: Digest,
}

/// What was shown is not what would be applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the approval is for {shown}, but the changes are {actual}")]
pub struct ApprovalMismatch {
    /// The digest that was shown and agreed to.
    pub shown: Digest,
    /// The digest of what would be applied.
    pub actual: Digest,
}

impl Validated {
    pub(crate) fn new(changes: Vec<Arc<Change>>, withheld: Vec<Withheld>) -> Self {
        let digest = changes_digest(changes.iter().map(|change| &**change));
        Self {
            changes,
            withheld,
            digest,
        }
    }

    /// Returns the changes that may be applied, in path order.
    pub fn changes(&self) -> &[Arc<Change>] {
        &self.changes
    }

    /// Returns the changes that are withheld, in path order.
    pub fn withheld(&self) -> &[Withheld] {
        &self.withheld
    }

    /// Returns the digest of exactly what would be applied.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Whether there is nothing to apply.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Adds what was withheld before the rules ran. It is no part of what is approved.
    pub fn with_withheld(mut self, more: impl IntoIterator<Item = Withheld>) -> Self {
        self.withheld.extend(more);
        self.withheld.sort_by(|a, b| a.path.cmp(&b.path));
        self
    }

    /// Takes what is withheld out; what may be applied stays.
    pub fn take_withheld(&mut self) -> Vec<Withheld> {
        std::mem::take(&mut self.withheld)
    }

    /// Leaves out directories that nothing would be in. The digest changes accordingly.
    pub fn without(self, hollow: &BTreeMap<RelPathBuf, WithheldReason>) -> Self {
        let Self {
            changes,
            mut withheld,
            ..
        } = self;
        let mut kept = Vec::with_capacity(changes.len());
        for change in changes {
            match hollow.get(&change.path) {
                Some(reason) => withheld.push(Withheld {
                    path: change.path.clone(),
                    reason: reason.clone(),
                }),
                None => kept.push(change),
            }
        }
        withheld.sort_by(|a, b| a.path.cmp(&b.path));
        Self::new(kept, withheld)
    }

    /// Turns the batch into an approval. `shown` is the digest under which the
    /// batch was shown for approval.
    ///
    /// # Errors
    /// When `shown` is not the digest of these changes.
    pub fn approve(self, shown: Digest) -> Result<Approved, ApprovalMismatch> {
        let Self {
            changes, digest, ..
        } = self;
        if shown == digest {
            Ok(Approved { changes, digest })
        } else {
            Err(ApprovalMismatch {
                shown,
                actual: digest,
            })
        }
    }
}

impl Approved {
    /// Returns the changes to apply, in path order.
    pub fn changes(&self) -> &[Arc<Change>] {
        &self.changes
    }

    /// Returns the digest that was agreed to.
    pub fn digest(&self) -> Digest {
        self.digest
    }
}

pub(crate) fn outcome_of(findings: &[Arc<Finding>]) -> Outcome {
    let graves = findings.iter().filter(|finding| !finding.allowed);
    match graves.map(|finding| finding.severity).max() {
        None | Some(Severity::Note) => Outcome::Clean,
        Some(Severity::Warn | Severity::Block) => Outcome::NeedsReview,
    }
}

/// Hashes the changes: every field length-prefixed, so no two lists collide.
pub(crate) fn changes_digest<'a>(changes: impl IntoIterator<Item = &'a Change>) -> Digest {
    let mut hasher = FieldHasher::default();
    let mut field = |bytes: &[u8]| hasher.field(bytes);
    field(b"lazaret 2026 approval v1");
    for change in changes {
        let Change {
            path,
            before,
            after,
        } = change;
        field(path.as_str().as_bytes());
        for entry in [before, after] {
            match entry {
                None => field(b"-"),
                Some(Entry::Dir) => field(b"d"),
                Some(Entry::File { mode, size, digest }) => {
                    field(match mode {
                        Mode::Plain => b"f",
                        Mode::Executable => b"x",
                    });
                    field(&size.to_le_bytes());
                    field(digest.as_bytes());
                }
                Some(Entry::Symlink { target }) => {
                    field(b"l");
                    field(LinkTarget::as_str(target).as_bytes());
                }
            }
        }
    }
    hasher.finish()
}
