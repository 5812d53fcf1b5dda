//! [`AgentChanges::Keep`](super::AgentChanges::Keep), outside of `.git`.

use lazaret_tree::{Change, Entry, RelPath, diff, is_git};

use super::plan_builder::PlanBuilder;
use super::scope::SyncScope;
use super::{Sides, SyncConflictKind};
use crate::volume_state::VolumeEntry;

/// Looks at every path that the host changed.
pub(super) fn decide(sides: Sides<'_>, scope: &SyncScope<'_>, builder: &mut PlanBuilder) {
    for change in diff(sides.baseline, sides.host).iter() {
        let path = &*change.path;
        if scope.has(path) && !is_git(path) && !builder.below_conflict(path) {
            decide_one(sides, change, builder);
        }
    }
    builder.settle(sides.volume);
}

fn decide_one(sides: Sides<'_>, change: &Change, builder: &mut PlanBuilder) {
    let (path, before, after) = (&*change.path, &change.before, &change.after);
    let volume = sides.volume.at(path);
    let is = |entry: &Option<Entry>| match (volume, entry) {
        (VolumeEntry::Absent, None) => true,
        (VolumeEntry::Known(held), Some(entry)) => held == entry,
        _ => false,
    };
    if is(after) {
        return builder.adopt(path, after.as_ref());
    }
    if !is(before) {
        return builder.conflict(path, SyncConflictKind::BothChanged);
    }
    match (before, after) {
        (Some(Entry::Dir), None) => builder.leave(path),
        (_, None) => builder.remove(path),
        (_, Some(_)) if !builder.has_parent(path, sides.volume) => {
            builder.conflict(path, SyncConflictKind::NoParent);
        }
        (Some(Entry::Dir), Some(entry)) => match is_untouched(sides, path) {
            true => {
                builder.remove(path);
                builder.send(path, entry);
            }
            false => builder.conflict(path, SyncConflictKind::WouldHide),
        },
        (Some(_), Some(Entry::Dir)) => {
            builder.remove(path);
            builder.send(path, &Entry::Dir);
        }
        (_, Some(entry)) => builder.send(path, entry),
    }
}

/// Whether everything below a directory of the volume is as in the baseline.
fn is_untouched(sides: Sides<'_>, path: &RelPath) -> bool {
    let Sides {
        baseline, volume, ..
    } = sides;
    let mut held = volume.below(path);
    held.all(|(path, entry)| baseline.get(path) == Some(entry))
        && volume.unsupported_below(path).next().is_none()
}
