//! `Decision`: what becomes of a case, and the part of deciding that needs no person.

use lazaret_transfer::PendingUpdate;
use lazaret_tree::RelPath;
use lazaret_validator::{Approved, Outcome as Judged};

use super::allowlist::Entry;
use super::proposal::{ApproveError, ItemState, Origin, Pending, Proposal, ProposedChange};

/// What becomes of a case.
#[derive(Debug)]
#[must_use = "an approval that is dropped applies nothing"]
pub enum Decision {
    /// These changes, and no others, may be applied.
    Apply(ApplyPlan),
    /// There is nothing that could be applied.
    NothingToApply,
    /// Nothing: what was landed of the session's commits holds all of it.
    Landed,
    /// Not now.
    Keep(KeepReason),
    /// Never.
    Discard,
    /// The batch as a whole may not be applied.
    Reject,
}

/// What is applied now, and what is left for later.
#[derive(Debug)]
pub struct ApplyPlan {
    /// What was agreed to.
    pub approved: Approved,
    /// How many changes were left out or are in conflict.
    pub left: usize,
    /// How many changes wait to be allowed by name.
    pub held: usize,
    /// How many changes there are in all, those not counted that the workspace has already.
    pub all: usize,
    /// What of it is to be allowed from now on.
    pub remember: Vec<Entry>,
    /// What the session did where all of it is taken, merged or not: the copy and the
    /// workspace have that in common then.
    pub taken: PendingUpdate,
}

/// Who agrees to an apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalMode {
    /// The user has not agreed yet: show the changes and ask.
    Ask,
    /// The user, beforehand, to a batch in which nothing graver than a note was found.
    IfClean,
    /// The user, beforehand, to whatever may be applied; what is blocked stays blocked.
    Preapproved(OnConflict),
    /// The user decides later.
    Withheld,
}

/// What a conflict does to the rest of a batch that is applied without a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnConflict {
    /// Apply nothing.
    Refuse,
    /// Apply the rest: your version stays in the workspace, the session's in the session.
    KeepBoth,
}

/// Why changes are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeepReason {
    /// Because of `--apply never`, or the answer `keep`.
    #[error("as you chose")]
    Chosen,
    /// The user was not asked or did not answer; that is never a yes (UI-07).
    #[error(transparent)]
    NoAnswer(NoAnswer),
    /// `--apply auto` applies clean batches only (AUD-08).
    #[error("findings need a review")]
    NotClean,
    /// Files of the workspace changed meanwhile.
    #[error("files of the workspace changed meanwhile")]
    Conflicts,
    /// All that could be applied was left out, or can't happen without what was.
    #[error("all of it was left out, or can't be applied without what was left out")]
    LeftOut,
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoAnswer {
    /// There is no terminal to ask on.
    #[error("cannot ask: stdin or stderr is not a terminal, or --no-input was given")]
    NoTerminal,
    /// Stdin was closed.
    #[error("the input ended")]
    EndOfInput,
    /// Ctrl-C.
    #[error("interrupted")]
    Interrupted,
}

/// Whether a person can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Person {
    /// A person is at the terminal.
    Present,
    /// There is none, or no terminal.
    Absent,
}

/// What a consent comes to before a question is asked.
#[derive(Debug)]
#[must_use = "an approval that is dropped applies nothing"]
pub enum Unasked {
    /// It is decided.
    Decided(Decision),
    /// The user has to decide on this proposal, which was shown.
    Ask(Proposal),
}

impl ApplyPlan {
    /// Whether the change at `path` is applied.
    pub fn applies(&self, path: &RelPath) -> bool {
        let changes = self.approved.changes();
        changes
            .binary_search_by(|change| (*change.path).cmp(path))
            .is_ok()
    }
}

impl Decision {
    /// Returns what is to be allowed from now on, once the decision is carried out: what was
    /// allowed for an apply that then fails is not allowed for good.
    pub fn remembered(&self) -> Vec<Entry> {
        match self {
            Self::Apply(plan) => plan.remember.clone(),
            _ => Vec::new(),
        }
    }
}

/// Decides on what was shown, as far as that needs no answer.
///
/// # Errors
/// As [`approve`].
pub fn decide_unasked(
    proposal: Proposal,
    approval: ApprovalMode,
    person: Person,
) -> Result<Unasked, ApproveError> {
    if proposal.digest().is_none() {
        return Ok(Unasked::Decided(Decision::Reject));
    }
    let refuses = matches!(
        approval,
        ApprovalMode::IfClean | ApprovalMode::Preapproved(OnConflict::Refuse)
    );
    if refuses && proposal.conflicts().next().is_some() {
        return Ok(Unasked::Decided(Decision::Keep(KeepReason::Conflicts)));
    }
    // A person may still allow something, or take the session's version.
    let can_pick = approval == ApprovalMode::Ask && person == Person::Present;
    let waits = |item: &ProposedChange| proposal.pending(item) != Pending::No;
    if proposal.changes().is_empty() && !(can_pick && proposal.count(waits) > 0) {
        return Ok(Unasked::Decided(nothing(&proposal)));
    }
    Ok(match approval {
        ApprovalMode::Withheld => Unasked::Decided(Decision::Keep(KeepReason::Chosen)),
        ApprovalMode::IfClean if proposal.outcome() != Judged::Clean => {
            Unasked::Decided(Decision::Keep(KeepReason::NotClean))
        }
        ApprovalMode::IfClean | ApprovalMode::Preapproved(_) => {
            Unasked::Decided(Decision::Apply(approve(proposal)?))
        }
        ApprovalMode::Ask => Unasked::Ask(proposal),
    })
}

/// Nothing can be applied. When something was withheld that is not the same as nothing
/// having changed, and it is kept for the user to look at.
fn nothing(proposal: &Proposal) -> Decision {
    if proposal.conflicts().next().is_some() {
        Decision::Keep(KeepReason::Conflicts)
    } else if proposal.count(|item| proposal.pending(item) == Pending::Choice) > 0 {
        Decision::Keep(KeepReason::LeftOut)
    } else if proposal.outcome() == Judged::Clean {
        Decision::NothingToApply
    } else {
        Decision::Keep(KeepReason::NotClean)
    }
}

/// Approves exactly what was just shown. The digest is taken from the proposal that was
/// rendered, and the approval is refused for any other one.
///
/// # Errors
/// When the batch is rejected.
pub fn approve(proposal: Proposal) -> Result<ApplyPlan, ApproveError> {
    let shown = proposal.digest().ok_or(ApproveError::Rejected)?;
    let all = proposal.open();
    let count = |pending| proposal.count(|item| proposal.pending(item) == pending);
    let (held, left) = (count(Pending::Allowance), count(Pending::Choice));
    let taken = taken(&proposal);
    Ok(ApplyPlan {
        taken,
        approved: proposal.approve(shown)?,
        left,
        held,
        all,
        remember: Vec::new(),
    })
}

fn taken(proposal: &Proposal) -> PendingUpdate {
    let taken =
        |item: &&ProposedChange| item.state == ItemState::Applies && item.origin != Origin::Hunks;
    let made = proposal.items().iter().filter(taken).map(|item| &item.made);
    let there = made
        .clone()
        .filter_map(|made| Some((made.path.clone(), made.after.clone()?)));
    let gone = made.filter(|made| made.after.is_none());
    PendingUpdate {
        there: there.collect(),
        gone: gone.map(|made| made.path.clone()).collect(),
    }
}
