//! `Proposal`: exactly what would be applied, and what would not, and why.
//!
//! It is derived from a case and a person's choices ([`super::propose`]): what is left out or in conflict
//! is taken away with all that depends on it, merges and chosen hunks are put in, and the
//! judge looks at the trees that come of it. So the digest that an approval names covers
//! exactly the bytes that the rules have seen and that the person was shown (P3).

use std::sync::Arc;

use lazaret_transfer::ConflictKind;
use lazaret_tree::{Change, Digest, MAX_DEPTH, RelPath, RelPathBuf};
use lazaret_validator::{
    ApprovalMismatch, Approved, Finding, Findings, Outcome, Severity, Validated, WithheldReason,
    is_allowable,
};

/// What would be applied of a case, given some choices.
#[derive(Debug, Clone)]
pub struct Proposal {
    pub(super) items: Arc<Vec<ProposedChange>>,
    pub(super) findings: Arc<Findings>,
    pub(super) outcome: Outcome,
    /// `None` exactly when the batch is rejected.
    pub(super) validated: Option<Arc<Validated>>,
}

/// One changed path of a proposal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposedChange {
    /// What the session did: from what was sent in to what came out.
    pub made: Arc<Change>,
    /// What would be written instead, where that is something else: the user changed the
    /// file too, or only some hunks are taken.
    pub(super) instead: Option<Arc<Change>>,
    /// What becomes of it.
    pub state: ItemState,
    /// Where the contents come from.
    pub origin: Origin,
}

/// What becomes of one change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ItemState {
    /// It is written.
    Applies,
    /// The workspace has it already (APP-09).
    AlreadyApplied,
    /// The person left it out.
    LeftOut,
    /// The workspace was changed too, and the two can't be merged.
    Conflict(ConflictKind),
    /// Rules hold it back; the codes of the findings.
    Blocked(Arc<[&'static str]>),
    /// It can't happen without this other change, which does not happen.
    Depends(RelPathBuf),
    /// It is half a rename: what was here was moved to this place, which is not applied. The
    /// raw name, since that may be one that is not carried.
    Moved(Arc<[u8]>),
}

/// Whether something that is not applied could be applied later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pending {
    /// It is applied now, or never.
    No,
    /// It was left out, or is in conflict.
    Choice,
    /// It has to be allowed by name.
    Allowance,
}

/// Where the proposed contents come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The session alone.
    Session,
    /// The session and the user's own edit, merged.
    Merged,
    /// Some hunks of the session's change.
    Hunks,
    /// The session, in place of an edit of the user's that it is in conflict with.
    SessionVersion,
}

/// Why an approval is refused: a mistake in lazaret, never the user's.
#[derive(Debug, thiserror::Error)]
pub enum ApproveError {
    /// Nothing of the batch may be applied.
    #[error("a rejected batch was approved")]
    Rejected,
    /// Something else was shown.
    #[error(transparent)]
    Mismatch(#[from] ApprovalMismatch),
}

impl ProposedChange {
    /// Where.
    pub fn path(&self) -> &RelPath {
        &self.made.path
    }

    /// What would be written: from what lies in the workspace to what will.
    pub fn proposed(&self) -> &Change {
        self.shared()
    }

    /// Returns [`ProposedChange::proposed`] for a caller that keeps it.
    pub(super) fn shared(&self) -> &Arc<Change> {
        self.instead.as_ref().unwrap_or(&self.made)
    }

    /// Whether a person could have it applied by allowing it by name.
    pub fn is_allowable(&self) -> bool {
        match &self.state {
            ItemState::Blocked(codes) => codes.iter().all(|code| is_allowable(code)),
            _ => false,
        }
    }
}

impl Proposal {
    /// Every changed path outside `.git`, in order.
    pub fn items(&self) -> &[ProposedChange] {
        &self.items
    }

    /// Looks one path up.
    pub fn item(&self, path: &RelPath) -> Option<&ProposedChange> {
        let found = self.items.binary_search_by(|item| item.path().cmp(path));
        self.items.get(found.ok()?)
    }

    /// Everything that the rules say: the gravest first, then in path order.
    pub fn findings(&self) -> &[Arc<Finding>] {
        &self.findings
    }

    /// Returns [`Proposal::findings`] for a caller that keeps them.
    pub fn shared_findings(&self) -> Arc<Findings> {
        self.findings.clone()
    }

    /// What the rules say about one path.
    pub fn about<'a>(&'a self, path: &'a RelPath) -> impl Iterator<Item = &'a Finding> {
        let findings = self.findings.iter().map(|finding| &**finding);
        findings.filter(move |finding| finding.subject.path() == Some(path))
    }

