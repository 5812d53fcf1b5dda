//! Changes and findings as items.

use std::sync::Arc;

use lazaret_gate::choices::{Choices, Pick};
use lazaret_gate::file_diff::LineCounts;
use lazaret_gate::file_side::mode_or_type_change;
use lazaret_gate::format::bytes;
use lazaret_gate::proposal::{self, ItemState, Origin};
use lazaret_tree::{Change, ChangeKind, Entry, Mode, RelPathBuf, escape};

use crate::item::{Allowance, BlockReason, Choice, Item, ItemFindings, ItemStatus, Sign, Tag};

const NOTHING: &str = "there is nothing here that could be applied";
pub(super) const ALREADY: &str = "your workspace has it already";
const NEVER: &str = "this can never be allowed";

pub(super) fn mentioned(path: String, findings: ItemFindings) -> Item {
    Item {
        path: path.into(),
        is_dir: false,
        sign: Sign::Mentioned,
        facts: Box::default(),
        tag: None,
        findings,
        status: ItemStatus::Stays(BlockReason::Said(NOTHING.into())),
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

pub(super) fn change_item(
    proposed: &proposal::ProposedChange,
    findings: ItemFindings,
    choices: &Choices,
) -> Item {
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
        (Pick::Take | Pick::Alone, true) | (Pick::SessionVersion, _) => {
            (Choice::Take, Allowance::Once)
        }
        (Pick::Leave, _) => (Choice::Leave, Allowance::None),
        (Pick::Hunks(hunks), _) => (Choice::Hunks(hunks.clone()), Allowance::None),
    };
    let was_allowed = findings.iter().any(|finding| finding.allowed);
    let tag = match (&proposed.state, proposed.origin) {
        (ItemState::Conflict(_), _) => Some(Tag::Conflict),
        (ItemState::AlreadyApplied, _) => Some(Tag::Same),
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
        findings,
        status: status(proposed, is_allowed),
        choice,
        allowance,
        counts: None,
        moved_from: None,
    }
}

pub(crate) fn sign(change: &Change) -> Sign {
    match (&change.before, &change.after) {
        (None, _) => Sign::Added,
        (_, None) => Sign::Deleted,
        (Some(_), Some(_)) => Sign::Modified,
    }
}

/// What may become of an item; `is_allowed` when the review allowed it, so that it can take
/// that back.
pub(super) fn status(item: &proposal::ProposedChange, is_allowed: bool) -> ItemStatus {
    match &item.state {
        ItemState::Applies if is_allowed => ItemStatus::Blocked,
        ItemState::Applies | ItemState::LeftOut => ItemStatus::Free,
        ItemState::AlreadyApplied => ItemStatus::Stays(BlockReason::Said(ALREADY.into())),
        ItemState::Conflict(kind) => ItemStatus::Conflict(kind.clone()),
        ItemState::Blocked(_) if item.is_allowable() => ItemStatus::Blocked,
        ItemState::Blocked(_) => ItemStatus::Stays(BlockReason::Said(NEVER.into())),
        ItemState::Depends(path) => ItemStatus::Stays(BlockReason::Depends(path.clone())),
        ItemState::Moved(place) => ItemStatus::Stays(BlockReason::Moved(Arc::clone(place))),
    }
}

/// What is to be said besides the contents.
pub(super) fn facts(item: &proposal::ProposedChange) -> Vec<String> {
    let mut facts = change_facts(item.proposed());
    match item.origin {
        Origin::Merged => facts.push(
            "merged: you changed this file too, and this is what both changes come to".to_owned(),
        ),
        Origin::Session | Origin::Hunks | Origin::SessionVersion => {}
    }
    facts
}

/// What is to be said of a change, wherever it comes from.
pub(crate) fn change_facts(change: &Change) -> Vec<String> {
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
    facts
}
