//! Picking file by file at a plain prompt.

use std::collections::{BTreeMap, BTreeSet};

use lazaret_gate::case::Case;
use lazaret_gate::choices::{Choices, Pick};
use lazaret_gate::proposal::{ItemState, ProposedChange, can_replace};
use lazaret_tree::{Change, Entry, RelPath, RelPathBuf, Renames, escape};
use lazaret_validator::Allowance;

use super::{choice, patch, summary};
use crate::failure::Failure;
use crate::ui::{Answer, Choice, NoAnswer, Question, Ui};
use lazaret_session::cancel::Cancel;

const NO: Choice = choice("n", "no", "leave this one out");
const DIFF: Choice = choice("d", "diff", "show its lines");
const QUIT: Choice = choice("q", "quit", "leave out this one and all after it");

const TAKE: [Choice; 5] = [
    choice("y", "yes", "apply this one"),
    NO,
    DIFF,
    choice(
        "a",
        "all",
        "apply this one and all after it that nothing blocks",
    ),
    QUIT,
];
const ALLOW: [Choice; 4] = [
    choice("allow", "allow", "apply it although a rule blocks it"),
    NO,
    DIFF,
    QUIT,
];
const THEIRS: [Choice; 4] = [
    choice("theirs", "theirs", "replace your file by the session's"),
    NO,
    DIFF,
    QUIT,
];

/// What is wanted of one item.
enum ItemChoice {
    Yes,
    No,
    /// This one, and all after it that need no word.
    All,
    /// Nothing more.
    Quit,
}

/// Goes through the items one by one and asks. If the user does not answer, there are no
/// choices and the reason is returned: no answer is never a yes.
///
/// # Errors
/// When the contents can't be read.
pub fn select(
    case: &Case,
    before: &Choices,
    ui: &Ui,
    cancel: &Cancel,
) -> Result<Result<Choices, NoAnswer>, Failure> {
    let mut whole = Choices::all();
    for allowance in before.allowed() {
        whole.allow(allowance.clone());
    }
    let proposal = case.propose(&whole)?;
    let open: Vec<&ProposedChange> = proposal
        .items()
        .iter()
        .filter(|item| item.state != ItemState::AlreadyApplied)
        .collect();
    let moved = moved(&open);
    let along: BTreeSet<&RelPath> = moved.values().copied().collect();
    let asked: Vec<&ProposedChange> = open
        .iter()
        .copied()
        .filter(|item| !goes_along(item, &open))
        .filter(|item| !along.contains(item.path()))
        .collect();
    let mut choices = whole;
    let mut left: BTreeSet<RelPathBuf> = BTreeSet::new();
    let mut rest = None;
    for (index, item) in asked.iter().enumerate() {
        let wanted = match (&rest, &item.state) {
            (Some(ItemChoice::All), ItemState::Applies) => ItemChoice::Yes,
            (Some(_), _) => ItemChoice::No,
            (None, _) => {
                ui.result(&format!("\n({}/{})", index + 1, asked.len()));
                ui.result(&summary::line(item, ui));
                if let Some(from) = moved.get(item.path()) {
                    let from = escape(from.as_str().as_bytes());
                    ui.result(&format!("    moved from {from}, which goes with it"));
                }
                let about: Vec<_> = proposal.about(item.path()).collect();
                if !about.is_empty() {
                    ui.result(summary::findings(about, ui).trim_end());
                }
                match ask(case, item, ui, cancel)? {
                    Ok(wanted) => wanted,
                    Err(reason) => return Ok(Err(reason)),
                }
            }
        };
        match wanted {
            ItemChoice::Yes | ItemChoice::All => take(&mut choices, item),
            ItemChoice::No | ItemChoice::Quit => {
                for path in [Some(item.path()), moved.get(item.path()).copied()] {
                    choices.pick(path.unwrap_or(item.path()), Pick::Leave);
                    left.extend(path.map(ToOwned::to_owned));
                }
            }
        }
        if matches!(wanted, ItemChoice::All | ItemChoice::Quit) {
            rest = Some(wanted);
        }
    }
    // A directory comes along with anything in it that does.
    for item in open.iter().filter(|item| goes_along(item, &open)) {
        let inside = |other: &&&ProposedChange| {
            let path = other.path();
            path != item.path() && path.starts_with(item.path()) && !goes_along(other, &open)
        };
        let mut inside = open.iter().filter(inside);
        if inside.all(|other| left.contains(other.path())) {
            choices.pick(item.path(), Pick::Leave);
        }
    }
    Ok(Ok(choices))
}