    /// What keeps one path back: the block findings that are not allowed.
    pub fn blocks<'a>(&'a self, path: &'a RelPath) -> impl Iterator<Item = &'a Finding> {
        let about = self.about(path);
        about.filter(|finding| finding.severity == Severity::Block && !finding.allowed)
    }

    /// The sum of the findings.
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// The changes that would be written, in path order; none of a rejected batch.
    pub fn changes(&self) -> &[Arc<Change>] {
        self.validated
            .as_ref()
            .map_or(&[], |validated| validated.changes())
    }

    /// The paths where the workspace was changed too and nothing can be merged.
    pub fn conflicts(&self) -> impl Iterator<Item = (&RelPathBuf, &ConflictKind)> {
        self.items.iter().filter_map(|item| match &item.state {
            ItemState::Conflict(kind) => Some((&item.made.path, kind)),
            _ => None,
        })
    }

    /// The paths that stay as they are, since the place that the session moved them to is not
    /// applied; and that place.
    pub fn moved(&self) -> impl Iterator<Item = (&RelPathBuf, &[u8])> {
        self.items.iter().filter_map(|item| match &item.state {
            ItemState::Moved(place) => Some((&item.made.path, &**place)),
            _ => None,
        })
    }

    /// Whether something is not applied now, and could be later.
    pub fn pending(&self, item: &ProposedChange) -> Pending {
        let mut item = item;
        // What it depends on may depend on something too: a directory above, or an entry
        // below it.
        for _ in 0..=2 * MAX_DEPTH {
            match &item.state {
                ItemState::LeftOut | ItemState::Conflict(_) => return Pending::Choice,
                // The rest of its hunks.
                ItemState::Applies if item.origin == Origin::Hunks => return Pending::Choice,
                ItemState::Blocked(_) if item.is_allowable() => return Pending::Allowance,
                ItemState::Applies | ItemState::AlreadyApplied | ItemState::Blocked(_) => break,
                ItemState::Depends(path) => match self.item(path) {
                    Some(other) => item = other,
                    None => break,
                },
                ItemState::Moved(place) => {
                    let place = RelPath::from_bytes(place).ok();
                    match place.and_then(|path| self.item(path)) {
                        Some(other) => item = other,
                        // What is there does not come back; the file is still the user's to
                        // decide on.
                        None => return Pending::Choice,
                    }
                }
            }
        }
        Pending::No
    }

    /// How many items are in a state that a question needs an answer to.
    pub fn count(&self, wanted: impl Fn(&ProposedChange) -> bool) -> usize {
        self.items.iter().filter(|item| wanted(item)).count()
    }

    /// How many changes the workspace does not have yet.
    pub fn open(&self) -> usize {
        self.count(|item| item.state != ItemState::AlreadyApplied)
    }

    /// The digest of exactly what would be written; `None` of a rejected batch.
    pub fn digest(&self) -> Option<Digest> {
        Some(self.validated.as_ref()?.digest())
    }

    /// Turns the proposal into an approval. `shown` is the digest of what the person was
    /// shown.
    ///
    /// # Errors
    /// When that was something else, or the batch is rejected.
    pub fn approve(self, shown: Digest) -> Result<Approved, ApproveError> {
        let validated = self.validated.ok_or(ApproveError::Rejected)?;
        // The changes are shared by both.
        Ok(Arc::unwrap_or_clone(validated).approve(shown)?)
    }
}

/// Whether a version of the session's can be put in the place of the user's.
pub fn can_replace(kind: &ConflictKind) -> bool {
    match kind {
        ConflictKind::Changed
        | ConflictKind::Deleted
        | ConflictKind::Created
        | ConflictKind::TypeChanged => true,
        ConflictKind::Holds { .. }
        | ConflictKind::ParentMissing
        | ConflictKind::BelowLink
        | ConflictKind::OtherFileSystem => false,
    }
}

/// Words that something stays for the sake of the place that it was moved to. Of a name that is
/// not carried nothing was read, so it is only known to be possible.
pub fn moved_words(place: &[u8]) -> &'static str {
    match RelPath::from_bytes(place) {
        Ok(_) => "was moved to",
        Err(_) => "may have been moved to",
    }
}

impl ItemState {
    /// Words a reason of the judge's.
    pub(super) fn of(reason: &WithheldReason) -> Self {
        match reason {
            WithheldReason::Findings(codes) => Self::Blocked(codes.clone()),
            WithheldReason::Below(path) | WithheldReason::Keeps(path) => {
                Self::Depends(path.clone())
            }
            WithheldReason::Moved(place) => Self::Moved(Arc::clone(place)),
            // Changes in `.git` are no items, and the other two are words of ours.
            WithheldReason::Git | WithheldReason::LeftOut | WithheldReason::Conflict => {
                Self::LeftOut
            }
        }
    }
}
