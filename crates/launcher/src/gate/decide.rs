//! Decides what becomes of a case: by the user's answer, or by the mode that was chosen.

use lazaret_validator::{Approved, Outcome as Judged, Validated};

use super::case::Case;
use super::{patch, summary};
use crate::failure::{Failure, FailureKind};
use crate::interrupt::Interrupt;
use crate::profile::ApplyMode;
use crate::ui::{Answer, Choice, NoAnswer, OutputFormat, Question, Ui};

/// What becomes of a case.
#[derive(Debug)]
#[must_use = "an approval that is dropped applies nothing"]
pub enum Decision {
    /// These changes, and no others, may be applied.
    Apply(Approved),
    /// There is nothing that could be applied.
    Nothing,
    /// Not now.
    Keep(KeepReason),
    /// Never.
    Discard,
    /// The batch as a whole may not be applied.
    Reject,
}

/// Who agrees to an apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consent {
    /// Nobody yet: show and ask.
    Ask,
    /// The user, beforehand, to a batch in which nothing graver than a note was found.
    IfClean,
    /// The user, beforehand, to whatever may be applied; what is blocked stays blocked.
    Given,
    /// The user decides later.
    Withheld,
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
}

const CHOICES: [Choice; 4] = [
    Choice {
        key: "y",
        word: "yes",
    },
    Choice {
        key: "n",
        word: "no",
    },
    Choice {
        key: "d",
        word: "diff",
    },
    Choice {
        key: "k",
        word: "keep",
    },
];

/// Shows a case and decides.
///
/// # Errors
/// When the contents can't be read for the diff, or the user interrupts.
pub fn decide(
    case: &mut Case,
    consent: Consent,
    ui: &Ui,
    interrupt: &Interrupt,
) -> Result<Decision, Failure> {
    if ui.format() == OutputFormat::Text {
        ui.result(summary::render(case, ui).trim_end());
    }
    // Consent that was given beforehand is withdrawn by Ctrl-C (FLT-08).
    interrupt.check()?;
    let Some(validated) = case.verdict.validated.take() else {
        return Ok(Decision::Reject);
    };
    if !case.conflicts.is_empty() {
        return Ok(Decision::Keep(KeepReason::Conflicts));
    }
    if validated.is_empty() {
        return Ok(nothing(case));
    }
    match consent {
        Consent::Withheld => Ok(Decision::Keep(KeepReason::Chosen)),
        Consent::IfClean if case.verdict.outcome != Judged::Clean => {
            Ok(Decision::Keep(KeepReason::NotClean))
        }
        Consent::IfClean | Consent::Given => approve(validated),
        Consent::Ask => ask(case, validated, ui, interrupt),
    }
}

/// Nothing can be applied. When something was withheld that is not the same as nothing
/// having changed, and it is kept for the user to look at.
fn nothing(case: &Case) -> Decision {
    if case.verdict.outcome == Judged::Clean {
        Decision::Nothing
    } else {
        Decision::Keep(KeepReason::NotClean)
    }
}

fn ask(
    case: &Case,
    validated: Validated,
    ui: &Ui,
    interrupt: &Interrupt,
) -> Result<Decision, Failure> {
    let (some, all) = (validated.changes().len(), case.changes.len());
    let text = if some == all {
        format!("Apply {} to the workspace?", changes(some))
    } else {
        format!("Apply {some} of {} to the workspace?", changes(all))
    };
    let question = Question {
        text: &text,
        choices: &CHOICES,
    };
    loop {
        match ui.prompt(&question, interrupt) {
            Answer::Chosen("y") => return approve(validated),
            Answer::Chosen("n") => return Ok(Decision::Discard),
            Answer::Chosen("d") => {
                for change in &case.changes {
                    ui.result(patch::render(case, change)?.trim_end());
                }
            }
            Answer::Chosen(_) => return Ok(Decision::Keep(KeepReason::Chosen)),
            Answer::None(reason) => return Ok(Decision::Keep(KeepReason::NoAnswer(reason))),
        }
    }
}

fn changes(number: usize) -> String {
    if number == 1 {
        "1 change".to_owned()
    } else {
        format!("{number} changes")
    }
}

/// The digest is that of what was just shown; a batch that differs can't be approved.
fn approve(validated: Validated) -> Result<Decision, Failure> {
    let shown = validated.digest();
    validated
        .approve(shown)
        .map(Decision::Apply)
        .map_err(|error| Failure::new(FailureKind::Internal, error))
}
