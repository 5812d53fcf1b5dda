//! Decides what becomes of a case: by the user's answer, or by the mode that was chosen.

pub mod allowlist;
pub mod case;
mod draft;
pub mod full_listing;
mod moves;
pub mod output_target;
pub mod patch;
pub mod review;
pub mod select;
pub mod settle;
pub mod summary;
pub mod waiting_commits;

use std::path::PathBuf;
use std::time::SystemTime;

use lazaret_gate::case::Case;
use lazaret_gate::choices::Choices;
use lazaret_gate::decision::{
    self, ApprovalMode, Decision, KeepReason, Person, Unasked, approve, decide_unasked,
};
use lazaret_gate::export::{self, ExportError, ReportInput, ReportSubject};
use lazaret_gate::proposal::{ItemState, Proposal};

use self::select::select;
use self::waiting_commits::WaitingCommits;
use crate::failure::Failure;
use crate::profile::ApplyMode;
use crate::ui::{Answer, Choice, OutputFormat, Question, Ui, count, written};
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

const YES: Choice = choice("y", "yes", "apply what is listed");
const NO: Choice = choice("n", "no", "throw the changes away, after one more question");
const DIFF: Choice = choice("d", "diff", "show every line that changed");
/// Offered only where a screen can be drawn.
const REVIEW: Choice = choice("r", "review", "choose files and lines on the whole screen");
const PICK: Choice = choice("p", "pick", "go through the changes one by one");
/// Offered only where commits wait.
const COMMITS: Choice = choice("c", "commits", "show commits made inside, and land them");
const EXPORT: Choice = choice(
    "e",
    "export",
    "write a patch and reports beside the session",
);
const KEEP: Choice = choice("k", "keep", "decide later; nothing is lost");

const CHOICES: [Choice; 8] = [YES, NO, DIFF, REVIEW, PICK, COMMITS, EXPORT, KEEP];
const THROW_AWAY: [Choice; 2] = [choice("y", "yes", "remove them for good"), KEEP];

pub(crate) const fn choice(key: &'static str, word: &'static str, help: &'static str) -> Choice {
    Choice { key, word, help }
}

/// What a decision that a person makes takes, beside the case.
#[derive(Debug)]
pub struct AskContext<'a> {
    /// Says and asks.
    pub ui: &'a Ui,
    /// Ends a question.
    pub cancel: &'a Cancel,
    /// What waits beside the files.
    pub commits: &'a mut dyn WaitingCommits,
}

/// Shows what some choices of a case come to, and decides.
///
/// # Errors
/// When the contents can't be read, or the user interrupts.
pub fn decide(
    case: &Case,
    choices: &Choices,
    approval: ApprovalMode,
    context: AskContext<'_>,
) -> Result<Decision, Failure> {
    let ui = context.ui;
    let proposal = case.propose(choices)?;
    show(case, &proposal, ui);
    // Consent that was given beforehand is withdrawn by Ctrl-C (FLT-08).
    context.cancel.check()?;
    let person = match ui.can_ask() {
        true => Person::Present,
        false => Person::Absent,
    };
    match decide_unasked(proposal, approval, person)? {
        Unasked::Decided(Decision::NothingToApply) if approval == ApprovalMode::Ask => {
            ask_for_commits(context)
        }
        Unasked::Decided(decision) => Ok(decision),
        Unasked::Ask(proposal) => ask(case, choices, proposal, context),
    }
}

/// Decides without a question, for another process that asks later. Shows nothing if there is
/// something to ask about: that process does.
///
/// # Errors
/// When the contents can't be read, or the user interrupts.
pub fn leave(case: &Case, choices: &Choices, context: AskContext<'_>) -> Result<Decision, Failure> {
    let proposal = case.propose(choices)?;
    context.cancel.check()?;
    match decide_unasked(proposal, ApprovalMode::Ask, Person::Absent)? {
        Unasked::Decided(Decision::NothingToApply) => {
            if context.commits.waiting().is_none() {
                show(case, &case.propose(choices)?, context.ui);
            }
            Ok(Decision::NothingToApply)
        }
        Unasked::Decided(decision) => Ok(decision),
        Unasked::Ask(_) => Ok(Decision::Keep(KeepReason::NoAnswer(
            crate::ui::NoAnswer::NoTerminal,
        ))),
    }
}

fn show(case: &Case, proposal: &Proposal, ui: &Ui) {
    if ui.format() == OutputFormat::Text {
        ui.results(|out| match proposal.open() {
            0 => summary::write_beside(out, case, proposal, ui),
            _ => summary::write(out, case, proposal, ui),
        });
        full_listing::keep(case, proposal, ui);
    }
}

