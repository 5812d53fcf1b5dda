//! Changes and findings as items.

use std::sync::Arc;

use lazaret_gate::choices::{Choices, Pick};
use lazaret_gate::file_diff::LineCounts;
use lazaret_gate::file_side::mode_or_type_change;
use lazaret_gate::format::bytes;
use lazaret_gate::proposal::{self, ItemState, Origin};
use lazaret_tree::{Change, ChangeKind, Entry, Mode, RelPathBuf, escape};

use crate::item::{Allowance, Choice, Item, Remarks, Sign, Standing, Tag, Why};

const NOTHING: &str = "there is nothing here that could be applied";
pub(super) const ALREADY: &str = "your workspace has it already";
const NEVER: &str = "this can never be allowed";

pub(super) fn mentioned(path: String, remarks: Remarks) -> Item {
    Item {
        path: path.into(),
        is_dir: false,
        sign: Sign::Mentioned,
        facts: Box::default(),
        tag: None,
        remarks,
        standing: Standing::Stays(Why::Said(NOTHING.into())),
        choice: Choice::Leave,
        allowance: Allowance::None,
        counts: Some(LineCounts::default()),
        moved_from: None,
    }
}

/// The escaped path; most need no escaping, and share their text with the change.
fn shown(path: &RelPathBuf) -> Arc<str> {
    let escaped = escape(path.as_str().as_bytes());
    match escaped == path.as_str() {
        true => path.to_shared(),
        false => escaped.into(),
    }
}

pub(super) fn change_item(proposed: &proposal::Item, remarks: Remarks, choices: &Choices) -> Item {
    let change = proposed.proposed();
    let sides = [&change.before, &change.after];
    let is_dir = sides.iter().any(|side| **side == Some(Entry::Dir));
    let path = proposed.path();
    let is_allowed = choices
        .allowed()
        .iter()
        .any(|allowed| *allowed.path == *path);
    let (choice, allowance) = match (choices.of(path), is_allowed) {
        (Pick::Take | Pick::Alone, false) => (Choice::Take, Allowance::None),
        (Pick::Take | Pick::Alone, true) | (Pick::Theirs, _) => (Choice::Take, Allowance::Once),
        (Pick::Leave, _) => (Choice::Leave, Allowance::None),
        (Pick::Hunks(hunks), _) => (Choice::Hunks(hunks.clone()), Allowance::None),
    };
    let was_allowed = remarks.iter().any(|finding| finding.allowed);
    let tag = match (&proposed.state, proposed.origin) {
        (ItemState::Conflict(_), _) => Some(Tag::Conflict),
        (ItemState::Already, _) => Some(Tag::Same),
        (_, Origin::Merged) => Some(Tag::Merged),
        _ if was_allowed && !is_allowed => Some(Tag::Allowed),
        _ => None,
    };
    Item {
        path: shown(&proposed.made.path),
        is_dir,
        sign: sign(change),
        facts: Box::default(),
        tag,
        remarks,
        standing: standing(proposed, is_allowed),
        choice,
        allowance,
        counts: None,
        moved_from: None,
    }
}

pub(super) fn sign(change: &Change) -> Sign {
    match (&change.before, &change.after) {
        (None, _) => Sign::Added,
        (_, None) => Sign::Deleted,
        (Some(_), Some(_)) => Sign::Modified,
    }
}

/// What may become of an item; `is_allowed` when the review allowed it, so that it can take
/// that back.
pub(super) fn standing(item: &proposal::Item, is_allowed: bool) -> Standing {
    match &item.state {
        ItemState::Applies if is_allowed => Standing::Blocked,
        ItemState::Applies | ItemState::LeftOut => Standing::Free,
        ItemState::Already => Standing::Stays(Why::Said(ALREADY.into())),
        ItemState::Conflict(kind) => Standing::Conflict(kind.clone()),
        ItemState::Blocked(_) if item.is_allowable() => Standing::Blocked,
        ItemState::Blocked(_) => Standing::Stays(Why::Said(NEVER.into())),
        ItemState::Depends(path) => Standing::Stays(Why::Depends(path.clone())),
        ItemState::Moved(place) => Standing::Stays(Why::Moved(Arc::clone(place))),
    }
}

/// What is to be said besides the contents.
pub(super) fn facts(item: &proposal::Item) -> Vec<String> {
    let change = item.proposed();
    let size = |entry: &Option<Entry>| match entry {
        Some(Entry::File { size, .. }) => Some(bytes(*size)),
        _ => None,
    };
    let mut facts = Vec::new();
    let is_same = change.kind() == ChangeKind::ModeOnly;
    match (size(&change.before), size(&change.after)) {
        (Some(_), Some(new)) if is_same => facts.push(format!("the same contents, {new}")),
        (Some(old), Some(new)) if old == new => facts.push(format!("changed, {new}")),
        (Some(old), Some(new)) => facts.push(format!("changed, {old} → {new}")),
        (None, Some(new)) => facts.push(format!("new, {new}")),
        (Some(old), None) if change.after.is_none() => facts.push(format!("deleted, {old}")),
        _ => {}
    }
    match (&change.before, &change.after) {
        (Some(before), Some(after)) => {
            facts.extend(mode_or_type_change(before, after));
        }
        (
            None,
            Some(Entry::File {
                mode: Mode::Executable,
                ..
            }),
        ) => {
            facts.push("executable".to_owned());
        }
        _ => {}
    }
    match item.origin {
        Origin::Merged => facts.push(
            "merged: you changed this file too, and this is what both changes come to".to_owned(),
        ),
        Origin::Session | Origin::Hunks | Origin::Theirs => {}
    }
    facts
}
