//! The volume as the host, whatever the agent made of it.

use lazaret_protocol::FoundKind;
use lazaret_tree::{Entry, RelPath, Tree};

use super::draft::Draft;
use super::{ClashKind, Sides};
use crate::volume_state::At;

/// Looks at every path for which `takes_part` says yes.
pub(super) fn decide(sides: Sides<'_>, takes_part: &dyn Fn(&RelPath) -> bool, draft: &mut Draft) {
    let paths: Tree = sides
        .baseline
        .iter()
        .chain(sides.host.iter())
        .chain(sides.volume.iter())
        .filter(|(path, _)| takes_part(path))
        .map(|(path, entry)| (path.to_owned(), entry.clone()))
        .collect();
    for (path, _) in paths.iter() {
        if !draft.below_clash(path) {
            decide_one(sides, path, draft);
        }
    }
    for (name, kind) in sides.volume.others() {
        if let Ok(path) = RelPath::from_bytes(name)
            && *kind != FoundKind::Cache
            && takes_part(path)
            && sides.host.get(path).is_none()
            && !draft.below_any_clash(path)
        {
            draft.remove(path);
        }
    }
    draft.settle(sides.volume);
}

fn decide_one(sides: Sides<'_>, path: &RelPath, draft: &mut Draft) {
    let host = sides.host.get(path);
    let volume = sides.volume.at(path);
    match (host, volume) {
        (None, At::Held(Entry::Dir)) => draft.leave(path),
        (None, At::Held(_)) => draft.remove(path),
        // Whatever is odd goes below.
        (None, At::Other) => {}
        (None, At::Nothing | At::Cache) => {
            if sides.baseline.get(path).is_some() {
                draft.adopt(path, None);
            }
        }
        (Some(host), At::Held(held)) if host == held => {
            if sides.baseline.get(path) != Some(host) {
                draft.adopt(path, Some(host));
            }
        }
        (Some(_), At::Cache) => draft.clash(path, ClashKind::Buried),
        (Some(host), At::Held(Entry::Dir)) => match holds_to_keep(sides, path) {
            true => draft.clash(path, ClashKind::Buried),
            false => {
                draft.remove(path);
                draft.send(path, host);
            }
        },
        (Some(Entry::Dir), At::Held(_) | At::Other) => {
            draft.remove(path);
            draft.send(path, &Entry::Dir);
        }
        (Some(host), At::Nothing | At::Held(_) | At::Other) => draft.send(path, host),
    }
}

/// Whether a directory of the volume holds what stays there: a cache, or something whose
/// name can't be said.
fn holds_to_keep(sides: Sides<'_>, path: &RelPath) -> bool {
    let mut others = sides.volume.others_below(path);
    others.any(|(name, kind)| *kind == FoundKind::Cache || RelPath::from_bytes(name).is_err())
}