/// Asks about commits alone: no change of a file waits.
fn ask_for_commits(mut context: AskContext<'_>) -> Result<Decision, Failure> {
    if context.can_land() {
        let question = Question {
            text: "No change of a file waits, but commits do.",
            choices: &[COMMITS, KEEP],
        };
        if context.ui.prompt(&question, context.cancel) == Answer::Chosen("c") {
            context.ask_about_commits()?;
        }
    }
    Ok(Decision::NothingToApply)
}

impl AskContext<'_> {
    /// Whether commits can be shown and landed here.
    fn can_land(&self) -> bool {
        let can_show = self.ui.can_ask() && self.ui.format() == OutputFormat::Text;
        can_show && self.commits.waiting().is_some()
    }

    /// Has the commits shown and landed. A failure is said: the files can be decided on.
    fn ask_about_commits(&mut self) -> Result<(), Failure> {
        if let Err(failure) = self.commits.ask() {
            self.cancel.check()?;
            self.ui.failure(&failure);
        }
        Ok(())
    }
}

fn ask(
    case: &Case,
    choices: &Choices,
    mut proposal: Proposal,
    mut context: AskContext<'_>,
) -> Result<Decision, Failure> {
    let (ui, cancel) = (context.ui, context.cancel);
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
            "c" => context.can_land(),
            _ => true,
        };
        let offered: Vec<Choice> = CHOICES.into_iter().filter(offered).collect();
        let question = Question {
            text: &text,
            choices: &offered,
        };
        match ui.prompt(&question, cancel) {
            Answer::Chosen("y") => return Ok(Decision::Apply(approve(proposal)?)),
            Answer::Chosen("n") => return Ok(refuse(all, context)),
            Answer::Chosen("r") => {
                return review::open(case, &choices, context);
            }
            Answer::Chosen("d") => {
                show_diff(case, &proposal, ui)?;
                show(case, &proposal, ui);
            }
            Answer::Chosen("e") => write_out(case, &mut context),
            Answer::Chosen("c") => {
                context.ask_about_commits()?;
                if context.commits.hold_all() {
                    return Ok(Decision::Landed);
                }
            }
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

fn show_diff(case: &Case, proposal: &Proposal, ui: &Ui) -> Result<(), Failure> {
    let open = proposal.items().iter();
    let open = open.filter(|item| item.state != ItemState::AlreadyApplied);
    ui.page(case.contents.workspace().path(), |out| {
        for item in open {
            let shown = patch::painted(case, item.proposed(), ui)?;
            written(writeln!(out, "{shown}"))?;
        }
        Ok(())
    })
}

/// What was refused is thrown away only by a second word.
fn refuse(all: usize, context: AskContext<'_>) -> Decision {
    let commits = context.commits.waiting();
    let commits = commits.map_or(String::new(), |commits| {
        format!(" and the copy ({commits})")
    });
    let text = format!("Throw {}{commits} away?", changes(all));
    let question = Question {
        text: &text,
        choices: &THROW_AWAY,
    };
    match context.ui.prompt(&question, context.cancel) {
        Answer::Chosen("y") => Decision::Discard,
        Answer::Chosen(_) => Decision::Keep(KeepReason::Chosen),
        Answer::None(reason) => Decision::Keep(KeepReason::NoAnswer(reason)),
    }
}

/// Writes all forms of a report into the session's directory: in the workspace they would be
/// taken for a part of it. A failure is said, and the question asked again.
fn write_out(case: &Case, context: &mut AskContext<'_>) {
    let ui = context.ui;
    let (Some(subject), Some(dir)) = (&case.subject, &case.session_dir) else {
        return;
    };
    let commits = context.commits.report();
    let write = || -> Result<_, ExportError> {
        let proposal = export::propose(case)?;
        let (subject, now) = (ReportSubject::Session(subject), SystemTime::now());
        let mut input = ReportInput::new(subject, case, &proposal, now, Vec::new())?;
        input.commits = commits;
        export::write_all(&input, case, dir)
    };
    match write() {
        Ok(files) => say_written(&files, ui),
        Err(error) => ui.failure(&error.into()),
    }
}

/// Says which files were written.
pub(crate) fn say_written(files: &[PathBuf], ui: &Ui) {
    for file in files {
        ui.status(&format!("wrote {}", ui.whole_place(file)));
    }
}

/// `1 change`, `12 changes`.
pub(crate) fn changes(number: usize) -> String {
    match number {
        1 => "1 change".to_owned(),
        more => format!("{} changes", count(more as u64)),
    }
}
