//! The volume as the host, whatever the agent made of it.

use lazaret_protocol::FoundKind;
use lazaret_tree::{Entry, RelPath, Tree};

use super::plan_builder::PlanBuilder;
use super::{Sides, SyncConflictKind};
use crate::volume_state::VolumeEntry;

/// Looks at every path for which `takes_part` says yes.
pub(super) fn decide(
    sides: Sides<'_>,
    takes_part: &dyn Fn(&RelPath) -> bool,
    builder: &mut PlanBuilder,
) {
    let paths: Tree = sides
        .baseline
        .iter()
        .chain(sides.host.iter())
        .chain(sides.volume.iter())
        .filter(|(path, _)| takes_part(path))
        .map(|(path, entry)| (path.to_owned(), entry.clone()))
        .collect();
    for (path, _) in paths.iter() {
        if !builder.below_conflict(path) {
            decide_one(sides, path, builder);
        }
    }
    for (name, kind) in sides.volume.unsupported() {
        if let Ok(path) = RelPath::from_bytes(name)
            && *kind != FoundKind::Cache
            && takes_part(path)
            && sides.host.get(path).is_none()
            && !builder.below_any_conflict(path)
        {
            builder.remove(path);
        }
    }
    builder.settle(sides.volume);
}

fn decide_one(sides: Sides<'_>, path: &RelPath, builder: &mut PlanBuilder) {
    let host = sides.host.get(path);
    let volume = sides.volume.at(path);
    match (host, volume) {
        (None, VolumeEntry::Known(Entry::Dir)) => builder.leave(path),
        (None, VolumeEntry::Known(_)) => builder.remove(path),
        // Whatever is odd goes below.
        (None, VolumeEntry::Unsupported) => {}
        (None, VolumeEntry::Absent | VolumeEntry::Cache) => {
            if sides.baseline.get(path).is_some() {
                builder.adopt(path, None);
            }
        }
        (Some(host), VolumeEntry::Known(held)) if host == held => {
            if sides.baseline.get(path) != Some(host) {
                builder.adopt(path, Some(host));
            }
        }
        (Some(_), VolumeEntry::Cache) => builder.conflict(path, SyncConflictKind::WouldHide),
        (Some(host), VolumeEntry::Known(Entry::Dir)) => match holds_to_keep(sides, path) {
            true => builder.conflict(path, SyncConflictKind::WouldHide),
            false => {
                builder.remove(path);
                builder.send(path, host);
            }
        },
        (Some(Entry::Dir), VolumeEntry::Known(_) | VolumeEntry::Unsupported) => {
            builder.remove(path);
            builder.send(path, &Entry::Dir);
        }
        (Some(host), VolumeEntry::Absent | VolumeEntry::Known(_) | VolumeEntry::Unsupported) => {
            builder.send(path, host)
        }
    }
}

/// Whether a directory of the volume holds what stays there: a cache, or something whose
/// name can't be said.
fn holds_to_keep(sides: Sides<'_>, path: &RelPath) -> bool {
    let mut others = sides.volume.unsupported_below(path);
    others.any(|(name, kind)| *kind == FoundKind::Cache || RelPath::from_bytes(name).is_err())
}
