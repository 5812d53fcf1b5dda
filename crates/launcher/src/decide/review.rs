//! The review of a case on the whole screen: joins the gate, the review and the terminal.

use std::path::Path;

use lazaret_gate::allowlist::Entry;
use lazaret_gate::case::Case;
use lazaret_gate::choices::Choices;
use lazaret_gate::decision::{ApplyPlan, Decision, KeepReason, approve};
use lazaret_review::gate_adapter::GateAdapter;
use lazaret_review::model::{Review, ReviewAnswer, Title};
use lazaret_review::run::{self, ReviewEnd};
use lazaret_review::view::Palette;
use lazaret_tree::escape;

use super::{AskContext, full_listing};
use crate::failure::{Failure, FailureKind, OrFail as _};
use crate::ui::review_console::ReviewConsole;

/// Shows a case on the whole screen, and lets a person choose and decide. Only where
/// [`Ui::can_draw`].
///
/// # Errors
/// When the contents can't be read, or the terminal can't be taken.
pub fn open(case: &Case, choices: &Choices, context: AskContext<'_>) -> Result<Decision, Failure> {
    let AskContext {
        ui,
        cancel,
        commits,
    } = context;
    let (adapter, items) = GateAdapter::new(case, choices)?;
    full_listing::keep(case, adapter.whole(), ui);
    let mut adapter = adapter.exporting(Path::new("."));
    let workspace = case.contents.workspace().path();
    let subject = case.subject.as_ref();
    let title = Title {
        session: subject.map_or(String::new(), |subject| subject.name.clone()),
        workspace: escape(workspace.as_os_str().as_encoded_bytes()),
        commits: commits.waiting(),
    };
    let mut review = Review::new(title, items);
    let palette = match ui.has_colours() {
        true => Palette::Coloured,
        false => Palette::Plain,
    };
    let ended = {
        let mut screen = ReviewConsole::open(ui, palette, cancel.clone())
            .or_fail(FailureKind::State, "the terminal can't be used")?;
        run::run(&mut review, &mut adapter, &mut screen)?
    };
    Ok(match ended {
        ReviewEnd::By(ReviewAnswer::Apply) => {
            let unasked = || Failure::message(FailureKind::Internal, "a yes without a question");
            let shown = adapter.take_shown().ok_or_else(unasked)?;
            let remember = adapter.remembered(review.items(), &shown);
            let remember = remember.iter();
            let remember = remember
                .filter_map(|allowed| Entry::of(allowed, &shown))
                .collect();
            Decision::Apply(ApplyPlan {
                remember,
                ..approve(shown)?
            })
        }
        ReviewEnd::By(ReviewAnswer::Keep) => Decision::Keep(KeepReason::Chosen),
        ReviewEnd::By(ReviewAnswer::Discard) => Decision::Discard,
        ReviewEnd::Unanswered(reason) => Decision::Keep(KeepReason::NoAnswer(reason)),
    })
}
