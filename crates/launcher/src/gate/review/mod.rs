//! The review: a full-screen look at a case, in which a person chooses what is applied.
//!
//! | part | holds |
//! | --- | --- |
//! | [`item`], [`tree`], [`body`], [`page`], [`plan`], [`text`] | what there is to see, as plain data, escaped |
//! | [`model`], `press`, `browse` | the state, and what each key does to it |
//! | [`keys`] | keys out of the terminal's bytes |
//! | [`view`] | the state drawn into a buffer |
//! | [`run`], [`screen`] | the loop, and the terminal |
//! | [`bench`], [`desk`] | what the review needs of the gate, and the gate's answers |
//!
//! [`open`] joins them.
//!
//! Nothing is decided by what is on the screen: a yes is to the [`plan::Plan`] that the gate
//! derived from the choices, judged, and showed.

pub mod bench;
pub mod body;
mod browse;
pub mod desk;
pub mod geometry;
mod help;
pub mod item;
pub mod keys;
pub mod model;
pub mod page;
pub mod plan;
mod press;
pub mod run;
pub mod screen;
#[cfg(test)]
mod tests;
pub mod text;
pub mod tree;
pub mod view;

use lazaret_tree::escape;

use self::desk::Desk;
use self::model::{End, Review, Title};
use self::run::Ended;
use self::screen::Screen;
use self::view::Palette;
use super::case::Case;
use super::choices::Choices;
use super::decide::{Decision, KeepReason, Plan, approve};
use super::listing;
use super::remembered::Entry;
use crate::failure::{Failure, FailureKind, OrFail as _};
use crate::interrupt::Interrupt;
use crate::ui::Ui;

/// Shows a case on the whole screen, and lets a person choose and decide. Only where
/// [`Ui::can_draw`].
///
/// # Errors
/// When the contents can't be read, or the terminal can't be taken.
pub fn open(
    case: &Case,
    choices: &Choices,
    ui: &Ui,
    interrupt: &Interrupt,
) -> Result<Decision, Failure> {
    let (desk, items) = Desk::new(case, choices)?;
    listing::keep(case, desk.whole(), ui);
    let mut desk = desk.exporting(ui);
    let workspace = case.contents.workspace().path();
    let session = case.session.as_ref();
    let title = Title {
        session: session.map_or(String::new(), |record| record.id.to_string()),
        workspace: escape(workspace.as_os_str().as_encoded_bytes()),
        commits: case.commits().map(|commits| commits.to_string()),
    };
    let mut review = Review::new(title, items);
    let palette = match ui.has_colours() {
        true => Palette::Coloured,
        false => Palette::Plain,
    };
    let ended = {
        let mut screen =
            Screen::open(ui, palette).or_fail(FailureKind::State, "the terminal can't be used")?;
        run::run(&mut review, &mut desk, &mut screen, interrupt)?
    };
    Ok(match ended {
        Ended::By(End::Apply) => {
            let unasked = || Failure::message(FailureKind::Internal, "a yes without a question");
            let shown = desk.take_shown().ok_or_else(unasked)?;
            let remember = desk.remembered(review.items(), &shown);
            let remember = remember.iter();
            let remember = remember
                .filter_map(|allowed| Entry::of(allowed, &shown))
                .collect();
            match approve(shown)? {
                Decision::Apply(plan) => Decision::Apply(Plan { remember, ..plan }),
                other => other,
            }
        }
        Ended::By(End::Keep) => Decision::Keep(KeepReason::Chosen),
        Ended::By(End::Discard) => Decision::Discard,
        Ended::Unanswered(why) => Decision::Keep(KeepReason::NoAnswer(why)),
    })
}
