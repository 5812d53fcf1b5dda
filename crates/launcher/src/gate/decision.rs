//! `Decision`: what becomes of a case, and the part of deciding that needs no person.

use lazaret_transfer::Intent;
use lazaret_validator::{Approved, Outcome as Judged};

use super::proposal::{Item, ItemState, Origin, Proposal, Waiting};
use super::remembered::Entry;
use crate::failure::{Failure, FailureKind};
use crate::profile::ApplyMode;
use crate::ui::NoAnswer;

/// What becomes of a case.
#[derive(Debug)]
#[must_use = "an approval that is dropped applies nothing"]
pub enum Decision {
    /// These changes, and no others, may be applied.
    Apply(Plan),
    /// There is nothing that could be applied.
    Nothing,
    /// Not now.
    Keep(KeepReason),
    /// Never.
    Discard,
    /// The batch as a whole may not be applied.
    Reject,
}

/// What is applied now, and what is left for later.
#[derive(Debug)]
pub struct Plan {
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
    pub taken: Intent,
}

/// Who agrees to an apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consent {
    /// Nobody yet: show and ask.
    Ask,
    /// The user, beforehand, to a batch in which nothing graver than a note was found.
    IfClean,
    /// The user, beforehand, to whatever may be applied; what is blocked stays blocked.
    Given(OnConflict),
    /// The user decides later.
    Withheld,
}

/// What a conflict does to the rest of a batch that nobody is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum OnConflict {
    /// Apply nothing.
    Refuse,
    /// Apply the rest: your version stays in the workspace, the session's in the session.
    KeepBoth,
}

impl From<ApplyMode> for Consent {
    fn from(mode: ApplyMode) -> Self {
        match mode {
            ApplyMode::Never => Self::Withheld,
            ApplyMode::Ask => Self::Ask,
            ApplyMode::Auto => Self::IfClean,
        }
    }
}

/// Why changes are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeepReason {
    /// Because of `--apply never`, or the answer `keep`.
    #[error("as you chose")]
    Chosen,
    /// Nobody could be asked; that is never a yes (UI-07).
    #[error(transparent)]
    NoAnswer(NoAnswer),
    /// `--apply auto` applies clean batches only (AUD-08).
    #[error("there are findings that a person has to look at")]
    NotClean,
    /// Files of the workspace changed meanwhile.
    #[error("files of the workspace changed meanwhile")]
    Conflicts,
    /// All that could be applied was left out, or can't happen without what was.
    #[error("all of it was left out, or can't be applied without what was left out")]
    LeftOut,
}

/// Nothing can be applied. When something was withheld that is not the same as nothing
/// having changed, and it is kept for the user to look at.
pub(crate) fn nothing(proposal: &Proposal) -> Decision {
    if proposal.conflicts().next().is_some() {
        Decision::Keep(KeepReason::Conflicts)
    } else if proposal.count(|item| proposal.waiting(item) == Waiting::Open) > 0 {
        Decision::Keep(KeepReason::LeftOut)
    } else if proposal.outcome() == Judged::Clean {
        Decision::Nothing
    } else {
        Decision::Keep(KeepReason::NotClean)
    }
}

/// How many changes the workspace does not have yet.
pub(crate) fn open(proposal: &Proposal) -> usize {
    proposal.count(|item| item.state != ItemState::Already)
}

/// Approves exactly what was just shown. The digest is taken from the proposal that was
/// rendered, and the approval is refused for any other one.
///
/// # Errors
/// When the batch is rejected.
pub fn approve(proposal: Proposal) -> Result<Decision, Failure> {
    let rejected = || Failure::message(FailureKind::Internal, "a rejected batch was approved");
    let shown = proposal.digest().ok_or_else(rejected)?;
    let all = open(&proposal);
    let count = |waiting| proposal.count(|item| proposal.waiting(item) == waiting);
    let (held, left) = (count(Waiting::Held), count(Waiting::Open));
    let taken = taken(&proposal);
    Ok(Decision::Apply(Plan {
        taken,
        approved: proposal.approve(shown)?,
        left,
        held,
        all,
        remember: Vec::new(),
    }))
}

fn taken(proposal: &Proposal) -> Intent {
    let taken = |item: &&Item| item.state == ItemState::Applies && item.origin != Origin::Hunks;
    let made = proposal.items().iter().filter(taken).map(|item| &item.made);
    let there = made
        .clone()
        .filter_map(|made| Some((made.path.clone(), made.after.clone()?)));
    let gone = made.filter(|made| made.after.is_none());
    Intent {
        there: there.collect(),
        gone: gone.map(|made| made.path.clone()).collect(),
    }
}
