//! The review of a case on the whole screen: joins the gate, the review and the terminal.

use lazaret_gate::allowlist::Entry;
use lazaret_gate::case::Case;
use lazaret_gate::choices::Choices;
use lazaret_gate::decision::{ApplyPlan, Decision, KeepReason, approve};
use lazaret_gate::format::harmless;
use lazaret_gate::proposal::Proposal;
use lazaret_review::branch::Commits;
use lazaret_review::gate_adapter::GateAdapter;
use lazaret_review::model::{Review, ReviewAnswer, Title};
use lazaret_review::run::{self, ReviewEnd};
use lazaret_review::view::Palette;

use super::draft::{Draft, Restored};
use super::{AskContext, full_listing, say_written};
use crate::failure::{Failure, FailureKind, OrFail as _};
use crate::ui::review_console::ReviewConsole;

/// Shows a case and its commits on the whole screen, and lets a person choose and decide. What is
/// picked of the commits is landed before this returns. Only where [`Ui::can_draw`](crate::ui::Ui::can_draw).
///
/// # Errors
/// When the contents can't be read, or the terminal can't be taken.
pub fn open(
    case: &Case,
    choices: &Choices,
    mut context: AskContext<'_>,
) -> Result<Decision, Failure> {
    let Reviewed {
        end,
        agreed,
        branches,
    } = look(case, choices, &mut context)?;
    Ok(match end {
        ReviewEnd::By(ReviewAnswer::Apply) => {
            let unasked = || Failure::message(FailureKind::Internal, "a yes without a question");
            let Agreed { shown, remember } = agreed.ok_or_else(unasked)?;
            land(&branches, &mut context)?;
            match (shown.changes().is_empty(), shown.open()) {
                (false, _) => Decision::Apply(ApplyPlan {
                    remember,
                    ..approve(shown)?
                }),
                (true, _) if context.commits.hold_all() => Decision::Landed,
                (true, 0) => Decision::NothingToApply,
                (true, _) => Decision::Keep(KeepReason::Chosen),
            }
        }
        ReviewEnd::By(ReviewAnswer::Keep) => Decision::Keep(KeepReason::Chosen),
        ReviewEnd::By(ReviewAnswer::Discard) => Decision::Discard,
        ReviewEnd::Unanswered(reason) => Decision::Keep(KeepReason::NoAnswer(reason)),
    })
}

/// How a review came to its end, and what was chosen.
struct Reviewed {
    end: ReviewEnd,
    /// `None` if the apply screen was not shown.
    agreed: Option<Agreed>,
    /// The places of what is landed.
    branches: Vec<usize>,
}

/// What the apply screen showed last.
struct Agreed {
    shown: Proposal,
    remember: Vec<Entry>,
}

/// Runs the review.
fn look(case: &Case, choices: &Choices, context: &mut AskContext<'_>) -> Result<Reviewed, Failure> {
    let (ui, cancel) = (context.ui, context.cancel);
    let draft = Draft::of(case);
    let mut choices = choices.clone();
    let restored = match &draft {
        Some(draft) => draft.restore(case, &mut choices)?,
        None => Restored::Nothing,
    };
    let (mut adapter, items) = GateAdapter::new(case, &choices)?;
    full_listing::keep(case, adapter.whole(), ui);
    let workspace = case.contents.workspace().path();
    let subject = case.subject.as_ref();
    let title = Title {
        session: subject.map_or(String::new(), |subject| subject.name.clone()),
        workspace: ui.place(workspace),
        commits: context.commits.waiting(),
    };
    let has_commits = title.commits.is_some();
    let mut review = Review::new(title, items);
    if has_commits {
        match context.commits.show() {
            Ok(shown) => {
                review = review.with_commits(shown.commits);
                adapter = adapter.with_commits(shown.source, shown.report);
            }
            Err(failure) => {
                cancel.check()?;
                let why = harmless(&failure.chain().join(": "));
                review = review.with_commits(Commits {
                    branches: Vec::new(),
                    facts: vec![format!("They can't be shown: {why}")],
                });
            }
        }
    }
    if let Some(words) = restored.words() {
        review.say(words);
    }
    let palette = match ui.has_colours() {
        true => Palette::Coloured,
        false => Palette::Plain,
    };
    let end = {
        let mut screen = ReviewConsole::open(ui, palette, cancel.clone())
            .or_fail(FailureKind::State, "the terminal can't be used")?;
        run::run(&mut review, &mut adapter, &mut screen)?
    };
    say_written(adapter.exported(), ui);
    if let Some(draft) = &draft {
        match end {
            ReviewEnd::By(ReviewAnswer::Apply | ReviewAnswer::Discard) => draft.remove()?,
            ReviewEnd::By(ReviewAnswer::Keep) | ReviewEnd::Unanswered(_) => {
                draft.save(case, &adapter.picks(review.items()))?;
            }
        }
    }
    let agreed = adapter.take_shown().map(|shown| {
        let remember = adapter.remembered(review.items(), &shown);
        let entries = remember.iter();
        let entries = entries.filter_map(|allowed| Entry::of(allowed, &shown));
        Agreed {
            remember: entries.collect(),
            shown,
        }
    });
    Ok(Reviewed {
        end,
        agreed,
        branches: review.commits().picked().collect(),
    })
}

/// Lands the branches that were picked. A failure is said: the files are decided on anyway.
fn land(branches: &[usize], context: &mut AskContext<'_>) -> Result<(), Failure> {
    if branches.is_empty() {
        return Ok(());
    }
    if let Err(failure) = context.commits.land(branches) {
        context.cancel.check()?;
        context.ui.failure(&failure);
    }
    Ok(())
}
