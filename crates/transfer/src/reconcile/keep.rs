//! [`Stance::Keep`](super::Stance::Keep), outside of `.git`.

use lazaret_tree::{Change, Entry, RelPath, diff, is_git};

use super::draft::Draft;
use super::part::Part;
use super::{ClashKind, Sides};
use crate::volume_state::At;

/// Looks at every path that the host changed.
pub(super) fn decide(sides: Sides<'_>, part: &Part<'_>, draft: &mut Draft) {
    for change in diff(sides.baseline, sides.host).iter() {
        let path = &*change.path;
        if part.has(path) && !is_git(path) && !draft.below_clash(path) {
            decide_one(sides, change, draft);
        }
    }
    draft.settle(sides.volume);
}

fn decide_one(sides: Sides<'_>, change: &Change, draft: &mut Draft) {
    let (path, before, after) = (&*change.path, &change.before, &change.after);
    let volume = sides.volume.at(path);
    let is = |entry: &Option<Entry>| match (volume, entry) {
        (At::Nothing, None) => true,
        (At::Held(held), Some(entry)) => held == entry,
        _ => false,
    };
    if is(after) {
        return draft.adopt(path, after.as_ref());
    }
    if !is(before) {
        return draft.clash(path, ClashKind::BothChanged);
    }
    match (before, after) {
        (Some(Entry::Dir), None) => draft.leave(path),
        (_, None) => draft.remove(path),
        (_, Some(_)) if !draft.has_parent(path, sides.volume) => {
            draft.clash(path, ClashKind::NoParent);
        }
        (Some(Entry::Dir), Some(entry)) => match is_untouched(sides, path) {
            true => {
                draft.remove(path);
                draft.send(path, entry);
            }
            false => draft.clash(path, ClashKind::Buried),
        },
        (Some(_), Some(Entry::Dir)) => {
            draft.remove(path);
            draft.send(path, &Entry::Dir);
        }
        (_, Some(entry)) => draft.send(path, entry),
    }
}

/// Whether everything below a directory of the volume is as in the baseline.
fn is_untouched(sides: Sides<'_>, path: &RelPath) -> bool {
    let Sides {
        baseline, volume, ..
    } = sides;
    let mut held = volume.below(path);
    held.all(|(path, entry)| baseline.get(path) == Some(entry))
        && volume.others_below(path).next().is_none()
}
