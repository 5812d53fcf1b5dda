//! Decides what becomes of a case: by the user's answer, or by the mode that was chosen.

use lazaret_validator::{Approved, Outcome as Judged};

use std::path::Path;
use std::time::SystemTime;

use lazaret_transfer::Intent;
use lazaret_tree::escape;

use super::case::Case;
use super::choices::Choices;
use super::export::{self, Batch, Subject};
use super::pick::pick;
use super::proposal::{Item, ItemState, Origin, Proposal, Waiting};
use super::remembered::Entry;
use super::{listing, patch, review, summary};
use crate::failure::{Failure, FailureKind};
use crate::interrupt::Interrupt;
use crate::profile::ApplyMode;
use crate::ui::{Answer, Choice, NoAnswer, OutputFormat, Question, Ui, count};

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

const YES: Choice = Choice {
    key: "y",
    word: "yes",
};

const KEEP: Choice = Choice {
    key: "k",
    word: "keep",
};

/// Offered only where a screen can be drawn.
const REVIEW: Choice = Choice {
    key: "r",
    word: "review",
};

const CHOICES: [Choice; 7] = [
    YES,
    Choice {
        key: "n",
        word: "no",
    },
    Choice {
        key: "d",
        word: "diff",
    },
    REVIEW,
    Choice {
        key: "p",
        word: "pick",
    },
    Choice {
        key: "e",
        word: "export",
    },
    KEEP,
];

/// Shows what some choices of a case come to, and decides.
///
/// # Errors
/// When the contents can't be read, or the user interrupts.
pub fn decide(
    case: &Case,
    choices: &Choices,
    consent: Consent,
    ui: &Ui,
    interrupt: &Interrupt,
) -> Result<Decision, Failure> {
    let proposal = case.propose(choices)?;
    show(case, &proposal, ui);
    // Consent that was given beforehand is withdrawn by Ctrl-C (FLT-08).
    interrupt.check()?;
    if proposal.digest().is_none() {
        return Ok(Decision::Reject);
    }
    let conflicts = proposal.conflicts().count();
    match consent {
        Consent::Ask | Consent::Withheld | Consent::Given(OnConflict::KeepBoth) => {}
        Consent::IfClean | Consent::Given(OnConflict::Refuse) if conflicts > 0 => {
            return Ok(Decision::Keep(KeepReason::Conflicts));
        }
        Consent::IfClean | Consent::Given(OnConflict::Refuse) => {}
    }
    // At a terminal a person may still allow something, or take the session's version.
    let can_pick = consent == Consent::Ask && ui.can_ask();
    let waits = |item: &Item| proposal.waiting(item) != Waiting::No;
    if proposal.changes().is_empty() && !(can_pick && proposal.count(waits) > 0) {
        return Ok(nothing(&proposal));
    }
    match consent {
        Consent::Withheld => Ok(Decision::Keep(KeepReason::Chosen)),
        Consent::IfClean if proposal.outcome() != Judged::Clean => {
            Ok(Decision::Keep(KeepReason::NotClean))
        }
        Consent::IfClean | Consent::Given(_) => approve(proposal),
        Consent::Ask => ask(case, choices, proposal, ui, interrupt),
    }
}

/// Nothing can be applied. When something was withheld that is not the same as nothing
/// having changed, and it is kept for the user to look at.
fn nothing(proposal: &Proposal) -> Decision {
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

fn show(case: &Case, proposal: &Proposal, ui: &Ui) {
    if ui.format() == OutputFormat::Text {
        ui.results(|out| summary::write(out, case, proposal, ui));
        listing::keep(case, proposal, ui);
    }
}

fn ask(
    case: &Case,
    choices: &Choices,
    mut proposal: Proposal,
    ui: &Ui,
    interrupt: &Interrupt,
) -> Result<Decision, Failure> {
    let mut choices = choices.clone();
    let place = ui.place(case.contents.workspace().path());
    loop {
        let (some, all) = (proposal.changes().len(), open(&proposal));
        let text = match some {
            0 => format!("Nothing of {} can be applied as it is.", changes(all)),
            some if some == all => format!("Apply {} to {place}?", changes(some)),
            some => format!("Apply {some} of {} to {place}?", changes(all)),
        };
        let offered = |choice: &Choice| match choice.key {
            "y" | "n" => some > 0,
            "r" => ui.can_draw(),
            "e" => case.session.is_some(),
            _ => true,
        };
        let offered: Vec<Choice> = CHOICES.into_iter().filter(offered).collect();
        let question = Question {
            text: &text,
            choices: &offered,
        };
        match ui.prompt(&question, interrupt) {
            Answer::Chosen("y") => return approve(proposal),
            Answer::Chosen("n") => return Ok(refuse(case, all, ui, interrupt)),
            Answer::Chosen("r") => {
                return review::open(case, &choices, ui, interrupt);
            }
            Answer::Chosen("d") => {
                for item in proposal.items() {
                    if item.state != ItemState::Already {
                        ui.result(&patch::painted(case, item.proposed(), ui)?);
                    }
                }
            }
            Answer::Chosen("e") => write_out(case, ui),
            Answer::Chosen("p") => match pick(case, &choices, ui, interrupt)? {
                Ok(picked) => {
                    choices = picked;
                    proposal = case.propose(&choices)?;
                    show(case, &proposal, ui);
                }
                Err(reason) => return Ok(Decision::Keep(KeepReason::NoAnswer(reason))),
            },
            Answer::Chosen(_) => return Ok(Decision::Keep(KeepReason::Chosen)),
            Answer::None(reason) => return Ok(Decision::Keep(KeepReason::NoAnswer(reason))),
        }
    }
}

/// What was refused is thrown away only by a second word: nothing brings it back.
fn refuse(case: &Case, all: usize, ui: &Ui, interrupt: &Interrupt) -> Decision {
    let commits = case
        .commits()
        .map(|commits| format!(" and the copy ({commits})"));
    let commits = commits.unwrap_or_default();
    let text = format!("Throw {}{commits} away for good?", changes(all));
    let question = Question {
        text: &text,
        choices: &[YES, KEEP],
    };
    match ui.prompt(&question, interrupt) {
        Answer::Chosen("y") => Decision::Discard,
        Answer::Chosen(_) => Decision::Keep(KeepReason::Chosen),
        Answer::None(reason) => Decision::Keep(KeepReason::NoAnswer(reason)),
    }
}

/// Writes all forms of a report into the current directory. A failure is said, and the
/// question asked again.
fn write_out(case: &Case, ui: &Ui) {
    let Some(record) = &case.session else { return };
    let written = export::propose(case).and_then(|proposal| {
        let (subject, now) = (Subject::Session(record), SystemTime::now());
        let batch = Batch::new(subject, case, &proposal, now, Vec::new())?;
        export::write_all(&batch, case, Path::new(""), ui)
    });
    match written {
        Ok(files) => {
            for file in files {
                ui.status(&format!(
                    "wrote {}",
                    escape(file.as_os_str().as_encoded_bytes())
                ));
            }
        }
        Err(failure) => ui.failure(&failure),
    }
}

/// `1 change`, `12 changes`.
pub(crate) fn changes(number: usize) -> String {
    match number {
        1 => "1 change".to_owned(),
        more => format!("{} changes", count(more as u64)),
    }
}

/// How many changes the workspace does not have yet.
fn open(proposal: &Proposal) -> usize {
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
