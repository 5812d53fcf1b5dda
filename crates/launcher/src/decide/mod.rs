//! Decides what becomes of a case: by the user's answer, or by the mode that was chosen.

pub mod allowlist;
pub mod case;
pub mod full_listing;
pub mod output_target;
pub mod patch;
pub mod review;
pub mod select;
pub mod settle;
pub mod summary;

use std::path::Path;
use std::time::SystemTime;

use lazaret_gate::case::Case;
use lazaret_gate::choices::Choices;
use lazaret_gate::decision::{
    self, ApprovalMode, Decision, KeepReason, Person, Unasked, approve, decide_unasked,
};
use lazaret_gate::export::{self, ExportError, ReportInput, ReportSubject};
use lazaret_gate::proposal::{ItemState, Proposal};
use lazaret_tree::escape;

use self::select::select;
use crate::failure::Failure;
use crate::profile::ApplyMode;
use crate::ui::{Answer, Choice, OutputFormat, Question, Ui, count};
use lazaret_session::cancel::Cancel;

/// What a conflict does to the rest of a batch that is applied without a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum OnConflict {
    /// Apply nothing.
    Refuse,
    /// Apply the rest: your version stays in the workspace, the session's in the session.
    KeepBoth,
}

impl From<OnConflict> for decision::OnConflict {
    fn from(what: OnConflict) -> Self {
        match what {
            OnConflict::Refuse => Self::Refuse,
            OnConflict::KeepBoth => Self::KeepBoth,
        }
    }
}

impl From<ApplyMode> for ApprovalMode {
    fn from(mode: ApplyMode) -> Self {
        match mode {
            ApplyMode::Never => Self::Withheld,
            ApplyMode::Ask => Self::Ask,
            ApplyMode::Auto => Self::IfClean,
        }
    }
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
    approval: ApprovalMode,
    ui: &Ui,
    cancel: &Cancel,
) -> Result<Decision, Failure> {
    let proposal = case.propose(choices)?;
    show(case, &proposal, ui);
    // Consent that was given beforehand is withdrawn by Ctrl-C (FLT-08).
    cancel.check()?;
    let person = match ui.can_ask() {
        true => Person::Present,
        false => Person::Absent,
    };
    match decide_unasked(proposal, approval, person)? {
        Unasked::Decided(decision) => Ok(decision),
        Unasked::Ask(proposal) => ask(case, choices, proposal, ui, cancel),
    }
}

fn show(case: &Case, proposal: &Proposal, ui: &Ui) {
    if ui.format() == OutputFormat::Text {
        ui.results(|out| summary::write(out, case, proposal, ui));
        full_listing::keep(case, proposal, ui);
    }
}

fn ask(
    case: &Case,
    choices: &Choices,
    mut proposal: Proposal,
    ui: &Ui,
    cancel: &Cancel,
) -> Result<Decision, Failure> {
    let mut choices = choices.clone();
    let place = ui.place(case.contents.workspace().path());
    loop {
        let (some, all) = (proposal.changes().len(), proposal.open());
        let text = match some {
            0 => format!("Nothing of {} can be applied as it is.", changes(all)),
            some if some == all => format!("Apply {} to {place}?", changes(some)),
            some => format!("Apply {some} of {} to {place}?", changes(all)),
        };
        let offered = |choice: &Choice| match choice.key {
            "y" | "n" => some > 0,
            "r" => ui.can_draw(),
            "e" => case.subject.is_some(),
            _ => true,
        };
        let offered: Vec<Choice> = CHOICES.into_iter().filter(offered).collect();
        let question = Question {
            text: &text,
            choices: &offered,
        };
        match ui.prompt(&question, cancel) {
            Answer::Chosen("y") => return Ok(Decision::Apply(approve(proposal)?)),
            Answer::Chosen("n") => return Ok(refuse(case, all, ui, cancel)),
            Answer::Chosen("r") => {
                return review::open(case, &choices, ui, cancel);
            }
            Answer::Chosen("d") => {
                for item in proposal.items() {
                    if item.state != ItemState::AlreadyApplied {
                        ui.result(&patch::painted(case, item.proposed(), ui)?);
                    }
                }
            }
            Answer::Chosen("e") => write_out(case, ui),
            Answer::Chosen("p") => match select(case, &choices, ui, cancel)? {
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
fn refuse(case: &Case, all: usize, ui: &Ui, cancel: &Cancel) -> Decision {
    let commits = case
        .commits()
        .map(|commits| format!(" and the copy ({commits})"));
    let commits = commits.unwrap_or_default();
    let text = format!("Throw {}{commits} away for good?", changes(all));
    let question = Question {
        text: &text,
        choices: &[YES, KEEP],
    };
    match ui.prompt(&question, cancel) {
        Answer::Chosen("y") => Decision::Discard,
        Answer::Chosen(_) => Decision::Keep(KeepReason::Chosen),
        Answer::None(reason) => Decision::Keep(KeepReason::NoAnswer(reason)),
    }
}

/// Writes all forms of a report into the current directory. A failure is said, and the
/// question asked again.
fn write_out(case: &Case, ui: &Ui) {
    let Some(subject) = &case.subject else { return };
    let write = || -> Result<_, ExportError> {
        let proposal = export::propose(case)?;
        let (subject, now) = (ReportSubject::Session(subject), SystemTime::now());
        let input = ReportInput::new(subject, case, &proposal, now, Vec::new())?;
        export::write_all(&input, case, Path::new(""))
    };
    match write() {
        Ok(files) => {
            for file in files {
                ui.status(&format!(
                    "wrote {}",
                    escape(file.as_os_str().as_encoded_bytes())
                ));
            }
        }
        Err(error) => ui.failure(&error.into()),
    }
}

/// `1 change`, `12 changes`.
pub(crate) fn changes(number: usize) -> String {
    match number {
        1 => "1 change".to_owned(),
        more => format!("{} changes", count(more as u64)),
    }
}