/// Finds what the session moved: from each new place to the old one, whose deletion is no
/// question of its own.
fn moved<'a>(open: &[&'a ProposedChange]) -> BTreeMap<&'a RelPath, &'a RelPath> {
    let made: Vec<&Change> = open.iter().map(|item| &*item.made).collect();
    let renames = Renames::of(&made);
    let pairs = renames.pairs();
    let pairs =
        pairs.filter(|pair| !goes_along(open[pair.to], open) && !goes_along(open[pair.from], open));
    pairs
        .filter(|pair| open[pair.from].made.after.is_none())
        .map(|pair| (open[pair.to].path(), open[pair.from].path()))
        .collect()
}

/// Whether an item is a directory that is made or removed for what is in it.
fn goes_along(item: &ProposedChange, open: &[&ProposedChange]) -> bool {
    let is_dir = |entry: &Option<Entry>| entry.as_ref().is_none_or(|entry| *entry == Entry::Dir);
    let inside = |other: &&ProposedChange| {
        other.path() != item.path() && other.path().starts_with(item.path())
    };
    is_dir(&item.made.before) && is_dir(&item.made.after) && open.iter().any(inside)
}

fn take(choices: &mut Choices, item: &ProposedChange) {
    match &item.state {
        ItemState::Blocked(codes) => {
            for code in codes.iter() {
                choices.allow(Allowance::of(item.proposed(), code));
            }
        }
        ItemState::Conflict(_) => choices.pick(item.path(), Pick::SessionVersion),
        ItemState::Applies
        | ItemState::AlreadyApplied
        | ItemState::LeftOut
        | ItemState::Depends(_)
        | ItemState::Moved(_) => {}
    }
}

fn ask(
    case: &Case,
    item: &ProposedChange,
    ui: &Ui,
    cancel: &Cancel,
) -> Result<Result<ItemChoice, NoAnswer>, Failure> {
    let question = match &item.state {
        ItemState::Applies => Question {
            text: "Apply this one?",
            choices: &TAKE,
        },
        ItemState::Blocked(_) if item.is_allowable() => Question {
            text: "Blocked. Type the word to apply it all the same:",
            choices: &ALLOW,
        },
        ItemState::Conflict(kind) if can_replace(kind) => Question {
            text: "Yours stays. Type the word to have the session's in its place:",
            choices: &THEIRS,
        },
        ItemState::Blocked(_)
        | ItemState::Conflict(_)
        | ItemState::AlreadyApplied
        | ItemState::LeftOut
        | ItemState::Depends(_)
        | ItemState::Moved(_) => {
            ui.status("this one can't be applied");
            return Ok(Ok(ItemChoice::No));
        }
    };
    loop {
        match ui.prompt(&question, cancel) {
            Answer::Chosen("d") => {
                ui.result(patch::render(case, item.proposed())?.trim_end());
            }
            Answer::Chosen("y" | "allow" | "theirs") => return Ok(Ok(ItemChoice::Yes)),
            Answer::Chosen("a") => return Ok(Ok(ItemChoice::All)),
            Answer::Chosen("q") => return Ok(Ok(ItemChoice::Quit)),
            Answer::Chosen(_) => return Ok(Ok(ItemChoice::No)),
            Answer::None(reason) => return Ok(Err(reason)),
        }
    }
}
